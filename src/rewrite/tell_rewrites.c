/* SPDX-License-Identifier: Apache-2.0 */
/* tell_rewrites.c: shuffle(n).repeat() needs no rewrite, because the executor runs passes into one
 * another; this only says so. */
#include "rewrite/attempt.h"
#include "rewrite/rewrites.h"

int stk__rewrite_tell_passes(struct stk_dataset *graph, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < graph->n_used && !rc; i++) {
        const struct stk__node *repeat = graph->node[i], *below = repeat->input[0];
        if (!(repeat->op->flags & STK__OP_REPEAT))
            continue;
        while (stk__node_is_row_op(below) || below->op->flags & STK__OP_PREFETCH)
            below = below->input[0];
        if (below->op->serial.turn && !below->is_order)
            rc = stk__rewrite_tell(graph, "shuffle_repeat", true, err,
                                   "%s and %s: the next pass fills the buffer while one drains",
                                   stk__call_text(below).text, stk__call_text(repeat).text);
    }
    return rc;
}
