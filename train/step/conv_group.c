/* SPDX-License-Identifier: Apache-2.0 */
/* conv_group.c: a convolution with its activation and the pool behind it.
 *
 * Forward, with a pool, by bands: some rows of the convolution in scratch, then the maxima of all windows
 * that are complete. What is kept is the pooled map and a byte for each of its values. Backward by bands
 * too (bands.h), unless no frame is wanted: then the gradient is masked in place and used where it lies.
 */
#include "base/error.h"
#include "train/step/bands.h"
#include "train/step/conv_way.h"
#include "train/step/pool_shape.h"

#include <math.h>
#include <string.h>

/* Of rows that stay in cache between a convolution and what comes next: with weights and image rows they
 * fill a second-level cache. */
enum { BAND_BYTES = 192 << 10 };

struct conv {
    struct stk__conv shape;
    int kernel, bias;
    struct stk__activation activation;
    struct stk__way forward, to_image, to_weights;
    size_t turned_at, bias_at; /* in packed weights, and in sums */
    int band_rows,
        band_needed; /* forward with a pool: of a band; of the whole, that windows reach */
    struct stk__bands bands;
    bool is_banded;
    size_t rows_at, way_at; /* in scratch, floats: gradients of some rows that are added; of ways */
    int added_rows;
};

static struct stk__rows rows_of(const struct stk__work *work, int tensor, int i)
{
    struct stk__image image = stk__image_at(work, tensor, i);
    return (struct stk__rows){ .at = image.at,
                               .across = image.channels,
                               .down = image.down,
                               .apart = stk__apart(work, tensor) };
}

static float *scratch_of(const struct stk__work *work, const struct stk__group *group, size_t at)
{
    return group->scratch < 0 ? NULL : (float *)stk__at(work, group->scratch, 0) + at;
}

static void run_way(const struct stk__way *way, const struct stk__conv_job *job)
{
    if (job->from < job->to)
        way->candidate->run(way, job);
}

/* ---- forward ---- */

static struct stk__conv_job forward_job(const struct stk__work *work,
                                        const struct stk__group *group)
{
    const struct conv *c = group->state;
    struct stk__bounds bounds = stk__activation_bounds(&c->activation);
    bool is_later = group->pool >= 0; /* bounds are the pool's */
    return (struct stk__conv_job){ .n_images = 1,
                                   .packed = stk__packed_at(work, group),
                                   .bias = c->bias < 0 ? NULL : work->run->weight[c->bias],
                                   .low = is_later ? -INFINITY : bounds.low,
                                   .high = is_later ? INFINITY : bounds.high,
                                   .scratch = scratch_of(work, group, c->way_at) };
}

static void activate_span(const struct stk__work *work, const struct conv *c, float *at, size_t n)
{
    if (!stk__activation_is_clamp(&c->activation))
        stk__activate(work->run->kernels, &c->activation, at, n, at);
}

static void forward_plain(const struct stk__work *work, const struct stk__group *group)
{
    const struct conv *c = group->state;
    struct stk__conv_job job = forward_job(work, group);
    job.n_images = work->n;
    job.to = c->shape.out_height;
    job.image = rows_of(work, group->in[0], 0);
    job.output = rows_of(work, group->out, 0);
    run_way(&c->forward, &job);
    for (int i = 0; i < work->n; i++)
        for (int y = 0; y < c->shape.out_height; y++)
            activate_span(work, c, job.output.at + i * job.output.apart + y * job.output.down,
                          (size_t)c->shape.out_width * (size_t)c->shape.filters);
}

/* Rows lo … hi of a convolution's output. */
struct window_rows {
    float *at;
    int64_t down;
    int lo, hi;
};

/* Makes the next rows; those that windows from `need` on do not look at make room. */
static void more_rows(const struct stk__work *work, const struct stk__group *group,
                      struct stk__conv_job *job, struct window_rows *rows, int need)
{
    const struct conv *c = group->state;
    int keep_from = need < rows->hi ? need : rows->hi;
    if (keep_from > rows->lo) {
        memmove(rows->at, rows->at + (keep_from - rows->lo) * rows->down,
                (size_t)(rows->hi - keep_from) * (size_t)rows->down * sizeof *rows->at);
        rows->lo = keep_from;
    }
    job->from = rows->hi;
    job->to = rows->hi + c->band_rows < c->band_needed ? rows->hi + c->band_rows : c->band_needed;
    job->output = (struct stk__rows){
        .at = rows->at, .first = rows->lo, .across = c->shape.filters, .down = rows->down
    };
    run_way(&c->forward, job);
    activate_span(work, c, rows->at + (job->from - rows->lo) * rows->down,
                  (size_t)(job->to - job->from) * (size_t)rows->down);
    rows->hi = job->to;
}

