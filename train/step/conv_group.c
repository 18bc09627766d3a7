/* SPDX-License-Identifier: Apache-2.0 */
/* conv_group.c: a convolution with its activation and the pool behind it.
 *
 * Forward, with a pool, by bands: some rows of the convolution in scratch, then the maxima of all windows
 * that are complete. What is kept is the pooled map and a byte for each of its values. Backward by bands
 * too (bands.h), unless no frame is wanted: then the gradient is masked in place and used where it lies.
 * First layers in front of a pool of 2×2 need no gradient between the two (pool_sparse.h).
 */
#include "base/error.h"
#include "train/conv/choice.h"
#include "train/step/bands.h"
#include "train/step/pool_cells.h"
#include "train/step/pool_sparse.h"

#include <math.h>
#include <string.h>

/* Of rows that stay in cache between a convolution and what comes next: with weights and image rows they
 * fill a second-level cache. */
enum { BAND_BYTES = 192 << 10 };
/* Of rows of a gradient between a convolution and the tensor they are added to, or converted for. */
enum { GIVEN_BYTES = 96 << 10 };

struct conv {
    struct stk__conv shape;
    int kernel, bias;
    struct stk__activation activation;
    struct stk__conv_way forward, to_image, to_weights;
    size_t turned_at, bias_at; /* in packed weights, and in sums */
    int band_rows,
        band_needed; /* forward with a pool: of a band; of the whole, that windows reach */
    struct stk__bands bands;
    bool is_banded, is_sparse;
    size_t rows_at,
        way_at; /* in scratch, floats: gradients of some rows not made in place; of ways */
    int given_rows;
    bool is_half;                   /* the image or the output */
    size_t in_at, out_at, cells_at; /* in scratch: rows of the image; forward, of what is put out */
};

static struct stk__rows rows_of(const struct stk__step_work *work, int tensor, int i)
{
    struct stk__step_image image = stk__image_at(work, tensor, i);
    return (struct stk__rows){ .at = image.at,
                               .across = image.channels,
                               .down = image.down,
                               .apart = stk__image_stride(work, tensor) };
}

static void run_way(const struct stk__conv_way *way, const struct stk__conv_job *job)
{
    if (job->from < job->to)
        way->candidate->run(way, job);
}

/* ---- forward ---- */

static struct stk__conv_job forward_job(const struct stk__step_work *work,
                                        const struct stk__step_group *group)
{
    const struct conv *c = group->state;
    struct stk__bounds bounds = stk__activation_bounds(&c->activation);
    bool is_later = group->pool >= 0; /* bounds are the pool's */
    return (struct stk__conv_job){ .n_images = 1,
                                   .packed = stk__packed_at(work, group),
                                   .bias = c->bias < 0 ? NULL : work->run->used[c->bias],
                                   .low = is_later ? -INFINITY : bounds.low,
                                   .high = is_later ? INFINITY : bounds.high,
                                   .scratch = work->scratch + c->way_at };
}

static void activate_span(const struct stk__step_work *work, const struct conv *c, float *at,
                          size_t n)
{
    if (!stk__activation_is_clamp(&c->activation))
        stk__activation_apply(work->run->kernels, &c->activation, at, n, at);
}

static struct stk__rows image_rows(const struct stk__step_work *work,
                                   const struct stk__step_group *group,
                                   const struct stk__conv_way *way, int image, int from, int to)
{
    const struct conv *c = group->state;
    struct stk__map in = stk__map_at(work, group->in[0], image);
    if (in.dtype != STK_F32 && way->reads_halves)
        return stk__map_rows(&in);
    return stk__reached_rows(work, group, image, stk__conv_reach(&c->shape, from, to),
                             work->scratch + c->in_at);
}

