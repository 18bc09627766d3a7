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
#include <string.h>

/* Rows of weights, with their gradient, that are worked on at a time: half a second-level cache. */
enum { BLOCK_BYTES = 128 << 10 };
/* Of x in half precision: images and columns at a time. */
enum { STRIP_ROWS = 64, FORWARD_COLUMNS = 512 };

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

/* Rows of x by columns of it, in a strip if they are in half precision. */
struct block {
    const struct stk__dense_layer *l;
    struct stk__share columns;
};

static struct stk__features load_block(const struct stk__work *work, const struct stk__group *group,
                                       struct block b, int first, int n)
{
    return stk__load_features(work, group->in[0], first, n, b.columns, stk__strip(work, group, 0));
}

static int rows_left(const struct stk__work *work, const struct stk__group *group, int first)
{
    int left = work->n - first;
    return left > group->strip_rows ? group->strip_rows : left;
}

/* What a block of columns gives, for some rows; added to what those in front of it gave. */
static void sum_block(const struct stk__work *work, const struct stk__group *group, struct block b,
                      int first, int n)
{
    const struct stk__run *run = work->run;
    int m = b.l->m;
    bool is_first = b.columns.first == stk__share_of(b.l->k, work->thread, work->n_threads).first;
    float *part = part_of(work, group, work->thread, b.l) + (size_t)first * (size_t)m;
    float *y = is_first ? part : stk__strip(work, group, 1);
    struct stk__features x = load_block(work, group, b, first, n);
    run->kernels->dense.rows(
        &(struct stk__dense_rows){ .x = x.at,
                                   .x_down = x.down,
                                   .weights = run->weight[b.l->kernel] + b.columns.first * m,
                                   .y = y,
                                   .y_down = m,
                                   .n = n,
                                   .k = (int)(b.columns.behind - b.columns.first),
                                   .m = m,
                                   .low = -INFINITY,
                                   .high = INFINITY });
    if (!is_first)
        run->kernels->pixel.add(y, (size_t)n * (size_t)m, part);
}

static void sum_share(const struct stk__work *work, const struct stk__group *group,
                      const struct stk__dense_layer *l)
{
    struct stk__share share = stk__share_of(l->k, work->thread, work->n_threads);
    bool is_float = stk__dtype_of(work, group->in[0]) == STK_F32;
    int64_t by = is_float ? l->k : FORWARD_COLUMNS;
    if (share.first == share.behind) { /* more threads than columns */
        memset(part_of(work, group, work->thread, l), 0,
               (size_t)work->n * (size_t)l->m * sizeof(float));
        return;
    }
    for (int64_t at = share.first; at < share.behind; at += by) {
        struct block b = { l, { at, at + by < share.behind ? at + by : share.behind } };
        for (int i = 0, n; (n = rows_left(work, group, i)) > 0; i += n)
            sum_block(work, group, b, i, n);
    }
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

static void to_inputs(const struct stk__work *work, const struct stk__group *group, struct block b,
                      int first, int n)
{
    const struct stk__run *run = work->run;
    int64_t columns = b.columns.behind - b.columns.first;
    float *strip = stk__strip(work, group, 1);
    struct stk__features dx = { strip, columns };
    if (!group->adds[0])
        dx = stk__features_to(work, group->d_in[0], first, b.columns, strip);
    run->kernels->dense.image(
        &(struct stk__dense_image){ .dy = stk__at(work, group->d_out, first),
                                    .dy_down = stk__apart(work, group->d_out),
                                    .weights = run->weight[b.l->kernel] + b.columns.first * b.l->m,
                                    .dx = dx.at,
                                    .dx_down = dx.down,
                                    .n = n,
                                    .k = (int)columns,
                                    .m = b.l->m });
    if (group->adds[0])
        stk__add_features(work, group->d_in[0], first, n, b.columns, &dx,
                          stk__strip(work, group, 0));
    else
        stk__store_features(work, group->d_in[0], first, n, b.columns, &dx);
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

static void to_weights(const struct stk__work *work, const struct stk__group *group, struct block b,
                       float *to)
{
    const struct stk__run *run = work->run;
    for (int i = 0, n; (n = rows_left(work, group, i)) > 0; i += n) {
        struct stk__features x = load_block(work, group, b, i, n);
        run->kernels->dense.gradient(
            &(struct stk__dense_gradient){ .x = x.at,
                                           .x_down = x.down,
                                           .dy = stk__at(work, group->d_out, i),
                                           .dy_down = stk__apart(work, group->d_out),
                                           .weights = to,
                                           .n = n,
                                           .k = (int)(b.columns.behind - b.columns.first),
                                           .m = b.l->m,
                                           .adds = i > 0 });
    }
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
    stk__mask_gradient(&part, group, NULL); /* features are float32 */
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
        struct block b = { &l, { at, share.behind - at < rows ? share.behind : at + rows } };
        for (int i = 0, n; group->d_in[0] >= 0 && (n = rows_left(work, group, i)) > 0; i += n)
            to_inputs(work, group, b, i, n);
        int64_t first = at * l.m, n = (b.columns.behind - at) * l.m;
        float *to = updates ? work->scratch : work->run->gradient[l.kernel] + first;
        to_weights(work, group, b, to);
        if (updates)
            update(work, l.kernel, first, n, to);
    }
}

/* Strips have room for the columns of a block, for outputs, and for gradients that are added. */
static void size_strips(const struct stk__step_plan *plan, struct stk__group *group,
                        const struct stk__dense_layer *l)
{
    if (plan->tensor[group->in[0]].dtype == STK_F32 && !group->adds[0])
        return;
    int columns = l->m > FORWARD_COLUMNS ? l->m : FORWARD_COLUMNS;
    group->strip_rows = STRIP_ROWS;
    group->strip_floats = (size_t)STRIP_ROWS * (size_t)columns;
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
                                     .dtype = STK_F32 });
    group->scratch_bytes = tile_floats(&l) * sizeof(float);
    size_strips(plan, group, &l);
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
                                                       .use = forward_parts,
                                                       .n_strips = 2 };
