/* SPDX-License-Identifier: Apache-2.0 */
/* resize_side.c: one side of an image to a length, the other in proportion. */
#include "op/image/resizer.h"

enum side { SHORT, LONG };
static const char *const side_names[] = { "short", "long", NULL };

struct resize_side {
    int64_t size;
    int side;
    int64_t max_size;
    int method, antialias, semantics, dtype;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_INT_ROW(resize_side, size, 0, 1, STK__MAX_SIDE, STK_REQUIRED,
                "length of that side in the result"),
    STK_CHOICE_ROW(resize_side, side, side_names, SHORT, 0, "which side gets that length"),
    STK_INT_ROW(resize_side, max_size, STK_NONE, 1, STK__MAX_SIDE, STK_TAKES_NONE,
                "side=short: shrink further if the longer side would exceed this"),
    STK__RESIZE_ROWS(resize_side),
    STK_ROWS_END,
};

/* length * part / whole cut off, but not nothing; too long stays too long. */
static int proportion(int64_t length, int part, int whole)
{
    int64_t scaled = length * part / whole;
    return scaled < 1 ? 1 : scaled > INT32_MAX ? INT32_MAX : (int)scaled;
}

static struct stk__fit fit(const void *params_given, struct stk__size image)
{
    const struct resize_side *call = params_given;
    bool is_tall = image.width <= image.height;
    int shorter = is_tall ? image.width : image.height;
    int longer = is_tall ? image.height : image.width;
    int new_short = (int)call->size, new_long = (int)call->size;
    if (call->side == SHORT)
        new_long = proportion(call->size, longer, shorter);
    else
        new_short = proportion(call->size, shorter, longer);
    if (call->side == SHORT && call->max_size != STK_NONE && new_long > call->max_size) {
        new_short = proportion(call->max_size, new_short, new_long);
        new_long = (int)call->max_size;
    }
    return stk__fit_all(is_tall ? (struct stk__size){ new_long, new_short }
                                : (struct stk__size){ new_short, new_long });
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct resize_side *call = inf->params;
    if (call->max_size != STK_NONE && (call->side == LONG || call->max_size <= call->size))
        return stk_fail(err, STK_VALUE,
                        call->side == LONG ? "max_size is for side=short; size is the longer side "
                                             "already"
                                           : "max_size must be greater than size");
    const struct stk__resize_words words = STK__RESIZE_WORDS(call);
    struct stk__resizer like = { .fit = fit };
    if (call->side == SHORT && call->max_size == STK_NONE)
        like.at_least = (struct stk__size){ (int)call->size, (int)call->size };
    int code = stk__resizer_infer(inf, &words, (struct stk__size){ -1, -1 }, &like, err);
    if (code)
        return code;
    const struct stk__resizer *resizer = inf->state;
    const struct stk_field *in = &inf->in[0]->field[resizer->field];
    if (in->kind == STK_FIXED && in->shape[0] > 0 && in->shape[1] > 0) {
        struct stk__size image = { (int)in->shape[0], (int)in->shape[1] };
        struct stk__size scaled = fit(call, image).scaled;
        stk__image_set_size(&inf->out->field[resizer->field], scaled.height, scaled.width);
    }
    return STK_OK;
}

static const char doc[] =
    "Resizes uint8 or float32 images so that the shorter side (side=long: the longer one) has\n"
    "size pixels; the other is in proportion, cut off to whole pixels, at least 1. These are\n"
    "torchvision's rules: Resize(size), Resize(size, max_size=max_size), and for side=long\n"
    "Resize(None, max_size=size). Sides of more than 32768 pixels make a bad element. The rest is\n"
    "as in resize.\n"
    "\n"
    "Results differ in size between images; center_crop makes them equal, and what it cuts off is\n"
    "then not computed at all.\n"
    "\n"
    "    files('*.jpg').decode().resize_side(256, semantics=pillow).center_crop(224, 224)\n"
    "    files('*.jpg').decode().resize_side(800, max_size=1333)\n";

const struct stk__op stk__op_resize_side = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "resize_side", 1, "Resize images to a length of their shorter or longer side.", doc,
              params, sizeof(struct resize_side) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .part = stk__resizer_part,
    .take_finish = stk__resizer_take_finish,
    .row = { .thread_open = stk__resizer_thread_open,
             .thread_close = stk__resizer_thread_close,
             .run = stk__resizer_run },
};
