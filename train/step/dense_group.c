/* SPDX-License-Identifier: Apache-2.0 */
/* dense_group.c: dense layers whose weights stay in cache while a lot is carried through. */
#include "train/step/dense_layer.h"

/* Weights are read for each piece of a lot: of as many images, at least. */
enum { PIECE_ROWS = 8 };

struct stk__dense_layer stk__dense_layer(const struct stk__step_plan *plan,
                                         const struct stk__step_group *group)
{
    int kernel = stk__group_weight(plan, group, STK__KERNEL);
    const struct stk__weight *weight = &plan->model->weight[kernel];
    return (struct stk__dense_layer){ .kernel = kernel,
                                      .bias = stk__group_weight(plan, group, STK__BIAS),
                                      .k = (int)weight->shape[0],
                                      .m = (int)weight->shape[1],
                                      .activation = stk__group_activation(plan, group) };
}

/* Images that are worked on at a time: all, or as many as a strip has features of. */
struct piece {
    int first, n;
};

static struct piece next_piece(const struct stk__step_work *work,
                               const struct stk__step_group *group, int first)
{
    int left = work->n - first;
    return (struct piece){ first, left > group->strip_rows ? group->strip_rows : left };
}

static struct stk__team_share all_of(const struct stk__dense_layer *l)
{
    return (struct stk__team_share){ 0, l->k };
}

static void forward_piece(const struct stk__step_work *work, const struct stk__step_group *group,
                          const struct stk__dense_layer *l, struct piece p)
{
    const struct stk__run *run = work->run;
    struct stk__bounds bounds = stk__activation_bounds(&l->activation);
    struct stk__features x =
        stk__load_features(work, group->in[0], p.first, p.n, all_of(l), stk__strip(work, group, 0));
    float *y = stk__tensor_at(work, group->out, p.first);
    run->kernels->dense.rows(
        &(struct stk__dense_rows){ .x = x.at,
                                   .x_down = x.down,
                                   .weights = run->used[l->kernel],
                                   .bias = l->bias < 0 ? NULL : run->used[l->bias],
                                   .y = y,
                                   .y_down = stk__image_stride(work, group->out),
                                   .n = p.n,
                                   .k = l->k,
                                   .m = l->m,
                                   .low = bounds.low,
                                   .high = bounds.high });
    if (stk__activation_is_clamp(&l->activation))
        return;
    for (int i = 0; i < p.n; i++, y += stk__image_stride(work, group->out))
        stk__activation_apply(run->kernels, &l->activation, y, (size_t)l->m, y);
}

static void forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct stk__dense_layer l = stk__dense_layer(work->run->plan, group);
    for (struct piece p = { 0 }; (p = next_piece(work, group, p.first + p.n)).n > 0;)
        forward_piece(work, group, &l, p);
}

static void to_weights(const struct stk__step_work *work, const struct stk__step_group *group,
                       const struct stk__dense_layer *l, struct piece p)
{
    const struct stk__run *run = work->run;
    float *sums = stk__sums_at(work, group, work->thread);
    const float *dy = stk__tensor_at(work, group->d_out, p.first);
    int64_t down = stk__image_stride(work, group->d_out);
    struct stk__features x =
        stk__load_features(work, group->in[0], p.first, p.n, all_of(l), stk__strip(work, group, 0));
    run->kernels->dense.gradient(&(struct stk__dense_gradient){ .x = x.at,
                                                                .x_down = x.down,
                                                                .dy = dy,
                                                                .dy_down = down,
                                                                .weights = sums,
                                                                .n = p.n,
                                                                .k = l->k,
                                                                .m = l->m,
                                                                .adds = true });
    if (l->bias >= 0)
        run->kernels->pixel.sums(&(struct stk__pixel_sums){
            { .at = dy, .across = down }, p.n, 1, l->m, sums + (size_t)l->k * (size_t)l->m });
}

/* The gradient of x, in a strip if it is to be added to. */
static void to_inputs(const struct stk__step_work *work, const struct stk__step_group *group,
                      const struct stk__dense_layer *l, struct piece p)
{
    const struct stk__run *run = work->run;
    float *strip = stk__strip(work, group, 0), *sum = stk__strip(work, group, 1);
    struct stk__features dx = { strip, l->k };
    if (!group->adds[0])
        dx = stk__features_to(work, group->d_in[0], p.first, all_of(l), strip);
    run->kernels->dense.image(
        &(struct stk__dense_image){ .dy = stk__tensor_at(work, group->d_out, p.first),
                                    .dy_down = stk__image_stride(work, group->d_out),
                                    .weights = run->used[l->kernel],
                                    .dx = dx.at,
                                    .dx_down = dx.down,
                                    .n = p.n,
                                    .k = l->k,
                                    .m = l->m });
    if (group->adds[0])
        stk__add_features(work, group->d_in[0], p.first, p.n, all_of(l), &dx, sum);
    else
        stk__store_features(work, group->d_in[0], p.first, p.n, all_of(l), &dx);
}

static void backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct stk__dense_layer l = stk__dense_layer(work->run->plan, group);
    stk__mask_gradient(work, group, NULL); /* features are float32 */
    for (struct piece p = { 0 }; (p = next_piece(work, group, p.first + p.n)).n > 0;) {
        to_weights(work, group, &l, p);
        if (group->d_in[0] >= 0)
            to_inputs(work, group, &l, p);
    }
}

static void collect(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct stk__dense_layer l = stk__dense_layer(work->run->plan, group);
    stk__collect_sums(work, group, 0, l.kernel);
    stk__collect_sums(work, group, (size_t)l.k * (size_t)l.m, l.bias);
}

static int open_group(struct stk__step_plan *plan, struct stk__step_group *group,
                      struct stk_error *err)
{
    const struct stk__dense_layer l = stk__dense_layer(plan, group);
    (void)err;
    group->sums_floats = ((size_t)l.k + 1) * (size_t)l.m;
    bool has_strips = group->strip_floats > 0 || group->adds[0];
    if (has_strips && (group->strip_floats == 0 || group->strip_rows < PIECE_ROWS)) {
        group->strip_rows = PIECE_ROWS;
        group->strip_floats = (size_t)PIECE_ROWS * (size_t)l.k;
    }
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
                                                  .collect = collect,
                                                  .n_strips = 2,
                                                  .wants_long_lots = true };
