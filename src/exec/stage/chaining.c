/* SPDX-License-Identifier: Apache-2.0 */
/* chaining.c: stages that hand on the rows of one input after the other. */
#include "base/error.h"
#include "exec/stage/stage_steps.h"

#include <stdlib.h>

struct chaining {
    int current; /* the input that is read */
};

static int begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    (void)x;
    s->run = calloc(1, sizeof(struct chaining));
    return s->run ? STK_OK : stk__out_of_memory(err);
}

static void end(struct stk__stage *s)
{
    free(s->run);
}

static bool is_ready(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    struct chaining *c = s->run;
    while (!s->joint.has_ended) {
        struct stk__ticket *t = stk__stage_peek(x, stk__input_of(x, s, c->current), s);
        if (t && t->end == STK__END_BROKEN)
            stk__hand_on_break(x, s, c->current, t);
        if (!t || t->end == STK__END_BROKEN)
            return false;
        if (!t->end) {
            w->ticket = t;
            return true;
        }
        stk__see_mark(x, s, c->current, t);
        s->joint.has_ended = ++c->current == s->plan->n_inputs;
    }
    stk__end_joined(x, s);
    if (!s->joint.has_ended)
        c->current = 0;
    return false;
}

static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    (void)x;
    struct stk__chunk *out = s->open_out->chunk;
    struct stk__ticket *t = w->ticket;
    int n = t->n - t->n_used, room = out->cap - out->n;
    n = n < room ? n : room;
    stk__chunk_copy(out, out->n, t->chunk, t->out_from + t->n_used, n);
    out->n += n;
    w->used = n;
}

const struct stk__stage_type stk__chaining_stage = {
    .name = "chaining stage",
    .is_join = true,
    .begin = begin,
    .end = end,
    STK__BY_STEPS,
    .is_ready = is_ready,
    .step = step,
};
