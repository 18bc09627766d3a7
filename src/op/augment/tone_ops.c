/* SPDX-License-Identifier: Apache-2.0 */
/* tone_ops.c: the ops that replace each value by another one for it: solarize, posterize, invert,
 * autocontrast, equalize. */
#include "op/augment/pixel_op.h"

/* ---- those without a parameter of their own ---- */

struct plain {
    double probability;
    int64_t seed;
    const char *field;
};

static const struct stk_param plain_params[] = { STK__CHANCE_ROWS(plain), STK_ROWS_END };

static int infer_any(struct stk_infer *inf, struct stk_error *err)
{
    const struct plain *call = inf->params;
    return stk__pixel_infer(inf, call->field, STK__PIXEL_ANY, err);
}

static int infer_few(struct stk_infer *inf, struct stk_error *err)
{
    const struct plain *call = inf->params;
    return stk__pixel_infer(inf, call->field, STK__PIXEL_FEW, err);
}

static int infer_colours(struct stk_infer *inf, struct stk_error *err)
{
    const struct plain *call = inf->params;
    return stk__pixel_infer(inf, call->field, STK__PIXEL_COLOURS, err);
}

static int change_invert(struct stk__pixel_row *pixels)
{
    stk__adjust_invert(&pixels->raster);
    return STK_OK;
}

static int change_autocontrast(struct stk__pixel_row *pixels)
{
    stk__adjust_autocontrast(&pixels->raster);
    return STK_OK;
}

static int change_equalize(struct stk__pixel_row *pixels)
{
    stk__adjust_equalize(&pixels->raster);
    return STK_OK;
}

static int run_plain(struct stk_rows *rows, stk__pixel_fn change)
{
    const struct plain *call = rows->params;
    return stk__pixel_run(rows, call->probability, call->seed, change);
}

static int run_invert(struct stk_rows *rows)
{
    return run_plain(rows, change_invert);
}

static int run_autocontrast(struct stk_rows *rows)
{
    return run_plain(rows, change_autocontrast);
}

static int run_equalize(struct stk_rows *rows)
{
    return run_plain(rows, change_equalize);
}

static const char invert_doc[] =
    "Gives the negative: 255 - value for uint8, and for float32 that was made of it; 1 - value\n"
    "for other floats. As torchvision's RandomInvert on tensors.\n"
    "\n"
    "    files('*.jpg').decode().invert(probability=0.2)\n";

const struct stk__op stk__op_invert = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "invert", 1, "Make negatives of images, all or some by chance.", invert_doc,
              plain_params, sizeof(struct plain) },
    .flags = STK_OP_RANDOM,
    .infer = infer_any,
    .row = { .run = run_invert },
};

static const char autocontrast_doc[] =
    "Stretches each channel so that its least value becomes 0 and its greatest 255, or 1 for\n"
    "floats that were not made of uint8. As torchvision's RandomAutocontrast on tensors.\n"
    "\n"
    "    files('*.jpg').decode().autocontrast(probability=0.5)\n";

const struct stk__op stk__op_autocontrast = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "autocontrast", 1, "Stretch each channel to its full range, all or some by chance.",
              autocontrast_doc, plain_params, sizeof(struct plain) },
    .flags = STK_OP_RANDOM,
    .infer = infer_colours,
    .row = { .run = run_autocontrast },
};

static const char equalize_doc[] =
    "Evens out the histogram of each channel, as Pillow's equalize and torchvision's\n"
    "RandomEqualize do. Floats are taken as 256 levels.\n"
    "\n"
    "    files('*.jpg').decode().equalize(probability=0.5)\n";

const struct stk__op stk__op_equalize = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "equalize", 1, "Even out the histogram of images, all or some by chance.",
              equalize_doc, plain_params, sizeof(struct plain) },
    .flags = STK_OP_RANDOM,
    .infer = infer_few,
    .row = { .run = run_equalize },
};

/* ---- solarize ---- */

struct solarize {
    double threshold, probability;
    int64_t seed;
    const char *field;
};

static const struct stk_param solarize_params[] = {
    STK_REAL_ROW(solarize, threshold, 0, 0, 255, STK_REQUIRED,
                 "values from this one on are inverted; in the image's own range"),
    STK__CHANCE_ROWS(solarize),
    STK_ROWS_END,
};

static int infer_solarize(struct stk_infer *inf, struct stk_error *err)
{
    const struct solarize *call = inf->params;
    int code = stk__pixel_infer(inf, call->field, STK__PIXEL_ANY, err);
    if (code)
        return code;
    const struct stk__pixel_state *state = inf->state;
    if (call->threshold <= (double)state->peak)
        return STK_OK;
    return stk_fail(err, STK_VALUE,
                    "the image has values from 0 to 1, so a threshold of %g would "
                    "invert none; give one from 0 to 1",
                    call->threshold);
}

static int change_solarize(struct stk__pixel_row *pixels)
{
    const struct solarize *call = pixels->rows->params;
    stk__adjust_solarize(&pixels->raster, call->threshold);
    return STK_OK;
}

static int run_solarize(struct stk_rows *rows)
{
    const struct solarize *call = rows->params;
    return stk__pixel_run(rows, call->probability, call->seed, change_solarize);
}

static const char solarize_doc[] =
    "Inverts the values from a threshold on: 0 to 255 for uint8, and for float32 that was made\n"
    "of it; 0 to 1 for other floats. As torchvision's RandomSolarize on tensors.\n"
    "\n"
    "    files('*.jpg').decode().solarize(128, probability=0.2)\n";

const struct stk__op stk__op_solarize = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "solarize", 1, "Invert bright values of images, all or some by chance.", solarize_doc,
              solarize_params, sizeof(struct solarize) },
    .flags = STK_OP_RANDOM,
    .infer = infer_solarize,
    .row = { .run = run_solarize },
};

/* ---- posterize ---- */

struct posterize {
    int64_t bits;
    double probability;
    int64_t seed;
    const char *field;
};

static const struct stk_param posterize_params[] = {
    STK_INT_ROW(posterize, bits, 8, 0, 8, STK_REQUIRED, "that are kept of each value"),
    STK__CHANCE_ROWS(posterize),
    STK_ROWS_END,
};

static int infer_posterize(struct stk_infer *inf, struct stk_error *err)
{
    const struct posterize *call = inf->params;
    return stk__pixel_infer(inf, call->field, STK__PIXEL_ANY, err);
}

static int change_posterize(struct stk__pixel_row *pixels)
{
    const struct posterize *call = pixels->rows->params;
    stk__adjust_posterize(&pixels->raster, (int)call->bits);
    return STK_OK;
}

static int run_posterize(struct stk_rows *rows)
{
    const struct posterize *call = rows->params;
    return stk__pixel_run(rows, call->probability, call->seed, change_posterize);
}

static const char posterize_doc[] =
    "Keeps the highest bits of each value; floats are cut down to as many levels. As\n"
    "torchvision's RandomPosterize on tensors.\n"
    "\n"
    "    files('*.jpg').decode().posterize(4, probability=0.2)\n";

const struct stk__op stk__op_posterize = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "posterize", 1, "Keep few bits of each value, in all images or some by chance.",
              posterize_doc, posterize_params, sizeof(struct posterize) },
    .flags = STK_OP_RANDOM,
    .infer = infer_posterize,
    .row = { .run = run_posterize },
};
