/* SPDX-License-Identifier: Apache-2.0 */
/* erasing.c: the ops that cover a rectangle of an image: erase, erasing, cutout. */
#include "op/augment/pixel_op.h"

#include <float.h>
#include <math.h>

enum { MOST_CHANNELS = 4096, MOST_SIDE = 1 << 20, N_TRIES = 10 };

enum value { RANDOM };
static const char *const value_names[] = { "random", NULL };

#define VALUE_ROW(T, names, text)                                                                  \
    STK_NUMBERS_ROW(T, value, names, 1, MOST_CHANNELS, STK_TAKES_NONE, text)

struct box {
    int32_t top, left, height, width;
};

/* ---- covering ---- */

/* A number for the whole image, one per channel, or chance; in the image's own range. */
static int check_value(const struct stk_infer *inf, const struct stk_numbers *value,
                       struct stk_error *err)
{
    const struct stk__pixel_state *state = inf->state;
    const struct stk_field *field = &inf->in[0]->field[state->field];
    if (value->n > 1 && field->shape[2] != value->n)
        return stk_fail(err, STK_VALUE, "value has %d numbers, but there are %lld channels",
                        value->n, (long long)field->shape[2]);
    for (int i = 0; i < value->n; i++)
        if (!(fabs(value->item[i]) <= (field->dtype == STK_U8 ? 255 : (double)FLT_MAX)) ||
            (field->dtype == STK_U8 && value->item[i] < 0))
            return stk_fail(err, STK_VALUE, "value %g is not one of %s", value->item[i],
                            field->dtype == STK_U8 ? "uint8: 0 to 255" : "float32");
    return STK_OK;
}

static void put_value(const struct stk__raster *raster, size_t at, int c,
                      const struct stk_numbers *value)
{
    double v = value->n ? value->item[value->n > 1 ? c : 0] : 0;
    if (raster->is_float)
        ((float *)raster->dst)[at] = (float)v;
    else
        ((uint8_t *)raster->dst)[at] = (uint8_t)v;
}

/* Bytes are even in 0..255, floats normal with a deviation of 1. */
static void put_chance(struct stk__pixel_row *pixels, size_t at)
{
    const struct stk__raster *raster = &pixels->raster;
    if (!raster->is_float) {
        ((uint8_t *)raster->dst)[at] = (uint8_t)stk__dice_whole(&pixels->dice, 0, 256);
        return;
    }
    double radius = sqrt(-2 * log(1 - stk__dice_between(&pixels->dice, 0, 1)));
    double angle = stk__dice_between(&pixels->dice, 0, 6.283185307179586);
    ((float *)raster->dst)[at] = (float)(radius * cos(angle));
}

static void cover(struct stk__pixel_row *pixels, struct box box, const struct stk_numbers *value)
{
    const struct stk__raster *raster = &pixels->raster;
    size_t channels = (size_t)raster->channels, row = (size_t)raster->width * channels;
    for (int32_t y = box.top; y < box.top + box.height; y++) {
        size_t at = (size_t)y * row + (size_t)box.left * channels;
        for (size_t i = 0; i < (size_t)box.width * channels; i++) {
            if (value->choice == RANDOM)
                put_chance(pixels, at + i);
            else
                put_value(raster, at + i, (int)(i % channels), value);
        }
    }
}

/* ---- erase ---- */

struct erase {
    int64_t top, left, height, width;
    struct stk_numbers value;
    const char *field;
};

static const struct stk_param erase_params[] = {
    STK_INT_ROW(erase, top, 0, 0, MOST_SIDE, STK_REQUIRED, "first row that is covered"),
    STK_INT_ROW(erase, left, 0, 0, MOST_SIDE, STK_REQUIRED, "first column"),
    STK_INT_ROW(erase, height, 0, 0, MOST_SIDE, STK_REQUIRED, "number of rows"),
    STK_INT_ROW(erase, width, 0, 0, MOST_SIDE, STK_REQUIRED, "number of columns"),
    VALUE_ROW(erase, NULL, "that covers, for all channels or for each; none: 0"),
    STK__IMAGE_ROW(erase),
    STK_ROWS_END,
};

