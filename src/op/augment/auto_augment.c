/* SPDX-License-Identifier: Apache-2.0 */
/* auto_augment.c: pairs of changes that were learnt for a data set. */
#include "op/augment/augment.h"

enum policy { IMAGENET, CIFAR10, SVHN, N_POLICIES };
static const char *const policy_names[] = { "imagenet", "cifar10", "svhn", NULL };

struct auto_augment {
    int policy, interpolation;
    struct stk_numbers fill;
    int64_t seed;
    const char *field;
};

static const struct stk_param params[] = {
    STK_CHOICE_ROW(auto_augment, policy, policy_names, IMAGENET, 0,
                   "the data set whose pairs of changes are used"),
    STK__AUGMENT_ROWS(auto_augment),
    STK_ROWS_END,
};

/* ---- the tables of Cubuk et al. (2019) ---- */

enum {
    SHEAR_X = STK__CHANGE_SHEAR_X,
    SHEAR_Y = STK__CHANGE_SHEAR_Y,
    TRANSLATE_X = STK__CHANGE_TRANSLATE_X,
    TRANSLATE_Y = STK__CHANGE_TRANSLATE_Y,
    ROTATE = STK__CHANGE_ROTATE,
    BRIGHTNESS = STK__CHANGE_BRIGHTNESS,
    COLOR = STK__CHANGE_COLOR,
    CONTRAST = STK__CHANGE_CONTRAST,
    SHARPNESS = STK__CHANGE_SHARPNESS,
    POSTERIZE = STK__CHANGE_POSTERIZE,
    SOLARIZE = STK__CHANGE_SOLARIZE,
    AUTOCONTRAST = STK__CHANGE_AUTOCONTRAST,
    EQUALIZE = STK__CHANGE_EQUALIZE,
    INVERT = STK__CHANGE_INVERT,
};

enum { N_PAIRS = 25, N_BINS = 10 };

struct entry {
    uint8_t change, tenths; /* of a probability */
    uint8_t bin;            /* of N_BINS magnitudes */
};

