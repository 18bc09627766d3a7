/* SPDX-License-Identifier: Apache-2.0 */
/* choosing.c: stages of ops that say from which input the next row comes, over inputs that are indexed. Such a stage is
 * a source of positions: how many were chosen of each input is all there is, and a segment makes the rows.
 */
#include "base/error.h"
#include "exec/stage/stage_steps.h"
#include "op/order/order.h"

#include <stdlib.h>
#include <string.h>

struct choosing {
    void *op;                          /* the op's run */
    uint64_t n_chosen[STK_MAX_INPUTS]; /* positions of each input so far in this pass */
};

static int begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    const struct stk__serial_start begin = stk__step_begin(x, s);
    struct choosing *c = calloc(1, sizeof *c);
    s->run = c;
    return c ? s->plan->node->op->choice.begin(&begin, &c->op, err) : stk__out_of_memory(err);
}

static void end(struct stk__stage *s)
{
    struct choosing *c = s->run;
    if (c && c->op)
        s->plan->node->op->choice.end(c->op);
    free(c);
}

static void begin_pass(struct stk__stage *s)
{
    struct choosing *c = s->run;
    if (!s->begins_pass)
        return;
    s->plan->node->op->choice.next_epoch(c->op, stk__pass_path(s));
    memset(c->n_chosen, 0, sizeof c->n_chosen);
    s->begins_pass = false;
}

static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    struct choosing *c = s->run;
    (void)x;
    const struct stk__choice_table *choice = &s->plan->node->op->choice;
    struct stk__chunk *out = s->open_out->chunk;
    int first = out->n;
    begin_pass(s);
    while (!w->is_closed && out->n < out->cap) {
        int i = choice->wanted(c->op);
        if (i < 0)
            break;
        if (c->n_chosen[i] == (uint64_t)s->plan->in_count[i]) { /* never of one without an end */
            choice->ended(c->op, i);
            continue;
        }
        choice->take(c->op, i, NULL, 0, NULL);
        uint64_t position = stk__chosen(i, c->n_chosen[i]++);
        out->address[out->n++] =
            (struct stk__address){ stk__where(s->plan->origin, position), s->path };
    }
    w->n = out->n - first;
    w->is_flushed = out->n < out->cap && w->n == 0;
}

const struct stk__stage_type stk__choosing_stage = {
    .name = "choosing",
    .only_counts = true,
    .begin = begin,
    .end = end,
    STK__BY_STEPS,
    .is_ready = stk__source_is_ready,
    .step = step,
};