/* By bands, rows that are converted while they are in cache, or in registers by ways that can. */
static void forward_half(const struct stk__step_work *work, const struct stk__step_group *group,
                         int image)
{
    const struct conv *c = group->state;
    struct stk__conv_job job = forward_job(work, group);
    struct stk__map out = stk__map_at(work, group->out, image);
    bool is_direct = c->forward.writes_halves && stk__activation_is_clamp(&c->activation);
    for (job.from = 0; job.from < c->shape.out_height; job.from = job.to) {
        int left = c->shape.out_height - job.from;
        job.to = job.from + (left < c->band_rows ? left : c->band_rows);
        job.image = image_rows(work, group, &c->forward, image, job.from, job.to);
        if (is_direct) {
            job.output = stk__map_rows(&out);
            run_way(&c->forward, &job);
            continue;
        }
        struct stk__step_image y =
            stk__rows_to(&out, job.from, job.to - job.from, work->scratch + c->out_at);
        job.output = (struct stk__rows){
            .at = y.at, .first = job.from, .across = y.channels, .down = y.down
        };
        run_way(&c->forward, &job);
        for (int j = 0; j < y.height; j++)
            activate_span(work, c, y.at + j * y.down, (size_t)y.width * (size_t)y.channels);
        stk__map_store(&out, job.from, &y);
    }
}

static void forward_plain(const struct stk__step_work *work, const struct stk__step_group *group)
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
static void more_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                      int image, struct stk__conv_job *job, struct window_rows *rows, int need)
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
    job->image = image_rows(work, group, &c->forward, image, job->from, job->to);
    job->output = (struct stk__rows){
        .at = rows->at, .first = rows->lo, .across = c->shape.filters, .down = rows->down
    };
    run_way(&c->forward, job);
    activate_span(work, c, rows->at + (job->from - rows->lo) * rows->down,
                  (size_t)(job->to - job->from) * (size_t)rows->down);
    rows->hi = job->to;
}

/* Windows that are complete with rows up to hi. */
static int complete(const struct conv *c, const struct stk__pooling *pool, int hi)
{
    if (hi == c->band_needed)
        return pool->out_height;
    int n = (hi + pool->pad_top - pool->height) / pool->stride_y + 1;
    return hi + pool->pad_top < pool->height ? 0 : n;
}

static void pool_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                      int image, const struct window_rows *rows, int first, int behind)
{
    const struct conv *c = group->state;
    const struct stk__pooling *pool = &c->bands.pool;
    struct stk__bounds bounds = stk__activation_bounds(&c->activation);
    struct stk__map out = stk__map_at(work, group->out, image);
    bool is_taken = stk__map_is_taken(work, &out);
    struct stk__step_image y = stk__strip_image(&out, behind - first, work->scratch + c->out_at);
    int64_t cells_down = (int64_t)pool->out_width * pool->channels;
    bool trains = work->run->program == &work->run->plan->train;
    uint8_t *strip = (uint8_t *)(work->scratch + c->cells_at);
    work->run->kernels->pool.max_rows(&(struct stk__maxpool_rows){
        .pool = pool,
        .first = first,
        .n_rows = behind - first,
        .x = { .at = rows->at, .across = c->shape.filters, .down = rows->down },
        .x_row = rows->lo,
        .y = is_taken ? stk__map_writes(&out, first * out.down) : stk__writes(&y),
        .cells = trains ? stk__cells_to(work, group, image, first, strip) : NULL,
        .cells_down = cells_down,
        .low = bounds.low,
        .high = bounds.high });
    if (!is_taken)
        stk__map_store(&out, first, &y);
    if (trains)
        stk__cells_store(work, group, image, first, behind - first, strip);
}

static void forward_pooled(const struct stk__step_work *work, const struct stk__step_group *group,
                           int image)
{
    const struct conv *c = group->state;
    const struct stk__pooling *pool = &c->bands.pool;
    struct stk__conv_job job = forward_job(work, group);
    struct window_rows rows = { .at = work->scratch,
                                .down = (int64_t)c->shape.out_width * c->shape.filters };
    for (int done = 0; done < pool->out_height;) {
        int need = done * pool->stride_y - pool->pad_top;
        more_rows(work, group, image, &job, &rows, need);
        int behind = complete(c, pool, rows.hi);
        if (behind > done)
            pool_rows(work, group, image, &rows, done, behind);
        done = behind > done ? behind : done;
    }
}

static void forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct conv *c = group->state;
    if (group->pool < 0 && !c->is_half)
        forward_plain(work, group);
    for (int i = 0; group->pool < 0 && c->is_half && i < work->n; i++)
        forward_half(work, group, i);
    for (int i = 0; group->pool >= 0 && i < work->n; i++)
        forward_pooled(work, group, i);
    stk__clear_frames(work, group->out);
}

