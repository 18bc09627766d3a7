/* SPDX-License-Identifier: Apache-2.0 */
/* advice.c: the model, and the list of rules. The rules themselves are in advice_rules.c. */
#include "tune/advice.h"

#include "tune/advice_rules.h"

#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

void stk__model_of(const struct stk__stretch *s, const struct stk__verdict *v,
                   struct stk__time_model *out)
{
    double n = larger(s->elements, 1);
    *out = (struct stk__time_model){ .workers = s->workers > 0 ? s->workers : 1 };
    out->step = s->has_consumer ? s->step_s * s->batches / n : 0;
    for (int i = 0; i < s->n_stages; i++) {
        const struct stk__stretch_stage *stage = &s->stage[i];
        if (stage->lock)
            out->lock += stage->work_s / n;
        else if (stage->is_serial)
            out->serial = larger(out->serial, stage->work_s / n);
        else
            out->compute += stage->work_s / n;
    }
    if (v->bound == STK__BOUND_STORAGE)
        out->reads = s->seconds / n;
}

double stk__model_rate(const struct stk__time_model *m)
{
    double all = m->compute + m->serial + m->lock;
    double longest = larger(larger(all / m->workers, m->serial), larger(m->lock, m->reads));
    longest = larger(longest, m->step);
    return longest > 0 ? 1 / longest : 0;
}

/* ---- rules ---- */

typedef int (*rule_fn)(const struct stk__situation *s, const struct stk__chain_edit *chain,
                       struct stk__proposal *out);

static const struct {
    const char *name;
    rule_fn make; /* leaves `text` NULL where it has nothing to say */
} rules[] = {
    { "workers", stk__advise_workers },     { "memory", stk__advise_memory },
    { "io-depth", stk__advise_io_depth },   { "window", stk__advise_window },
    { "cache", stk__advise_cache },         { "scale", stk__advise_scale },
    { "pack-small", stk__advise_small },    { "pack", stk__advise_pack },
    { "variants", stk__advise_variants },   { "unpack", stk__advise_unpack },
    { "processes", stk__advise_processes }, { "batch-size", stk__advise_batch_size },
};

int stk__advice_make(const struct stk__situation *s, struct stk__advice *out)
{
    struct stk__chain_edit chain;
    out->n = 0;
    if (s->verdict->bound == STK__BOUND_NOTHING || s->verdict->bound == STK__BOUND_STEP)
        return STK_OK;
    int rc = stk__edit_begin(&chain, s->dataset, s->arena);
    for (size_t i = 0; !rc && i < sizeof rules / sizeof *rules; i++) {
        struct stk__proposal *item = &out->item[out->n];
        *item = (struct stk__proposal){ .rule = rules[i].name };
        rc = rules[i].make(s, &chain, item);
        out->n += !rc && item->text;
    }
    return rc;
}

static int by_gain(const void *a, const void *b)
{
    const struct stk__proposal *x = a, *y = b;
    return (x->gain < y->gain) - (x->gain > y->gain);
}

void stk__advice_rank(struct stk__advice *advice)
{
    const double least = 1.05;
    int n = 0;
    for (int i = 0; i < advice->n; i++)
        if (advice->item[i].gain >= least)
            advice->item[n++] = advice->item[i];
    advice->n = n;
    qsort(advice->item, (size_t)n, sizeof *advice->item, by_gain);
}
