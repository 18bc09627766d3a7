/* SPDX-License-Identifier: Apache-2.0 */
/* fuse_finish.c: resize().flip().normalize() writes each pixel once. */
#include "base/error.h"
#include "rewrite/attempt.h"
#include "rewrite/rewrites.h"

#include <string.h>

/* True if the upper op leaves every other field where the lower one put it. */
static bool keeps_others(const struct stk__node *upper, int field)
{
    if (upper->type.n_fields != upper->input[0]->type.n_fields)
        return false;
    for (int f = 0; f < upper->type.n_fields; f++)
        if (upper->from[f] != (f == field ? -1 : f))
            return false;
    return true;
}

static int tell(struct stk_dataset *graph, const struct stk__node *upper)
{
    return stk__rewrite_tell(
        graph, "fuse_finish", true, NULL,
        "%s is carried out by %s: on the pixels it writes, while they are in cache",
        stk__call_text(upper).text, stk__call_text(upper->input[0]).text);
}

/* The upper node becomes both; what it was is kept for the plan. */
static int fuse(struct stk_dataset *graph, struct stk__node *upper, void *state)
{
    struct stk__node *was = stk_arena_alloc(&graph->arena, sizeof *was);
    if (!was || tell(graph, upper))
        return STK_MEMORY;
    const struct stk__node *lower = upper->input[0];
    *was = *upper;
    was->absorbed = lower->absorbed;
    upper->absorbed = was;
    upper->op = lower->op;
    upper->draws_as = lower->draws_as;
    upper->params = lower->params;
    upper->state = state;
    upper->input[0] = lower->input[0];
    upper->scratch_bytes = lower->scratch_bytes;
    memcpy(upper->from, lower->from, sizeof upper->from);
    return STK_OK;
}

int stk__rewrite_fuse_finish(struct stk_dataset *graph, struct stk_error *err)
{
    for (int i = 0; i < graph->n_used; i++) {
        struct stk__node *upper = graph->node[i];
        struct stk__op_finish finish = { .ordinal = upper->ordinal };
        if (!upper->op->finish || !upper->input[0]->op->take_finish ||
            !upper->op->finish(upper->params, upper->state, &finish) ||
            !keeps_others(upper, finish.field))
            continue;
        const struct stk__node *lower = upper->input[0];
        void *state = NULL;
        int rc =
            lower->op->take_finish(lower->params, lower->state, &graph->arena, &finish, &state);
        if (!rc && state)
            rc = fuse(graph, upper, state);
        if (rc)
            return stk__out_of_memory(err);
    }
    return STK_OK;
}
