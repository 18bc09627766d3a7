/* SPDX-License-Identifier: Apache-2.0 */
/* crop.c: a window at a fixed place. */
#include "op/image/cut.h"

struct crop {
    int64_t top, left, height, width;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_INT_ROW(crop, top, 0, 0, 1 << 20, STK_REQUIRED, "first row that is kept"),
    STK_INT_ROW(crop, left, 0, 0, 1 << 20, STK_REQUIRED, "first column that is kept"),
    STK_INT_ROW(crop, height, 0, 1, 1 << 20, STK_REQUIRED, "rows that are kept"),
    STK_INT_ROW(crop, width, 0, 1, 1 << 20, STK_REQUIRED, "columns that are kept"),
    STK_TEXT_ROW(crop, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK__FOLLOW_ROWS(crop),
    STK_ROWS_END,
};

static int choose(const struct stk_rows *rows, int row, const int32_t size[2],
                  struct stk__image_region *out, struct stk_error *err)
{
    const struct crop *crop = rows->params;
    (void)row;
    if (size[0] < crop->top + crop->height || size[1] < crop->left + crop->width)
        return stk_fail(err, STK_DATA,
                        "the image is %d x %d pixels (height x width), and a crop of %lld x %lld "
                        "from (%lld, %lld) on does not lie inside",
                        size[0], size[1], (long long)crop->height, (long long)crop->width,
                        (long long)crop->top, (long long)crop->left);
    *out = (struct stk__image_region){ (int32_t)crop->top, (int32_t)crop->left,
                                       (int32_t)crop->height, (int32_t)crop->width };
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct crop *crop = inf->params;
    const int64_t size[2] = { crop->height, crop->width };
    const int64_t least[2] = { crop->top + crop->height, crop->left + crop->width };
    struct stk__cut_words words = { .field = crop->field, .follow = crop->follow };
    struct stk__cut *cut = stk_arena_alloc(inf->arena, sizeof *cut);
    if (!cut)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *cut = (struct stk__cut){ .choose = choose };
    int code = stk__cut_infer(inf, &words, size, cut, err);
    return code ? code : stk__cut_check(inf, cut, least, err);
}

static bool finish(const void *call, const void *state, struct stk__op_finish *out)
{
    const struct crop *crop = call;
    const int64_t least[2] = { crop->top + crop->height, crop->left + crop->width };
    stk__cut_finish(call, state, least, out);
    return true;
}

static const char doc[] =
    "Keeps height x width pixels of an image of any dtype from row top and column left on:\n"
    "tf.image.crop_to_bounding_box. An image that does not reach so far is a bad element.\n"
    "\n"
    "    files('*.jpg').decode().crop(4, 8, 24, 24)\n";

const struct stk__op stk__op_crop = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "crop", 1, "Keep a window of an image.", doc, params, sizeof(struct crop) },
    .infer = infer,
    .finish = finish,
    .part = stk__cut_part,
    .row = { .run = stk__cut_run },
};
