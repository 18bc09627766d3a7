/* SPDX-License-Identifier: Apache-2.0 */
/* given.c: in a chain that is opened for elements, the stage that gives the element. */
#include "base/hash.h"
#include "base/rows/chunk.h"
#include "exec/stage/stage_steps.h"
#include "op/order/order.h"

static bool has_trace(const struct stk__plan *plan, const struct stk__stage_plan *s)
{
    (void)plan;
    return s->has_trace; /* as where elements come from */
}

/* The element that the chain is opened for. One that is there several times is another one each time
 * for what draws. */
static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    (void)x;
    struct stk__chunk *out = s->open_out->chunk;
    w->is_flushed = w->is_closed || s->position;
    if (w->is_flushed)
        return;
    stk__chunk_append(out, s->element, 0, 1);
    if (out->key)
        out->key[out->n - 1] =
            stk__key_join(out->key[out->n - 1], stk__key_make(s->plan->node->ordinal, s->path, 0));
    w->n = 1;
}

const struct stk__stage_type stk__given_stage = {
    .name = "element",
    .has_trace = has_trace,
    STK__BY_STEPS,
    .is_ready = stk__source_is_ready,
    .step = step,
};
