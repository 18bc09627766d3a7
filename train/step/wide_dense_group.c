/* SPDX-License-Identifier: Apache-2.0 */
/* wide_dense_group.c: dense layers whose weights do not stay in cache. All threads together read them once
 * for the whole batch, each its share of the rows of weights:
 *
 *     forward    sums of its share for every image, into a part of its own; then the parts are added up
 *     backward   some rows at a time: gradient of the inputs, gradient of the weights, and the update of the
 *                weights by it where nobody else wants to see it
 */
#include "train/step/dense_layer.h"

#include "base/error.h"

#include <math.h>

/* Rows of weights, with their gradient, that are worked on at a time: half a second-level cache. */
enum { BLOCK_BYTES = 128 << 10 };

static int block_rows(const struct stk__dense_layer *l)
{
    int64_t rows = BLOCK_BYTES / ((int64_t)l->m * (int64_t)sizeof(float));
    return rows < 1 ? 1 : rows > 256 ? 256 : (int)rows;
}

/* ---- forward ---- */

static float *part_of(const struct stk__work *work, const struct stk__group *group, int thread,
                      const struct stk__dense_layer *l)
{
    return (float *)stk__at(work, group->cells, 0) +
           (size_t)thread * (size_t)work->n * (size_t)l->m;
}

static void sum_share(const struct stk__work *work, const struct stk__group *group,
                      const struct stk__dense_layer *l)
{
    const struct stk__run *run = work->run;
    struct stk__share share = stk__share_of(l->k, work->thread, work->n_threads);
    run->kernels->dense.rows(
        &(struct stk__dense_rows){ .x = (const float *)stk__at(work, group->in[0], 0) + share.first,
                                   .x_down = stk__apart(work, group->in[0]),
                                   .weights = run->weight[l->kernel] + share.first * l->m,
                                   .y = part_of(work, group, work->thread, l),
                                   .y_down = l->m,
                                   .n = work->n,
                                   .k = (int)(share.behind - share.first),
                                   .m = l->m,
                                   .low = -INFINITY,
                                   .high = INFINITY });
}

static void join_rows(const struct stk__work *work, const struct stk__group *group,
                      const struct stk__dense_layer *l)
{
    const struct stk__run *run = work->run;
    struct stk__share rows = stk__share_of(work->n, work->thread, work->n_threads);
    struct stk__bounds bounds = stk__activation_bounds(&l->activation);
    if (rows.first == rows.behind)
        return;
    float *y = stk__at(work, group->out, rows.first);
    run->kernels->dense.join(
        &(struct stk__dense_parts){ .part = part_of(work, group, 0, l) + rows.first * l->m,
                                    .part_down = (int64_t)work->n * l->m,
                                    .n_parts = work->n_threads,
                                    .bias = l->bias < 0 ? NULL : run->weight[l->bias],
                                    .y = y,
                                    .y_down = stk__apart(work, group->out),
                                    .n = (int)(rows.behind - rows.first),
                                    .m = l->m,
                                    .low = bounds.low,
                                    .high = bounds.high });
    if (stk__activation_is_clamp(&l->activation))
        return;
    for (int64_t i = rows.first; i < rows.behind; i++, y += stk__apart(work, group->out))
        stk__activate(run->kernels, &l->activation, y, (size_t)l->m, y);
}

static void forward(const struct stk__work *work, const struct stk__group *group)
{
    const struct stk__dense_layer l = stk__dense_layer(work->run->plan, group);
    sum_share(work, group, &l);
    stk__team_meet(work->run->team);
    join_rows(work, group, &l);
}

/* ---- backward ---- */

struct block {
    const struct stk__dense_layer *l;
    int64_t first;
    int n;
};

static void to_inputs(const struct stk__work *work, const struct stk__group *group, struct block b)
{
    const struct stk__run *run = work->run;
    struct stk__dense_image job = { .dy = stk__at(work, group->d_out, 0),
                                    .dy_down = stk__apart(work, group->d_out),
                                    .weights = run->weight[b.l->kernel] + b.first * b.l->m,
                                    .n = work->n,
                                    .k = b.n,
                                    .m = b.l->m };
    float *to = (float *)stk__at(work, group->d_in[0], 0) + b.first;
    int64_t apart = stk__apart(work, group->d_in[0]);
    job.dx = to;
    job.dx_down = apart;
    if (!group->adds[0]) {
        run->kernels->dense.image(&job);
        return;
    }
    float own[256];
    job.dx = own;
    job.n = 1;
    for (int i = 0; i < work->n; i++, job.dy += job.dy_down) {
        run->kernels->dense.image(&job);
        run->kernels->pixel.add(own, (size_t)b.n, to + i * apart);
    }
}

