/* SPDX-License-Identifier: Apache-2.0 */
/* center_crop.c: the middle of an image. */
#include "op/image/cut.h"

struct center_crop {
    int64_t height, width;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_INT_ROW(center_crop, height, 0, 1, 1 << 20, STK_REQUIRED, "rows that are kept"),
    STK_INT_ROW(center_crop, width, 0, 1, 1 << 20, STK_REQUIRED, "columns that are kept"),
    STK_TEXT_ROW(center_crop, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK__FOLLOW_ROWS(center_crop),
    STK_ROWS_END,
};

static int choose(const struct stk_rows *rows, int row, const int32_t size[2],
                  struct stk__image_region *out, struct stk_error *err)
{
    const struct center_crop *crop = rows->params;
    const int64_t least[2] = { crop->height, crop->width };
    (void)row;
    if (size[0] < crop->height || size[1] < crop->width)
        return stk__cut_too_small(size, least, err);
    *out = (struct stk__image_region){ (size[0] - (int32_t)crop->height) / 2,
                                       (size[1] - (int32_t)crop->width) / 2, (int32_t)crop->height,
                                       (int32_t)crop->width };
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct center_crop *crop = inf->params;
    const int64_t size[2] = { crop->height, crop->width };
    struct stk__cut_words words = { .field = crop->field, .follow = crop->follow };
    struct stk__cut *cut = stk_arena_alloc(inf->arena, sizeof *cut);
    if (!cut)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *cut = (struct stk__cut){ .choose = choose };
    int code = stk__cut_infer(inf, &words, size, cut, err);
    return code ? code : stk__cut_check(inf, cut, size, err);
}

static bool finish(const void *call, const void *state, struct stk__op_finish *out)
{
    const struct center_crop *crop = call;
    const int64_t least[2] = { crop->height, crop->width };
    stk__cut_finish(call, state, least, out);
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

const struct stk__op stk__op_center_crop = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "center_crop", 1, "Keep the middle of an image.", doc, params,
              sizeof(struct center_crop) },
    .infer = infer,
    .finish = finish,
    .part = stk__cut_part,
    .row = { .run = stk__cut_run },
};
