/* SPDX-License-Identifier: Apache-2.0 */
/* wide_dense_group.c: dense layers whose weights do not stay in cache. All threads together read them once
 * for the whole batch, each its share of the rows of weights:
 *
 *     forward    sums of its share for every image, into a part of its own; then the parts are added up
 *     backward   some rows at a time: gradient of the inputs, gradient of the weights, and the update of the
 *                weights by it where nobody else wants to see it
 *     late       the last two, where the update has to wait until all gradients are known to be finite. That this
 *                one will be is known before: |sum of x·dy| is at most the root of (sum of x²)·(sum of dy²).
 *                A float16 is 65504 at most, unless it is not finite, and then no output is
 */
#include "train/step/dense_layer.h"

#include "base/error.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Rows of weights, with their gradient, that are worked on at a time: half a second-level cache. */
enum { BLOCK_BYTES = 128 << 10 };
/* Of x in half precision: images and columns at a time. */
enum { STRIP_ROWS = STK__DENSE_HALF_ROWS, FORWARD_COLUMNS = 512 };

static int block_rows(const struct stk__dense_layer *l)
{
    int64_t rows = BLOCK_BYTES / ((int64_t)l->m * (int64_t)sizeof(float));
    return rows < 1 ? 1 : rows > 256 ? 256 : (int)rows;
}

/* What a thread knows of a step whose update is put off. */
struct late {
    float x_squares; /* of its columns of x */
    float is_put_off;
};

static struct late *late_of(const struct stk__step_work *work, const struct stk__step_group *group,
                            int thread)
{
    return (struct late *)stk__sums_at(work, group, thread);
}

static double squares_of(const struct stk__features *values, int n, int64_t columns)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += stk__gradient_squares(values->at + i * values->down, (size_t)columns);
    return sum;
}

/* ---- forward ---- */

static float *part_of(const struct stk__step_work *work, const struct stk__step_group *group,
                      int thread, const struct stk__dense_layer *l)
{
    return (float *)stk__tensor_at(work, group->cells, 0) +
           (size_t)thread * (size_t)work->n * (size_t)l->m;
}

/* Rows of x by columns of it. */
struct block {
    const struct stk__dense_layer *l;
    struct stk__team_share columns;
};

/* As floats, in a strip if they are in half precision and kernels do not take that. */
struct inputs {
    const float *at;
    struct stk__read_halves halves;
    int64_t down;
};

static bool takes_halves(const struct stk__step_work *work, int tensor)
{
    return stk__dtype_of(work, tensor) != STK_F32 && work->run->kernels->takes_halves;
}

/* Values from a column of an image on. */
static struct stk__write_halves halves_at(const struct stk__step_work *work, int tensor, int64_t i,
                                          int64_t column)
{
    return (struct stk__write_halves){ (uint16_t *)stk__tensor_at(work, tensor, i) + column,
                                       stk__dtype_of(work, tensor) };
}

static struct inputs load_block(const struct stk__step_work *work,
                                const struct stk__step_group *group, struct block b, int first,
                                int n)
{
    int tensor = group->in[0];
    if (takes_halves(work, tensor)) {
        struct stk__write_halves x = halves_at(work, tensor, first, b.columns.first);
        return (struct inputs){ NULL, { x.at, x.dtype }, stk__image_stride(work, tensor) };
    }
    struct stk__features x =
        stk__load_features(work, tensor, first, n, b.columns, stk__strip(work, group, 0));
    return (struct inputs){ .at = x.at, .down = x.down };
}

static int rows_left(const struct stk__step_work *work, const struct stk__step_group *group,
                     int first)
{
    int left = work->n - first;
    return left > group->strip_rows ? group->strip_rows : left;
}

