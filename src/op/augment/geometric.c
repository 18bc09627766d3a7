/* SPDX-License-Identifier: Apache-2.0 */
/* geometric.c: the run of an op that moves pixels. */
#include "op/augment/geometric.h"

#include "op/dtype_value.h"

#include <string.h>

const char *const stk__interpolation_names[] = { "nearest", "bilinear", NULL };

double stk__dice_range(struct stk__dice *dice, struct stk_numbers range)
{
    bool is_pair = range.n > 1;
    return stk__dice_between(dice, is_pair ? range.item[0] : -range.item[0],
                             is_pair ? range.item[1] : range.item[0]);
}

int stk__check_range(const char *name, struct stk_numbers range, struct stk_error *err)
{
    if (range.n == 1 && range.item[0] < 0)
        return stk_fail(err, STK_VALUE, "%s as one number is not negative, but it is %g", name,
                        range.item[0]);
    if (range.n > 1 && range.item[0] > range.item[1])
        return stk_fail(err, STK_VALUE,
                        "%s runs from the smaller number to the larger, not [%g, %g]", name,
                        range.item[0], range.item[1]);
    return STK_OK;
}

static int check_fill(const struct stk_field *field, struct stk_numbers fill, struct stk_error *err)
{
    if (fill.n > 1 && field->shape[2] >= 0 && field->shape[2] != fill.n)
        return stk_fail(err, STK_VALUE, "fill has %d values, but the image %lld channels", fill.n,
                        (long long)field->shape[2]);
    for (int i = 0; i < fill.n; i++)
        if (!stk__dtype_has(field->dtype, fill.item[i]))
            return stk_fail(err, STK_VALUE, "fill %g cannot be a value of the image, which is %s",
                            fill.item[i], stk_dtype_name(field->dtype));
    return STK_OK;
}

int stk__geometric_infer(struct stk_infer *inf, const struct stk__geometric_words *words,
                         stk__geometry_fn map, struct stk__geometric *state, struct stk_error *err)
{
    bool mixes = words->interpolation == STK__WARP_BILINEAR;
    *state = (struct stk__geometric){ .map = map,
                                      .mode = (enum stk__warp_mode)words->interpolation,
                                      .fill = words->fill };
    bool (*fits)(const struct stk_field *) = mixes ? stk__is_image_u8_f32 : stk__is_image;
    const char *image = stk__follow_image(inf, words->field, &words->follow, fits);
    int code = stk__image_infer(inf, image, fits, &state->field, err);
    if (code)
        return code;
    struct stk_field *field = &inf->out->field[state->field];
    if (words->height || words->width)
        stk__image_set_size(field, words->height, words->width);
    code = check_fill(field, words->fill, err);
    if (!code)
        code = stk__follow_infer(inf, &words->follow, state->field, &state->followers, err);
    inf->state = state;
    return code;
}

/* An image that stays as it is: copied to where it must be, or left where it lies. */
static void keep(struct stk_rows *rows, int field, int row, struct stk__picture from)
{
    const struct stk_column *in = &rows->in[field];
    struct stk_column *out = &rows->out[field];
    const int32_t dims[3] = { from.height, from.width, from.channels };
    if (rows->out_type->field[field].kind == STK_FIXED) {
        memcpy(out->data + (size_t)row * out->stride, from.data, out->stride);
        return;
    }
    size_t bytes = in->span ? in->span[row].bytes : in->stride;
    out->span[row] = (struct stk_span){ .data = (uint8_t *)(uintptr_t)from.data, .bytes = bytes };
    memcpy(out->dims + (size_t)row * 3, dims, sizeof dims);
}

/* The pixel for what is outside; false when out of memory. Marks the row if its channels are
 * others. */
static bool make_fill(struct stk_rows *rows, int row, const struct stk__geometric *state,
                      struct stk__drawing *drawing)
{
    int dtype = rows->in_type->field[state->field].dtype;
    struct stk_numbers numbers = state->fill;
    if (!numbers.n)
        return true;
    if (numbers.n > 1 && numbers.n != drawing->channels) {
        stk_rows_fail(rows, row, STK_DATA, "fill has %d values, but the image %d channels",
                      numbers.n, drawing->channels);
        return true;
    }
    uint8_t *fill = stk_rows_alloc(rows, (size_t)drawing->channels * (size_t)drawing->value_bytes);
    for (int c = 0; fill && c < drawing->channels; c++)
        stk__dtype_put(dtype, numbers.item[numbers.n > 1 ? c : 0],
                       fill + (size_t)c * (size_t)drawing->value_bytes);
    drawing->fill = fill;
    return fill != NULL;
}

static int draw(struct stk_rows *rows, int row, const struct stk__geometric *state,
                struct stk__picture from, const struct stk__geometry *g)
{
    if (stk__geometry_is_identity(g)) {
        keep(rows, state->field, row, from);
        return STK_OK;
    }
    int dtype = rows->in_type->field[state->field].dtype;
    struct stk__drawing drawing = { .src = from.data,
                                    .channels = from.channels,
                                    .value_bytes = (int)stk_dtype_bytes(dtype),
                                    .mode = state->mode };
    if (!make_fill(rows, row, state, &drawing))
        return STK_MEMORY;
    if (rows->mask[row] != STK_LIVE)
        return STK_OK;
    struct stk__picture size = { NULL, g->height, g->width, from.channels };
    uint8_t *dst = stk__picture_put(rows, state->field, row, size);
    return dst ? stk__geometry_draw(rows, g, &drawing, dst) : STK_MEMORY;
}

int stk__geometric_run(struct stk_rows *rows)
{
    const struct stk__geometric *state = rows->state;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__picture from = stk__picture_get(rows, state->field, i);
        struct stk__geometry g;
        stk__geometry_identity(&g, from.height, from.width);
        if (!state->map(rows, i, &g))
            continue;
        int rc = draw(rows, i, state, from, &g);
        if (!rc && rows->mask[i] == STK_LIVE)
            rc = stk__follow_run(rows, i, &state->followers, &g);
        if (rc)
            return rc;
    }
    return STK_OK;
}