static int infer_erase(struct stk_infer *inf, struct stk_error *err)
{
    const struct erase *call = inf->params;
    int code = stk__pixel_infer(inf, call->field, STK__PIXEL_ANY, err);
    return code ? code : check_value(inf, &call->value, err);
}

static int32_t limited(int64_t value, int32_t most)
{
    return value < 0 ? 0 : value < most ? (int32_t)value : most;
}

/* The part of a rectangle that lies in the image. */
static struct box box_within(const struct stk__raster *raster, int64_t top, int64_t left,
                             int64_t height, int64_t width)
{
    struct box box = { limited(top, raster->height), limited(left, raster->width), 0, 0 };
    box.height = limited(top + height, raster->height) - box.top;
    box.width = limited(left + width, raster->width) - box.left;
    return box;
}

static int change_erase(struct stk__pixel_row *pixels)
{
    const struct erase *call = pixels->rows->params;
    stk__adjust_nothing(&pixels->raster);
    cover(pixels, box_within(&pixels->raster, call->top, call->left, call->height, call->width),
          &call->value);
    return STK_OK;
}

static int run_erase(struct stk_rows *rows)
{
    return stk__pixel_run(rows, 1, STK_NONE, change_erase);
}

static const char erase_doc[] =
    "Covers a rectangle with a value, which is in the image's own range. What lies outside the\n"
    "image is left out. As torchvision's erase; for one by chance see erasing and cutout.\n"
    "\n"
    "    files('*.jpg').decode(channels=3).erase(10, 20, 30, 40, value=[124, 116, 104])\n";

const struct stk__op stk__op_erase = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "erase", 1, "Cover a rectangle of images.", erase_doc, erase_params,
              sizeof(struct erase) },
    .infer = infer_erase,
    .row = { .run = run_erase },
};

/* ---- erasing ---- */

struct erasing {
    struct stk_numbers scale, ratio, value;
    double probability;
    int64_t seed;
    const char *field;
};

static const struct stk_param erasing_params[] = {
    STK_NUMBERS_ROW(erasing, scale, NULL, 2, 2, STK_TAKES_NONE,
                    "least and greatest part of the image that is covered; none: [0.02, 0.33]"),
    STK_NUMBERS_ROW(erasing, ratio, NULL, 2, 2, STK_TAKES_NONE,
                    "least and greatest height / width; none: [0.3, 3.3]"),
    VALUE_ROW(erasing, value_names,
              "that covers, for all channels or for each, or random; none: 0"),
    STK__CHANCE_ROWS(erasing),
    STK_ROWS_END,
};

struct erasing_state {
    struct stk__pixel_state pixel; /* first */
    struct stk__range scale, log_ratio;
};

static int infer_erasing(struct stk_infer *inf, struct stk_error *err)
{
    const struct erasing *call = inf->params;
    struct stk__range scale = { 0.02, 0.33 }, ratio = { 0.3, 3.3 };
    int code = stk__pixel_infer(inf, call->field, STK__PIXEL_ANY, err);
    if (!code)
        code = check_value(inf, &call->value, err);
    if (!code && call->scale.n)
        code = stk__range_of(&call->scale, "scale", (struct stk__range){ 0, 1 }, &scale, err);
    if (!code && call->ratio.n)
        code = stk__range_of(&call->ratio, "ratio", (struct stk__range){ 1e-3, 1e3 }, &ratio, err);
    if (code)
        return code;
    struct erasing_state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    state->pixel = *(const struct stk__pixel_state *)inf->state;
    state->scale = scale;
    state->log_ratio = (struct stk__range){ log(ratio.lo), log(ratio.hi) };
    inf->state = state;
    return STK_OK;
}

/* torchvision's: up to ten tries of two words each, then two for the place; else nothing. */
static bool draw_box(struct stk__pixel_row *pixels, struct box *box)
{
    const struct erasing_state *state = pixels->rows->state;
    const struct stk__raster *raster = &pixels->raster;
    double area = (double)raster->height * raster->width;
    for (int i = 0; i < N_TRIES; i++) {
        double part = area * stk__dice_in(&pixels->dice, state->scale);
        double ratio = exp(stk__dice_in(&pixels->dice, state->log_ratio));
        double height = nearbyint(sqrt(part * ratio)), width = nearbyint(sqrt(part / ratio));
        if (!(height < raster->height && width < raster->width))
            continue;
        box->height = (int32_t)height;
        box->width = (int32_t)width;
        box->top = (int32_t)stk__dice_whole(&pixels->dice, 0, raster->height - box->height + 1);
        box->left = (int32_t)stk__dice_whole(&pixels->dice, 0, raster->width - box->width + 1);
        return true;
    }
    return false;
}