/* What a block of columns gives, for some rows; added to what those in front of it gave. */
static void sum_block(const struct stk__step_work *work, const struct stk__step_group *group,
                      struct block b, int first, int n)
{
    const struct stk__run *run = work->run;
    int m = b.l->m;
    bool is_first = b.columns.first == stk__share_of(b.l->k, work->thread, work->n_threads).first;
    float *part = part_of(work, group, work->thread, b.l) + (size_t)first * (size_t)m;
    float *y = is_first ? part : stk__strip(work, group, 1);
    struct inputs x = load_block(work, group, b, first, n);
    run->kernels->dense.rows(
        &(struct stk__dense_rows){ .x = x.at,
                                   .x_halves = x.halves,
                                   .x_down = x.down,
                                   .weights = run->used[b.l->kernel] + b.columns.first * m,
                                   .y = y,
                                   .y_down = m,
                                   .n = n,
                                   .k = (int)(b.columns.behind - b.columns.first),
                                   .m = m,
                                   .low = -INFINITY,
                                   .high = INFINITY });
    if (!is_first)
        run->kernels->pixel.add(y, (size_t)n * (size_t)m, part);
    if (run->puts_off && x.at)
        late_of(work, group, work->thread)->x_squares +=
            (float)squares_of(&(struct stk__features){ (float *)x.at, x.down }, n,
                              b.columns.behind - b.columns.first);
}

/* The most that the squares of a thread's halves can be. Not known of bfloat16, which has the range of floats. */
static float most_squares(const struct stk__step_work *work, const struct stk__step_group *group,
                          const struct stk__dense_layer *l)
{
    const float most = 65504;
    struct stk__team_share share = stk__share_of(l->k, work->thread, work->n_threads);
    size_t n_outputs = (size_t)work->n * (size_t)l->m;
    double outputs = stk__gradient_squares(part_of(work, group, work->thread, l), n_outputs);
    if (stk__dtype_of(work, group->in[0]) != STK_F16 || !isfinite(outputs))
        return INFINITY;
    return most * most * (float)work->n * (float)(share.behind - share.first);
}

static void sum_share(const struct stk__step_work *work, const struct stk__step_group *group,
                      const struct stk__dense_layer *l)
{
    struct stk__team_share share = stk__share_of(l->k, work->thread, work->n_threads);
    bool is_half = takes_halves(work, group->in[0]);
    bool is_whole = is_half || stk__dtype_of(work, group->in[0]) == STK_F32;
    int64_t by = is_whole ? l->k : FORWARD_COLUMNS;
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
    if (work->run->puts_off && is_half)
        late_of(work, group, work->thread)->x_squares = most_squares(work, group, l);
}

static void join_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                      const struct stk__dense_layer *l)
{
    const struct stk__run *run = work->run;
    struct stk__team_share rows = stk__share_of(work->n, work->thread, work->n_threads);
    struct stk__bounds bounds = stk__activation_bounds(&l->activation);
    if (rows.first == rows.behind)
        return;
    float *y = stk__tensor_at(work, group->out, rows.first);
    run->kernels->dense.join(
        &(struct stk__dense_parts){ .part = part_of(work, group, 0, l) + rows.first * l->m,
                                    .part_down = (int64_t)work->n * l->m,
                                    .n_parts = work->n_threads,
                                    .bias = l->bias < 0 ? NULL : run->used[l->bias],
                                    .y = y,
                                    .y_down = stk__image_stride(work, group->out),
                                    .n = (int)(rows.behind - rows.first),
                                    .m = l->m,
                                    .low = bounds.low,
                                    .high = bounds.high });
    if (stk__activation_is_clamp(&l->activation))
        return;
    for (int64_t i = rows.first; i < rows.behind; i++, y += stk__image_stride(work, group->out))
        stk__activation_apply(run->kernels, &l->activation, y, (size_t)l->m, y);
}

static void forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct stk__dense_layer l = stk__dense_layer(work->run->plan, group);
    sum_share(work, group, &l);
    stk__team_meet(work->run->team);
    join_rows(work, group, &l);
}

/* ---- backward ---- */

