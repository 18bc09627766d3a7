/* SPDX-License-Identifier: Apache-2.0 */
/* resizer_run.c: images through their route.
 *
 * What depends on sizes alone (taps) is kept per worker for the sizes seen last, so that a run
 * over images of a few sizes prepares each once.
 */
#include "base/hash.h"
#include "base/memory/gauge.h"
#include "base/rng.h"
#include "op/image/resizer.h"

#include <stdlib.h>
#include <string.h>

enum { N_SLOTS = 32, FIRST_BYTES = 16 << 10, MAX_ROW_VALUES = 1 << 28 };

/* Of a result in its batch that is so large nothing is left in near caches when the batch is
 * complete. To write it past them saves reading what it overwrites: a fifth of resizing to
 * 224 x 224 x 3 floats. */
enum { FAR_BYTES = 256 << 10 };

/* ---- what a worker keeps ---- */

/* Taps of an axis; along x in the layout of its kernels. */
struct slot {
    struct stk__axis axis;
    int channels; /* 0: y */
    struct stk__across across;
};

/* Both arenas count as scratch, and a run may take them back between two tickets. */
struct worker {
    struct slot slot[N_SLOTS];
    int n_slots;
    struct stk_arena taps, work; /* of all slots; of the image */
};

int stk__resizer_thread_open(const void *params, const void *state, void **thread,
                             struct stk_error *err)
{
    (void)params, (void)state;
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return stk_fail(err, STK_MEMORY, "out of memory");
    stk__arena_init(&worker->taps, FIRST_BYTES);
    stk__arena_init(&worker->work, FIRST_BYTES);
    stk__gauge_join(&worker->taps);
    stk__gauge_join(&worker->work);
    *thread = worker;
    return STK_OK;
}

void stk__resizer_thread_close(void *thread)
{
    struct worker *worker = thread;
    stk__gauge_part(&worker->taps);
    stk__gauge_part(&worker->work);
    stk__arena_free(&worker->taps);
    stk__arena_free(&worker->work);
    free(worker);
}

static bool is_same_axis(const struct stk__axis *a, const struct stk__axis *b)
{
    return a->n_in == b->n_in && a->n_out == b->n_out && a->from == b->from && a->n == b->n &&
           a->is_reversed == b->is_reversed && a->rule == b->rule && a->bits == b->bits &&
           a->multiple == b->multiple;
}

/* An image needs one across and one down: where there is no room for both, all are forgotten. */
static void make_room(struct worker *worker)
{
    if (worker->taps.total_bytes && worker->n_slots + 2 <= N_SLOTS)
        return;
    stk__arena_reset(&worker->taps);
    worker->n_slots = 0;
}

static struct slot *find_slot(struct worker *worker, const struct stk__axis *axis, int channels)
{
    for (struct slot *s = worker->slot; s < worker->slot + worker->n_slots; s++)
        if (s->channels == channels && is_same_axis(&s->axis, axis))
            return s;
    return NULL;
}

/* NULL when out of memory. */
static const struct slot *get_slot(struct worker *worker, const struct stk__axis *axis,
                                   enum stk__across_kind kind, int channels)
{
    struct slot *slot = find_slot(worker, axis, channels);
    if (slot)
        return slot;
    void *memory = stk__arena_take(&worker->taps, channels ? stk__across_bytes(axis, kind, channels)
                                                           : stk__taps_bytes(axis));
    if (!memory)
        return NULL;
    slot = &worker->slot[worker->n_slots++];
    slot->axis = *axis;
    slot->channels = channels;
    if (channels)
        stk__across_init(&slot->across, axis, kind, channels, memory);
    else
        stk__taps_init(&slot->across.taps, axis, memory);
    return slot;
}

static void *get_work(struct worker *worker, size_t bytes)
{
    stk__arena_reset(&worker->work);
    return stk__arena_take(&worker->work, bytes);
}

/* ---- one image ---- */

