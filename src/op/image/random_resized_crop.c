/* SPDX-License-Identifier: Apache-2.0 */
/* random_resized_crop.c: a random window of a random size and shape, resized. */
#include "base/rng.h"
#include "op/image/resizer.h"
#include "op/order/order.h"

#include <math.h>

struct random_resized_crop {
    int64_t height, width;
    struct stk_numbers scale, ratio;
    int method, antialias, semantics, dtype;
    const char *field;
    struct stk__follow_words follow;
    int64_t seed;
};

static const struct stk_param params[] = {
    STK_INT_ROW(random_resized_crop, height, 0, 1, STK__MAX_SIDE, STK_REQUIRED,
                "rows of the result"),
    STK_INT_ROW(random_resized_crop, width, 0, 1, STK__MAX_SIDE, STK_REQUIRED,
                "columns of the result"),
    STK_NUMBERS_ROW(random_resized_crop, scale, NULL, 2, 2, STK_TAKES_NONE,
                    "least and greatest share of the image's area; none: [0.08, 1]"),
    STK_NUMBERS_ROW(random_resized_crop, ratio, NULL, 2, 2, STK_TAKES_NONE,
                    "least and greatest width / height; none: [3/4, 4/3]"),
    STK__RESIZE_ROWS(random_resized_crop),
    STK_INT_ROW(random_resized_crop, seed, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "mixed with the run's seed; none is 0"),
    STK_ROWS_END,
};

/* What windows may be. */
struct windows {
    double scale[2], ratio[2], log_ratio[2];
};

static double uniform(uint32_t word, const double range[2])
{
    return range[0] + (range[1] - range[0]) * (double)stk__unit_float(word);
}

static int32_t below(uint32_t word, int32_t n)
{
    return (int32_t)((uint64_t)word * (uint64_t)n >> 32);
}

/* False: it would be larger than the image, or nothing. */
static bool try_window(const struct windows *windows, const uint32_t words[4],
                       const int32_t size[2], struct stk__image_region *out)
{
    double area = (double)size[0] * size[1] * uniform(words[0], windows->scale);
    double ratio = exp(uniform(words[1], windows->log_ratio));
    double width = rint(sqrt(area * ratio)), height = rint(sqrt(area / ratio));
    if (!(width >= 1 && width <= size[1] && height >= 1 && height <= size[0]))
        return false;
    out->height = (int32_t)height;
    out->width = (int32_t)width;
    out->top = below(words[2], size[0] - out->height + 1);
    out->left = below(words[3], size[1] - out->width + 1);
    return true;
}

static int32_t at_least_1(double length)
{
    return length < 1 ? 1 : (int32_t)length;
}

/* The largest window in the middle whose shape is allowed. */
static struct stk__image_region middle(const struct windows *windows, const int32_t size[2])
{
    struct stk__image_region all = { 0, 0, size[0], size[1] };
    double ratio = (double)size[1] / size[0];
    if (ratio < windows->ratio[0])
        all.height = at_least_1(rint(size[1] / windows->ratio[0]));
    else if (ratio > windows->ratio[1])
        all.width = at_least_1(rint(size[0] * windows->ratio[1]));
    all.top = (size[0] - all.height) / 2;
    all.left = (size[1] - all.width) / 2;
    return all;
}

static int choose(const struct stk_rows *rows, int row, const int32_t size[2],
                  struct stk__image_region *out, struct stk_error *err)
{
    enum { N_TRIES = 10 };
    const struct random_resized_crop *call = rows->params;
    const struct stk__resizer *resizer = rows->state;
    (void)err;
    for (uint32_t i = 0; i < N_TRIES; i++) {
        uint32_t words[4];
        stk_rows_random(rows, row, stk__user_seed(call->seed), i, words);
        if (try_window(resizer->windows, words, size, out))
            return STK_OK;
    }
    *out = middle(resizer->windows, size);
    return STK_OK;
}

static struct stk__fit fit(const void *given, struct stk__size image)
{
    const struct random_resized_crop *call = given;
    (void)image;
    return stk__fit_all((struct stk__size){ (int)call->height, (int)call->width });
}

/* A range as given, or the one that is usual. */
static int take_range(const struct stk_numbers *given, const char *name, const double usual[2],
                      double range[2], struct stk_error *err)
{
    for (int i = 0; i < 2; i++)
        range[i] = given->n ? given->item[i] : usual[i];
    if (!(range[0] > 0 && range[0] <= range[1] && isfinite(range[1])))
        return stk_fail(err, STK_VALUE,
                        "%s must be [least, greatest], greater than 0 and in this order, not "
                        "[%g, %g]",
                        name, range[0], range[1]);
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    static const double usual_scale[2] = { 0.08, 1 }, usual_ratio[2] = { 3.0 / 4, 4.0 / 3 };
    const struct random_resized_crop *call = inf->params;
    struct windows *windows = stk_arena_alloc(inf->arena, sizeof *windows);
    if (!windows)
        return stk_fail(err, STK_MEMORY, "out of memory");
    const struct stk__resize_words words = STK__RESIZE_WORDS(call);
    struct stk__size size = { (int)call->height, (int)call->width };
    const struct stk__resizer like = {
        .fit = fit, .choose = choose, .windows = windows, .at_least = size
    };
    int code = take_range(&call->scale, "scale", usual_scale, windows->scale, err);
    if (!code)
        code = take_range(&call->ratio, "ratio", usual_ratio, windows->ratio, err);
    if (code)
        return code;
    for (int i = 0; i < 2; i++)
        windows->log_ratio[i] = log(windows->ratio[i]);
    return stk__resizer_infer(inf, &words, size, &like, err);
}

static const char doc[] =
    "Cuts a random window out of uint8 or float32 images and resizes it to height x width:\n"
    "torchvision's RandomResizedCrop, and like tf.image.sample_distorted_bounding_box. Its area "
    "is\n"
    "a uniform share of the image's, its shape log-uniform in ratio, its place uniform. If it "
    "does\n"
    "not fit ten times, the largest window of an allowed shape in the middle is taken. Pixels\n"
    "outside the window do not count. Windows depend on the seeds, the epoch and the image alone:\n"
    "the i-th try takes the i-th four random numbers of the row for area, shape, top and left. "
    "The\n"
    "rest is as in resize.\n"
    "\n"
    "    files('*.jpg').decode().random_resized_crop(224, 224).flip(probability=0.5)\n"
    "    files('*.jpg').decode().random_resized_crop(160, 160, scale=[0.35, 1], "
    "semantics=pillow)\n";

const struct stk__op stk__op_random_resized_crop = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "random_resized_crop", 1, "Resize a random window of images.", doc, params,
              sizeof(struct random_resized_crop) },
    .flags = STK_OP_RANDOM | STK_OP_HEAVY,
    .infer = infer,
    .take_finish = stk__resizer_take_finish,
    .part = stk__resizer_part,
    .row = { .thread_open = stk__resizer_thread_open,
             .thread_close = stk__resizer_thread_close,
             .run = stk__resizer_run },
};
