/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_piecewise.c: a list of rates, each up to its step. */
#include "train/optimizer/schedule.h"

#include "base/error.h"

struct piecewise {
    struct stk__warmup common;
    struct stk_numbers boundaries, values;
};

static const struct stk_param rows[] = {
    STK_NUMBERS_ROW(piecewise, boundaries, NULL, 1, 1000, STK_REQUIRED,
                    "the last step of each rate but the last one's, rising"),
    STK_NUMBERS_ROW(piecewise, values, NULL, 2, 1001, STK_REQUIRED,
                    "the rates, one more than boundaries"),
    STK__WARMUP_ROWS,
    STK_ROWS_END,
};

static int check(const struct stk__call *call, struct stk__schedule *out, struct stk_error *err)
{
    const struct piecewise *p = out->params;
    if (p->values.n != p->boundaries.n + 1)
        return stk__fail_at(err, STK_VALUE, call->at, call->len,
                            "piecewise: %d boundaries want %d values, not %d", p->boundaries.n,
                            p->boundaries.n + 1, p->values.n);
    for (int i = 1; i < p->boundaries.n; i++)
        if (!(p->boundaries.item[i] > p->boundaries.item[i - 1]))
            return stk__fail_at(err, STK_VALUE, call->at, call->len,
                                "piecewise: boundary %d is not above the one before it", i);
    for (int i = 0; i < p->values.n; i++) {
        if (!(p->values.item[i] >= 0))
            return stk__fail_at(err, STK_VALUE, call->at, call->len,
                                "piecewise: rate %d is below 0", i);
        if (p->values.item[i] > FLT_MAX)
            return stk__fail_at(err, STK_VALUE, call->at, call->len,
                                "piecewise: rate %d is larger than a float32 holds", i);
    }
    out->rate = p->values.item[0];
    return STK_OK;
}

static double rate_of(const struct stk__schedule *s, int64_t step)
{
    const struct piecewise *p = s->params;
    int i = 0;
    while (i < p->boundaries.n && (double)step > p->boundaries.item[i])
        i++;
    return p->values.item[i];
}

const struct stk__schedule_type stk__schedule_type_piecewise = {
    .decl = { "piecewise", 1, "A list of rates, each up to its step.",
              "As keras.optimizers.schedules.PiecewiseConstantDecay: the first "
              "rate holds up to and with the first boundary.\n"
              "\n"
              "    piecewise([1000, 2000], [0.1, 0.01, 0.001])",
              rows, sizeof(struct piecewise) },
    .check = check,
    .rate = rate_of,
};
