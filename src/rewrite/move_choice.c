/* SPDX-License-Identifier: Apache-2.0 */
/* move_choice.c: take, skip and shard of a stream come before the ops that only change elements, so
 * that these are not run on elements nobody gets.
 *
 *     stream ─▶ decode ─▶ skip(100)     becomes     stream ─▶ skip(100) ─▶ decode
 *
 * It is exact because such ops keep order and number, and a bad element counts as an element. Over
 * what can be read at random nothing moves: there positions are chosen before anything is run. The
 * stage that chooses elements cuts a segment in two, so it moves into one only if that saves work
 * of weight.
 */
#include "rewrite/attempt.h"
#include "rewrite/rewrites.h"

static const char rule[] = "move_choice";

static bool is_choice(const struct stk__node *node)
{
    return node->op->flags & STK__OP_ADDRESSES && node->op->serial.step && node->n_inputs == 1 &&
           node->class == STK__STREAM && !node->op->serial.held_rows;
}

static bool can_cross(const struct stk__node *node)
{
    return (stk__node_is_row_op(node) && !node->is_filter) || node->op->flags & STK__OP_PREFETCH;
}

/* The lowest op it may come before, or NULL if it stays. */
static struct stk__node *lowest_crossed(const struct stk__node *node)
{
    struct stk__node *lowest = NULL, *costly = NULL, *below = node->input[0];
    for (; can_cross(below); below = below->input[0]) {
        lowest = below;
        costly = stk__node_is_costly(below) ? below : costly;
    }
    return stk__node_is_row_op(below) ? costly : lowest;
}

static int move(struct stk_dataset *graph, struct stk__node *node, struct stk__node *lowest,
                bool *is_moved, struct stk_error *err)
{
    struct stk__kept_tree kept;
    struct stk__call_text call = stk__call_text(node), before = stk__call_text(lowest);
    int rc = stk__tree_keep(graph, &kept, err);
    if (rc)
        return rc;
    *stk__node_link(graph, node) = node->input[0];
    node->input[0] = lowest->input[0];
    lowest->input[0] = node;
    rc = stk__tree_settle(graph, &kept, is_moved, err);
    return rc || !*is_moved
               ? rc
               : stk__rewrite_tell(graph, rule, true, err,
                                   "%s comes before %s: what lies between keeps order and number",
                                   call.text, before.text);
}

/* Says what keeps it where it is, if that is worth knowing. */
static int tell_why_not(struct stk_dataset *graph, const struct stk__node *node,
                        struct stk_error *err)
{
    const struct stk__node *below = node->input[0];
    while (below->op->flags & STK__OP_PREFETCH)
        below = below->input[0];
    const char *why = below->op->flags & STK__OP_BATCH
                          ? "batches are made of good elements, and "
                            "which are good is known once they are made"
                      : below->is_filter ? "which elements it keeps is known once they are made"
                                         : NULL;
    return !why ? STK_OK
                : stk__rewrite_tell(graph, rule, false, err, "%s stays behind %s: %s",
                                    stk__call_text(node).text, stk__call_text(below).text, why);
}

int stk__rewrite_move_choice(struct stk_dataset *graph, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < graph->n_used && !rc; i++) {
        struct stk__node *node = graph->node[i];
        struct stk__node *lowest = is_choice(node) ? lowest_crossed(node) : NULL;
        bool is_moved = false;
        if (lowest)
            rc = move(graph, node, lowest, &is_moved, err);
        i = is_moved ? -1 : i;
    }
    for (int i = 0; i < graph->n_used && !rc; i++)
        if (is_choice(graph->node[i]))
            rc = tell_why_not(graph, graph->node[i], err);
    return rc;
}
