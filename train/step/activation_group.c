/* SPDX-License-Identifier: Apache-2.0 */
/* activation_group.c: activations by themselves, of what went in. */
#include "train/step/strips.h"

struct rows {
    const struct stk__train_kernels *kernels;
    const struct stk__activation *activation;
    size_t width, channels;
};

static void forward_row(const struct rows *r, const float *x, float *y)
{
    if (r->activation->kind == STK__SOFTMAX)
        r->kernels->activation.softmax(x, r->width, r->channels, y);
    else
        stk__activation_apply(r->kernels, r->activation, x, r->width * r->channels, y);
}

/* From x, from y where the activation is told by it. */
static void backward_row(const struct rows *r, const float *x, const float *y, const float *dy,
                         float *dx)
{
    const struct stk__activation_kernels *of = &r->kernels->activation;
    size_t n = r->width * r->channels;
    const struct stk__activation *a = r->activation;
    switch (a->kind) {
    case STK__SOFTMAX:
        of->softmax_gradient(y, dy, r->width, r->channels, dx);
        return;
    case STK__GELU:
        (a->is_approximate ? of->gelu_tanh_gradient : of->gelu_gradient)(x, dy, n, dx);
        return;
    case STK__SWISH:
        of->swish_gradient(x, dy, n, dx);
        return;
    case STK__LEAKY_RELU:
        of->leaky_gradient(x, dy, n, (float)a->negative_slope, dx);
        return;
    case STK__LINEAR:
    case STK__RELU:
    case STK__RELU6:
    case STK__SIGMOID:
    case STK__TANH:
        stk__activate_back(r->kernels, a, y, dy, n, dx);
        return;
    }
}

static struct rows rows_of(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct stk__step_plan *plan = work->run->plan;
    const struct stk__tensor *t = &plan->tensor[group->out];
    return (struct rows){ work->run->kernels, &stk__group_node(plan, group)->activation,
                          (size_t)t->width, (size_t)t->channels };
}

static void forward_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                         int i, int first, int n)
{
    struct rows r = rows_of(work, group);
    struct stk__map in = stk__input_map(work, group, 0, i);
    struct stk__map out = stk__map_at(work, group->out, i);
    struct stk__step_image x = stk__map_load(&in, first, n, stk__strip(work, group, 0));
    struct stk__step_image y = stk__rows_to(&out, first, n, stk__strip(work, group, 1));
    for (int j = 0; j < n; j++)
        forward_row(&r, x.at + j * x.down, y.at + j * y.down);
    stk__map_store(&out, first, &y);
}

static void forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    stk__for_strips(work, group, forward_rows);
    stk__clear_frames(work, group->out);
}

/* Where the gradient is added to, the group's own is made first, in place. */
static void backward_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                          int i, int first, int n)
{
    struct rows r = rows_of(work, group);
    struct stk__map in = stk__input_map(work, group, 0, i);
    struct stk__map out = stk__map_at(work, group->out, i);
    struct stk__map d_out = stk__map_at(work, group->d_out, i);
    struct stk__map d_in = stk__d_input_map(work, group, 0, i);
    struct stk__step_image x = stk__map_load(&in, first, n, stk__strip(work, group, 0));
    struct stk__step_image y = stk__map_load(&out, first, n, stk__strip(work, group, 1));
    struct stk__step_image dy = stk__map_load(&d_out, first, n, stk__strip(work, group, 2));
    struct stk__step_image dx =
        group->adds[0] ? dy : stk__rows_to(&d_in, first, n, stk__strip(work, group, 3));
    for (int j = 0; j < n; j++)
        backward_row(&r, x.at + j * x.down, y.at + j * y.down, dy.at + j * dy.down,
                     dx.at + j * dx.down);
    stk__d_input_store(work, group, 0, &d_in, first, &dx, stk__strip(work, group, 3));
}

static void backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    stk__for_strips(work, group, backward_rows);
}

static const struct stk__part forward_parts[] = { { forward, STK__IN | STK__OUT, false }, { 0 } };
static const struct stk__part backward_parts[] = {
    { backward, STK__IN | STK__OUT | STK__D_IN | STK__D_OUT, false },
    { 0 },
};

const struct stk__group_type stk__activation_group = { .name = "activation",
                                                       .forward = forward_parts,
                                                       .backward = backward_parts,
                                                       .use = forward_parts,
                                                       .n_strips = 4 };
