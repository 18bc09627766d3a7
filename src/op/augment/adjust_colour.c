/* SPDX-License-Identifier: Apache-2.0 */
/* adjust_colour.c: the ops that change brightness, contrast, saturation, hue, gamma or sharpness by
 * a given factor. */
#include "op/augment/pixel_op.h"

#define MOST_FACTOR 1e6

/* ---- brightness, contrast, saturation, hue ---- */

struct brightness {
    double brightness_factor;
    const char *field;
};

static const struct stk_param brightness_params[] = {
    STK_REAL_ROW(brightness, brightness_factor, 1, 0, MOST_FACTOR, STK_REQUIRED,
                 "0: black, 1: as it is, 2: twice as bright"),
    STK__IMAGE_ROW(brightness),
    STK_ROWS_END,
};

struct contrast {
    double contrast_factor;
    const char *field;
};

static const struct stk_param contrast_params[] = {
    STK_REAL_ROW(contrast, contrast_factor, 1, 0, MOST_FACTOR, STK_REQUIRED,
                 "0: one gray, 1: as it is, 2: twice as far from the mean gray"),
    STK__IMAGE_ROW(contrast),
    STK_ROWS_END,
};

struct saturation {
    double saturation_factor;
    const char *field;
};

static const struct stk_param saturation_params[] = {
    STK_REAL_ROW(saturation, saturation_factor, 1, 0, MOST_FACTOR, STK_REQUIRED,
                 "0: gray, 1: as it is, 2: twice as far from gray"),
    STK__IMAGE_ROW(saturation),
    STK_ROWS_END,
};

struct hue {
    double hue_factor;
    const char *field;
};

static const struct stk_param hue_params[] = {
    STK_REAL_ROW(hue, hue_factor, 0, -0.5, 0.5, STK_REQUIRED,
                 "part of the circle that hues are turned by; 0: as it is"),
    STK__IMAGE_ROW(hue),
    STK_ROWS_END,
};

static int infer_brightness(struct stk_infer *inf, struct stk_error *err)
{
    const struct brightness *call = inf->params;
    return stk__pixel_infer(inf, call->field, STK__PIXEL_COLOURS, err);
}

static int infer_contrast(struct stk_infer *inf, struct stk_error *err)
{
    const struct contrast *call = inf->params;
    return stk__pixel_infer(inf, call->field, STK__PIXEL_COLOURS, err);
}

static int infer_saturation(struct stk_infer *inf, struct stk_error *err)
{
    const struct saturation *call = inf->params;
    return stk__pixel_infer(inf, call->field, STK__PIXEL_COLOURS, err);
}

static int infer_hue(struct stk_infer *inf, struct stk_error *err)
{
    const struct hue *call = inf->params;
    return stk__pixel_infer(inf, call->field, STK__PIXEL_COLOURS, err);
}

static int change_brightness(struct stk__pixel_row *pixels)
{
    const struct brightness *call = pixels->rows->params;
    stk__adjust_brightness(&pixels->raster, call->brightness_factor);
    return STK_OK;
}

static int change_contrast(struct stk__pixel_row *pixels)
{
    const struct contrast *call = pixels->rows->params;
    stk__adjust_contrast(&pixels->raster, call->contrast_factor);
    return STK_OK;
}

static int change_saturation(struct stk__pixel_row *pixels)
{
    const struct saturation *call = pixels->rows->params;
    stk__adjust_saturation(&pixels->raster, call->saturation_factor);
    return STK_OK;
}

static int change_hue(struct stk__pixel_row *pixels)
{
    const struct hue *call = pixels->rows->params;
    stk__adjust_hue(&pixels->raster, call->hue_factor);
    return STK_OK;
}

static int run_brightness(struct stk_rows *rows)
{
    return stk__pixel_run(rows, 1, STK_NONE, change_brightness);
}

static int run_contrast(struct stk_rows *rows)
{
    return stk__pixel_run(rows, 1, STK_NONE, change_contrast);
}

static int run_saturation(struct stk_rows *rows)
{
    return stk__pixel_run(rows, 1, STK_NONE, change_saturation);
}

static int run_hue(struct stk_rows *rows)
{
    return stk__pixel_run(rows, 1, STK_NONE, change_hue);
}

static const char brightness_doc[] =
    "Multiplies all values and keeps them in range: 0..255 for uint8, and for float32 that was\n"
    "made of it by cast or resize; 0..1 for other floats. uint8 is cut off, not rounded, as\n"
    "torchvision's adjust_brightness does on tensors. For a random factor see color_jitter.\n"
    "\n"
    "    files('*.jpg').decode().adjust_brightness(1.3)\n";

const struct stk__op stk__op_adjust_brightness = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "adjust_brightness", 1, "Make images brighter or darker.", brightness_doc,
              brightness_params, sizeof(struct brightness) },
    .infer = infer_brightness,
    .row = { .run = run_brightness },
};

static const char contrast_doc[] =
    "Blends an image with its mean gray: value * factor + mean * (1 - factor), kept in range as\n"
    "in adjust_brightness. It is torchvision's adjust_contrast on tensors: gray is 0.2989 red +\n"
    "0.587 green + 0.114 blue, cut off for uint8. For a random factor see color_jitter.\n"
    "\n"
    "    files('*.jpg').decode().adjust_contrast(0.7)\n";