/* The gradient of a span of weights is used up: it is never in memory whole. */
static void update(const struct stk__work *work, int weight, int64_t first, int64_t n,
                   const float *gradient)
{
    const struct stk__run *run = work->run;
    struct stk__step_span span = { .weight = run->weight[weight] + first,
                                   .first = run->first[weight] ? run->first[weight] + first : NULL,
                                   .second =
                                       run->second[weight] ? run->second[weight] + first : NULL,
                                   .gradient = gradient,
                                   .n = (size_t)n };
    if (!stk__optimizer_step(run->optimizer, &span, &run->rates, (struct stk__weight_copy){ 0 }))
        run->found[work->thread].is_infinite = true;
}

static bool is_updated(const struct stk__run *run)
{
    double loss = 0;
    if (!run->optimizer)
        return false;
    for (int t = 0; t < stk__team_size(run->team); t++)
        loss += run->found[t].loss;
    return isfinite(loss);
}

static size_t tile_floats(const struct stk__dense_layer *l)
{
    return ((size_t)block_rows(l) * (size_t)l->m + 15) / 16 * 16;
}

static float *tile_of(const struct stk__work *work, const struct stk__group *group,
                      const struct stk__dense_layer *l)
{
    return (float *)stk__at(work, group->scratch, 0) + (size_t)work->thread * tile_floats(l);
}

static void to_weights(const struct stk__work *work, const struct stk__group *group, struct block b,
                       bool updates)
{
    const struct stk__run *run = work->run;
    int64_t at = b.first * b.l->m;
    float *to = updates ? tile_of(work, group, b.l) : run->gradient[b.l->kernel] + at;
    run->kernels->dense.gradient(
        &(struct stk__dense_gradient){ .x = (const float *)stk__at(work, group->in[0], 0) + b.first,
                                       .x_down = stk__apart(work, group->in[0]),
                                       .dy = stk__at(work, group->d_out, 0),
                                       .dy_down = stk__apart(work, group->d_out),
                                       .weights = to,
                                       .n = work->n,
                                       .k = b.n,
                                       .m = b.l->m });
    if (updates)
        update(work, b.l->kernel, at, (int64_t)b.n * b.l->m, to);
}

static void to_bias(const struct stk__work *work, const struct stk__group *group,
                    const struct stk__dense_layer *l)
{
    const struct stk__run *run = work->run;
    struct stk__share share = stk__share_of(l->m, work->thread, work->n_threads);
    if (l->bias < 0 || share.first == share.behind)
        return;
    float *to = run->gradient[l->bias] + share.first;
    const float *dy = (const float *)stk__at(work, group->d_out, 0) + share.first;
    for (int64_t i = 0; i < share.behind - share.first; i++)
        to[i] = 0;
    run->kernels->pixel.sums(&(struct stk__pixel_sums){ { dy, stk__apart(work, group->d_out), 0 },
                                                        work->n,
                                                        1,
                                                        (int)(share.behind - share.first),
                                                        to });
}

static void mask_share(const struct stk__work *work, const struct stk__group *group)
{
    struct stk__share rows = stk__share_of(work->n, work->thread, work->n_threads);
    struct stk__work part = *work;
    part.first += rows.first;
    part.n = (int)(rows.behind - rows.first);
    stk__mask_gradient(&part, group);
}

static void backward(const struct stk__work *work, const struct stk__group *group)
{
    const struct stk__dense_layer l = stk__dense_layer(work->run->plan, group);
    struct stk__share share = stk__share_of(l.k, work->thread, work->n_threads);
    bool updates = is_updated(work->run);
    mask_share(work, group);
    stk__team_meet(work->run->team);
    to_bias(work, group, &l);
    for (int64_t at = share.first, rows = block_rows(&l); at < share.behind; at += rows) {
        struct block b = { &l, at, (int)(share.behind - at < rows ? share.behind - at : rows) };
        if (group->d_in[0] >= 0)
            to_inputs(work, group, b);
        to_weights(work, group, b, updates);
    }
}

static int open_group(struct stk__step_plan *plan, struct stk__group *group, struct stk_error *err)
{
    const struct stk__dense_layer l = stk__dense_layer(plan, group);
    group->cells = stk__step_plan_tensor(
        plan, &(struct stk__tensor){ .name = plan->model->node[group->node].name,
                                     .what = "parts",
                                     .height = 1,
                                     .width = plan->n_threads,
                                     .channels = l.m,
                                     .value_bytes = sizeof(float) });
    group->scratch_bytes = (size_t)plan->n_threads * tile_floats(&l) * sizeof(float);
    if (l.activation.kind == STK__LINEAR)
        group->spares = STK__OUT;
    return group->cells < 0 ? stk__out_of_memory(err) : STK_OK;
}

static const struct stk__part forward_parts[] = {
    { forward, STK__IN | STK__OUT | STK__CELLS, true },
    { 0 },
};
static const struct stk__part backward_parts[] = {
    { backward, STK__IN | STK__OUT | STK__D_IN | STK__D_OUT | STK__SCRATCH, true },
    { 0 },
};

const struct stk__group_type stk__wide_dense_group = { .name = "wide dense",
                                                       .open = open_group,
                                                       .forward = forward_parts,
                                                       .backward = backward_parts,
                                                       .use = forward_parts };