/* ---- backward ---- */

/* Rows of the image's gradient, written, or added by way of scratch. */
static void give_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                      int image, struct stk__conv_job *job)
{
    const struct conv *c = group->state;
    struct stk__map dx = stk__d_input_map(work, group, 0, image);
    float *strip = work->scratch + c->rows_at;
    job->packed = stk__packed_at(work, group) + c->turned_at;
    if (!group->adds[0] && (dx.dtype == STK_F32 || c->to_image.writes_halves)) {
        job->image = stk__map_rows(&dx);
        run_way(&c->to_image, job);
        return;
    }
    for (int behind = job->to; job->from < behind; job->from = job->to) {
        int n = behind - job->from < c->given_rows ? behind - job->from : c->given_rows;
        job->to = job->from + n;
        struct stk__step_image own = stk__strip_image(&dx, n, strip);
        job->image = (struct stk__rows){
            .at = own.at, .first = job->from, .across = own.channels, .down = own.down
        };
        run_way(&c->to_image, job);
        stk__d_input_store(work, group, 0, &dx, job->from, &own,
                           strip + (size_t)c->given_rows * (size_t)own.down);
    }
}

static struct stk__conv_job backward_job(const struct stk__step_work *work,
                                         const struct stk__step_group *group)
{
    const struct conv *c = group->state;
    float *sums = stk__sums_at(work, group, work->thread);
    return (struct stk__conv_job){ .n_images = 1,
                                   .sums = sums,
                                   .bias_sums = c->bias < 0 ? NULL : sums + c->bias_at,
                                   .scratch = work->scratch + c->way_at };
}

static void backward_banded(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct conv *c = group->state;
    struct stk__band band = stk__band_begin(&c->bands, work, group, work->scratch);
    for (int i = 0; i < work->n; i++) {
        stk__band_image(&band, i);
        while (stk__band_next(&band)) {
            struct stk__conv_job job = backward_job(work, group);
            job.output = stk__band_rows(&band);
            job.from = band.hi - band.n;
            job.to = band.hi;
            job.image = image_rows(work, group, &c->to_weights, i, job.from, job.to);
            run_way(&c->to_weights, &job);
            job.from = band.done;
            job.to = band.ready;
            if (group->d_in[0] >= 0)
                give_rows(work, group, i, &job);
        }
    }
}

/* All images of the lot at once; the gradient lies as it came. */
static void backward_whole(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct conv *c = group->state;
    struct stk__conv_job job = backward_job(work, group);
    stk__mask_gradient(work, group, NULL); /* all is float32 */
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

static void backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct conv *c = group->state;
    float *sums = stk__sums_at(work, group, work->thread);
    if (c->is_sparse)
        stk__pool_sparse_add(work, group, &c->shape, sums, c->bias < 0 ? NULL : sums + c->bias_at);
    else if (c->is_banded)
        backward_banded(work, group);
    else
        backward_whole(work, group);
}

/* ---- once per step ---- */

static void pack(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct conv *c = group->state;
    const float *weights = work->run->used[c->kernel];
    float *packed = stk__packed_at(work, group);
    if (work->run->packed_for < 1)
        c->forward.candidate->pack(&c->forward, weights, packed, work->thread, work->n_threads);
    if (c->to_image.candidate && work->run->packed_for < 2 &&
        work->run->program == &work->run->plan->train)
        c->to_image.candidate->pack(&c->to_image, weights, packed + c->turned_at, work->thread,
                                    work->n_threads);
}