const struct stk__op stk__op_adjust_contrast = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "adjust_contrast", 1, "Raise or lower the contrast of images.", contrast_doc,
              contrast_params, sizeof(struct contrast) },
    .infer = infer_contrast,
    .row = { .run = run_contrast },
};

static const char saturation_doc[] =
    "Blends each pixel with its gray: value * factor + gray * (1 - factor), kept in range as in\n"
    "adjust_brightness. It is torchvision's adjust_saturation on tensors. Images of one channel\n"
    "stay as they are. For a random factor see color_jitter.\n"
    "\n"
    "    files('*.jpg').decode(channels=3).adjust_saturation(1.5)\n";

const struct stk__op stk__op_adjust_saturation = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "adjust_saturation", 1, "Make the colours of images stronger or weaker.",
              saturation_doc, saturation_params, sizeof(struct saturation) },
    .infer = infer_saturation,
    .row = { .run = run_saturation },
};

static const char hue_doc[] =
    "Turns the hue of every pixel, by way of hue, saturation and value. It is torchvision's\n"
    "adjust_hue on tensors. Images of one channel stay as they are. For a random turn see\n"
    "color_jitter.\n"
    "\n"
    "    files('*.jpg').decode(channels=3).adjust_hue(0.1)\n";

const struct stk__op stk__op_adjust_hue = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "adjust_hue", 1, "Turn the hues of images.", hue_doc, hue_params,
              sizeof(struct hue) },
    .infer = infer_hue,
    .row = { .run = run_hue },
};

/* ---- gamma ---- */

struct gamma {
    double gamma, gain;
    const char *field;
};

static const struct stk_param gamma_params[] = {
    STK_REAL_ROW(gamma, gamma, 1, 0, MOST_FACTOR, STK_REQUIRED,
                 "exponent; above 1 makes shadows darker, below 1 lighter"),
    STK_REAL_ROW(gamma, gain, 1, 0, MOST_FACTOR, 0, "factor of the result"),
    STK__IMAGE_ROW(gamma),
    STK_ROWS_END,
};

static int infer_gamma(struct stk_infer *inf, struct stk_error *err)
{
    const struct gamma *call = inf->params;
    return stk__pixel_infer(inf, call->field, STK__PIXEL_ANY, err);
}

static int change_gamma(struct stk__pixel_row *pixels)
{
    const struct gamma *call = pixels->rows->params;
    stk__adjust_gamma(&pixels->raster, call->gamma, call->gain);
    return STK_OK;
}

static int run_gamma(struct stk_rows *rows)
{
    return stk__pixel_run(rows, 1, STK_NONE, change_gamma);
}

static const char gamma_doc[] =
    "Gives gain * value ^ gamma with values from 0 to 1: uint8, and float32 that was made of it,\n"
    "are divided by 255 and multiplied again. It is torchvision's adjust_gamma on tensors; where\n"
    "PyTorch's power is off in the last place, a uint8 may differ by 1.\n"
    "\n"
    "    files('*.jpg').decode().adjust_gamma(0.8)\n";

const struct stk__op stk__op_adjust_gamma = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "adjust_gamma", 1, "Raise values to a power.", gamma_doc, gamma_params,
              sizeof(struct gamma) },
    .infer = infer_gamma,
    .row = { .run = run_gamma },
};

/* ---- sharpness ---- */

struct sharpness {
    double sharpness_factor, probability;
    int64_t seed;
    const char *field;
};

static const struct stk_param sharpness_params[] = {
    STK_REAL_ROW(sharpness, sharpness_factor, 1, 0, MOST_FACTOR, STK_REQUIRED,
                 "0: blurred, 1: as it is, 2: twice as sharp"),
    STK__CHANCE_ROWS(sharpness),
    STK_ROWS_END,
};

static int infer_sharpness(struct stk_infer *inf, struct stk_error *err)
{
    const struct sharpness *call = inf->params;
    return stk__pixel_infer(inf, call->field, STK__PIXEL_COLOURS, err);
}

static int change_sharpness(struct stk__pixel_row *pixels)
{
    const struct sharpness *call = pixels->rows->params;
    stk__adjust_sharpness(&pixels->raster, call->sharpness_factor);
    return STK_OK;
}

static int run_sharpness(struct stk_rows *rows)
{
    const struct sharpness *call = rows->params;
    return stk__pixel_run(rows, call->probability, call->seed, change_sharpness);
}

static const char sharpness_doc[] =
    "Blends an image with a blurred one: the mean of 3 x 3 pixels in which the middle one counts\n"
    "five times. Pixels at the edge stay as they are. It is torchvision's adjust_sharpness, and\n"
    "with a probability its RandomAdjustSharpness, on tensors.\n"
    "\n"
    "    files('*.jpg').decode().adjust_sharpness(2, probability=0.5)\n";

const struct stk__op stk__op_adjust_sharpness = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "adjust_sharpness", 1, "Sharpen or soften images, all or some by chance.",
              sharpness_doc, sharpness_params, sizeof(struct sharpness) },
    .flags = STK_OP_RANDOM,
    .infer = infer_sharpness,
    .row = { .run = run_sharpness },
};
