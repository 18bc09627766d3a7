/* SPDX-License-Identifier: Apache-2.0 */
/* resize_with_crop_or_pad.c: the middle of an image, or the image in the middle; not scaled. */
#include "op/image/cut.h"

struct resize_with_crop_or_pad {
    int64_t height, width;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_INT_ROW(resize_with_crop_or_pad, height, 0, 1, 1 << 15, STK_REQUIRED, "rows of the result"),
    STK_INT_ROW(resize_with_crop_or_pad, width, 0, 1, 1 << 15, STK_REQUIRED,
                "columns of the result"),
    STK_TEXT_ROW(resize_with_crop_or_pad, field, NULL, STK_TAKES_NONE,
                 "the image; none: the only one"),
    STK__FOLLOW_ROWS(resize_with_crop_or_pad),
    STK_ROWS_END,
};

/* Where the result begins, seen from the image. */
static int32_t first_of(int32_t n_in, int64_t n_out)
{
    int32_t out = (int32_t)n_out;
    return n_in > out ? (n_in - out) / 2 : -((out - n_in) / 2);
}

static int choose(const struct stk_rows *rows, int row, const int32_t size[2],
                  struct stk__image_region *out, struct stk_error *err)
{
    const struct resize_with_crop_or_pad *call = rows->params;
    (void)row, (void)err;
    *out =
        (struct stk__image_region){ first_of(size[0], call->height), first_of(size[1], call->width),
                                    (int32_t)call->height, (int32_t)call->width };
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct resize_with_crop_or_pad *call = inf->params;
    const int64_t size[2] = { call->height, call->width };
    struct stk__cut_words words = { .field = call->field, .follow = call->follow };
    struct stk__cut *cut = stk_arena_alloc(inf->arena, sizeof *cut);
    if (!cut)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *cut = (struct stk__cut){ .choose = choose };
    return stk__cut_infer(inf, &words, size, cut, err);
}

static const char doc[] =
    "Gives images of any dtype height x width pixels without scaling them, as\n"
    "tf.image.resize_with_crop_or_pad does: along each side what is too much is cut off around\n"
    "the middle, and what is missing is filled with zeros. Of an odd number of pixels the larger\n"
    "part is below and on the right.\n"
    "\n"
    "    files('*.jpg').decode().resize_with_crop_or_pad(256, 256)\n";

const struct stk__op stk__op_resize_with_crop_or_pad = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "resize_with_crop_or_pad", 1, "Crop or pad images to a size around the middle.", doc,
              params, sizeof(struct resize_with_crop_or_pad) },
    .infer = infer,
    .row = { .run = stk__cut_run },
};
