/* SPDX-License-Identifier: Apache-2.0 */
/* step_plan_groups.c: which nodes are carried out together.
 *
 * A layer with weights takes the activation behind it along if nobody else reads what is between, and
 * a convolution the maximum behind that, too. Activations are those whose gradient the output tells.
 */
#include "train/plan/step_plan.h"

#include "base/error.h"
#include "train/step/step.h"

/* Weights above this are read once for the whole batch, by all threads together, instead of for each lot:
 * half of a second-level cache. */
enum { WIDE_BYTES = 512 << 10 };

struct grouping {
    struct stk__step_plan *plan;
    int *n_readers, *reader; /* of each node; the last one */
    bool *is_taken;
    bool merges_last;
};

static int count_readers(struct grouping *g, struct stk_error *err)
{
    const struct stk__model *model = g->plan->model;
    size_t n = (size_t)model->n_nodes;
    g->n_readers = stk_arena_alloc(g->plan->arena, n * sizeof *g->n_readers);
    g->reader = stk_arena_alloc(g->plan->arena, n * sizeof *g->reader);
    g->is_taken = stk_arena_alloc(g->plan->arena, n * sizeof *g->is_taken);
    if (!g->n_readers || !g->reader || !g->is_taken)
        return stk__out_of_memory(err);
    for (int i = 0; i < model->n_nodes; i++)
        for (int k = 0; k < model->node[i].n_inputs; k++) {
            int from = model->node[i].input[k];
            g->n_readers[from]++;
            g->reader[from] = i;
        }
    return STK_OK;
}

/* The only reader of a node if it is of that kind, else -1. */
static int only_reader(const struct grouping *g, int node, const struct stk__node_kind *kind)
{
    const struct stk__model *model = g->plan->model;
    if (g->n_readers[node] != 1 || model->node[g->reader[node]].kind != kind)
        return -1;
    bool is_merged = g->merges_last && g->reader[node] == model->n_nodes - 1;
    return is_merged ? -1 : g->reader[node];
}

static void take_activation(struct grouping *g, struct stk__step_group *group)
{
    const struct stk__model *model = g->plan->model;
    int next = only_reader(g, group->last, &stk__node_activation);
    if (next < 0 || !stk__activation_is_simple(&model->node[next].activation))
        return;
    group->activation = group->last = next;
    g->is_taken[next] = true;
}

/* A byte says which cell of a window was the largest. */
static void take_pool(struct grouping *g, struct stk__step_group *group)
{
    int next = only_reader(g, group->last, &stk__node_maxpool);
    if (next < 0)
        return;
    const struct stk__window *w = &g->plan->model->node[next].window;
    if (w->kernel_height * w->kernel_width > 255)
        return;
    group->pool = group->last = next;
    g->is_taken[next] = true;
}

static const struct stk__group_type *type_of(const struct stk__step_plan *plan,
                                             const struct stk__model_node *node)
{
    const struct stk__weight *kernel = stk__node_weight(plan->model, node, STK__KERNEL);
    bool is_wide = kernel && kernel->n_values * (int64_t)sizeof(float) > WIDE_BYTES;
    return is_wide && node->kind->wide_group ? node->kind->wide_group : node->kind->group;
}

static void begin_group(struct grouping *g, int node)
{
    struct stk__step_plan *plan = g->plan;
    const struct stk__model_node *of = &plan->model->node[node];
    struct stk__step_group *group = &plan->group[plan->n_groups];
    *group = (struct stk__step_group){ .type = type_of(plan, of),
                                       .number = plan->n_groups++,
                                       .node = node,
                                       .activation = -1,
                                       .pool = -1,
                                       .last = node,
                                       .n_inputs = of->n_inputs,
                                       .out = -1,
                                       .d_out = -1,
                                       .cells = -1 };
    group->is_merged = g->merges_last && node == plan->model->n_nodes - 1;
    if (of->kind->takes_activation)
        take_activation(g, group);
    if (of->kind->takes_pool)
        take_pool(g, group);
}

int stk__step_plan_groups(struct stk__step_plan *plan, bool merges_last, struct stk_error *err)
{
    struct grouping g = { .plan = plan, .merges_last = merges_last };
    size_t n = (size_t)plan->model->n_nodes;
    plan->group = stk_arena_alloc(plan->arena, n * sizeof *plan->group);
    if (!plan->group)
        return stk__out_of_memory(err);
    int rc = count_readers(&g, err);
    for (int i = 0; !rc && i < plan->model->n_nodes; i++)
        if (!g.is_taken[i])
            begin_group(&g, i);
    return rc;
}

struct stk__activation stk__group_activation(const struct stk__step_plan *plan,
                                             const struct stk__step_group *group)
{
    return group->activation < 0 ? (struct stk__activation){ .kind = STK__LINEAR }
                                 : plan->model->node[group->activation].activation;
}

int stk__group_weight(const struct stk__step_plan *plan, const struct stk__step_group *group,
                      enum stk__weight_role role)
{
    const struct stk__weight *weight =
        stk__node_weight(plan->model, stk__group_node(plan, group), role);
    return weight ? (int)(weight - plan->model->weight) : -1;
}
