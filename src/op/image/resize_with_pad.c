/* SPDX-License-Identifier: Apache-2.0 */
/* resize_with_pad.c: the whole image inside a frame, the rest filled. */
#include "op/image/resizer.h"

#include <math.h>

struct resize_with_pad {
    int64_t height, width;
    double fill;
    int method, antialias, semantics, dtype;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_INT_ROW(resize_with_pad, height, 0, 1, STK__MAX_SIDE, STK_REQUIRED, "rows of the result"),
    STK_INT_ROW(resize_with_pad, width, 0, 1, STK__MAX_SIDE, STK_REQUIRED, "columns of the result"),
    STK__RESIZE_ROWS(resize_with_pad),
    STK_REAL_ROW(resize_with_pad, fill, 0, -1e6, 1e6, 0, "value of what the image does not cover"),
    STK_ROWS_END,
};

static int at_least_1(float length)
{
    return length < 1 ? 1 : (int)length;
}

/* tf.image.resize_with_pad, in float32 as there. */
static struct stk__fit fit(const void *params_given, struct stk__size image)
{
    const struct resize_with_pad *call = params_given;
    float across = (float)image.width / (float)call->width;
    float down = (float)image.height / (float)call->height;
    float ratio = across > down ? across : down;
    float height = (float)image.height / ratio, width = (float)image.width / ratio;
    float above = floorf(((float)call->height - height) / 2);
    float left = floorf(((float)call->width - width) / 2);
    struct stk__fit all = stk__fit_all((struct stk__size){ at_least_1(height), at_least_1(width) });
    all.canvas = (struct stk__size){ (int)call->height, (int)call->width };
    all.pad_top = above > 0 ? (int)above : 0;
    all.pad_left = left > 0 ? (int)left : 0;
    return all;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct resize_with_pad *call = inf->params;
    const struct stk__resize_words words = STK__RESIZE_WORDS(call);
    struct stk__size size = { (int)call->height, (int)call->width };
    const struct stk__resizer like = { .fit = fit, .fill = call->fill };
    return stk__resizer_infer(inf, &words, size, &like, err);
}

static const char doc[] =
    "Resizes uint8 or float32 images so that they just fit into height x width, in proportion,\n"
    "puts them in the middle and fills the rest: tf.image.resize_with_pad. Sizes are cut off to\n"
    "whole pixels, at least 1; of an odd number of pixels left over the larger part is below and\n"
    "on the right. fill is in the values of the resized image: 0..255 for uint8. The rest is as "
    "in\n"
    "resize.\n"
    "\n"
    "    files('*.jpg').decode().resize_with_pad(224, 224)\n"
    "    files('*.jpg').decode().resize_with_pad(640, 640, semantics=opencv, fill=114)\n";

const struct stk__op stk__op_resize_with_pad = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "resize_with_pad", 1, "Resize images into a frame and fill the rest.", doc, params,
              sizeof(struct resize_with_pad) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .part = stk__resizer_part,
    .take_finish = stk__resizer_take_finish,
    .row = { .thread_open = stk__resizer_thread_open,
             .thread_close = stk__resizer_thread_close,
             .run = stk__resizer_run },
};