static int change_erasing(struct stk__pixel_row *pixels)
{
    const struct erasing *call = pixels->rows->params;
    struct box box;
    stk__adjust_nothing(&pixels->raster);
    if (draw_box(pixels, &box))
        cover(pixels, box, &call->value);
    return STK_OK;
}

static int run_erasing(struct stk_rows *rows)
{
    const struct erasing *call = rows->params;
    return stk__pixel_run(rows, call->probability, call->seed, change_erasing);
}

static const char erasing_doc[] =
    "Covers a rectangle of random size, shape and place, as torchvision's RandomErasing does: ten\n"
    "tries to find one that is smaller than the image, else the image stays as it is. value is in\n"
    "the image's own range; random covers uint8 with even noise and floats with normal noise of\n"
    "deviation 1. To erase what is normalised, put it after normalize.\n"
    "\n"
    "    files('*.jpg').decode().erasing(probability=0.25)\n"
    "    files('*.jpg').decode(channels=3).erasing([0.02, 0.2], value=[124, 116, 104])\n";

const struct stk__op stk__op_erasing = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "erasing", 1, "Cover a random rectangle of images, of all or some by chance.",
              erasing_doc, erasing_params, sizeof(struct erasing) },
    .flags = STK_OP_RANDOM,
    .infer = infer_erasing,
    .row = { .run = run_erasing },
};

/* ---- cutout ---- */

struct cutout {
    int64_t height, width;
    struct stk_numbers value;
    double probability;
    int64_t seed;
    const char *field;
};

static const struct stk_param cutout_params[] = {
    STK_INT_ROW(cutout, height, 0, 0, MOST_SIDE, STK_REQUIRED, "of the rectangle"),
    STK_INT_ROW(cutout, width, 0, 0, MOST_SIDE, STK_REQUIRED, "of the rectangle"),
    VALUE_ROW(cutout, value_names, "that covers, for all channels or for each, or random; none: 0"),
    STK__CHANCE_ROWS(cutout),
    STK_ROWS_END,
};

static int infer_cutout(struct stk_infer *inf, struct stk_error *err)
{
    const struct cutout *call = inf->params;
    int code = stk__pixel_infer(inf, call->field, STK__PIXEL_ANY, err);
    return code ? code : check_value(inf, &call->value, err);
}

static int change_cutout(struct stk__pixel_row *pixels)
{
    const struct cutout *call = pixels->rows->params;
    const struct stk__raster *raster = &pixels->raster;
    int64_t top = stk__dice_whole(&pixels->dice, 0, raster->height) - call->height / 2;
    int64_t left = stk__dice_whole(&pixels->dice, 0, raster->width) - call->width / 2;
    stk__adjust_nothing(raster);
    cover(pixels, box_within(raster, top, left, call->height, call->width), &call->value);
    return STK_OK;
}

static int run_cutout(struct stk_rows *rows)
{
    const struct cutout *call = rows->params;
    return stk__pixel_run(rows, call->probability, call->seed, change_cutout);
}

static const char cutout_doc[] =
    "Covers a rectangle of a given size whose middle is any pixel of the image, drawn by chance;\n"
    "what lies outside the image is left out, as in the paper of DeVries and Taylor (2017). value\n"
    "is as in erasing.\n"
    "\n"
    "    files('*.jpg').decode().resize(32, 32).cutout(16, 16)\n";

const struct stk__op stk__op_cutout = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "cutout", 1, "Cover a rectangle of given size at a random place.", cutout_doc,
              cutout_params, sizeof(struct cutout) },
    .flags = STK_OP_RANDOM,
    .infer = infer_cutout,
    .row = { .run = run_cutout },
};
