/* SPDX-License-Identifier: Apache-2.0 */
/* choosing.c: stages of ops that say from which input the next row comes.
 *
 * Over indexed inputs such an op is a source of positions: how many were chosen of each input is
 * all there is, and a segment makes the rows. Where rows must be there, it reads the input it
 * wants, and takes rows of all inputs for as long as the one it wants has some:
 *
 *     a ─▶ ┐                       wanted: b  b  a  c …
 *     b ─▶ ├ mixing ─▶ b b a …
 *     c ─▶ ┘
 */
#include "exec/exec.h"
#include "op/order/order.h"

static void begin_pass(struct stk__stage *s, uint64_t path)
{
    if (!s->begins_pass)
        return;
    s->plan->node->op->choice.next_epoch(s->run, path);
    for (int i = 0; i < STK_MAX_INPUTS; i++)
        s->n_chosen[i] = 0;
    s->begins_pass = false;
}

/* Looks at what the inputs have, under the lock. An input that has come to the end of this pass has
 * rows of the next one. */
static void peek_rows(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    for (int i = 0; i < s->plan->n_inputs; i++) {
        struct stk__ticket *t = NULL;
        if (s->seen_level[i] > s->plan->depth)
            t = stk__stage_peek(x, &x->stage[s->plan->input[i]], s);
        w->ticket_of[i] = t && !t->end ? t : NULL;
    }
}

bool stk__mix_is_ready(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    const struct stk_choice_table *choice = &s->plan->node->op->choice;
    if (!s->has_ended)
        begin_pass(s, stk__pass_path(s));
    while (!s->has_ended) {
        int i = choice->wanted(s->run);
        if (i < 0) {
            s->has_ended = true;
            stk__close_inputs(x, s, s->plan->depth);
            break;
        }
        struct stk__ticket *t = stk__stage_peek(x, &x->stage[s->plan->input[i]], s);
        if (t && t->end == STK__END_BROKEN)
            stk__pass_break(x, s, i, t);
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

void stk__run_mix(struct stk__stage *s, struct stk__work *w)
{
    const struct stk_choice_table *choice = &s->plan->node->op->choice;
    struct stk_chunk *out = s->open_out->chunk;
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

void stk__run_choosing(struct stk__stage *s, struct stk__work *w)
{
    const struct stk_choice_table *choice = &s->plan->node->op->choice;
    struct stk_chunk *out = s->open_out->chunk;
    int first = out->n;
    begin_pass(s, stk__pass_path(s));
    while (!w->is_closed && out->n < out->cap) {
        int i = choice->wanted(s->run);
        if (i < 0)
            break;
        if (s->n_chosen[i] == (uint64_t)s->plan->in_count[i]) { /* never of one without an end */
            choice->ended(s->run, i);
            continue;
        }
        choice->take(s->run, i, NULL, 0, NULL);
        uint64_t position = stk__chosen(i, s->n_chosen[i]++);
        out->address[out->n++] =
            (struct stk_address){ stk__where(s->plan->origin, position), s->path };
    }
    w->n = out->n - first;
    w->is_flushed = out->n < out->cap && w->n == 0;
}