/* An image on its way. */
struct job {
    struct stk_rows *rows;
    int row;
    const struct stk__resizer *resizer;
    struct stk__picture all;
    struct stk__image_region window; /* of it, that is resized: */
    struct stk__picture from;
    size_t from_row_bytes; /* in rows of so many bytes */
    struct stk__fit fit;
    bool flips_x, flips_y;
    struct stk__finish finish;
    struct stk__target target; /* the canvas */
};

/* Whether the image can be resized at all; marks the row if not. */
static bool is_possible(const struct job *job)
{
    struct stk__picture from = job->from;
    struct stk__size to = job->fit.scaled;
    int64_t width = from.width > to.width ? from.width : to.width;
    if (from.height < 1 || from.width < 1 || from.channels < 1)
        stk_rows_fail(job->rows, job->row, STK_DATA,
                      "the image is empty: %d x %d pixels of %d channels", from.height, from.width,
                      from.channels);
    else if (to.height < 1 || to.width < 1)
        stk_rows_fail(job->rows, job->row, STK_DATA,
                      "an image of %d x %d pixels (height x width) would become %d x %d: a side "
                      "would be nothing",
                      from.height, from.width, to.height, to.width);
    else if (to.height > STK__MAX_SIDE || to.width > STK__MAX_SIDE)
        stk_rows_fail(job->rows, job->row, STK_DATA,
                      "an image of %d x %d pixels (height x width) would become %d x %d; at most "
                      "%d are possible",
                      from.height, from.width, to.height, to.width, STK__MAX_SIDE);
    else if (width * from.channels > MAX_ROW_VALUES)
        stk_rows_fail(job->rows, job->row, STK_DATA, "rows of %lld x %d values are too long",
                      (long long)width, from.channels);
    else
        return true;
    return false;
}

static bool is_drawn(const struct job *job, const struct stk__op_finish *flip)
{
    if (flip->probability >= 1)
        return true;
    struct stk__rows_inside inside = *job->rows->inside;
    struct stk_rows rows = *job->rows;
    uint32_t words[4];
    inside.seed = stk__hash_mix(inside.run_seed, flip->ordinal);
    rows.inside = &inside;
    stk_rows_random(&rows, job->row, flip->user_seed, 0, words);
    return (double)stk__unit_float(words[0]) < flip->probability;
}

static void draw_flips(struct job *job)
{
    for (int i = 0; i < job->resizer->n_flips; i++) {
        const struct stk__op_finish *flip = &job->resizer->flip[i];
        bool is_flipped = is_drawn(job, flip);
        job->flips_x ^= is_flipped && flip->flips_x;
        job->flips_y ^= is_flipped && flip->flips_y;
    }
}

/* Where the image goes on the canvas after what follows: a smaller window, a mirrored margin. */
static void place_fit(struct job *job)
{
    struct stk__fit *fit = &job->fit;
    if (job->resizer->crop.choose) { /* without padding */
        const int32_t size[2] = { fit->inner.height, fit->inner.width };
        struct stk__image_region kept = { 0, 0, size[0], size[1] };
        stk__part_choose(&job->resizer->crop, job->rows, job->row, size, &kept, NULL);
        fit->crop_top += kept.top;
        fit->crop_left += kept.left;
        fit->inner = fit->canvas = (struct stk__size){ kept.height, kept.width };
    }
    if (job->flips_x)
        fit->pad_left = fit->canvas.width - fit->inner.width - fit->pad_left;
    if (job->flips_y)
        fit->pad_top = fit->canvas.height - fit->inner.height - fit->pad_top;
}

