/* SPDX-License-Identifier: Apache-2.0 */
/* dense_group.c: dense layers whose weights stay in cache while a lot is carried through. */
#include "train/step/dense_layer.h"

struct stk__dense_layer stk__dense_layer(const struct stk__step_plan *plan,
                                         const struct stk__group *group)
{
    int kernel = stk__group_weight(plan, group, STK__KERNEL);
    const struct stk__weight *weight = &plan->model->weight[kernel];
    return (struct stk__dense_layer){ .kernel = kernel,
                                      .bias = stk__group_weight(plan, group, STK__BIAS),
                                      .k = (int)weight->shape[0],
                                      .m = (int)weight->shape[1],
                                      .activation = stk__group_activation(plan, group) };
}

static void forward(const struct stk__work *work, const struct stk__group *group)
{
    const struct stk__run *run = work->run;
    const struct stk__dense_layer l = stk__dense_layer(run->plan, group);
    struct stk__bounds bounds = stk__activation_bounds(&l.activation);
    float *y = stk__at(work, group->out, 0);
    run->kernels->dense.rows(
        &(struct stk__dense_rows){ .x = stk__at(work, group->in[0], 0),
                                   .x_down = stk__apart(work, group->in[0]),
                                   .weights = run->weight[l.kernel],
                                   .bias = l.bias < 0 ? NULL : run->weight[l.bias],
                                   .y = y,
                                   .y_down = stk__apart(work, group->out),
                                   .n = work->n,
                                   .k = l.k,
                                   .m = l.m,
                                   .low = bounds.low,
                                   .high = bounds.high });
    if (stk__activation_is_clamp(&l.activation))
        return;
    for (int i = 0; i < work->n; i++, y += stk__apart(work, group->out))
        stk__activate(run->kernels, &l.activation, y, (size_t)l.m, y);
}

static void to_weights(const struct stk__work *work, const struct stk__group *group,
                       const struct stk__dense_layer *l, const float *dy)
{
    const struct stk__run *run = work->run;
    float *sums = stk__sums_at(work, group, work->thread);
    int64_t down = stk__apart(work, group->d_out);
    run->kernels->dense.gradient(
        &(struct stk__dense_gradient){ .x = stk__at(work, group->in[0], 0),
                                       .x_down = stk__apart(work, group->in[0]),
                                       .dy = dy,
                                       .dy_down = down,
                                       .weights = sums,
                                       .n = work->n,
                                       .k = l->k,
                                       .m = l->m,
                                       .adds = true });
    if (l->bias >= 0)
        run->kernels->pixel.sums(&(struct stk__pixel_sums){
            { dy, down, 0 }, work->n, 1, l->m, sums + (size_t)l->k * (size_t)l->m });
}

/* The gradient of x, in scratch if it is to be added to. */
static void to_inputs(const struct stk__work *work, const struct stk__group *group,
                      const struct stk__dense_layer *l, const float *dy)
{
    const struct stk__run *run = work->run;
    float *to = stk__at(work, group->d_in[0], 0);
    int64_t apart = stk__apart(work, group->d_in[0]), down = stk__apart(work, group->d_out);
    if (!group->adds[0]) {
        run->kernels->dense.image(&(struct stk__dense_image){ dy, down, run->weight[l->kernel], to,
                                                              apart, work->n, l->k, l->m });
        return;
    }
    float *own = stk__at(work, group->scratch, 0);
    for (int i = 0; i < work->n; i++) {
        run->kernels->dense.image(&(struct stk__dense_image){
            dy + i * down, down, run->weight[l->kernel], own, l->k, 1, l->k, l->m });
        run->kernels->pixel.add(own, (size_t)l->k, to + i * apart);
    }
}

static void backward(const struct stk__work *work, const struct stk__group *group)
{
    const struct stk__dense_layer l = stk__dense_layer(work->run->plan, group);
    const float *dy = stk__at(work, group->d_out, 0);
    stk__mask_gradient(work, group);
    to_weights(work, group, &l, dy);
    if (group->d_in[0] >= 0)
        to_inputs(work, group, &l, dy);
}

static void collect(const struct stk__work *work, const struct stk__group *group)
{
    const struct stk__dense_layer l = stk__dense_layer(work->run->plan, group);
    stk__collect_sums(work, group, 0, l.kernel);
    stk__collect_sums(work, group, (size_t)l.k * (size_t)l.m, l.bias);
}

static int open_group(struct stk__step_plan *plan, struct stk__group *group, struct stk_error *err)
{
    const struct stk__dense_layer l = stk__dense_layer(plan, group);
    (void)err;
    group->sums_floats = ((size_t)l.k + 1) * (size_t)l.m;
    if (group->adds[0])
        group->scratch_bytes = (size_t)l.k * sizeof(float);
    if (l.activation.kind == STK__LINEAR)
        group->spares = STK__OUT;
    return STK_OK;
}

static const struct stk__part forward_parts[] = { { forward, STK__IN | STK__OUT, false }, { 0 } };
static const struct stk__part backward_parts[] = {
    { backward, STK__IN | STK__OUT | STK__D_IN | STK__D_OUT | STK__SCRATCH, false },
    { 0 },
};

const struct stk__group_type stk__dense_group = { .name = "dense",
                                                  .open = open_group,
                                                  .forward = forward_parts,
                                                  .backward = backward_parts,
                                                  .use = forward_parts,
                                                  .collect = collect };
