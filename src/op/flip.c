/* SPDX-License-Identifier: Apache-2.0 */
/* flip.c: mirrors images, all of them or some by chance. */
#include "base/rng.h"
#include "kernel/kernel.h"
#include "op/image_op.h"
#include "op/order.h"

#include <string.h>

enum axis { HORIZONTAL, VERTICAL, BOTH };
static const char *const axis_names[] = { "horizontal", "vertical", "both", NULL };

struct flip {
    int axis;
    double probability;
    int64_t seed;
    const char *field;
};

static const struct stk_param params[] = {
    STK_CHOICE_ROW(flip, axis, axis_names, HORIZONTAL, 0,
                   "horizontal: left and right change places; vertical: top and bottom"),
    STK_REAL_ROW(flip, probability, 1, 0, 1, 0, "share of the images that are flipped"),
    STK_INT_ROW(flip, seed, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "mixed with the run's seed; none is 0"),
    STK_TEXT_ROW(flip, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK_ROWS_END,
};

struct state {
    int field;
    size_t value_bytes;
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct flip *flip = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    int code = stk__image_infer(inf, flip->field, stk__is_image, &state->field, err);
    if (code)
        return code;
    state->value_bytes = stk_dtype_bytes(inf->out->field[state->field].dtype);
    inf->state = state;
    return STK_OK;
}

static bool is_drawn(const struct stk_rows *rows, int row)
{
    const struct flip *flip = rows->params;
    if (flip->probability >= 1)
        return true;
    uint32_t words[4];
    stk_rows_random(rows, row, stk__user_seed(flip->seed), 0, words);
    return (double)stk__unit_float(words[0]) < flip->probability;
}

static void mirror(enum axis axis, struct stk__picture from, size_t value_bytes, uint8_t *dst)
{
    const struct stk__image_kernels *kernels = &stk__kernels()->image;
    int pixel_bytes = (int)((size_t)from.channels * value_bytes);
    size_t row_bytes = (size_t)from.width * (size_t)pixel_bytes;
    for (int32_t y = 0; y < from.height; y++, dst += row_bytes) {
        int32_t src_y = axis == HORIZONTAL ? y : from.height - 1 - y;
        const uint8_t *src = from.data + (size_t)src_y * row_bytes;
        if (axis == VERTICAL)
            memcpy(dst, src, row_bytes);
        else
            kernels->reverse_pixels(dst, src, from.width, pixel_bytes);
    }
}

/* An image that stays as it is: copied to where it must be, or left where it lies. */
static void keep(struct stk_rows *rows, int field, int row)
{
    const struct stk_column *in = &rows->in[field];
    struct stk_column *out = &rows->out[field];
    if (rows->out_type->field[field].kind == STK_FIXED) {
        memcpy(out->data + (size_t)row * out->stride, in->data + (size_t)row * in->stride,
               out->stride);
        return;
    }
    out->span[row] = (struct stk_span){ .data = in->span[row].data, .bytes = in->span[row].bytes };
    memcpy(out->dims + (size_t)row * 3, in->dims + (size_t)row * 3, 3 * sizeof *out->dims);
}

static int run(struct stk_rows *rows)
{
    const struct flip *flip = rows->params;
    const struct state *state = rows->state;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        if (!is_drawn(rows, i)) {
            keep(rows, state->field, i);
            continue;
        }
        struct stk__picture from = stk__picture_get(rows, state->field, i);
        uint8_t *dst = stk__picture_put(rows, state->field, i, from);
        if (!dst)
            return STK_MEMORY;
        mirror((enum axis)flip->axis, from, state->value_bytes, dst);
    }
    return STK_OK;
}

static bool finish(const void *call, const void *given, struct stk_finish *out)
{
    const struct flip *flip = call;
    const struct state *state = given;
    out->kind = STK_FINISH_FLIP;
    out->field = state->field;
    out->flips_x = flip->axis != VERTICAL;
    out->flips_y = flip->axis != HORIZONTAL;
    out->probability = flip->probability;
    out->user_seed = stk__user_seed(flip->seed);
    return true;
}

static const char doc[] =
    "Mirrors images of any dtype. With a probability below 1 each image is flipped or left as\n"
    "it is by chance; which ones depends on the seeds, the epoch and the image alone, not on\n"
    "workers or batches. With axis=both an image is turned by half a circle or not at all; for\n"
    "independent flips write two.\n"
    "\n"
    "    files('*.jpg').decode().flip()\n"
    "    files('*.jpg').decode().flip(probability=0.5).flip(vertical, probability=0.5)\n";

const struct stk_op stk__op_flip = {
    .decl = { "flip", 1, "Mirror images, all or some by chance.", doc, params,
              sizeof(struct flip) },
    .flags = STK_OP_RANDOM,
    .infer = infer,
    .finish = finish,
    .row = { .run = run },
};
