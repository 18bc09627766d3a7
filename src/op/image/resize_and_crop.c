/* SPDX-License-Identifier: Apache-2.0 */
/* resize_and_crop.c: a frame filled by the image, the rest cut off. */
#include "op/image/resizer.h"

struct resize_and_crop {
    int64_t height, width;
    int method, antialias, semantics, dtype;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_INT_ROW(resize_and_crop, height, 0, 1, STK__MAX_SIDE, STK_REQUIRED, "rows of the result"),
    STK_INT_ROW(resize_and_crop, width, 0, 1, STK__MAX_SIDE, STK_REQUIRED, "columns of the result"),
    STK__RESIZE_ROWS(resize_and_crop),
    STK_ROWS_END,
};

static int limited(int64_t length)
{
    return length > INT32_MAX ? INT32_MAX : (int)length;
}

/* One side is exactly that of the frame, the other as long or longer. */
static struct stk__fit fit(const void *params_given, struct stk__size image)
{
    const struct resize_and_crop *call = params_given;
    struct stk__size frame = { (int)call->height, (int)call->width }, scaled = frame;
    if (call->height * image.width >= call->width * image.height)
        scaled.width = limited(call->height * image.width / image.height);
    else
        scaled.height = limited(call->width * image.height / image.width);
    struct stk__fit all = stk__fit_all(scaled);
    all.inner = all.canvas = frame;
    all.crop_top = (scaled.height - frame.height) / 2;
    all.crop_left = (scaled.width - frame.width) / 2;
    return all;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct resize_and_crop *call = inf->params;
    const struct stk__resize_words words = STK__RESIZE_WORDS(call);
    struct stk__size size = { (int)call->height, (int)call->width };
    const struct stk__resizer like = { .fit = fit, .at_least = size };
    return stk__resizer_infer(inf, &words, size, &like, err);
}

static const char doc[] =
    "Resizes uint8 or float32 images, in proportion, so that they just cover height x width, and\n"
    "keeps the middle. One side is exactly that of the result; the other is cut off to whole\n"
    "pixels, and what is too much is halved as in center_crop. resize_and_crop(n, n) is\n"
    "resize_side(n).center_crop(n, n). The rest is as in resize.\n"
    "\n"
    "    files('*.jpg').decode().resize_and_crop(224, 224)\n"
    "    files('*.jpg').decode().resize_and_crop(180, 320, semantics=pillow)\n";

const struct stk__op stk__op_resize_and_crop = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "resize_and_crop", 1, "Resize images to cover a frame and keep the middle.", doc,
              params, sizeof(struct resize_and_crop) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .part = stk__resizer_part,
    .take_finish = stk__resizer_take_finish,
    .row = { .thread_open = stk__resizer_thread_open,
             .thread_close = stk__resizer_thread_close,
             .run = stk__resizer_run },
};
