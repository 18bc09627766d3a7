/* SPDX-License-Identifier: Apache-2.0 */
/* conv_way.c: the choice of a candidate. */
#include "train/step/conv_way.h"

int stk__conv_way(const struct stk__step_plan *plan, const struct stk__group *group,
                  const struct stk__conv *conv, enum stk__direction direction, struct stk__way *out,
                  struct stk_error *err)
{
    struct stk__conv_task task = {
        .conv = *conv, .direction = direction, .cpu_level = plan->cpu_level, .n_images = 1
    };
    const struct stk__node *node = stk__group_node(plan, group);
    if (!stk__direct.can(&task))
        return stk__fail_at(
            err, STK_VALUE, node->at, node->len,
            "%s: a kernel of %d by %d is larger than convolutions can be here: up to "
            "%d weights",
            node->name, conv->kernel_height, conv->kernel_width, STK__MOST_TAPS);
    return stk__way_open(out, &stk__direct, &task, err);
}
