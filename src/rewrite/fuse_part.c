/* SPDX-License-Identifier: Apache-2.0 */
/* fuse_part.c: decode().center_crop() decodes the middle alone, and decode(scale=auto).resize() no
 * more detail than is left. */
#include "base/error.h"
#include "rewrite/attempt.h"
#include "rewrite/rewrites.h"

/* Both nodes stay: the lower one makes parts, and the upper one works on them. */
static int fuse(struct stk_dataset *graph, struct stk__node *upper, struct stk__image_part *part)
{
    struct stk__node *lower = upper->input[0];
    void *state = NULL;
    part->name = upper->op->decl.name;
    part->ordinal = upper->draws_as;
    int rc = lower->op->take_part(lower->params, lower->state, &graph->arena, part, &state);
    if (rc || !state)
        return rc;
    lower->state = state;
    if (part->choose) {
        lower->part_for = upper;
        upper->state = part->state_for_parts;
    } else {
        lower->scaled_for = upper;
    }
    return stk__rewrite_tell(graph, "fuse_part", true, NULL,
                             part->choose ? "%s makes only the part that %s looks at"
                                          : "%s makes no more detail than %s keeps",
                             stk__call_text(lower).text, stk__call_text(upper).text);
}

int stk__rewrite_fuse_part(struct stk_dataset *graph, struct stk_error *err)
{
    for (int i = 0; i < graph->n_used; i++) {
        struct stk__node *upper = graph->node[i];
        struct stk__image_part part = { .choose = NULL };
        if (!upper->op->part || !upper->input[0]->op->take_part)
            continue;
        int rc = upper->op->part(upper->params, upper->state, &graph->arena, &part);
        if (!rc && (part.choose || part.shrink))
            rc = fuse(graph, upper, &part);
        if (rc)
            return stk__out_of_memory(err);
    }
    return STK_OK;
}
