/* SPDX-License-Identifier: Apache-2.0 */
/* batch_mix.c: shares, and labels mixed by them. */
#include "op/augment/batch_mix.h"

#include "op/dtype_value.h"

#include <math.h>
#include <string.h>

/* ---- types ---- */

static bool is_batched(const struct stk_field *field)
{
    return field->kind == STK_FIXED || field->kind == STK_SHAPED;
}

static bool is_float(int dtype)
{
    return dtype == STK_F16 || dtype == STK_BF16 || dtype == STK_F32 || dtype == STK_F64;
}

static bool is_numbers(const struct stk_field *field)
{
    return is_batched(field) && field->rank == 1 && !is_float(field->dtype);
}

static bool is_shares(const struct stk_field *field)
{
    return is_batched(field) && field->rank == 2 && field->dtype == STK_F32 && field->shape[1] > 0;
}

/* Numbers become a share of 1 for one class each. */
static void set_labels(struct stk_infer *inf, int f, int64_t n_classes)
{
    struct stk_field *field = &inf->out->field[f];
    inf->from[f] = -1;
    field->dtype = STK_F32;
    field->rank = 2;
    field->shape[1] = n_classes;
    field->flags = 0;
}

int stk__mix_infer(struct stk_infer *inf, const struct stk__mix_words *words,
                   bool (*fits)(const struct stk_field *), const char *what, struct stk_error *err)
{
    struct stk_error local;
    err = err ? err : &local;
    bool has_numbers = words->num_classes != STK_NONE;
    struct stk__mix *mix = stk_arena_alloc(inf->arena, sizeof *mix);
    if (!mix)
        return stk_fail(err, STK_MEMORY, "out of memory");
    mix->images = stk_infer_pick(inf, words->field, fits, what, err);
    if (mix->images < 0)
        return err->code;
    mix->labels = stk_infer_pick(inf, words->labels, has_numbers ? is_numbers : is_shares,
                                 has_numbers ? "a batch of labels that are whole numbers"
                                             : "a batch of float32 labels with a share for each "
                                               "class (or num_classes for numbers)",
                                 err);
    if (mix->labels < 0)
        return err->code;
    stk_infer_pass(inf);
    inf->from[mix->images] = -1;
    mix->n_classes = has_numbers ? words->num_classes : inf->in[0]->field[mix->labels].shape[1];
    set_labels(inf, mix->labels, mix->n_classes);
    inf->state = mix;
    return STK_OK;
}

/* ---- shares ---- */

/* Above 0, at most 1. */
static double above_zero(struct stk__dice *dice)
{
    return 1 - stk__dice_between(dice, 0, 1);
}

static double draw_normal(struct stk__dice *dice)
{
    double radius = sqrt(-2 * log(above_zero(dice)));
    return radius * cos(6.283185307179586 * stk__dice_between(dice, 0, 1));
}

/* The logarithm of a number of the gamma distribution, by Marsaglia and Tsang (2000); for a shape
 * below 1 it is that of the next one times a power, which may be too small for a number. */
static double draw_log_gamma(struct stk__dice *dice, double shape)
{
    double power = shape < 1 ? log(above_zero(dice)) / shape : 0;
    double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (int i = 0; i < 1000; i++) {
        double x = draw_normal(dice), v = 1 + c * x, u = above_zero(dice);
        v = v * v * v;
        if (v > 0 && log(u) < 0.5 * x * x + d - d * v + d * log(v))
            return log(d * v) + power;
    }
    return log(d) + power;
}

double stk__mix_draw(struct stk__dice *dice, const struct stk__mix_words *words)
{
    if (!stk__dice_happens(dice, words->probability))
        return 1;
    double a = draw_log_gamma(dice, words->alpha), b = draw_log_gamma(dice, words->alpha);
    return (double)(float)(1 / (1 + exp(b - a)));
}

/* ---- images ---- */