/* Windows that are complete with rows up to hi. */
static int complete(const struct conv *c, const struct stk__pool *pool, int hi)
{
    if (hi == c->band_needed)
        return pool->out_height;
    int n = (hi + pool->pad_top - pool->height) / pool->stride_y + 1;
    return hi + pool->pad_top < pool->height ? 0 : n;
}

static void pool_rows(const struct stk__work *work, const struct stk__group *group, int image,
                      const struct window_rows *rows, int first, int behind)
{
    const struct conv *c = group->state;
    const struct stk__pool *pool = &c->bands.pool;
    struct stk__bounds bounds = stk__activation_bounds(&c->activation);
    struct stk__image y = stk__image_at(work, group->out, image);
    int64_t cells_down = (int64_t)pool->out_width * pool->channels;
    bool trains = work->run->program == &work->run->plan->train;
    uint8_t *cells = trains ? stk__at(work, group->cells, image) : NULL;
    work->run->kernels->pool.max_rows(
        &(struct stk__maxpool_rows){ .pool = pool,
                                     .first = first,
                                     .n_rows = behind - first,
                                     .x = { rows->at, c->shape.filters, rows->down },
                                     .x_row = rows->lo,
                                     .y = { y.at + first * y.down, y.channels, y.down },
                                     .cells = cells ? cells + first * cells_down : NULL,
                                     .cells_down = cells_down,
                                     .low = bounds.low,
                                     .high = bounds.high });
}

static void forward_pooled(const struct stk__work *work, const struct stk__group *group, int image)
{
    const struct conv *c = group->state;
    const struct stk__pool *pool = &c->bands.pool;
    struct stk__conv_job job = forward_job(work, group);
    struct window_rows rows = { .at = scratch_of(work, group, 0),
                                .down = (int64_t)c->shape.out_width * c->shape.filters };
    job.image = rows_of(work, group->in[0], image);
    for (int done = 0; done < pool->out_height;) {
        int need = done * pool->stride_y - pool->pad_top;
        more_rows(work, group, &job, &rows, need);
        int behind = complete(c, pool, rows.hi);
        if (behind > done)
            pool_rows(work, group, image, &rows, done, behind);
        done = behind > done ? behind : done;
    }
}

static void forward(const struct stk__work *work, const struct stk__group *group)
{
    if (group->pool < 0)
        forward_plain(work, group);
    for (int i = 0; group->pool >= 0 && i < work->n; i++)
        forward_pooled(work, group, i);
    stk__clear_frames(work, group->out);
}

/* ---- backward ---- */

/* Rows of the image's gradient, written, or added by way of scratch. */
static void give_rows(const struct stk__work *work, const struct stk__group *group, int image,
                      struct stk__conv_job *job)
{
    const struct conv *c = group->state;
    struct stk__image dx = stk__d_input_at(work, group, 0, image);
    job->packed = stk__packed_at(work, group) + c->turned_at;
    job->image = (struct stk__rows){ .at = dx.at, .across = dx.channels, .down = dx.down };
    if (!group->adds[0]) {
        run_way(&c->to_image, job);
        return;
    }
    struct stk__image own = dx, to = dx;
    for (int behind = job->to; job->from < behind; job->from = job->to) {
        job->to = behind - job->from > c->added_rows ? job->from + c->added_rows : behind;
        own.at = scratch_of(work, group, c->rows_at);
        own.height = job->to - job->from;
        own.down = (int64_t)dx.width * dx.channels;
        to.at = dx.at + job->from * dx.down;
        job->image = (struct stk__rows){ own.at, job->from, own.channels, own.down, 0 };
        run_way(&c->to_image, job);
        stk__put_rows(work->run->kernels, &own, &to, true);
    }
}

static struct stk__conv_job backward_job(const struct stk__work *work,
                                         const struct stk__group *group)
{
    const struct conv *c = group->state;
    float *sums = stk__sums_at(work, group, work->thread);
    return (struct stk__conv_job){ .n_images = 1,
                                   .sums = sums,
                                   .bias_sums = c->bias < 0 ? NULL : sums + c->bias_at,
                                   .scratch = scratch_of(work, group, c->way_at) };
}

