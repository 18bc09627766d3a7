/* SPDX-License-Identifier: Apache-2.0 */
/* late_float.c: decode().scale(1/255).center_crop(…) crops bytes and scales what is left.
 *
 * An op that only moves or leaves out pixels gives the same before or after one that changes each
 * value by itself. It comes first where values get larger by that one: fewer bytes are moved, fewer
 * values are converted, and a crop behind decode is one that decode can look at. Where the op
 * before both would carry them out anyway nothing moves.
 */
#include "rewrite/attempt.h"
#include "rewrite/rewrites.h"

static const char rule[] = "late_float";

static bool says_finish(const struct stk__node *node, struct stk__op_finish *out)
{
    *out = (struct stk__op_finish){ 0 };
    return node->op->finish && node->n_inputs == 1 &&
           node->op->finish(node->params, node->state, out) && node->from[out->field] < 0;
}

static bool moves_pixels(const struct stk__op_finish *finish)
{
    return finish->kind == STK__FINISH_CROP || finish->kind == STK__FINISH_FLIP ||
           finish->kind == STK__FINISH_PLANES;
}

/* Values of all channels alike, or channels that stay the last dimension. */
static bool can_swap(const struct stk__op_finish *convert, const struct stk__op_finish *move)
{
    bool is_alike = convert->kind == STK__FINISH_CAST || convert->channels == 1;
    return convert->kind <= STK__FINISH_CAST && moves_pixels(move) &&
           convert->field == move->field && (is_alike || move->kind != STK__FINISH_PLANES);
}

static bool is_wider(const struct stk__node *node, int field)
{
    return stk_dtype_bytes(node->type.field[field].dtype) >
           stk_dtype_bytes(node->input[0]->type.field[field].dtype);
}

static bool is_wanted(const struct stk__node *upper)
{
    struct stk__op_finish move, convert;
    if (!says_finish(upper, &move))
        return false;
    const struct stk__node *lower = upper->input[0];
    return says_finish(lower, &convert) && can_swap(&convert, &move) &&
           is_wider(lower, convert.field) && !lower->input[0]->op->take_finish;
}

static int swap(struct stk_dataset *graph, struct stk__node *upper, bool *is_swapped,
                struct stk_error *err)
{
    struct stk__kept_tree kept;
    struct stk__node *lower = upper->input[0];
    struct stk__call_text move = stk__call_text(upper), convert = stk__call_text(lower);
    int rc = stk__tree_keep(graph, &kept, err);
    if (rc)
        return rc;
    *stk__node_link(graph, upper) = lower;
    upper->input[0] = lower->input[0];
    lower->input[0] = upper;
    rc = stk__tree_settle(graph, &kept, is_swapped, err);
    return rc || !*is_swapped
               ? rc
               : stk__rewrite_tell(
                     graph, rule, true, err,
                     "%s comes before %s: it only moves pixels, and they are smaller there",
                     move.text, convert.text);
}

int stk__rewrite_late_float(struct stk_dataset *graph, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < graph->n_used && !rc; i++) {
        bool is_swapped = false;
        if (is_wanted(graph->node[i]))
            rc = swap(graph, graph->node[i], &is_swapped, err);
        i = is_swapped ? -1 : i;
    }
    return rc;
}
