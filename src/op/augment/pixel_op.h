/* SPDX-License-Identifier: Apache-2.0 */
/* pixel_op.h: what ops that change the pixels of an image, and neither its size nor its dtype, have
 * in common: the field, the chance, and random parameters.
 *
 * An op calls stk__pixel_infer in infer and stk__pixel_run in run, with a function that makes one
 * image of another. Random words of a row are drawn in order: the first decides whether the row is
 * changed, whatever the probability; then come those the function asks for.
 */
#pragma once
#include "kernel/adjust.h"
#include "op/dice.h"
#include "op/image/image_op.h"
#include "op/order/order.h"

/* ---- the op ---- */

/* Which numbers of channels an op can take. */
enum stk__pixel_needs {
    STK__PIXEL_ANY,
    STK__PIXEL_COLOURS, /* 1 or 3 */
    STK__PIXEL_FEW,     /* up to STK__ADJUST_CHANNELS */
};

struct stk__pixel_state {
    int field;
    enum stk__pixel_needs needs;
    float peak; /* of the values: 255, or 1 for floats that were not made of bytes */
};

/* Picks the image, which keeps its type, and makes a struct stk__pixel_state the op's state. */
int stk__pixel_infer(struct stk_infer *inf, const char *name, enum stk__pixel_needs needs,
                     struct stk_error *err);

/* One image to work on. */
struct stk__pixel_row {
    struct stk__raster raster;
    struct stk_rows *rows; /* for its memory, and to mark the row bad */
    int row;
    struct stk__dice dice;
};

/* Writes raster.dst, or marks the row bad. STK_OK or STK_MEMORY. */
typedef int (*stk__pixel_fn)(struct stk__pixel_row *pixels);

/* Every live row that chance picks goes through `change`; the others stay as they are. */
int stk__pixel_run(struct stk_rows *rows, double probability, int64_t seed, stk__pixel_fn change);

/* ---- parameters ---- */

/* A parameter that is one number, both ends of a range, or nothing. */
struct stk__range {
    double lo, hi;
};

/* For one number: that number alone. Fails unless least <= lo <= hi <= most. */
int stk__range_of(const struct stk_numbers *numbers, const char *name, struct stk__range bounds,
                  struct stk__range *out, struct stk_error *err);

double stk__dice_in(struct stk__dice *dice, struct stk__range range);

/* The rows most of these ops end with. */
#define STK__CHANCE_ROWS(T)                                                                        \
    STK_REAL_ROW(T, probability, 1, 0, 1, 0, "share of the images that are changed"),              \
        STK__SEED_ROW(T), STK__IMAGE_ROW(T)
#define STK__SEED_ROW(T)                                                                           \
    STK_INT_ROW(T, seed, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,                       \
                "mixed with the run's seed; none is 0")
#define STK__IMAGE_ROW(T)                                                                          \
    STK_TEXT_ROW(T, field, NULL, STK_TAKES_NONE, "the image; none: the only one")