/* The memory of the result. */
static bool open_target(struct job *job)
{
    struct stk__size canvas = job->fit.canvas;
    int channels = job->from.channels;
    size_t value_bytes = stk_dtype_bytes(job->finish.dtype);
    size_t row_values = (size_t)canvas.width * (size_t)(job->finish.is_planar ? 1 : channels);
    struct stk__picture size = { NULL, canvas.height, canvas.width, channels };
    if (job->finish.is_planar)
        size = (struct stk__picture){ NULL, channels, canvas.height, canvas.width };
    job->target.row_bytes = row_values * value_bytes;
    job->target.plane_bytes = (size_t)canvas.height * job->target.row_bytes;
    job->target.data = stk__picture_put(job->rows, job->resizer->field, job->row, size);
    job->target.is_far =
        job->rows->inside->finals >> job->resizer->field & 1 &&
        job->target.plane_bytes * (job->finish.is_planar ? (size_t)channels : 1) >= FAR_BYTES;
    return job->target.data != NULL;
}

static struct stk__finish finish_of(const struct stk__resizer *resizer,
                                    const struct stk__route *route, int channels)
{
    enum stk__rounding own = resizer->is_rounded ? STK__ROUND_UP : STK__ROUND_NOT;
    return (struct stk__finish){ .dtype = resizer->dtype,
                                 .rounding = route->rounding ? route->rounding : own,
                                 .affine = resizer->affine.period ? &resizer->affine : NULL,
                                 .is_planar = resizer->is_planar,
                                 .channels = channels };
}

/* ---- padding ---- */

/* n pixels of the canvas from (y, x) on, from a row of the filling. */
static void fill_run(const struct job *job, const float *filling, void *work, int y, int x, int n)
{
    size_t pixel_bytes = job->target.row_bytes / (size_t)job->fit.canvas.width;
    uint8_t *dst = job->target.data + (size_t)y * job->target.row_bytes + (size_t)x * pixel_bytes;
    struct stk__finish_pixels pixels = { filling, STK_F32, n };
    if (n > 0)
        stk__finish_row(&job->finish, stk__kernels(), pixels, work, dst, job->target.plane_bytes);
}

/* All of the canvas but the image, each pixel once. */
static int fill_canvas(const struct job *job)
{
    const struct stk__fit *fit = &job->fit;
    int n = fit->canvas.width * job->from.channels;
    int right = fit->pad_left + fit->inner.width, bottom = fit->pad_top + fit->inner.height;
    size_t row_bytes = ((size_t)n * sizeof(float) + 63) / 64 * 64;
    uint8_t *work = stk_rows_alloc(job->rows, row_bytes + stk__finish_bytes(n));
    if (!work)
        return STK_MEMORY;
    float *filling = (float *)(void *)work;
    for (int i = 0; i < n; i++)
        filling[i] = (float)job->resizer->fill;
    for (int y = 0; y < fit->canvas.height; y++) {
        bool is_beside = y >= fit->pad_top && y < bottom;
        int end = is_beside ? fit->pad_left : fit->canvas.width;
        fill_run(job, filling, work + row_bytes, y, 0, end);
        if (is_beside)
            fill_run(job, filling, work + row_bytes, y, right, fit->canvas.width - right);
    }
    return STK_OK;
}

static bool has_padding(const struct stk__fit *fit)
{
    return fit->canvas.height != fit->inner.height || fit->canvas.width != fit->inner.width;
}

/* ---- running ---- */

static int resize_image(struct job *job, const struct stk__route *route)
{
    struct worker *worker = job->rows->thread;
    const struct stk__fit *fit = &job->fit;
    int channels = job->from.channels;
    struct stk__resize_wish columns = { fit->crop_left, fit->inner.width, job->flips_x };
    struct stk__resize_wish all = { 0, fit->scaled.width, false };
    struct stk__resize_wish lines = { fit->crop_top, fit->inner.height, job->flips_y };
    struct stk__axis across = stk__route_x(route, stk__route_is_uniform(route) ? columns : all);
    struct stk__axis down = stk__route_y(route, lines);
    enum stk__across_kind kind = stk__route_across(route);
    make_room(worker);
    const struct slot *x = get_slot(worker, &across, kind, channels);
    const struct slot *y = get_slot(worker, &down, kind, 0);
    if (!x || !y)
        return STK_MEMORY;
    struct stk__resize resize = { .route = route,
                                  .x = &x->across,
                                  .y = &y->across.taps,
                                  .columns = columns,
                                  .src_row_bytes = job->from_row_bytes,
                                  .finish = &job->finish };
    if (!(resize.work = get_work(worker, stk__resize_bytes(&resize))))
        return STK_MEMORY;
    struct stk__target target = job->target;
    size_t pixel_bytes = target.row_bytes / (size_t)fit->canvas.width;
    target.data += (size_t)fit->pad_top * target.row_bytes + (size_t)fit->pad_left * pixel_bytes;
    stk__resize_image(&resize, stk__kernels(), job->from.data, target);
    stk__arena_rewind(&worker->work, (struct stk__arena_mark){ NULL, 0 });
    return STK_OK;
}

