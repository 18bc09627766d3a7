/* SPDX-License-Identifier: Apache-2.0 */
/* step_plan_tensors.c: tensors of outputs and gradients, with frames, and who writes which. */
#include "train/plan/step_plan.h"

#include "base/error.h"

#include <limits.h>
#include <string.h>

enum { ALIGN = 64 };
/* A few strips are in cache together. */
enum { STRIP_FLOATS = 8 << 10 };

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

int stk__step_plan_tensor(struct stk__step_plan *plan, const struct stk__tensor *tensor)
{
    if (plan->n_tensors == plan->tensor_cap) {
        int cap = plan->tensor_cap ? 2 * plan->tensor_cap : 64;
        struct stk__tensor *more = stk_arena_alloc(plan->arena, (size_t)cap * sizeof *more);
        if (!more)
            return -1;
        if (plan->n_tensors)
            memcpy(more, plan->tensor, (size_t)plan->n_tensors * sizeof *more);
        plan->tensor = more;
        plan->tensor_cap = cap;
    }
    struct stk__tensor *t = &plan->tensor[plan->n_tensors];
    *t = *tensor;
    t->row_values = (int64_t)(t->left + t->width + t->right) * t->channels;
    t->image_bytes = round_up((size_t)t->row_values * (size_t)(t->top + t->height + t->bottom) *
                              stk_dtype_bytes(t->dtype));
    return plan->n_tensors++;
}

static void widen(int *to, int64_t by)
{
    if (by > *to)
        *to = (int)by;
}

/* The frame that those who read a node's output want. */
static void find_frame(const struct stk__step_plan *plan, int node, struct stk__tensor *t)
{
    for (int g = 0; g < plan->n_groups; g++) {
        const struct stk__model_node *reader = stk__group_node(plan, &plan->group[g]);
        if (!reader->kind->is_padded || reader->input[0] != node)
            continue;
        widen(&t->top, reader->window.pad_top);
        widen(&t->bottom, reader->window.pad_bottom);
        widen(&t->left, reader->window.pad_left);
        widen(&t->right, reader->window.pad_right);
    }
}

static struct stk__tensor tensor_of_node(const struct stk__step_plan *plan, int node,
                                         const char *what)
{
    const struct stk__shape *shape = &plan->model->node[node].shape;
    return (struct stk__tensor){ .name = plan->model->node[node].name,
                                 .what = what,
                                 .height = (int)shape->height,
                                 .width = (int)shape->width,
                                 .channels = (int)shape->channels,
                                 .dtype = STK_F32 };
}

static bool has_frame(const struct stk__tensor *t)
{
    return t->top || t->left || t->bottom || t->right;
}

/* Flattening changes no value: where there is no frame the tensor is the same one. It goes on with the
 * shape of its source, which those who read features take as one row of them. */
static bool is_alias(const struct stk__step_plan *plan, const struct stk__step_group *group)
{
    return stk__group_node(plan, group)->kind->is_view &&
           !has_frame(&plan->tensor[plan->tensor_of[stk__group_node(plan, group)->input[0]]]);
}

/* Whether what a group puts out goes to the loss, or to the caller. */
static bool is_end(const struct stk__step_plan *plan, const struct stk__step_group *group)
{
    const struct stk__step_group *last = &plan->group[plan->n_groups - 1];
    const struct stk__model_node *of = plan->model->node;
    int node = plan->model->n_nodes - 1;
    if (node != group->last && last->is_merged)
        node = of[node].input[0];
    while (node != group->last && of[node].kind->is_view)
        node = of[node].input[0];
    return node == group->last;
}

/* Maps, flattened or not, are in the plan's precision. */
static int dtype_of(const struct stk__step_plan *plan, const struct stk__step_group *group)
{
    const struct stk__model_node *last = &plan->model->node[group->last];
    bool is_map = !last->shape.is_flat || last->kind->is_view;
    return is_map && !is_end(plan, group) ? plan->dtype : STK_F32;
}

static int add_output(struct stk__step_plan *plan, struct stk__step_group *group,
                      struct stk_error *err)
{
    struct stk__tensor t = tensor_of_node(plan, group->last, "output");
    t.dtype = dtype_of(plan, group);
    find_frame(plan, group->last, &t);
    group->out = stk__step_plan_tensor(plan, &t);
    if (group->out < 0)
        return stk__out_of_memory(err);
    plan->tensor_of[group->last] = group->out;
    return STK_OK;
}

static int add_inputs(struct stk__step_plan *plan, struct stk__step_group *group,
                      struct stk_error *err)
{
    const struct stk__model_node *node = stk__group_node(plan, group);
    size_t n = (size_t)node->n_inputs + 1;
    group->in = stk_arena_alloc(plan->arena, n * sizeof *group->in);
    group->d_in = stk_arena_alloc(plan->arena, n * sizeof *group->d_in);
    group->adds = stk_arena_alloc(plan->arena, n * sizeof *group->adds);
    if (!group->in || !group->d_in || !group->adds)
        return stk__out_of_memory(err);
    for (int i = 0; i < node->n_inputs; i++) {
        group->in[i] = plan->tensor_of[node->input[i]];
        group->d_in[i] = -1;
    }
    return STK_OK;
}

/* Groups that only give another shape to a tensor are taken out. */
static int add_outputs(struct stk__step_plan *plan, struct stk_error *err)
{
    int n = 0, rc = STK_OK;
    for (int g = 0; !rc && g < plan->n_groups; g++) {
        struct stk__step_group group = plan->group[g];
        if (is_alias(plan, &group)) {
            plan->tensor_of[group.node] = plan->tensor_of[stk__group_node(plan, &group)->input[0]];
            continue;
        }
        rc = add_inputs(plan, &group, err);
        if (!rc)
            rc = add_output(plan, &group, err);
        group.number = n;
        plan->group[n++] = group;
    }
    plan->n_groups = n;
    return rc;
}

