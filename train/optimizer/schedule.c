/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c: reading a schedule, its warm-up, and a number that stands for one. */
#include "train/optimizer/schedule.h"

#include "base/error.h"
#include "train/model/declared.h"

#include <float.h>

struct stk__schedule stk__schedule_constantly(double rate)
{
    static const struct stk__schedule_type number = { .rate = NULL };
    return (struct stk__schedule){ .type = &number, .rate = rate };
}

static int read_number(const struct stk_value *value, struct stk__schedule *out,
                       struct stk_error *err)
{
    double rate = value->kind == STK__INT ? (double)value->integer : value->real;
    if (!(rate >= 0 && rate <= FLT_MAX))
        return stk__fail_at(err, STK_VALUE, value->at, value->len,
                            "a learning rate is at least 0, and no larger than a float32 holds");
    *out = stk__schedule_constantly(rate);
    return STK_OK;
}

int stk__schedule_read(const struct stk_value *value, struct stk_arena *arena,
                       struct stk__schedule *out, struct stk_error *err)
{
    struct stk__declared said;
    if (value->kind == STK__INT || value->kind == STK__REAL)
        return read_number(value, out, err);
    int rc = stk__declared_bound(value, &stk__schedules, "a learning rate is a number or", arena,
                                 &said, err);
    if (rc)
        return rc;
    const struct stk__warmup *p = said.params;
    *out = (struct stk__schedule){ .type = (const void *)said.decl,
                                   .params = p,
                                   .rate = p->learning_rate,
                                   .start = p->start,
                                   .warmup = p->warmup };
    return out->type->check ? out->type->check(said.call, out, err) : STK_OK;
}

double stk__schedule_rate(const struct stk__schedule *s, int64_t step)
{
    if (step < s->warmup)
        return s->start + (s->rate - s->start) * ((double)step / (double)s->warmup);
    return s->type->rate ? s->type->rate(s, step - s->warmup) : s->rate;
}
