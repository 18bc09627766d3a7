/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c: images to one size, with the results of TensorFlow, Pillow or OpenCV. */
#include "op/image/resizer.h"

#include <math.h>

struct resize {
    int64_t height, width;
    int method, antialias, semantics, dtype;
    const char *field;
    struct stk__follow_words follow;
    bool preserve_aspect_ratio;
};

static const struct stk_param params[] = {
    STK_INT_ROW(resize, height, 0, 1, STK__MAX_SIDE, STK_REQUIRED, "rows of the result"),
    STK_INT_ROW(resize, width, 0, 1, STK__MAX_SIDE, STK_REQUIRED, "columns of the result"),
    STK__RESIZE_ROWS(resize),
    STK_BOOL_ROW(resize, preserve_aspect_ratio, false, 0,
                 "no larger than height x width, in the proportions of the image"),
    STK_ROWS_END,
};

/* In float and to the even one of two, as TensorFlow does it; very long images can lose a side. */
static struct stk__size keep_ratio(const struct resize *call, struct stk__size image)
{
    float by_height = (float)call->height / (float)image.height;
    float by_width = (float)call->width / (float)image.width;
    float scale = by_height < by_width ? by_height : by_width;
    return (struct stk__size){ (int)rintf(scale * (float)image.height),
                               (int)rintf(scale * (float)image.width) };
}

static struct stk__fit fit(const void *given, struct stk__size image)
{
    const struct resize *call = given;
    struct stk__size size = { (int)call->height, (int)call->width };
    return stk__fit_all(call->preserve_aspect_ratio ? keep_ratio(call, image) : size);
}

/* The size of all results if images have one; else -1. */
static void set_size(struct stk_infer *inf, const struct resize *call)
{
    const struct stk__resizer *resizer = inf->state;
    const struct stk_field *in = &inf->in[0]->field[resizer->field];
    if (in->kind != STK_FIXED || in->shape[0] < 1 || in->shape[1] < 1)
        return;
    struct stk__size size =
        keep_ratio(call, (struct stk__size){ (int)in->shape[0], (int)in->shape[1] });
    if (size.height > 0 && size.width > 0)
        stk__image_set_size(&inf->out->field[resizer->field], size.height, size.width);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct resize *call = inf->params;
    const struct stk__resize_words words = STK__RESIZE_WORDS(call);
    struct stk__size size = { (int)call->height, (int)call->width };
    const struct stk__resizer like = { .fit = fit, .at_least = size };
    const struct stk__resizer keeping = { .fit = fit };
    if (!call->preserve_aspect_ratio)
        return stk__resizer_infer(inf, &words, size, &like, err);
    int code = stk__resizer_infer(inf, &words, (struct stk__size){ -1, -1 }, &keeping, err);
    if (!code)
        set_size(inf, call);
    return code;
}

static const char doc[] =
    "Resizes uint8 or float32 images to height x width with the results of another library:\n"
    "\n"
    "semantics=tf: tf.image.resize of TensorFlow 2 on the CPU, bit for bit (area within 1e-6).\n"
    "Methods bilinear, nearest, area, bicubic, lanczos3, lanczos5, mitchell (mitchellcubic there)\n"
    "and gaussian. No antialiasing unless asked for; nearest and area do not know it. The result\n"
    "is float32 and not rounded, from 0 to 255 for uint8; nearest keeps the dtype.\n"
    "\n"
    "semantics=pillow: Image.resize of Pillow 13, so also torchvision on PIL images. Methods\n"
    "nearest, bilinear, bicubic, area (BOX), lanczos3 (LANCZOS) and hamming; all but nearest\n"
    "always antialias. uint8 gives uint8, exactly; float32 gives float32 as mode F does and as\n"
    "torchvision does on float tensors with antialias, within 1e-5. torchvision on uint8 tensors\n"
    "has coarser weights: it differs by 1 or 2 (bicubic by more where the height shrinks much "
    "more\n"
    "than the width, since Pillow 13 then begins with the height). Alpha is a channel like the\n"
    "others: Pillow multiplies RGBA images with theirs first.\n"
    "\n"
    "semantics=opencv: cv2.resize. Methods nearest (INTER_NEAREST), bilinear (INTER_LINEAR),\n"
    "bicubic, area and lanczos4; no antialiasing but with area. uint8 gives uint8, exactly as\n"
    "OpenCV's own code does; where OpenCV calls Intel's IPP for bicubic, that differs by 1 at\n"
    "most. float32 gives float32, within 1e-5.\n"
    "\n"
    "With another dtype the result is converted: to uint8 by adding 0.5, cutting off and limiting\n"
    "to 0..255; to float16 and bfloat16 as cast does. The result is the same on every processor.\n"
    "center_crop, flip, scale, normalize, cast and layout after it cost next to nothing: they are\n"
    "done as pixels are written.\n"
    "\n"
    "preserve_aspect_ratio=true keeps the proportions: the image becomes as large as fits into\n"
    "height x width, and sizes are rounded as tf.image.resize rounds them, whatever the "
    "semantics.\n"
    "Results then differ in size. An image so long that a side would be nothing is a bad element.\n"
    "\n"
    "    files('*.jpg').decode().resize(224, 224).scale(1/255)\n"
    "    files('*.jpg').decode().resize(224, 224, preserve_aspect_ratio=true)\n"
    "    files('*.jpg').decode().resize(224, 224, bicubic, "
    "semantics=pillow).normalize('imagenet')\n"
    "    files('*.jpg').decode().resize(224, 224, area, semantics=opencv, dtype=float16)\n";

const struct stk__op stk__op_resize = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "resize", 1, "Resize images as TensorFlow, Pillow or OpenCV do.", doc, params,
              sizeof(struct resize) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .part = stk__resizer_part,
    .take_finish = stk__resizer_take_finish,
    .row = { .thread_open = stk__resizer_thread_open,
             .thread_close = stk__resizer_thread_close,
             .run = stk__resizer_run },
};