/* ---- gradients ---- */

static bool has_weights(const struct stk__step_plan *plan, const struct stk__step_group *group)
{
    const struct stk__model_node *node = stk__group_node(plan, group);
    for (int i = 0; i < node->n_weights; i++)
        if (plan->model->weight[node->first_weight + i].is_trainable)
            return true;
    return false;
}

static int add_gradient(struct stk__step_plan *plan, int tensor, struct stk_error *err)
{
    struct stk__tensor t = plan->tensor[tensor];
    t.what = "gradient";
    t.top = t.left = t.bottom = t.right = 0;
    int gradient = stk__step_plan_tensor(plan, &t);
    if (gradient < 0)
        return stk__out_of_memory(err);
    plan->gradient_of[tensor] = gradient;
    return STK_OK;
}

/* What has a gradient: layers with weights, and all behind them. */
static int add_gradients(struct stk__step_plan *plan, struct stk_error *err)
{
    int rc = STK_OK;
    for (int g = 0; !rc && plan->trains && g < plan->n_groups; g++) {
        struct stk__step_group *group = &plan->group[g];
        group->has_gradient = has_weights(plan, group);
        for (int i = 0; i < group->n_inputs; i++) {
            group->d_in[i] = plan->gradient_of[group->in[i]];
            group->has_gradient |= group->d_in[i] >= 0;
        }
        if (group->has_gradient && !group->is_merged)
            rc = add_gradient(plan, group->out, err);
        group->d_out = plan->gradient_of[group->out];
    }
    if (!rc && plan->gradient_of[plan->logits] < 0) /* the loss writes it in any case */
        rc = add_gradient(plan, plan->logits, err);
    return rc;
}

/* The first to write a gradient is the last to read its tensor. */
static void find_adding(struct stk__step_plan *plan, bool *is_written)
{
    for (int g = plan->n_groups - 1; g >= 0; g--) {
        struct stk__step_group *group = &plan->group[g];
        if (group->is_merged)
            continue;
        for (int i = 0; i < group->n_inputs; i++) {
            if (group->d_in[i] < 0)
                continue;
            group->adds[i] = is_written[group->d_in[i]];
            is_written[group->d_in[i]] = true;
        }
    }
}

/* ---- what groups want besides ---- */

/* The longest row of a group's tensors in half precision, in the shape that the group sees. */
static int64_t longest_row(const struct stk__step_plan *plan, const struct stk__step_group *group)
{
    int64_t longest = 0;
    for (int k = -1; k < group->n_inputs; k++) {
        const struct stk__tensor *t = &plan->tensor[k < 0 ? group->out : group->in[k]];
        int node = k < 0 ? group->last : stk__group_node(plan, group)->input[k];
        const struct stk__shape *shape = &plan->model->node[node].shape;
        int64_t row = t->width == shape->width ? t->row_values : shape->width * shape->channels;
        if (t->dtype != STK_F32 && row > longest)
            longest = row;
    }
    return longest;
}

static void find_strips(const struct stk__step_plan *plan, struct stk__step_group *group)
{
    int64_t row = longest_row(plan, group), rows = row ? STRIP_FLOATS / row : INT_MAX;
    group->n_strips = group->type->n_strips;
    group->strip_rows = rows < 1 ? 1 : (int)rows;
    group->strip_floats = row ? (size_t)(group->strip_rows * row + 15) / 16 * 16 : 0;
}

static int open_group(struct stk__step_plan *plan, struct stk__step_group *group,
                      struct stk_error *err)
{
    find_strips(plan, group);
    int rc = group->type->open ? group->type->open(plan, group, err) : STK_OK;
    if (rc)
        return rc;
    group->packed_at = plan->packed_floats;
    plan->packed_floats += round_up(group->packed_floats);
    group->sums_at = plan->sums_floats;
    plan->sums_floats += round_up(group->sums_floats);
    group->strips_at = round_up(group->scratch_bytes) / sizeof(float);
    group->scratch_bytes = round_up(
        (group->strips_at + (size_t)group->n_strips * group->strip_floats) * sizeof(float));
    return STK_OK;
}

static void find_ends(struct stk__step_plan *plan)
{
    const struct stk__step_group *last = &plan->group[plan->n_groups - 1];
    plan->input = plan->group[0].out;
    plan->outputs = plan->tensor_of[plan->model->n_nodes - 1];
    plan->logits = last->is_merged ? last->in[0] : plan->outputs;
}

int stk__step_plan_tensors(struct stk__step_plan *plan, struct stk_error *err)
{
    size_t n = (size_t)plan->model->n_nodes;
    plan->tensor_of = stk_arena_alloc(plan->arena, n * sizeof *plan->tensor_of);
    plan->gradient_of = stk_arena_alloc(plan->arena, (2 * n + 1) * sizeof *plan->gradient_of);
    bool *is_written = stk_arena_alloc(plan->arena, 2 * n + 1);
    if (!plan->tensor_of || !plan->gradient_of || !is_written)
        return stk__out_of_memory(err);
    memset(plan->gradient_of, -1, (2 * n + 1) * sizeof *plan->gradient_of);
    int rc = add_outputs(plan, err);
    if (!rc)
        find_ends(plan);
    if (!rc)
        rc = add_gradients(plan, err);
    if (!rc)
        find_adding(plan, is_written);
    for (int g = 0; !rc && g < plan->n_groups; g++)
        rc = open_group(plan, &plan->group[g], err);
    return rc;
}