/* clang-format off */
static const struct entry policies[N_POLICIES][N_PAIRS][2] = {
    [IMAGENET] = {
        { { POSTERIZE, 4, 8 }, { ROTATE, 6, 9 } },
        { { SOLARIZE, 6, 5 }, { AUTOCONTRAST, 6, 0 } },
        { { EQUALIZE, 8, 0 }, { EQUALIZE, 6, 0 } },
        { { POSTERIZE, 6, 7 }, { POSTERIZE, 6, 6 } },
        { { EQUALIZE, 4, 0 }, { SOLARIZE, 2, 4 } },
        { { EQUALIZE, 4, 0 }, { ROTATE, 8, 8 } },
        { { SOLARIZE, 6, 3 }, { EQUALIZE, 6, 0 } },
        { { POSTERIZE, 8, 5 }, { EQUALIZE, 10, 0 } },
        { { ROTATE, 2, 3 }, { SOLARIZE, 6, 8 } },
        { { EQUALIZE, 6, 0 }, { POSTERIZE, 4, 6 } },
        { { ROTATE, 8, 8 }, { COLOR, 4, 0 } },
        { { ROTATE, 4, 9 }, { EQUALIZE, 6, 0 } },
        { { EQUALIZE, 0, 0 }, { EQUALIZE, 8, 0 } },
        { { INVERT, 6, 0 }, { EQUALIZE, 10, 0 } },
        { { COLOR, 6, 4 }, { CONTRAST, 10, 8 } },
        { { ROTATE, 8, 8 }, { COLOR, 10, 2 } },
        { { COLOR, 8, 8 }, { SOLARIZE, 8, 7 } },
        { { SHARPNESS, 4, 7 }, { INVERT, 6, 0 } },
        { { SHEAR_X, 6, 5 }, { EQUALIZE, 10, 0 } },
        { { COLOR, 4, 0 }, { EQUALIZE, 6, 0 } },
        { { EQUALIZE, 4, 0 }, { SOLARIZE, 2, 4 } },
        { { SOLARIZE, 6, 5 }, { AUTOCONTRAST, 6, 0 } },
        { { INVERT, 6, 0 }, { EQUALIZE, 10, 0 } },
        { { COLOR, 6, 4 }, { CONTRAST, 10, 8 } },
        { { EQUALIZE, 8, 0 }, { EQUALIZE, 6, 0 } },
    },
    [CIFAR10] = {
        { { INVERT, 1, 0 }, { CONTRAST, 2, 6 } },
        { { ROTATE, 7, 2 }, { TRANSLATE_X, 3, 9 } },
        { { SHARPNESS, 8, 1 }, { SHARPNESS, 9, 3 } },
        { { SHEAR_Y, 5, 8 }, { TRANSLATE_Y, 7, 9 } },
        { { AUTOCONTRAST, 5, 0 }, { EQUALIZE, 9, 0 } },
        { { SHEAR_Y, 2, 7 }, { POSTERIZE, 3, 7 } },
        { { COLOR, 4, 3 }, { BRIGHTNESS, 6, 7 } },
        { { SHARPNESS, 3, 9 }, { BRIGHTNESS, 7, 9 } },
        { { EQUALIZE, 6, 0 }, { EQUALIZE, 5, 0 } },
        { { CONTRAST, 6, 7 }, { SHARPNESS, 6, 5 } },
        { { COLOR, 7, 7 }, { TRANSLATE_X, 5, 8 } },
        { { EQUALIZE, 3, 0 }, { AUTOCONTRAST, 4, 0 } },
        { { TRANSLATE_Y, 4, 3 }, { SHARPNESS, 2, 6 } },
        { { BRIGHTNESS, 9, 6 }, { COLOR, 2, 8 } },
        { { SOLARIZE, 5, 2 }, { INVERT, 0, 0 } },
        { { EQUALIZE, 2, 0 }, { AUTOCONTRAST, 6, 0 } },
        { { EQUALIZE, 2, 0 }, { EQUALIZE, 6, 0 } },
        { { COLOR, 9, 9 }, { EQUALIZE, 6, 0 } },
        { { AUTOCONTRAST, 8, 0 }, { SOLARIZE, 2, 8 } },
        { { BRIGHTNESS, 1, 3 }, { COLOR, 7, 0 } },
        { { SOLARIZE, 4, 5 }, { AUTOCONTRAST, 9, 0 } },
        { { TRANSLATE_Y, 9, 9 }, { TRANSLATE_Y, 7, 9 } },
        { { AUTOCONTRAST, 9, 0 }, { SOLARIZE, 8, 3 } },
        { { EQUALIZE, 8, 0 }, { INVERT, 1, 0 } },
        { { TRANSLATE_Y, 7, 9 }, { AUTOCONTRAST, 9, 0 } },
    },
    [SVHN] = {
        { { SHEAR_X, 9, 4 }, { INVERT, 2, 0 } },
        { { SHEAR_Y, 9, 8 }, { INVERT, 7, 0 } },
        { { EQUALIZE, 6, 0 }, { SOLARIZE, 6, 6 } },
        { { INVERT, 9, 0 }, { EQUALIZE, 6, 0 } },
        { { EQUALIZE, 6, 0 }, { ROTATE, 9, 3 } },
        { { SHEAR_X, 9, 4 }, { AUTOCONTRAST, 8, 0 } },
        { { SHEAR_Y, 9, 8 }, { INVERT, 4, 0 } },
        { { SHEAR_Y, 9, 5 }, { SOLARIZE, 2, 6 } },
        { { INVERT, 9, 0 }, { AUTOCONTRAST, 8, 0 } },
        { { EQUALIZE, 6, 0 }, { ROTATE, 9, 3 } },
        { { SHEAR_X, 9, 4 }, { SOLARIZE, 3, 3 } },
        { { SHEAR_Y, 8, 8 }, { INVERT, 7, 0 } },
        { { EQUALIZE, 9, 0 }, { TRANSLATE_Y, 6, 6 } },
        { { INVERT, 9, 0 }, { EQUALIZE, 6, 0 } },
        { { CONTRAST, 3, 3 }, { ROTATE, 8, 4 } },
        { { INVERT, 8, 0 }, { TRANSLATE_Y, 0, 2 } },
        { { SHEAR_Y, 7, 6 }, { SOLARIZE, 4, 8 } },
        { { INVERT, 6, 0 }, { ROTATE, 8, 4 } },
        { { SHEAR_Y, 3, 7 }, { TRANSLATE_X, 9, 3 } },
        { { SHEAR_X, 1, 6 }, { INVERT, 6, 0 } },
        { { SOLARIZE, 7, 2 }, { TRANSLATE_Y, 6, 7 } },
        { { SHEAR_Y, 8, 4 }, { INVERT, 8, 0 } },
        { { SHEAR_X, 7, 9 }, { TRANSLATE_Y, 8, 3 } },
        { { SHEAR_Y, 8, 5 }, { AUTOCONTRAST, 7, 0 } },
        { { SHEAR_X, 7, 2 }, { INVERT, 1, 0 } },
    },
};
/* clang-format on */

/* ---- the op ---- */

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct auto_augment *call = inf->params;
    return stk__augment_infer(inf, call->field, call->interpolation, call->fill, err);
}

/* A word for the pair, then two for each of its changes: whether, and in which direction. */
static int change(struct stk__pixel_row *pixels)
{
    const struct auto_augment *call = pixels->rows->params;
    const struct entry *pair = policies[call->policy][stk__dice_whole(&pixels->dice, 0, N_PAIRS)];
    struct stk__step steps[2];
    for (int i = 0; i < 2; i++) {
        bool is_wanted = stk__dice_happens(&pixels->dice, pair[i].tenths / 10.0);
        bool is_negative = stk__dice_happens(&pixels->dice, 0.5);
        enum stk__change which = is_wanted ? (enum stk__change)pair[i].change : STK__CHANGE_NONE;
        steps[i] = stk__step_make(&stk__magnitudes_usual, which, &pixels->raster, pair[i].bin,
                                  N_BINS, is_negative);
    }
    return stk__augment_image(pixels, steps, 2);
}

static int run(struct stk_rows *rows)
{
    const struct auto_augment *call = rows->params;
    return stk__pixel_run(rows, 1, call->seed, change);
}

static const char doc[] =
    "Changes each image by one of 25 pairs of changes, which were learnt on ImageNet, CIFAR-10 or\n"
    "SVHN; each of the two has its own probability and magnitude. The policies, and each result "
    "on\n"
    "uint8, are those of torchvision's AutoAugment on tensors.\n"
    "\n"
    "    files('*.jpg').decode(channels=3).auto_augment()\n"
    "    files('*.jpg').decode(channels=3).auto_augment(cifar10, interpolation=bilinear)\n";

const struct stk__op stk__op_auto_augment = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "auto_augment", 1, "Change images by learnt pairs of ops (AutoAugment).", doc, params,
              sizeof(struct auto_augment) },
    .flags = STK_OP_RANDOM,
    .infer = infer,
    .row = { .run = run },
};
