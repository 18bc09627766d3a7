/* SPDX-License-Identifier: Apache-2.0 */
/* resize_with_crop_or_pad.c: the middle of an image, or the image in the middle; not scaled. */
#include "op/image_op.h"

#include <string.h>

struct resize_with_crop_or_pad {
    int64_t height, width;
    const char *field;
};

static const struct stk_param params[] = {
    STK_INT_ROW(resize_with_crop_or_pad, height, 0, 1, 1 << 15, STK_REQUIRED, "rows of the result"),
    STK_INT_ROW(resize_with_crop_or_pad, width, 0, 1, 1 << 15, STK_REQUIRED,
                "columns of the result"),
    STK_TEXT_ROW(resize_with_crop_or_pad, field, NULL, STK_TAKES_NONE,
                 "the image; none: the only one"),
    STK_ROWS_END,
};

struct state {
    int field;
    size_t value_bytes;
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct resize_with_crop_or_pad *call = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    int code = stk__image_infer(inf, call->field, stk__is_image, &state->field, err);
    if (code)
        return code;
    struct stk_field *field = &inf->out->field[state->field];
    state->value_bytes = stk_dtype_bytes(field->dtype);
    stk__image_set_size(field, call->height, call->width);
    inf->state = state;
    return STK_OK;
}

/* Along one axis: pixels that are kept, from where, and where they go. */
struct overlap {
    size_t n, from, to;
};

static struct overlap overlap_of(int32_t n_in, int64_t n_out)
{
    size_t in = (size_t)n_in, out = (size_t)n_out;
    if (in > out)
        return (struct overlap){ out, (in - out) / 2, 0 };
    return (struct overlap){ in, 0, (out - in) / 2 };
}

static void place(const struct stk__picture *from, const struct stk__picture *size,
                  size_t value_bytes, uint8_t *dst)
{
    size_t pixel_bytes = (size_t)from->channels * value_bytes;
    size_t in_bytes = (size_t)from->width * pixel_bytes;
    size_t out_bytes = (size_t)size->width * pixel_bytes;
    struct overlap y = overlap_of(from->height, size->height);
    struct overlap x = overlap_of(from->width, size->width);
    size_t left = x.to * pixel_bytes, kept = x.n * pixel_bytes;
    memset(dst, 0, y.to * out_bytes);
    for (size_t i = 0; i < y.n; i++) {
        uint8_t *row = dst + (y.to + i) * out_bytes;
        memset(row, 0, left);
        if (kept)
            memcpy(row + left, from->data + (y.from + i) * in_bytes + x.from * pixel_bytes, kept);
        memset(row + left + kept, 0, out_bytes - left - kept);
    }
    size_t below = (size_t)size->height - y.to - y.n;
    memset(dst + (y.to + y.n) * out_bytes, 0, below * out_bytes);
}

static int run(struct stk_rows *rows)
{
    const struct resize_with_crop_or_pad *call = rows->params;
    const struct state *state = rows->state;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__picture from = stk__picture_get(rows, state->field, i), size = from;
        size.height = (int32_t)call->height;
        size.width = (int32_t)call->width;
        uint8_t *dst = stk__picture_put(rows, state->field, i, size);
        if (!dst)
            return STK_MEMORY;
        place(&from, &size, state->value_bytes, dst);
    }
    return STK_OK;
}

static const char doc[] =
    "Gives images of any dtype height x width pixels without scaling them, as\n"
    "tf.image.resize_with_crop_or_pad does: along each side what is too much is cut off around\n"
    "the middle, and what is missing is filled with zeros. Of an odd number of pixels the larger\n"
    "part is below and on the right.\n"
    "\n"
    "    files('*.jpg').decode().resize_with_crop_or_pad(256, 256)\n";

const struct stk_op stk__op_resize_with_crop_or_pad = {
    .decl = { "resize_with_crop_or_pad", 1, "Crop or pad images to a size around the middle.", doc,
              params, sizeof(struct resize_with_crop_or_pad) },
    .infer = infer,
    .row = { .run = run },
};
