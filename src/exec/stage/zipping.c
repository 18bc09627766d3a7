/* SPDX-License-Identifier: Apache-2.0 */
/* zipping.c: stages that join rows of several inputs, as long as all have some. */
#include "base/rows/chunk.h"
#include "exec/stage/stage_steps.h"

/* The first input, in order, that has ended ends the pass. */
static bool ends(struct stk__exec *x, struct stk__stage *s, struct stk__work *w, bool *is_starved)
{
    *is_starved = false;
    for (int i = 0; i < s->plan->n_inputs; i++) {
        struct stk__ticket *t = stk__stage_peek(x, stk__input_of(x, s, i), s);
        if (!t) {
            *is_starved = true;
            return false;
        }
        w->ticket_of[i] = t;
        if (!t->end)
            continue;
        if (t->end == STK__END_BROKEN) {
            stk__hand_on_break(x, s, i, t);
            *is_starved = true;
            return false;
        }
        stk__see_mark(x, s, i, t);
        s->joint.has_ended = true;
        stk__close_inputs(x, s, s->plan->depth);
        return true;
    }
    return false;
}

static bool is_ready(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    bool is_starved = false;
    if (!s->joint.has_ended && !ends(x, s, w, &is_starved))
        return !is_starved;
    stk__end_joined(x, s);
    return false;
}

static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    (void)x;
    struct stk__chunk *out = s->open_out->chunk;
    int n = out->cap - out->n;
    for (int i = 0; i < s->plan->n_inputs; i++) {
        int left = w->ticket_of[i]->n - w->ticket_of[i]->n_used;
        n = left < n ? left : n;
    }
    for (int i = 0, first = 0; i < s->plan->n_inputs; i++) {
        struct stk__ticket *t = w->ticket_of[i];
        stk__chunk_join(out, out->n, first, t->chunk, t->out_from + t->n_used, n);
        first += t->chunk->type->n_fields;
    }
    out->n += n;
    w->used = n;
}

static void use(struct stk__exec *x, struct stk__stage *s, const struct stk__work *w)
{
    (void)x;
    for (int i = 0; i < s->plan->n_inputs; i++)
        w->ticket_of[i]->n_used += w->used;
}

const struct stk__stage_type stk__zipping_stage = {
    .name = "zipping stage",
    .is_join = true,
    STK__BY_STEPS,
    .is_ready = is_ready,
    .step = step,
    .use = use,
};
