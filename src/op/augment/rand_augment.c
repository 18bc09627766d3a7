/* SPDX-License-Identifier: Apache-2.0 */
/* rand_augment.c: a few random changes of one magnitude; and one of random magnitude. */
#include "op/augment/augment.h"

enum { MOST_BINS = 10000 };

/* ---- rand_augment ---- */

struct rand_augment {
    int64_t num_ops, magnitude, num_magnitude_bins;
    int interpolation;
    struct stk_numbers fill;
    int64_t seed;
    const char *field;
};

static const struct stk_param rand_params[] = {
    STK_INT_ROW(rand_augment, num_ops, 2, 0, STK__MOST_STEPS, 0, "changes of each image"),
    STK_INT_ROW(rand_augment, magnitude, 9, 0, MOST_BINS - 1, 0,
                "of all changes, below num_magnitude_bins"),
    STK_INT_ROW(rand_augment, num_magnitude_bins, 31, 1, MOST_BINS, 0, "number of magnitudes"),
    STK__AUGMENT_ROWS(rand_augment),
    STK_ROWS_END,
};

static int infer_rand(struct stk_infer *inf, struct stk_error *err)
{
    const struct rand_augment *call = inf->params;
    if (call->magnitude >= call->num_magnitude_bins)
        return stk_fail(err, STK_VALUE, "magnitude=%lld must be below num_magnitude_bins=%lld",
                        (long long)call->magnitude, (long long)call->num_magnitude_bins);
    return stk__augment_infer(inf, call->field, call->interpolation, call->fill, err);
}

/* Two words for each change: which one, and its direction. */
static int change_rand(struct stk__pixel_row *pixels)
{
    const struct rand_augment *call = pixels->rows->params;
    struct stk__step steps[STK__MOST_STEPS];
    int n = (int)call->num_ops;
    for (int i = 0; i < n; i++) {
        int64_t which = stk__dice_whole(&pixels->dice, 0, STK__CHANGE_INVERT);
        bool is_negative = stk__dice_happens(&pixels->dice, 0.5);
        steps[i] = stk__step_make(&stk__magnitudes_usual, (enum stk__change)which, &pixels->raster,
                                  call->magnitude, call->num_magnitude_bins, is_negative);
    }
    return stk__augment_image(pixels, steps, n);
}

static int run_rand(struct stk_rows *rows)
{
    const struct rand_augment *call = rows->params;
    return stk__pixel_run(rows, 1, call->seed, change_rand);
}

static const char rand_doc[] =
    "Changes each image num_ops times, each time by one of these: nothing, shear and move along\n"
    "either axis, turn, brightness, saturation, contrast, sharpness, posterize, solarize,\n"
    "autocontrast, equalize; by the given magnitude, in a random direction where there are two.\n"
    "The changes, their magnitudes and each result on uint8 are those of torchvision's "
    "RandAugment\n"
    "on tensors.\n"
    "\n"
    "    files('*.jpg').decode(channels=3).resize(224, 224, dtype=uint8).rand_augment()\n"
    "    files('*.jpg').decode(channels=3).rand_augment(3, magnitude=15, fill=128)\n";

const struct stk__op stk__op_rand_augment = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "rand_augment", 1, "Change images by random ops of one magnitude (RandAugment).",
              rand_doc, rand_params, sizeof(struct rand_augment) },
    .flags = STK_OP_RANDOM,
    .infer = infer_rand,
    .row = { .run = run_rand },
};

/* ---- trivial_augment ---- */

struct trivial_augment {
    int64_t num_magnitude_bins;
    int interpolation;
    struct stk_numbers fill;
    int64_t seed;
    const char *field;
};

static const struct stk_param trivial_params[] = {
    STK_INT_ROW(trivial_augment, num_magnitude_bins, 31, 1, MOST_BINS, 0, "number of magnitudes"),
    STK__AUGMENT_ROWS(trivial_augment),
    STK_ROWS_END,
};

static int infer_trivial(struct stk_infer *inf, struct stk_error *err)
{
    const struct trivial_augment *call = inf->params;
    return stk__augment_infer(inf, call->field, call->interpolation, call->fill, err);
}

/* Three words: which change, its magnitude, its direction. */
static int change_trivial(struct stk__pixel_row *pixels)
{
    const struct trivial_augment *call = pixels->rows->params;
    int64_t which = stk__dice_whole(&pixels->dice, 0, STK__CHANGE_INVERT);
    int64_t bin = stk__dice_whole(&pixels->dice, 0, call->num_magnitude_bins);
    bool is_negative = stk__dice_happens(&pixels->dice, 0.5);
    struct stk__step step =
        stk__step_make(&stk__magnitudes_wide, (enum stk__change)which, &pixels->raster, bin,
                       call->num_magnitude_bins, is_negative);
    return stk__augment_image(pixels, &step, 1);
}

static int run_trivial(struct stk_rows *rows)
{
    const struct trivial_augment *call = rows->params;
    return stk__pixel_run(rows, 1, call->seed, change_trivial);
}

static const char trivial_doc[] =
    "Changes each image once, by one of the changes of rand_augment and by a random magnitude, up\n"
    "to wider bounds: torchvision's TrivialAugmentWide, with its results on uint8 tensors.\n"
    "\n"
    "    files('*.jpg').decode(channels=3).trivial_augment()\n";

const struct stk__op stk__op_trivial_augment = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "trivial_augment", 1,
              "Change images by one random op of random magnitude (TrivialAugment).", trivial_doc,
              trivial_params, sizeof(struct trivial_augment) },
    .flags = STK_OP_RANDOM,
    .infer = infer_trivial,
    .row = { .run = run_trivial },
};