static void to_inputs(const struct stk__step_work *work, const struct stk__step_group *group,
                      struct block b, int first, int n)
{
    const struct stk__run *run = work->run;
    int64_t columns = b.columns.behind - b.columns.first;
    float *strip = stk__strip(work, group, 1);
    struct stk__features dx = { strip, columns };
    struct stk__dense_image job = { .dy = stk__tensor_at(work, group->d_out, first),
                                    .dy_down = stk__image_stride(work, group->d_out),
                                    .weights = run->used[b.l->kernel] + b.columns.first * b.l->m,
                                    .n = n,
                                    .k = (int)columns,
                                    .m = b.l->m };
    if (!group->adds[0] && takes_halves(work, group->d_in[0]) && job.m <= STK__DENSE_HALF_OUTPUTS) {
        job.dx_halves = halves_at(work, group->d_in[0], first, b.columns.first);
        job.dx_down = stk__image_stride(work, group->d_in[0]);
        run->kernels->dense.image(&job);
        return;
    }
    if (!group->adds[0])
        dx = stk__features_to(work, group->d_in[0], first, b.columns, strip);
    job.dx = dx.at;
    job.dx_down = dx.down;
    run->kernels->dense.image(&job);
    if (group->adds[0])
        stk__add_features(work, group->d_in[0], first, n, b.columns, &dx,
                          stk__strip(work, group, 0));
    else
        stk__store_features(work, group->d_in[0], first, n, b.columns, &dx);
}

/* Whether no gradient can be infinite, which all threads answer alike. */
static bool is_bounded(const struct stk__step_work *work, const struct stk__step_group *group,
                       const struct stk__dense_layer *l)
{
    struct stk__features dy = { stk__tensor_at(work, group->d_out, 0),
                                stk__image_stride(work, group->d_out) };
    double x_squares = 0;
    for (int t = 0; t < work->n_threads; t++)
        x_squares += late_of(work, group, t)->x_squares;
    double most = sqrt(x_squares) * sqrt(squares_of(&dy, work->n, l->m));
    return most < FLT_MAX / 2;
}

static bool is_updated(const struct stk__run *run)
{
    double loss = 0;
    if (!run->updates_now)
        return false;
    for (int t = 0; t < stk__team_size(run->team); t++)
        loss += run->found[t].loss;
    return isfinite(loss);
}

static size_t tile_floats(const struct stk__dense_layer *l)
{
    return ((size_t)block_rows(l) * (size_t)l->m + 15) / 16 * 16;
}

static void to_weights(const struct stk__step_work *work, const struct stk__step_group *group,
                       struct block b, float *to)
{
    const struct stk__run *run = work->run;
    for (int i = 0, n; (n = rows_left(work, group, i)) > 0; i += n) {
        struct inputs x = load_block(work, group, b, i, n);
        run->kernels->dense.gradient(
            &(struct stk__dense_gradient){ .x = x.at,
                                           .x_halves = x.halves,
                                           .x_down = x.down,
                                           .dy = stk__tensor_at(work, group->d_out, i),
                                           .dy_down = stk__image_stride(work, group->d_out),
                                           .weights = to,
                                           .n = n,
                                           .k = (int)(b.columns.behind - b.columns.first),
                                           .m = b.l->m,
                                           .adds = i > 0 });
    }
}

static void to_bias(const struct stk__step_work *work, const struct stk__step_group *group,
                    const struct stk__dense_layer *l)
{
    const struct stk__run *run = work->run;
    struct stk__team_share share = stk__share_of(l->m, work->thread, work->n_threads);
    if (l->bias < 0 || share.first == share.behind)
        return;
    float *to = run->gradient[l->bias] + share.first;
    const float *dy = (const float *)stk__tensor_at(work, group->d_out, 0) + share.first;
    for (int64_t i = 0; i < share.behind - share.first; i++)
        to[i] = 0;
    run->kernels->pixel.sums(
        &(struct stk__pixel_sums){ { .at = dy, .across = stk__image_stride(work, group->d_out) },
                                   work->n,
                                   1,
                                   (int)(share.behind - share.first),
                                   to });
}

