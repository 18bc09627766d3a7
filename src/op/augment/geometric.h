/* SPDX-License-Identifier: Apache-2.0 */
/* geometric.h: what the ops that move pixels share. An op says in `map` what it does to an image of
 * a given size; drawing it, and the fields that follow, are the same for all. */
#pragma once
#include "op/dice.h"
#include "op/image/follow.h"
#include "op/image/image_op.h"
#include "op/order/order.h"

#include <float.h>

/* What a geometric op does to the row's image. It is preset to doing nothing. False: the row was
 * marked bad. */
typedef bool (*stk__geometry_fn)(struct stk_rows *rows, int row, struct stk__geometry *g);

/* State of such an op; larger states begin with it. */
struct stk__geometric {
    int field;
    stk__geometry_fn map;
    enum stk__warp_mode mode;
    struct stk_numbers fill; /* one for all channels or one for each; n is 0: zeros */
    struct stk__followers followers;
};

/* Parameters of ops that warp, under these names. */
extern const char *const stk__interpolation_names[];
#define STK__WARP_ROWS(T, how)                                                                     \
    STK_CHOICE_ROW(T, interpolation, stk__interpolation_names, how, 0,                             \
                   "how pixels between pixels are drawn; bilinear for uint8 and float32 only"),    \
        STK_NUMBERS_ROW(T, fill, NULL, 1, 4096, STK_TAKES_NONE,                                    \
                        "of what was outside, for all channels or for each; none: zeros")

#define STK__SEED_AND_FIELD_ROWS(T)                                                                \
    STK_INT_ROW(T, seed, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,                       \
                "mixed with the run's seed; none is 0"),                                           \
        STK_TEXT_ROW(T, field, NULL, STK_TAKES_NONE, "the image; none: the only one")

struct stk__geometric_words {
    const char *field;
    struct stk__follow_words follow;
    int interpolation;       /* ops that do not warp: 0, nearest */
    struct stk_numbers fill; /* likewise: none */
    int64_t height, width;   /* of the output; -1: differs; 0: as the input's */
};

/* infer of such an op. `state` may be larger than a struct stk__geometric. */
int stk__geometric_infer(struct stk_infer *inf, const struct stk__geometric_words *words,
                         stk__geometry_fn map, struct stk__geometric *state, struct stk_error *err);
int stk__geometric_run(struct stk_rows *rows);

/* ---- maps ---- */

/* An affine map as torchvision has it: turned by `angle` degrees clockwise, in pixels. */
struct stk__affinity {
    double angle, translate[2], scale, shear[2];
    double center[2]; /* from the middle of the image */
};

/* The map from output to source pixels, both counted from the middle. */
void stk__affinity_inverse(const struct stk__affinity *affinity, double matrix[6]);

/* A rotation by degrees against the clock, as torchvision's rotate: multiples of 90 around the
 * middle move pixels, others warp. center: x, y in pixels, or n = 0: the middle. */
void stk__geometry_rotate(struct stk__geometry *g, double degrees, struct stk_numbers center,
                          bool expands);

/* The same by an affine map whose `center` is yet to be set. */
void stk__geometry_affinity(struct stk__geometry *g, struct stk__affinity affinity,
                            struct stk_numbers center);

/* A turn by k quarters against the clock. */
void stk__geometry_rot90(struct stk__geometry *g, int k);

/* Coefficients that take four corners of the output to those of the source, each x, y from the top
 * left one clockwise. False if there are none. */
bool stk__perspective_solve(const double from[8], const double to[8], double c[8]);

/* ---- chance ---- */

/* A number from a range given as [lo, hi], or as one number for minus to plus that; and a check of
 * such a parameter. */
double stk__dice_range(struct stk__dice *dice, struct stk_numbers range);
int stk__check_range(const char *name, struct stk_numbers range, struct stk_error *err);
