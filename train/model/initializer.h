/* SPDX-License-Identifier: Apache-2.0 */
/* initializer.h: what weights begin with, as Keras 3 names it.
 *
 *     dense(10, kernel_initializer=he_normal, bias_initializer=constant(0.1))
 *
 * A value depends on the seed, the name of its weight and its place in it, and on nothing else: not on
 * the layers around it, on threads or on the machine. Arithmetic is in double with +, *, / and sqrt
 * alone, so that every build gives the same bits.
 */
#pragma once
#include "lang/lang.h"

enum stk__distribution {
    STK__ALL_ONE_VALUE, /* low */
    STK__UNIFORM,       /* from low to high */
    STK__NORMAL,        /* mean low, deviation high */
    STK__CUT_NORMAL,    /* the same, without what is further than two deviations from the mean */
};

/* As it was written. */
struct stk__initializer {
    const char *name;
    enum stk__distribution distribution;
    double low, high;
    bool is_scaled; /* by fans: only then the rest counts */
    double scale;   /* variance times fan */
    enum stk__fan { STK__FAN_IN, STK__FAN_OUT, STK__FAN_AVG } fan;
};

/* What can be called. */
extern const struct stk__namespace stk__initializers;

/* A name or a call. NULL: what `otherwise` names. */
int stk__initializer_read(const struct stk_value *value, const char *otherwise,
                          struct stk_arena *arena, struct stk__initializer *out,
                          struct stk_error *err);

/* Fixes low and high for a weight of this shape; fans are counted as Keras counts them, for
 * HWIO, HWIM and IO. */
void stk__initializer_scale(struct stk__initializer *initializer, const int64_t *shape, int rank);

/* Values first … first + n of the weight of that name; scaled before. Any thread. */
void stk__initializer_fill(const struct stk__initializer *initializer, uint64_t seed,
                           const char *name, int64_t first, int64_t n, float *out);
