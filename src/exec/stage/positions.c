/* SPDX-License-Identifier: Apache-2.0 */
/* positions.c: stages that count the positions of an indexed subtree, for serial ops on addresses. */
#include "exec/stage/stage_steps.h"

static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    (void)x;
    struct stk__chunk *out = s->open_out->chunk;
    uint64_t left = w->is_closed ? 0 : s->plan->count - s->position;
    uint64_t room = (uint64_t)(out->cap - out->n), where = stk__where(s->plan->origin, s->position);
    int n = (int)(left < room ? left : room);
    for (int i = 0; i < n; i++)
        out->address[out->n + i] = (struct stk__address){ where + (uint64_t)i, s->path };
    out->n += n;
    w->n = n;
    w->is_flushed = left == (uint64_t)n && n == 0;
}

const struct stk__stage_type stk__positions_stage = {
    .name = "positions",
    .only_counts = true,
    STK__BY_STEPS,
    .is_ready = stk__source_is_ready,
    .step = step,
};
