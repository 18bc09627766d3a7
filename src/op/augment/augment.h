/* SPDX-License-Identifier: Apache-2.0 */
/* augment.h: what auto_augment, rand_augment and trivial_augment share: the changes they choose
 * from, torchvision's magnitudes of them, and running a few on one image. */
#pragma once
#include "op/augment/geometric.h"
#include "op/augment/pixel_op.h"

enum stk__change {
    STK__CHANGE_NONE,
    STK__CHANGE_SHEAR_X,
    STK__CHANGE_SHEAR_Y,
    STK__CHANGE_TRANSLATE_X,
    STK__CHANGE_TRANSLATE_Y,
    STK__CHANGE_ROTATE,
    STK__CHANGE_BRIGHTNESS,
    STK__CHANGE_COLOR,
    STK__CHANGE_CONTRAST,
    STK__CHANGE_SHARPNESS,
    STK__CHANGE_POSTERIZE,
    STK__CHANGE_SOLARIZE,
    STK__CHANGE_AUTOCONTRAST,
    STK__CHANGE_EQUALIZE,
    STK__CHANGE_INVERT, /* of auto_augment alone */
    STK__N_CHANGES,
};

/* Greatest magnitudes, in the words of torchvision's tables. */
struct stk__magnitudes {
    double shear, rotate, factor;
    double translate; /* part of the side, or */
    double pixels;    /* if not 0, as many pixels */
    double bits;      /* that posterize takes away */
};

extern const struct stk__magnitudes stk__magnitudes_usual, stk__magnitudes_wide;

/* One change of one image. */
struct stk__step {
    enum stk__change change;
    double magnitude;
};

/* The magnitude of bin `bin` of n for an image of this size; `is_negative` counts for changes that
 * have two directions. */
struct stk__step stk__step_make(const struct stk__magnitudes *most, enum stk__change change,
                                const struct stk__raster *raster, int64_t bin, int64_t n,
                                bool is_negative);

/* State of such an op. */
struct stk__augment {
    struct stk__pixel_state pixel; /* first */
    enum stk__warp_mode mode;
    struct stk_numbers fill;
};

enum { STK__MOST_STEPS = 32 };

/* infer of such an op. */
int stk__augment_infer(struct stk_infer *inf, const char *field, int interpolation,
                       struct stk_numbers fill, struct stk_error *err);

/* Runs up to STK__MOST_STEPS steps on an image, one after the other. */
int stk__augment_image(struct stk__pixel_row *pixels, const struct stk__step *steps, int n);

/* Parameters of all of them, under these names; probability is no part of them. */
#define STK__AUGMENT_ROWS(T)                                                                       \
    STK_CHOICE_ROW(T, interpolation, stk__interpolation_names, STK__WARP_NEAREST, 0,               \
                   "how pixels between pixels are drawn"),                                         \
        STK_NUMBERS_ROW(T, fill, NULL, 1, 3, STK_TAKES_NONE,                                       \
                        "of what was outside, for all channels or for each; none: zeros"),         \
        STK__SEED_ROW(T), STK__IMAGE_ROW(T)
