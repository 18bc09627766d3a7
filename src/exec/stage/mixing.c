/* SPDX-License-Identifier: Apache-2.0 */
/* mixing.c: stages of ops that say from which input the next row comes, where rows must be there for that. The stage
 * reads the input that is wanted, and takes rows of all inputs for as long as the one that is wanted has some:
 *
 *     a ─▶ ┐                       wanted: b  b  a  c …
 *     b ─▶ ├ mixing ─▶ b b a …
 *     c ─▶ ┘
 */
#include "exec/stage/stage_steps.h"
#include "op/order/order.h"

/* The first of its inputs may only choose. */
static bool has_trace(const struct stk__plan *plan, const struct stk__stage_plan *s)
{
    bool takes_apart = s->node->op->flags & STK__OP_EXPANDS;
    return !takes_apart && plan->stage[s->input[s->n_inputs - 1]].has_trace;
}

static int begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    const struct stk__serial_start begin = stk__step_begin(x, s);
    return s->plan->node->op->choice.begin(&begin, &s->run, err);
}

static void end(struct stk__stage *s)
{
    if (s->run)
        s->plan->node->op->choice.end(s->run);
}

/* It may have looked which input it wants first before this element was there. */
static int open_element(struct stk__exec *x, struct stk__stage *s, const struct stk__chunk *element,
                        struct stk_error *err)
{
    (void)x, (void)element, (void)err;
    s->begins_pass = true;
    return STK_OK;
}

/* Looks at what the inputs have, under the lock. An input that has come to the end of this pass has
 * rows of the next one. */
static void peek_rows(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    for (int i = 0; i < s->plan->n_inputs; i++) {
        struct stk__ticket *t = NULL;
        if (s->joint.seen_level[i] > s->plan->depth)
            t = stk__stage_peek(x, stk__input_of(x, s, i), s);
        w->ticket_of[i] = t && !t->end ? t : NULL;
    }
}

static bool is_ready(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    const struct stk__choice_table *choice = &s->plan->node->op->choice;
    if (!s->joint.has_ended && s->begins_pass) {
        choice->next_epoch(s->run, stk__pass_path(s));
        s->begins_pass = false;
    }
    while (!s->joint.has_ended) {
        int i = choice->wanted(s->run);
        if (i < 0) {
            s->joint.has_ended = true;
            stk__close_inputs(x, s, s->plan->depth);
            break;
        }
        struct stk__ticket *t = stk__stage_peek(x, stk__input_of(x, s, i), s);
        if (t && t->end == STK__END_BROKEN)
            stk__hand_on_break(x, s, i, t);
        if (!t || t->end == STK__END_BROKEN)
            return false;
        if (!t->end) {
            peek_rows(x, s, w);
            return true;
        }
        stk__see_mark(x, s, i, t);
        choice->ended(s->run, i);
    }
    stk__end_joined(x, s);
    return false;
}

static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    (void)x;
    const struct stk__choice_table *choice = &s->plan->node->op->choice;
    struct stk__chunk *out = s->open_out->chunk;
    while (out->n < out->cap) {
        int i = choice->wanted(s->run);
        const struct stk__ticket *t = i < 0 ? NULL : w->ticket_of[i];
        if (!t || t->n_used + w->used_of[i] == t->n)
            break;
        int row = t->out_from + t->n_used + w->used_of[i]++;
        if (choice->take(s->run, i, t->chunk, row, out))
            stk__chunk_append(out, t->chunk, row, 1);
    }
}

static void use(struct stk__exec *x, struct stk__stage *s, const struct stk__work *w)
{
    (void)x;
    for (int i = 0; i < s->plan->n_inputs; i++)
        if (w->ticket_of[i])
            w->ticket_of[i]->n_used += w->used_of[i];
}

const struct stk__stage_type stk__mixing_stage = {
    .name = "mixing stage",
    .is_join = true,
    .has_trace = has_trace,
    .begin = begin,
    .end = end,
    .open_element = open_element,
    STK__BY_STEPS,
    .is_ready = is_ready,
    .step = step,
    .use = use,
};