static void collect(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct conv *c = group->state;
    float *sums[STK__MOST_THREADS];
    for (int t = 0; t < work->n_threads; t++)
        sums[t] = stk__sums_at(work, group, t);
    if (c->is_sparse)
        stk__collect_sums(work, group, 0, c->kernel);
    else
        c->to_weights.candidate->unpack(&c->to_weights, sums, work->n_threads,
                                        work->run->gradient[c->kernel], work->thread,
                                        work->n_threads);
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

/* Which candidate carries out the convolution in a direction. */
static int choose_way(const struct stk__step_plan *plan, struct stk__step_group *group,
                      const struct stk__conv_task *task, struct stk__conv_way *out,
                      struct stk_error *err)
{
    static const char *const words[] = { "forward", "to image", "to weights" };
    const struct stk__model_node *node = stk__group_node(plan, group);
    const struct stk__conv *conv = &task->conv;
    struct stk__text why = { 0 };
    if (!stk__conv_direct.can(task))
        return stk__fail_at(
            err, STK_VALUE, node->at, node->len,
            "%s: a kernel of %d by %d is larger than convolutions can be here: up to "
            "%d weights",
            node->name, conv->kernel_height, conv->kernel_width, STK__MOST_TAPS);
    stk__text_add(&why, "%s by ", words[task->direction]);
    int rc = stk__conv_choose(plan->choices, task, plan->max_batch, out, &why, err);
    if (!rc && !why.failed)
        group->how[task->direction] = stk__arena_printf(plan->arena, "%s", why.data);
    stk__text_free(&why);
    return rc;
}

/* The output, or its gradient, is in bands, of about as many rows as there will be. */
static int open_way(struct stk__step_plan *plan, struct stk__step_group *group,
                    const struct conv *c, enum stk__direction direction, bool is_banded,
                    struct stk__conv_way *out, struct stk_error *err)
{
    int64_t row = (int64_t)c->shape.out_width * c->shape.filters * (int64_t)sizeof(float);
    int rows = (int)(BAND_BYTES / row);
    struct stk__conv_task task = { .conv = c->shape,
                                   .direction = direction,
                                   .cpu_level = plan->cpu_level,
                                   .n_images = 1,
                                   .n_rows = !is_banded ? 0
                                             : rows > 0 ? rows
                                                        : 1,
                                   .is_half = c->is_half };
    return choose_way(plan, group, &task, out, err);
}

static int open_ways(struct stk__step_plan *plan, struct stk__step_group *group, struct conv *c,
                     struct stk_error *err)
{
    bool has_pool = group->pool >= 0, gives = plan->trains && group->d_in[0] >= 0;
    c->is_half =
        plan->tensor[group->in[0]].dtype != STK_F32 || plan->tensor[group->out].dtype != STK_F32;
    bool is_banded = has_pool || (gives && stk__conv_has_frame(&c->shape));
    int rc = open_way(plan, group, c, STK__FORWARD, has_pool, &c->forward, err);
    c->is_sparse = plan->trains && stk__pool_sparse_fits(plan, group, &c->shape, &c->activation);
    if (!rc && plan->trains && !c->is_sparse)
        rc = open_way(plan, group, c, STK__TO_WEIGHTS, is_banded, &c->to_weights, err);
    if (!rc && gives)
        rc = open_way(plan, group, c, STK__TO_IMAGE, is_banded, &c->to_image, err);
    c->turned_at = round_floats(c->forward.packed_floats);
    group->packed_floats = c->turned_at + c->to_image.packed_floats;
    size_t kernel_floats = c->to_weights.packed_floats;
    if (c->is_sparse) {
        kernel_floats = (size_t)plan->model->weight[c->kernel].n_values;
        group->how[STK__TO_WEIGHTS] = "to weights from the pooled gradient";
    }
    c->bias_at = round_floats(kernel_floats);
    group->sums_floats = plan->trains ? c->bias_at + (size_t)c->shape.filters : 0;
    return rc;
}

static int unit_of(const struct stk__conv_way *way)
{
    return way->row_unit > 1 ? way->row_unit : 1;
}

/* Bands of a multiple of it suit both. */
static int common_unit(const struct stk__conv_way *a, const struct stk__conv_way *b)
{
    int unit = unit_of(a);
    while (unit % unit_of(b))
        unit += unit_of(a);
    return unit;
}

static int rows_within(int64_t bytes, int64_t row_floats, int unit)
{
    int64_t rows = bytes / (row_floats * (int64_t)sizeof(float)) / unit * unit;
    return rows < unit ? unit : (int)rows;
}

/* Rows of a forward band: windows and the rows they share with the next. Returns floats. */
static size_t size_bands(const struct stk__step_plan *plan, const struct stk__step_group *group,
                         struct conv *c)
{
    const struct stk__pooling *pool = &c->bands.pool;
    int64_t row = (int64_t)c->shape.out_width * c->shape.filters;
    c->band_rows = stk__band_rows_of(plan, group, BAND_BYTES, row, unit_of(&c->forward));
    c->band_needed = c->shape.out_height;
    if (!c->bands.has_pool)
        return 0;
    int needed = (pool->out_height - 1) * pool->stride_y - pool->pad_top + pool->height;
    if (c->band_needed > needed)
        c->band_needed = needed;
    if (c->band_rows > c->band_needed)
        c->band_rows = c->band_needed;
    return (size_t)(c->band_rows + pool->height) * (size_t)row;
}

/* Of rows that are put out in half precision, as many as a band gives at once. */
static size_t put_out_floats(const struct stk__step_plan *plan, const struct stk__step_group *group,
                             const struct conv *c)
{
    const struct stk__tensor *out = &plan->tensor[group->out];
    const struct stk__pooling *pool = &c->bands.pool;
    int64_t rows = c->band_rows;
    if (out->dtype == STK_F32)
        return 0;
    if (c->bands.has_pool)
        rows = (c->band_rows + 2 * pool->height) / pool->stride_y + 2;
    return (size_t)((rows < out->height ? rows : out->height) * out->width * out->channels);
}

static int add_cells(struct stk__step_plan *plan, struct stk__step_group *group,
                     struct stk_error *err)
{
    const struct stk__window *window = &plan->model->node[group->pool].window;
    group->cells =
        stk__cells_tensor(plan, group, (int)(window->kernel_height * window->kernel_width));
    return group->cells < 0 ? stk__out_of_memory(err) : STK_OK;
}

static void size_scratch(const struct stk__step_plan *plan, struct stk__step_group *group,
                         struct conv *c)
{
    c->bands = stk__bands_of(plan, group, BAND_BYTES, common_unit(&c->to_weights, &c->to_image));
    size_t floats = size_bands(plan, group, c);
    c->is_banded = group->pool >= 0 || c->is_half || (group->d_in[0] >= 0 && c->bands.has_frame);
    if (c->is_sparse)
        floats = largest(floats, stk__pool_sparse_floats(plan, group, &c->shape));
    else if (plan->trains && c->is_banded)
        floats = largest(floats, stk__bands_floats(&c->bands));
    c->rows_at = round_floats(floats);
    bool in_strips = plan->tensor[group->in[0]].dtype != STK_F32;
    if (group->d_in[0] >= 0 && (group->adds[0] || in_strips)) {
        int64_t row = (int64_t)c->shape.width * c->shape.channels;
        c->given_rows = rows_within(GIVEN_BYTES, row, unit_of(&c->to_image));
        int n_strips = group->adds[0] && in_strips ? 2 : 1;
        floats = c->rows_at + (size_t)n_strips * (size_t)c->given_rows * (size_t)row;
    }
    c->in_at = round_floats(floats);
    int most = c->bands.n_rows > c->band_rows ? c->bands.n_rows : c->band_rows;
    most = most < c->shape.out_height ? most : c->shape.out_height;
    c->out_at = c->in_at + round_floats(stk__reach_floats(plan, group, most));
    size_t put_out = round_floats(put_out_floats(plan, group, c));
    c->cells_at = c->out_at + put_out;
    floats = c->cells_at + (group->pool >= 0 ? put_out / sizeof(float) : 0);
    c->way_at = round_floats(floats);
    floats = c->way_at + largest(c->forward.scratch_floats,
                                 largest(c->to_image.scratch_floats, c->to_weights.scratch_floats));
    group->scratch_bytes = floats * sizeof(float);
}

static void close_group(struct stk__step_group *group)
{
    struct conv *c = group->state;
    if (!c)
        return;
    stk__conv_way_close(&c->forward);
    stk__conv_way_close(&c->to_image);
    stk__conv_way_close(&c->to_weights);
}

static int open_group(struct stk__step_plan *plan, struct stk__step_group *group,
                      struct stk_error *err)
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