static void mask_share(const struct stk__step_work *work, const struct stk__step_group *group)
{
    struct stk__team_share rows = stk__share_of(work->n, work->thread, work->n_threads);
    struct stk__step_work part = *work;
    part.first += rows.first;
    part.n = (int)(rows.behind - rows.first);
    stk__mask_gradient(&part, group, NULL); /* features are float32 */
}

/* The next rows of a thread's share of the weights. */
static bool next_block(const struct stk__step_work *work, struct block *b)
{
    struct stk__team_share share = stk__share_of(b->l->k, work->thread, work->n_threads);
    int64_t rows = block_rows(b->l);
    b->columns.first = b->columns.behind ? b->columns.behind : share.first;
    b->columns.behind =
        share.behind - b->columns.first < rows ? share.behind : b->columns.first + rows;
    return b->columns.first < share.behind;
}

/* The gradient is used up: it is never in memory whole. */
static void update_block(const struct stk__step_work *work, const struct stk__step_group *group,
                         struct block b)
{
    const struct stk__run *run = work->run;
    const struct stk__gradient_span span = { .weight = b.l->kernel,
                                             .first = b.columns.first * b.l->m,
                                             .n = (b.columns.behind - b.columns.first) * b.l->m,
                                             .at = work->scratch };
    if (!stk__update_wants_gradient(run->updates, span.weight))
        return;
    to_weights(work, group, b, work->scratch);
    if (run->puts_off)
        run->found[work->thread].squares += stk__update_squares(run->updates, &span);
    if (!stk__update_span(run->updates, &span))
        run->found[work->thread].is_infinite = true;
}

static void backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct stk__run *run = work->run;
    const struct stk__dense_layer l = stk__dense_layer(run->plan, group);
    bool updates = is_updated(run);
    mask_share(work, group);
    stk__team_meet(run->team);
    to_bias(work, group, &l);
    bool is_put_off = run->puts_off && is_bounded(work, group, &l);
    if (run->puts_off)
        late_of(work, group, work->thread)->is_put_off = is_put_off;
    if (work->thread == 0)
        run->updates->of[l.kernel].is_used_up = updates || is_put_off;
    for (struct block b = { .l = &l }; next_block(work, &b);) {
        for (int i = 0, n; group->d_in[0] >= 0 && (n = rows_left(work, group, i)) > 0; i += n)
            to_inputs(work, group, b, i, n);
        if (updates)
            update_block(work, group, b);
        else if (!is_put_off)
            to_weights(work, group, b, run->gradient[l.kernel] + b.columns.first * l.m);
    }
}

static void update_late(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct stk__dense_layer l = stk__dense_layer(work->run->plan, group);
    if (late_of(work, group, work->thread)->is_put_off == 0)
        return;
    for (struct block b = { .l = &l }; next_block(work, &b);)
        update_block(work, group, b);
}

/* Strips have room for the columns of a block, for outputs, and for gradients that are added. */
static void size_strips(const struct stk__step_plan *plan, struct stk__step_group *group,
                        const struct stk__dense_layer *l)
{
    if (plan->tensor[group->in[0]].dtype == STK_F32 && !group->adds[0])
        return;
    int columns = l->m > FORWARD_COLUMNS ? l->m : FORWARD_COLUMNS;
    group->strip_rows = STRIP_ROWS;
    group->strip_floats = (size_t)STRIP_ROWS * (size_t)columns;
}

static int open_group(struct stk__step_plan *plan, struct stk__step_group *group,
                      struct stk_error *err)
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
    if (plan->puts_off)
        group->sums_floats = sizeof(struct late) / sizeof(float);
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

static const struct stk__part late_parts[] = {
    { update_late, STK__IN | STK__D_OUT | STK__SCRATCH, true },
    { 0 },
};

const struct stk__group_type stk__wide_dense_group = { .name = "wide dense",
                                                       .open = open_group,
                                                       .forward = forward_parts,
                                                       .backward = backward_parts,
                                                       .use = forward_parts,
                                                       .late = late_parts,
                                                       .n_strips = 2 };
