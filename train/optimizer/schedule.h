/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.h: learning rates that change as training goes on.
 *
 *     constant(0.001)   step(0.1, every=1000)   piecewise([10, 20], [0.1, 0.01, 0.001])
 *     cosine(0.001, steps=1000, warmup=100)
 *
 * Each may begin with a warm-up: `warmup` steps in which the rate rises in a straight line from
 * `start`, after which the schedule begins with its step 0.
 */
#pragma once
#include "lang/lang.h"

enum stk__schedule_kind {
    STK__SCHEDULE_CONSTANT,
    STK__SCHEDULE_COSINE,
    STK__SCHEDULE_PIECEWISE,
    STK__SCHEDULE_STEP,
};

struct stk__schedule {
    enum stk__schedule_kind kind;
    double rate, start; /* the first one behind the warm-up, and the first one of it */
    int64_t warmup;
    int64_t steps;                    /* cosine: until the end; step: until the next one */
    double factor;                    /* step */
    double alpha;                     /* cosine: what is left at the end */
    int n_boundaries;                 /* piecewise */
    const double *boundaries, *rates; /* one more rate than boundaries */
};

/* What can be called. */
extern const struct stk__namespace stk__schedules;

/* A number, which is a constant rate, or a call. Lists are in the arena. */
int stk__schedule_read(const struct stk_value *value, struct stk_arena *arena,
                       struct stk__schedule *out, struct stk_error *err);

/* The rate of a step; the first one is 0. */
double stk__schedule_rate(const struct stk__schedule *schedule, int64_t step);
