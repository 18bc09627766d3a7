/* SPDX-License-Identifier: Apache-2.0 */
/* center_crop.c: the middle of an image. */
#include "op/image_op.h"

#include <string.h>

struct center_crop {
    int64_t height, width;
    const char *field;
};

static const struct stk_param params[] = {
    STK_INT_ROW(center_crop, height, 0, 1, 1 << 20, STK_REQUIRED, "rows that are kept"),
    STK_INT_ROW(center_crop, width, 0, 1, 1 << 20, STK_REQUIRED, "columns that are kept"),
    STK_TEXT_ROW(center_crop, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK_ROWS_END,
};

struct state {
    int field;
    size_t value_bytes;
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct center_crop *crop = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    int code = stk__image_infer(inf, crop->field, stk__is_image, &state->field, err);
    if (code)
        return code;
    struct stk_field *field = &inf->out->field[state->field];
    if ((field->shape[0] >= 0 && field->shape[0] < crop->height) ||
        (field->shape[1] >= 0 && field->shape[1] < crop->width))
        return stk_fail(err, STK_VALUE,
                        "images of %lld x %lld (height x width; -1: any) are smaller than "
                        "the crop of %lld x %lld",
                        (long long)field->shape[0], (long long)field->shape[1],
                        (long long)crop->height, (long long)crop->width);
    state->value_bytes = stk_dtype_bytes(field->dtype);
    stk__image_set_size(field, crop->height, crop->width);
    inf->state = state;
    return STK_OK;
}

static void copy_middle(struct stk__picture from, struct stk__picture size, size_t value_bytes,
                        uint8_t *dst)
{
    size_t pixel_bytes = (size_t)from.channels * value_bytes;
    size_t row_bytes = (size_t)from.width * pixel_bytes,
           kept_bytes = (size_t)size.width * pixel_bytes;
    size_t top = (size_t)(from.height - size.height) / 2,
           left = (size_t)(from.width - size.width) / 2;
    const uint8_t *src = from.data + top * row_bytes + left * pixel_bytes;
    for (int32_t y = 0; y < size.height; y++, src += row_bytes, dst += kept_bytes)
        memcpy(dst, src, kept_bytes);
}

static int run(struct stk_rows *rows)
{
    const struct center_crop *crop = rows->params;
    const struct state *state = rows->state;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__picture from = stk__picture_get(rows, state->field, i), size = from;
        size.height = (int32_t)crop->height;
        size.width = (int32_t)crop->width;
        if (from.height < size.height || from.width < size.width) {
            stk_rows_fail(rows, i, STK_DATA,
                          "the image is %d x %d pixels (height x width), smaller than the crop of "
                          "%d x %d; resize it first",
                          from.height, from.width, size.height, size.width);
            continue;
        }
        uint8_t *dst = stk__picture_put(rows, state->field, i, size);
        if (!dst)
            return STK_MEMORY;
        copy_middle(from, size, state->value_bytes, dst);
    }
    return STK_OK;
}

static bool finish(const void *call, const void *given, struct stk_finish *out)
{
    const struct center_crop *crop = call;
    const struct state *state = given;
    out->kind = STK_FINISH_CROP;
    out->field = state->field;
    out->height = crop->height;
    out->width = crop->width;
    return true;
}

static const char doc[] =
    "Keeps height x width pixels around the middle of an image of any dtype. What is cut off is\n"
    "halved rounding down, so of an odd number the larger part goes at the bottom and on the\n"
    "right: the first row kept is (image height - height) // 2, as in Keras; torchvision's\n"
    "CenterCrop starts one later where half the difference is 1.5, 3.5 and so on. An image\n"
    "smaller than the crop is a bad element.\n"
    "\n"
    "    files('*.jpg').decode().resize(256, 256).center_crop(224, 224)\n";

const struct stk_op stk__op_center_crop = {
    .decl = { "center_crop", 1, "Keep the middle of an image.", doc, params,
              sizeof(struct center_crop) },
    .infer = infer,
    .finish = finish,
    .row = { .run = run },
};
