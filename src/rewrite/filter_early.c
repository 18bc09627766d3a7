/* SPDX-License-Identifier: Apache-2.0 */
/* filter_early.c: decode().filter('label < 5') decodes only what the filter keeps.
 *
 * A filter comes before ops that read or decode if it looks at none of what they make. Elements it
 * drops are then not made, so nobody learns whether they could have been: an error in an element
 * that is filtered out does not count. That is a promise of filter's documentation.
 */
#include "rewrite/attempt.h"
#include "rewrite/rewrites.h"

#include <string.h>

static const char rule[] = "filter_early";

/* How far down a filter may come. */
struct way {
    struct stk__node *lowest;         /* the lowest op of weight that it may come before, or NULL */
    const struct stk__node *blocking; /* the op of weight it must stay behind, or NULL */
    int field;                        /* of that op's output: what the filter looks at */
};

/* The fields of an op's input that these of its output are; 0 and one that it makes or names. */
static uint32_t fields_before(const struct stk__node *op, uint32_t fields, int *made)
{
    uint32_t before = 0;
    for (int f = 0; f < op->type.n_fields; f++) {
        if (!(fields >> f & 1))
            continue;
        int from = op->from[f];
        *made = f;
        if (from < 0 || strcmp(op->input[0]->type.field[from].name, op->type.field[f].name))
            return 0;
        before |= UINT32_C(1) << from;
    }
    return before;
}

static struct way find_way(const struct stk__node *filter)
{
    struct way way = { .lowest = NULL };
    uint32_t fields = filter->reads;
    struct stk__node *op = filter->input[0];
    for (; stk__node_is_row_op(op) && !op->is_filter; op = op->input[0]) {
        fields = fields_before(op, fields, &way.field);
        if (!fields)
            break;
        way.lowest = stk__node_is_costly(op) ? op : way.lowest;
    }
    if (!fields && !way.lowest && stk__node_is_costly(op))
        way.blocking = op;
    return way;
}

static bool is_filter(const struct stk__node *node)
{
    return node->is_filter && node->op->row.run && node->reads != UINT32_MAX;
}

static int move(struct stk_dataset *graph, struct stk__node *filter, struct stk__node *lowest,
                bool *is_moved, struct stk_error *err)
{
    struct stk__kept_tree kept;
    struct stk__call_text call = stk__call_text(filter), before = stk__call_text(lowest);
    int rc = stk__tree_keep(graph, &kept, err);
    if (rc)
        return rc;
    *stk__node_link(graph, filter) = filter->input[0];
    filter->input[0] = lowest->input[0];
    lowest->input[0] = filter;
    rc = stk__tree_settle(graph, &kept, is_moved, err);
    return rc || !*is_moved
               ? rc
               : stk__rewrite_tell(graph, rule, true, err,
                                   "%s comes before %s: it looks at nothing that is made there",
                                   call.text, before.text);
}

static int tell_why_not(struct stk_dataset *graph, const struct stk__node *filter,
                        struct stk_error *err)
{
    struct way way = find_way(filter);
    const struct stk__node *op = way.blocking ? way.blocking : way.lowest;
    if (!op)
        return STK_OK;
    struct stk__call_text call = stk__call_text(filter), behind = stk__call_text(op);
    if (!way.blocking)
        return stk__rewrite_tell(
            graph, rule, false, err,
            "%s stays behind %s: it can fail, and the first to fail is reported", call.text,
            behind.text);
    return stk__rewrite_tell(graph, rule, false, err, "%s stays behind %s: it looks at '%s'",
                             call.text, behind.text, op->type.field[way.field].name);
}

int stk__rewrite_filter_early(struct stk_dataset *graph, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < graph->n_used && !rc; i++) {
        struct stk__node *node = graph->node[i];
        struct way way = { .lowest = NULL };
        bool is_moved = false;
        if (is_filter(node) && node->never_fails)
            way = find_way(node);
        if (way.lowest)
            rc = move(graph, node, way.lowest, &is_moved, err);
        i = is_moved ? -1 : i;
    }
    for (int i = 0; i < graph->n_used && !rc; i++)
        if (is_filter(graph->node[i]))
            rc = tell_why_not(graph, graph->node[i], err);
    return rc;
}
