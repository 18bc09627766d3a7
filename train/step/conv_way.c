/* SPDX-License-Identifier: Apache-2.0 */
/* conv_way.c: the choice of a candidate. */
#include "train/step/conv_way.h"

#include "base/error.h"
#include "train/conv/choice.h"

#include <string.h>

int stk__conv_group_way(const struct stk__step_plan *plan, struct stk__step_group *group,
                        const struct stk__conv_task *task, struct stk__conv_way *out,
                        struct stk_error *err)
{
    static const char *const words[] = { "forward", "to image", "to weights" };
    const struct stk__model_node *node = stk__group_node(plan, group);
    const struct stk__conv *conv = &task->conv;
    struct stk__text why = { 0 };
    if (!stk__conv_direct.can(task))
        return stk__fail_at(
            err, STK_VALUE, node->at, node->len,
            "%s: a kernel of %d by %d is larger than convolutions can be here: up to "
            "%d weights",
            node->name, conv->kernel_height, conv->kernel_width, STK__MOST_TAPS);
    stk__text_add(&why, "%s by ", words[task->direction]);
    int rc = stk__conv_choose(plan->choices, task, plan->max_batch, out, &why, err);
    if (!rc && !why.failed)
        group->how[task->direction] = stk__arena_printf(plan->arena, "%s", why.data);
    stk__text_free(&why);
    return rc;
}
