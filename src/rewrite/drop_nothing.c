/* SPDX-License-Identifier: Apache-2.0 */
/* drop_nothing.c: ops that do nothing with the parameters they have are left out.
 *
 * repeat(1) is not one of them: it is a pass of its own, and with another path to its rows random
 * ops would draw other numbers.
 */
#include "rewrite/attempt.h"
#include "rewrite/rewrites.h"

#include <string.h>

static const char rule[] = "drop_nothing";

/* True if every field comes out as it went in, under the same name. An op that can fail may be there
 * to find bad elements. */
static bool changes_no_field(const struct stk__node *node)
{
    const struct stk_type *in = &node->input[0]->type;
    if (!node->op->row.run || node->is_filter || !node->never_fails ||
        node->type.n_fields != in->n_fields)
        return false;
    for (int f = 0; f < in->n_fields; f++)
        if (node->from[f] != f || strcmp(node->type.field[f].name, in->field[f].name))
            return false;
    return true;
}

/* The prefetch that counts: the outermost with a number, or else the outermost. */
static const struct stk__node *effective_prefetch(const struct stk__node *node)
{
    const uint32_t passing = STK__OP_PREFETCH | STK__OP_REPEAT | STK__OP_ADDRESSES;
    const struct stk__node *found = NULL;
    for (; node->op->flags & passing && node->n_inputs == 1; node = node->input[0]) {
        bool is_prefetch = node->op->flags & STK__OP_PREFETCH;
        if (is_prefetch && *(const int64_t *)stk__node_param(node, "buffer_size") > 0)
            return node;
        if (is_prefetch && !found)
            found = node;
    }
    return found;
}

/* What a node counts, where no bad row can make it more. */
static int64_t sure_count(const struct stk__node *node)
{
    return stk__node_may_exceed(node) ? STK_UNKNOWN_COUNT : node->count;
}

/* Why a node can go, or NULL. */
static const char *why_nothing(const struct stk_dataset *graph, const struct stk__node *node)
{
    if (node->n_inputs != 1)
        return NULL;
    if (node->op->flags & STK__OP_PREFETCH)
        return node == effective_prefetch(graph->root) ? NULL : "it has no effect where it is";
    if (node->op->passes_all && node->op->passes_all(node->params, sure_count(node->input[0])))
        return "all elements pass, in their order";
    return changes_no_field(node) ? "no field changes" : NULL;
}

static int drop(struct stk_dataset *graph, struct stk__node *node, bool *is_dropped,
                struct stk_error *err)
{
    struct stk__kept_tree kept;
    struct stk__call_text call = stk__call_text(node);
    const char *why = why_nothing(graph, node);
    int rc = stk__tree_keep(graph, &kept, err);
    if (rc)
        return rc;
    *stk__node_link(graph, node) = node->input[0];
    rc = stk__tree_settle(graph, &kept, is_dropped, err);
    return rc || !*is_dropped
               ? rc
               : stk__rewrite_tell(graph, rule, true, err, "%s is left out: %s", call.text, why);
}

int stk__rewrite_drop_nothing(struct stk_dataset *graph, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < graph->n_used && !rc; i++) {
        bool is_dropped = false;
        if (why_nothing(graph, graph->node[i]))
            rc = drop(graph, graph->node[i], &is_dropped, err);
        i = is_dropped ? -1 : i;
    }
    return rc;
}
