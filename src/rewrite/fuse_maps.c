/* SPDX-License-Identifier: Apache-2.0 */
/* fuse_maps.c: map(…).map(…) is one program over the fields, so that what lies between is never
 * written. */
#include "base/error.h"
#include "rewrite/attempt.h"
#include "rewrite/rewrites.h"

static const char rule[] = "fuse_maps";

/* Ops that cannot fail: in one program a row would go on after its first error. */
static bool is_wanted(const struct stk__node *upper)
{
    const struct stk__node *lower = upper->n_inputs == 1 ? upper->input[0] : NULL;
    return lower && upper->op->join && upper->op == lower->op && upper->never_fails &&
           lower->never_fails;
}

static int fuse(struct stk_dataset *graph, struct stk__node *upper, bool *is_fused,
                struct stk_error *err)
{
    struct stk__kept_tree kept;
    struct stk__node *lower = upper->input[0];
    struct stk__call_text first = stk__call_text(lower), second = stk__call_text(upper);
    void *params = NULL;
    if (upper->op->join(lower->params, lower->state, &lower->input[0]->type, upper->params,
                        &graph->arena, &params))
        return stk__out_of_memory(err);
    int rc = params ? stk__tree_keep(graph, &kept, err) : STK_OK;
    if (rc || !params)
        return rc;
    upper->params = params;
    upper->input[0] = lower->input[0];
    rc = stk__tree_settle(graph, &kept, is_fused, err);
    return rc || !*is_fused
               ? rc
               : stk__rewrite_tell(graph, rule, true, err,
                                   "%s and %s are one: what lies between is never written",
                                   first.text, second.text);
}

int stk__rewrite_fuse_maps(struct stk_dataset *graph, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < graph->n_used && !rc; i++) {
        bool is_fused = false;
        if (is_wanted(graph->node[i]))
            rc = fuse(graph, graph->node[i], &is_fused, err);
        i = is_fused ? -1 : i;
    }
    return rc;
}
