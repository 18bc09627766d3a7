/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.h: learning rates that change as training goes on.
 *
 *     constant(0.001)   step(0.1, every=1000)   piecewise([10, 20], [0.1, 0.01, 0.001])
 *     cosine(0.001, steps=1000, warmup=100)
 *
 * Each may begin with a warm-up: `warmup` steps in which the rate rises in a straight line from
 * `start`, after which the schedule begins with its step 0.
 *
 * A new schedule needs its file here, schedule_NAME.c, with one declaration, and a case in
 * tests/train/test_train_rules.c.
 */
#pragma once
#include "lang/lang.h"

#include <float.h>

struct stk__schedule {
    const struct stk__schedule_type *type;
    const void *params; /* bound, of its type; NULL: a number alone */
    double rate, start; /* the first one behind the warm-up, and the first one of it */
    int64_t warmup;
};

struct stk__schedule_type {
    struct stk_decl decl; /* first: a declaration of stk__schedules is its type */
    /* Looks at what was bound; NULL: anything goes. */
    int (*check)(const struct stk__call *call, struct stk__schedule *out, struct stk_error *err);
    /* Of a step behind the warm-up; NULL: the first one stays. */
    double (*rate)(const struct stk__schedule *schedule, int64_t step);
};

/* What can be called: what the files of this folder declare. */
extern const struct stk__namespace stk__schedules;

/* A number, which is a constant rate, or a call. Lists are in the arena. */
int stk__schedule_read(const struct stk_value *value, struct stk_arena *arena,
                       struct stk__schedule *out, struct stk_error *err);

/* The same rate in every step. */
struct stk__schedule stk__schedule_constantly(double rate);

/* The rate of a step; the first one is 0. */
double stk__schedule_rate(const struct stk__schedule *schedule, int64_t step);

/* ---- rows that schedules share ---- */

/* What the parameters of every schedule begin with. */
struct stk__warmup {
    double learning_rate;
    int64_t warmup;
    double start;
};

#define STK__RATE_ROW                                                                              \
    STK_REAL_ROW(stk__warmup, learning_rate, 0, 0, FLT_MAX, STK_REQUIRED,                          \
                 "the rate behind the warm-up")
#define STK__WARMUP_ROWS                                                                           \
    STK_INT_ROW(stk__warmup, warmup, 0, 0, INT64_MAX, 0,                                           \
                "steps in which the rate rises before that"),                                      \
        STK_REAL_ROW(stk__warmup, start, 0, 0, FLT_MAX, 0, "the rate at which the warm-up begins")