static void backward_banded(const struct stk__work *work, const struct stk__group *group)
{
    const struct conv *c = group->state;
    struct stk__band band = stk__band_begin(&c->bands, work, group, scratch_of(work, group, 0));
    for (int i = 0; i < work->n; i++) {
        stk__band_image(&band, i);
        while (stk__band_next(&band)) {
            struct stk__conv_job job = backward_job(work, group);
            job.image = rows_of(work, group->in[0], i);
            job.output = stk__band_rows(&band);
            job.from = band.hi - band.n;
            job.to = band.hi;
            run_way(&c->to_weights, &job);
            job.from = band.done;
            job.to = band.ready;
            if (group->d_in[0] >= 0)
                give_rows(work, group, i, &job);
        }
    }
}

/* All images of the lot at once; the gradient lies as it came. */
static void backward_whole(const struct stk__work *work, const struct stk__group *group)
{
    const struct conv *c = group->state;
    struct stk__conv_job job = backward_job(work, group);
    stk__mask_gradient(work, group);
    job.n_images = work->n;
    job.image = rows_of(work, group->in[0], 0);
    job.output = rows_of(work, group->d_out, 0);
    job.to = c->shape.out_height;
    run_way(&c->to_weights, &job);
    if (group->d_in[0] < 0)
        return;
    job.n_images = 1;
    for (int i = 0; i < work->n; i++) {
        job.output = rows_of(work, group->d_out, i);
        job.from = 0;
        job.to = c->shape.height;
        give_rows(work, group, i, &job);
    }
}

static void backward(const struct stk__work *work, const struct stk__group *group)
{
    const struct conv *c = group->state;
    if (c->is_banded)
        backward_banded(work, group);
    else
        backward_whole(work, group);
}

/* ---- once per step ---- */

static void pack(const struct stk__work *work, const struct stk__group *group)
{
    const struct conv *c = group->state;
    const float *weights = work->run->weight[c->kernel];
    float *packed = stk__packed_at(work, group);
    if (work->run->packed_for < 1)
        c->forward.candidate->pack(&c->forward, weights, packed, work->thread, work->n_threads);
    if (c->to_image.candidate && work->run->packed_for < 2 &&
        work->run->program == &work->run->plan->train)
        c->to_image.candidate->pack(&c->to_image, weights, packed + c->turned_at, work->thread,
                                    work->n_threads);
}

static void collect(const struct stk__work *work, const struct stk__group *group)
{
    const struct conv *c = group->state;
    float *sums[STK__MOST_THREADS];
    for (int t = 0; t < work->n_threads; t++)
        sums[t] = stk__sums_at(work, group, t);
    c->to_weights.candidate->unpack(&c->to_weights, sums, work->n_threads,
                                    work->run->gradient[c->kernel], work->thread, work->n_threads);
    stk__collect_sums(work, group, c->bias_at, c->bias);
}

/* ---- sizes ---- */

static size_t round_floats(size_t n)
{
    return (n + 15) / 16 * 16;
}

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static int open_ways(struct stk__step_plan *plan, struct stk__group *group, struct conv *c,
                     struct stk_error *err)
{
    int rc = stk__conv_way(plan, group, &c->shape, STK__FORWARD, &c->forward, err);
    if (!rc && plan->trains)
        rc = stk__conv_way(plan, group, &c->shape, STK__TO_WEIGHTS, &c->to_weights, err);
    if (!rc && plan->trains && group->d_in[0] >= 0)
        rc = stk__conv_way(plan, group, &c->shape, STK__TO_IMAGE, &c->to_image, err);
    c->turned_at = round_floats(c->forward.packed_floats);
    group->packed_floats = c->turned_at + c->to_image.packed_floats;
    c->bias_at = round_floats(c->to_weights.packed_floats);
    group->sums_floats = plan->trains ? c->bias_at + (size_t)c->shape.filters : 0;
    return rc;
}

static int unit_of(const struct stk__way *way)
{
    return way->row_unit > 1 ? way->row_unit : 1;
}

