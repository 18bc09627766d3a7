/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_step.c: a rate that is multiplied by a factor every so many steps. */
#include "train/optimizer/schedule.h"

#include <math.h>

struct step {
    struct stk__warmup common;
    int64_t every;
    double factor;
};

static const struct stk_param rows[] = {
    STK__RATE_ROW,
    STK_INT_ROW(step, every, 0, 1, INT64_MAX, STK_REQUIRED, "steps with one rate"),
    STK_REAL_ROW(step, factor, 0.1, 0, DBL_MAX, 0, "what the rate is multiplied with after them"),
    STK__WARMUP_ROWS,
    STK_ROWS_END,
};

static double rate_of(const struct stk__schedule *s, int64_t step)
{
    const struct step *p = s->params;
    return s->rate * pow(p->factor, (double)(step / p->every));
}

const struct stk__schedule_type stk__schedule_type_step = {
    .decl = { "step", 1, "Multiplied by a factor every so many steps.",
              "As keras.optimizers.schedules.ExponentialDecay with staircase=True, "
              "and as torch.optim.lr_scheduler.StepLR.\n"
              "\n"
              "    step(0.1, every=1000, factor=0.5)",
              rows, sizeof(struct step) },
    .rate = rate_of,
};
