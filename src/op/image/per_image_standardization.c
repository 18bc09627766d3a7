/* SPDX-License-Identifier: Apache-2.0 */
/* per_image_standardization.c: each image with a mean of 0 and a deviation of 1. */
#include "kernel/finish.h"
#include "op/image/image_op.h"

#include <math.h>

struct per_image_standardization {
    const char *field;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(per_image_standardization, field, NULL, STK_TAKES_NONE,
                 "the image; none: the only one"),
    STK_ROWS_END,
};

struct state {
    int field;
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct per_image_standardization *call = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    int code = stk__image_infer(inf, call->field, stk__is_image_u8_f32, &state->field, err);
    if (code)
        return code;
    inf->out->field[state->field].dtype = STK_F32;
    inf->out->field[state->field].flags &= (uint8_t)~STK_FIELD_255;
    inf->state = state;
    return STK_OK;
}

struct moments {
    double mean, deviation;
};

/* Of bytes exactly; of floats by way of the differences to the mean. */
static struct moments moments_of_bytes(const uint8_t *values, size_t n)
{
    uint64_t sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        squares += (uint32_t)values[i] * values[i];
    }
    double mean = (double)sum / (double)n;
    double variance = (double)squares / (double)n - mean * mean;
    return (struct moments){ mean, sqrt(variance > 0 ? variance : 0) };
}

static struct moments moments_of_floats(const float *values, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)values[i];
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += ((double)values[i] - mean) * ((double)values[i] - mean);
    return (struct moments){ mean, sqrt(squares / (double)n) };
}

static void standardize(struct stk__picture from, bool is_float, float *dst)
{
    const struct stk__image_kernels *kernels = &stk__kernels()->image;
    size_t n = (size_t)from.height * (size_t)from.width * (size_t)from.channels;
    const float *floats = (const float *)(const void *)from.data;
    struct moments m = is_float ? moments_of_floats(floats, n) : moments_of_bytes(from.data, n);
    float mul[16], add[16];
    for (int i = 0; i < 16; i++) {
        mul[i] = 1;
        add[i] = (float)-m.mean;
    }
    const struct stk__affine affine = { 16, mul, add };
    float factor = (float)(1 / fmax(m.deviation, 1 / sqrt((double)n)));
    size_t row = (size_t)from.width * (size_t)from.channels;
    for (size_t at = 0; at < n; at += row) {
        if (is_float)
            kernels->affine_f32(dst + at, floats + at, (int64_t)row, &affine);
        else
            kernels->affine_u8(dst + at, from.data + at, (int64_t)row, &affine);
        kernels->mul_f32(dst + at, dst + at, factor, (int)row);
    }
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__picture from = stk__picture_get(rows, state->field, i);
        float *dst = stk__picture_put(rows, state->field, i, from);
        if (!dst)
            return STK_MEMORY;
        standardize(from, rows->in_type->field[state->field].dtype == STK_F32, dst);
    }
    return STK_OK;
}

static const char doc[] =
    "Gives float32 (value - mean) / deviation with the mean and deviation of each image itself,\n"
    "the deviation being at least 1 / sqrt(number of values), as "
    "tf.image.per_image_standardization\n"
    "does.\n"
    "\n"
    "    files('*.jpg').decode().resize(224, 224).per_image_standardization()\n";

const struct stk__op stk__op_per_image_standardization = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "per_image_standardization", 1, "Give each image a mean of 0 and a deviation of 1.",
              doc, params, sizeof(struct per_image_standardization) },
    .infer = infer,
    .row = { .run = run },
};
