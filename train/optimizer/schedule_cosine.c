/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_cosine.c: a rate that falls along half a cosine. */
#include "train/optimizer/schedule.h"

#include <math.h>

struct cosine {
    struct stk__warmup common;
    int64_t steps;
    double alpha;
};

static const struct stk_param rows[] = {
    STK__RATE_ROW,
    STK_INT_ROW(cosine, steps, 0, 1, INT64_MAX, STK_REQUIRED,
                "steps until the least rate, not counting those of the warm-up"),
    STK_REAL_ROW(cosine, alpha, 0, 0, 1, 0, "the least rate, as a part of learning_rate"),
    STK__WARMUP_ROWS,
    STK_ROWS_END,
};

static double rate_of(const struct stk__schedule *s, int64_t step)
{
    static const double pi = 3.14159265358979323846;
    const struct cosine *p = s->params;
    double done = step < p->steps ? (double)step / (double)p->steps : 1;
    return s->rate * ((1 - p->alpha) * 0.5 * (1 + cos(pi * done)) + p->alpha);
}

const struct stk__schedule_type stk__schedule_type_cosine = {
    .decl = { "cosine", 1, "Falls along half a cosine.",
              "As keras.optimizers.schedules.CosineDecay. After `steps` steps the "
              "rate stays at alpha * learning_rate. `warmup` and `start` are "
              "Keras' warmup_steps and its initial rate, learning_rate is its "
              "warmup_target.\n"
              "\n"
              "    cosine(0.001, steps=1000, warmup=100)",
              rows, sizeof(struct cosine) },
    .rate = rate_of,
};
