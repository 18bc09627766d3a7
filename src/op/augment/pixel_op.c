/* SPDX-License-Identifier: Apache-2.0 */
/* pixel_op.c: running a change of pixels over rows, and drawing its parameters. */
#include "op/augment/pixel_op.h"

/* ---- infer ---- */

static bool has_channels(enum stk__pixel_needs needs, int64_t channels)
{
    if (needs == STK__PIXEL_COLOURS)
        return channels == 1 || channels == 3;
    return needs == STK__PIXEL_ANY || channels <= STK__ADJUST_CHANNELS;
}

static const char *need_text(enum stk__pixel_needs needs)
{
    return needs == STK__PIXEL_COLOURS ? "1 or 3 channels" : "1 to 4 channels";
}

int stk__pixel_infer(struct stk_infer *inf, const char *name, enum stk__pixel_needs needs,
                     struct stk_error *err)
{
    struct stk__pixel_state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    int code = stk__image_infer(inf, name, stk__is_image_u8_f32, &state->field, err);
    if (code)
        return code;
    const struct stk_field *field = &inf->in[0]->field[state->field];
    if (field->shape[2] >= 0 && !has_channels(needs, field->shape[2]))
        return stk_fail(err, STK_TYPE,
                        "the image '%s' has %lld channels; this wants %s: decode(channels=3), or "
                        "channels last",
                        field->name, (long long)field->shape[2], need_text(needs));
    state->needs = needs;
    state->peak = field->dtype == STK_U8 || field->flags & STK_FIELD_255 ? 255 : 1;
    inf->state = state;
    return STK_OK;
}

int stk__range_of(const struct stk_numbers *numbers, const char *name, struct stk__range bounds,
                  struct stk__range *out, struct stk_error *err)
{
    *out = (struct stk__range){ numbers->item[0], numbers->item[numbers->n - 1] };
    if (bounds.lo <= out->lo && out->lo <= out->hi && out->hi <= bounds.hi)
        return STK_OK;
    return stk_fail(err, STK_VALUE, "%s must be a number or [least, greatest] within %g..%g", name,
                    bounds.lo, bounds.hi);
}

double stk__dice_in(struct stk__dice *dice, struct stk__range range)
{
    return stk__dice_between(dice, range.lo, range.hi);
}

/* ---- run ---- */

static struct stk__pixel_row begin(struct stk_rows *rows, int row, int64_t seed)
{
    const struct stk__pixel_state *state = rows->state;
    struct stk__picture from = stk__picture_get(rows, state->field, row);
    struct stk__pixel_row pixels = {
        .raster = { .kernels = stk__kernels(),
                    .src = from.data,
                    .height = from.height,
                    .width = from.width,
                    .channels = from.channels,
                    .is_float = rows->in_type->field[state->field].dtype == STK_F32,
                    .peak = state->peak },
        .rows = rows,
        .row = row,
        .dice = stk__dice_of(rows, row, seed),
    };
    return pixels;
}

static int change_row(struct stk_rows *rows, struct stk__pixel_row *pixels, stk__pixel_fn change)
{
    const struct stk__pixel_state *state = rows->state;
    struct stk__picture size = { NULL, pixels->raster.height, pixels->raster.width,
                                 pixels->raster.channels };
    int64_t channels = rows->out_type->field[state->field].shape[2];
    if (!has_channels(state->needs, size.channels)) {
        stk_rows_fail(rows, pixels->row, STK_DATA,
                      "the image has %d channels; this wants %s: decode(channels=3)", size.channels,
                      need_text(state->needs));
        return STK_OK;
    }
    if (channels >= 0)
        size.channels = (int32_t)channels;
    pixels->raster.dst = stk__picture_put(rows, state->field, pixels->row, size);
    return pixels->raster.dst ? change(pixels) : STK_MEMORY;
}

int stk__pixel_run(struct stk_rows *rows, double probability, int64_t seed, stk__pixel_fn change)
{
    const struct stk__pixel_state *state = rows->state;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__pixel_row pixels = begin(rows, i, seed);
        if (rows->inside->key && !stk__dice_happens(&pixels.dice, probability)) {
            stk__picture_keep(rows, state->field, i);
            continue;
        }
        int code = change_row(rows, &pixels, change);
        if (code)
            return code;
    }
    return STK_OK;
}