/* Rows of a forward band: windows and the rows they share with the next. Returns floats. */
static size_t size_bands(struct conv *c)
{
    const struct stk__pool *pool = &c->bands.pool;
    int64_t row = (int64_t)c->shape.out_width * c->shape.filters;
    int unit = unit_of(&c->forward);
    int64_t rows = BAND_BYTES / (row * (int64_t)sizeof(float)) / unit * unit;
    c->band_rows = rows < unit ? unit : (int)rows;
    c->band_needed = (pool->out_height - 1) * pool->stride_y - pool->pad_top + pool->height;
    if (c->band_needed > c->shape.out_height)
        c->band_needed = c->shape.out_height;
    if (c->band_rows > c->band_needed)
        c->band_rows = c->band_needed;
    return (size_t)(c->band_rows + pool->height) * (size_t)row;
}

static int add_cells(struct stk__step_plan *plan, struct stk__group *group, struct stk_error *err)
{
    struct stk__tensor cells = plan->tensor[group->out];
    cells.what = "cells";
    cells.top = cells.left = cells.bottom = cells.right = 0;
    cells.value_bytes = 1;
    group->cells = stk__step_plan_tensor(plan, &cells);
    return group->cells < 0 ? stk__out_of_memory(err) : STK_OK;
}

static void size_scratch(const struct stk__step_plan *plan, struct stk__group *group,
                         struct conv *c)
{
    int unit = unit_of(&c->to_weights);
    if (unit_of(&c->to_image) > unit)
        unit = unit_of(&c->to_image);
    c->bands = stk__bands_of(plan, group, BAND_BYTES, unit);
    size_t floats = group->pool >= 0 ? size_bands(c) : 0;
    c->is_banded = group->pool >= 0 || (group->d_in[0] >= 0 && c->bands.has_frame);
    if (plan->trains && c->is_banded)
        floats = largest(floats, stk__bands_floats(&c->bands));
    c->rows_at = round_floats(floats);
    if (plan->trains && group->adds[0]) {
        int64_t row = (int64_t)c->shape.width * c->shape.channels;
        int64_t rows = BAND_BYTES / (row * (int64_t)sizeof(float));
        unit = unit_of(&c->to_image);
        c->added_rows = rows < unit ? unit : (int)(rows / unit * unit);
        floats = c->rows_at + (size_t)c->added_rows * (size_t)row;
    }
    c->way_at = round_floats(floats);
    floats = c->way_at + largest(c->forward.scratch_floats,
                                 largest(c->to_image.scratch_floats, c->to_weights.scratch_floats));
    group->scratch_bytes = floats * sizeof(float);
}

static void close_group(struct stk__group *group)
{
    struct conv *c = group->state;
    if (!c)
        return;
    stk__way_close(&c->forward);
    stk__way_close(&c->to_image);
    stk__way_close(&c->to_weights);
}

static int open_group(struct stk__step_plan *plan, struct stk__group *group, struct stk_error *err)
{
    struct conv *c = stk_arena_alloc(plan->arena, sizeof *c);
    if (!c)
        return stk__out_of_memory(err);
    group->state = c;
    c->shape = stk__conv_of(plan, group);
    c->kernel = stk__group_weight(plan, group, STK__KERNEL);
    c->bias = stk__group_weight(plan, group, STK__BIAS);
    c->activation = stk__group_activation(plan, group);
    int rc = open_ways(plan, group, c, err);
    if (!rc)
        size_scratch(plan, group, c);
    if (!rc && group->pool >= 0)
        rc = add_cells(plan, group, err);
    bool is_told = group->pool >= 0 && stk__activation_is_clamp(&c->activation);
    if (is_told || c->activation.kind == STK__LINEAR)
        group->spares = STK__OUT;
    return rc;
}

static const struct stk__part forward_parts[] = {
    { forward, STK__IN | STK__OUT | STK__CELLS | STK__SCRATCH, false },
    { 0 },
};
static const struct stk__part backward_parts[] = {
    { backward, STK__IN | STK__OUT | STK__D_IN | STK__D_OUT | STK__CELLS | STK__SCRATCH, false },
    { 0 },
};
static const struct stk__part use_parts[] = {
    { forward, STK__IN | STK__OUT | STK__SCRATCH, false },
    { 0 },
};

const struct stk__group_type stk__conv_group = { .name = "conv",
                                                 .open = open_group,
                                                 .close = close_group,
                                                 .forward = forward_parts,
                                                 .backward = backward_parts,
                                                 .use = use_parts,
                                                 .pack = pack,
                                                 .collect = collect };