/* The image, or the window of it that is resized. An empty one has none. */
static void open_source(struct job *job)
{
    const struct stk__resizer *resizer = job->resizer;
    struct stk__picture all = stk__picture_get(job->rows, resizer->field, job->row);
    size_t pixel_bytes = (size_t)all.channels * (resizer->way.src_is_u8 ? 1 : sizeof(float));
    const int32_t size[2] = { all.height, all.width };
    struct stk__image_region window = { 0, 0, all.height, all.width };
    job->from = job->all = all;
    job->window = window;
    job->from_row_bytes = (size_t)all.width * pixel_bytes;
    if (!resizer->choose || resizer->is_cut || size[0] < 1 || size[1] < 1 ||
        resizer->choose(job->rows, job->row, size, &window, NULL))
        return;
    job->from.data += (size_t)window.top * job->from_row_bytes + (size_t)window.left * pixel_bytes;
    job->window = window;
    job->from.height = window.height;
    job->from.width = window.width;
}

/* Before what is done on the way to an op above. */
static int follow(const struct job *job)
{
    const struct stk__fit *fit = &job->fit;
    const struct stk__image_region *window = &job->window;
    struct stk__geometry g;
    if (!job->resizer->followers.n)
        return STK_OK;
    stk__geometry_identity(&g, job->all.height, job->all.width);
    g.x = (struct stk__axis_fit){ .from = window->left,
                                  .n_from = window->width,
                                  .n_scaled = fit->scaled.width,
                                  .skip = fit->crop_left,
                                  .n_kept = fit->inner.width,
                                  .pad = fit->pad_left,
                                  .n = fit->canvas.width };
    g.y = (struct stk__axis_fit){ .from = window->top,
                                  .n_from = window->height,
                                  .n_scaled = fit->scaled.height,
                                  .skip = fit->crop_top,
                                  .n_kept = fit->inner.height,
                                  .pad = fit->pad_top,
                                  .n = fit->canvas.height };
    stk__geometry_fit(&g);
    return stk__follow_run(job->rows, job->row, &job->resizer->followers, &g);
}

static int run_row(struct stk_rows *rows, int row)
{
    const struct stk__resizer *resizer = rows->state;
    struct job job = { .rows = rows, .row = row, .resizer = resizer };
    open_source(&job);
    struct stk__size size = { job.from.height, job.from.width };
    if (size.height > 0 && size.width > 0)
        job.fit = resizer->fit(rows->params, size);
    if (!is_possible(&job))
        return STK_OK;
    int code = follow(&job);
    if (code || rows->mask[row] != STK_LIVE)
        return code;
    struct stk__route route =
        stk__route_find(&resizer->way, size, job.fit.scaled, job.from.channels);
    draw_flips(&job);
    place_fit(&job);
    job.finish = finish_of(resizer, &route, job.from.channels);
    if (!open_target(&job))
        return STK_MEMORY;
    code = has_padding(&job.fit) ? fill_canvas(&job) : STK_OK;
    return code ? code : resize_image(&job, &route);
}

int stk__resizer_run(struct stk_rows *rows)
{
    for (int i = 0; i < rows->n; i++) {
        int code = rows->mask[i] == STK_LIVE ? run_row(rows, i) : STK_OK;
        if (code)
            return code;
    }
    return STK_OK;
}
