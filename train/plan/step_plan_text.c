/* SPDX-License-Identifier: Apache-2.0 */
/* step_plan_text.c: what a plan says to people. */
#include "train/plan/step_plan.h"

#include "base/type.h"

static void add_bytes(struct stk__text *out, size_t bytes)
{
    if (bytes >= 10000000)
        stk__text_add(out, "%.1f MB", (double)bytes / 1e6);
    else
        stk__text_add(out, "%.1f KB", (double)bytes / 1e3);
}

static void add_op(const struct stk__step_plan *plan, const struct stk__step_op *op,
                   struct stk__text *out)
{
    const struct stk__step_group *group = op->group < 0 ? NULL : &plan->group[op->group];
    if (!group) {
        stk__text_add(out, "    loss\n");
        return;
    }
    stk__text_add(out, "    %-8s %s", op->is_backward ? "backward" : "forward",
                  plan->model->node[group->node].name);
    if (group->activation >= 0) {
        stk__text_add(out, " + ");
        stk__activation_print(&plan->model->node[group->activation].activation, out);
    }
    if (group->pool >= 0)
        stk__text_add(out, " + %s", plan->model->node[group->pool].name);
    if (op->part->run && group->type->name)
        stk__text_add(out, " (%s)", group->type->name);
    stk__text_add(out, "\n");
    for (int direction = op->is_backward; direction < (op->is_backward ? 3 : 1); direction++)
        if (group->how[direction])
            stk__text_add(out, "             %s\n", group->how[direction]);
}

static void add_tensor(const struct stk__step_plan *plan, const struct stk__step_program *program,
                       int tensor, int64_t max_batch, struct stk__text *out)
{
    const struct stk__tensor *t = &plan->tensor[tensor];
    const struct stk__tensor_place *place = &program->place[tensor];
    if (place->first > place->last)
        return;
    stk__text_add(out, "    %-32s %-8s %-8s ", t->name, t->what, stk__dtype_names[t->dtype]);
    if (place->is_shared) {
        add_bytes(out, (size_t)max_batch * t->image_bytes);
        stk__text_add(out, " at %zu", place->at);
    } else {
        add_bytes(out, t->image_bytes);
        stk__text_add(out, " in a workspace, at %zu", place->at);
    }
    stk__text_add(out, ", parts %d to %d\n", place->first, place->last);
}

static void add_program(const struct stk__step_plan *plan, const struct stk__step_program *program,
                        const char *name, int64_t max_batch, struct stk__text *out)
{
    stk__text_add(out, "%s: ", name);
    add_bytes(out, program->arena_bytes);
    stk__text_add(out, " of tensors for batches of %lld, %d threads\n", (long long)max_batch,
                  plan->n_threads);
    for (int s = 0; s < program->n_segments; s++) {
        const struct stk__segment *segment = &program->segment[s];
        if (segment->is_joint) {
            stk__text_add(out, "  all threads together\n");
        } else {
            stk__text_add(out, "  lots of %d, ", segment->lot);
            add_bytes(out, segment->workspace_bytes);
            stk__text_add(out, " each, with ");
            add_bytes(out, segment->scratch_bytes);
            stk__text_add(out, " of scratch\n");
        }
        for (int op = segment->first; op < segment->behind; op++)
            add_op(plan, &program->op[op], out);
    }
    stk__text_add(out, "  tensors\n");
    for (int i = 0; i < plan->n_tensors; i++)
        add_tensor(plan, program, i, max_batch, out);
}

void stk__step_plan_text(const struct stk__step_plan *plan, int64_t max_batch,
                         struct stk__text *out)
{
    if (plan->trains)
        add_program(plan, &plan->train, "step", max_batch, out);
    add_program(plan, &plan->use, "use", max_batch, out);
}