struct stk__pile stk__pile_get(const struct stk_rows *rows, int field, int row)
{
    const struct stk_field *type = &rows->in_type->field[field];
    const struct stk_column *column = &rows->in[field];
    struct stk__pile pile = { .image_bytes = stk_dtype_bytes(type->dtype) };
    bool is_fixed = type->kind == STK_FIXED;
    for (int d = 0; d < 4; d++) {
        pile.dims[d] =
            is_fixed ? (int32_t)type->shape[d] : column->dims[(size_t)row * 4 + (size_t)d];
        pile.image_bytes *= d ? (size_t)pile.dims[d] : 1;
    }
    pile.data = is_fixed ? column->data + (size_t)row * column->stride : column->span[row].data;
    return pile;
}

uint8_t *stk__pile_put(struct stk_rows *rows, int field, int row, const struct stk__pile *pile)
{
    struct stk_column *column = &rows->out[field];
    if (rows->out_type->field[field].kind == STK_FIXED)
        return column->data + (size_t)row * column->stride;
    size_t bytes = (size_t)pile->dims[0] * pile->image_bytes;
    uint8_t *data = stk_rows_alloc(rows, bytes);
    column->span[row] = (struct stk_span){ .data = data, .bytes = data ? bytes : 0 };
    memcpy(column->dims + (size_t)row * 4, pile->dims, sizeof pile->dims);
    return data;
}

/* ---- labels ---- */

/* The row's labels before, and how many. */
static const uint8_t *get_labels(const struct stk_rows *rows, int row, int field, int32_t *n)
{
    const struct stk_field *type = &rows->in_type->field[field];
    const struct stk_column *column = &rows->in[field];
    if (type->kind == STK_FIXED) {
        *n = (int32_t)type->shape[0];
        return column->data + (size_t)row * column->stride;
    }
    *n = column->dims[(size_t)row * type->rank];
    return column->span[row].data;
}

static float *put_labels(struct stk_rows *rows, int row, const struct stk__mix *mix, int32_t n)
{
    struct stk_column *column = &rows->out[mix->labels];
    const int32_t dims[2] = { n, (int32_t)mix->n_classes };
    if (rows->out_type->field[mix->labels].kind == STK_FIXED)
        return (float *)(void *)(column->data + (size_t)row * column->stride);
    size_t bytes = (size_t)n * (size_t)mix->n_classes * sizeof(float);
    float *data = stk_rows_alloc(rows, bytes);
    column->span[row] = (struct stk_span){ .data = (uint8_t *)data, .bytes = data ? bytes : 0 };
    memcpy(column->dims + (size_t)row * 2, dims, sizeof dims);
    return data;
}

/* The share of each class in label i. False: there is no such class, and the batch is bad. */
static bool read_label(struct stk_rows *rows, int row, const struct stk__mix *mix,
                       const uint8_t *labels, int32_t i, float *to)
{
    const struct stk_field *type = &rows->in_type->field[mix->labels];
    size_t n = (size_t)mix->n_classes;
    if (type->rank == 2) {
        memcpy(to, labels + (size_t)i * n * sizeof *to, n * sizeof *to);
        return true;
    }
    double label = stk__dtype_get(type->dtype, labels + (size_t)i * stk_dtype_bytes(type->dtype));
    memset(to, 0, n * sizeof *to);
    if (label >= 0 && label < (double)n) {
        to[(size_t)label] = 1;
        return true;
    }
    stk_rows_fail(rows, row, STK_DATA, "label %.0f of image %d is not from 0 to %lld (num_classes)",
                  label, i, (long long)mix->n_classes - 1);
    return false;
}

int stk__mix_labels(struct stk_rows *rows, int row, const struct stk__mix *mix, double share)
{
    int32_t n;
    const uint8_t *labels = get_labels(rows, row, mix->labels, &n);
    size_t n_classes = (size_t)mix->n_classes;
    float *to = put_labels(rows, row, mix, n);
    float *own = stk_rows_alloc(rows, 2 * n_classes * sizeof *own);
    if (!to || !own)
        return STK_MEMORY;
    float *before = own + n_classes, rest = (float)(1 - share), kept = (float)share;
    bool is_good = !n || read_label(rows, row, mix, labels, n - 1, before);
    for (int32_t i = 0; i < n && is_good; i++, to += n_classes) {
        is_good = read_label(rows, row, mix, labels, i, own);
        for (size_t c = 0; c < n_classes; c++)
            to[c] = before[c] * rest + own[c] * kept;
        memcpy(before, own, n_classes * sizeof *own);
    }
    return STK_OK;
}
