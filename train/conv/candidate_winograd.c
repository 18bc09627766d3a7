/* SPDX-License-Identifier: Apache-2.0 */
/* candidate_winograd.c: 3×3 convolutions by Winograd's F(4×4, 3×3), a quarter of the products, and for maps in half
 * precision, whose rounding hides what it loses, by F(6×6, 3×3), a fifth of them.
 *
 * Tiles of a band are taken in lots that stay in the second cache:
 *
 *     tiles ─▶ [planes][tiles][channels] ─▶ for some filters, products of matrices ─▶ [planes][tiles][filters] ─▶ output
 *
 * The products are those of conv_kernel.h: a tile is a pixel, whose patch is one piece of its channels. The
 * gradient of the image is the same convolution of the output's gradient with turned weights. The gradient
 * of weights adds up products, tiles being what is added, and is turned back into 3×3 once per step.
 */
#include "train/conv/candidate.h"
#include "train/kernel/train_kernel.h"

#include <math.h>
#include <string.h>

enum { MOST_BLOCK = 64 };

/* What is read and written, whichever the direction. */
struct pass {
    const struct stk__conv_kernels *multiply;
    const struct stk__wino_kernels *tiles;
    int out, planes;       /* pixels of a tile's side; pairs of points */
    int channels, filters; /* of what is read, and of what is written, or of the gradient */
    int height, width;     /* of what is cut into tiles */
    int pad_top, pad_left;
    int n_blocks, group; /* of filters; and of them, those that are done together */
    int lot;             /* tiles */
    int64_t in_across, in_plane, out_across, out_plane;
};

static int round_up(int n, int unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Tiles along n pixels. */
static int in_tiles(const struct pass *p, int n)
{
    return (n + p->out - 1) / p->out;
}

/* Planes that begin in different sets of a cache. */
static int64_t plane_floats(int64_t n)
{
    return (n + 15) / 16 * 16 | 16;
}

static void set_lot(struct pass *p, const struct stk__conv_task *task)
{
    enum { CACHED = 100 << 10, FEWEST = 28 };
    int rows = task->n_rows > 0 && task->n_rows < p->height ? task->n_rows : p->height;
    int64_t tiles = (int64_t)task->n_images * in_tiles(p, rows) * in_tiles(p, p->width);
    int64_t most = CACHED / (p->planes * (p->in_across + p->out_across));
    most = most < FEWEST ? FEWEST : most;
    int64_t n_lots = (tiles + most - 1) / most;
    p->lot = (int)((tiles + n_lots - 1) / n_lots);
    p->in_plane = plane_floats(p->lot * p->in_across);
    p->out_plane = plane_floats(p->lot * p->out_across);
}

static struct pass pass_of(const struct stk__conv_way *way)
{
    const struct stk__conv_task *task = &way->task;
    const struct stk__conv *c = &task->conv;
    const struct stk__train_kernels *kernels = stk__train_kernels_at(task->cpu_level);
    bool is_turned = task->direction == STK__TO_IMAGE;
    const struct stk__wino_kernels *tiles =
        way->candidate == &stk__conv_winograd_6 ? &kernels->wino_6 : &kernels->wino_4;
    struct pass p = { .multiply = &kernels->conv,
                      .tiles = tiles,
                      .out = tiles->out,
                      .planes = tiles->in * tiles->in,
                      .channels = is_turned ? c->filters : c->channels,
                      .filters = is_turned ? c->channels : c->filters,
                      .height = is_turned ? c->height : c->out_height,
                      .width = is_turned ? c->width : c->out_width,
                      .pad_top = is_turned ? 2 - c->pad_top : c->pad_top,
                      .pad_left = is_turned ? 2 - c->pad_left : c->pad_left };
    int block = p.multiply->block;
    p.n_blocks = (p.filters + block - 1) / block;
    p.group = task->direction == STK__TO_WEIGHTS ? p.n_blocks : 1;
    p.in_across = round_up(p.channels, p.tiles->lanes);
    p.out_across = p.group * block;
    set_lot(&p, task);
    return p;
}

static bool can(const struct stk__conv_task *task)
{
    const struct stk__conv *c = &task->conv;
    return c->kernel_height == 3 && c->kernel_width == 3 && c->stride_y == 1 && c->stride_x == 1 &&
           c->dilation_y == 1 && c->dilation_x == 1 && c->groups == 1;
}

static bool can_in_half(const struct stk__conv_task *task)
{
    return task->is_half && can(task);
}

static int open(struct stk__conv_way *way, struct stk_error *err)
{
    struct pass p = pass_of(way);
    (void)err;
    way->row_unit = p.out;
    way->reads_halves = way->writes_halves =
        stk__train_kernels_at(way->task.cpu_level)->takes_halves;
    way->packed_floats = (size_t)p.planes * (size_t)p.channels *
                         (size_t)(round_up(p.n_blocks, p.group) * p.multiply->block);
    way->scratch_floats = (size_t)p.planes * (size_t)(p.in_plane + p.out_plane);
    return 0;
}

/* ---- weights ---- */

/* Nine taps of one channel by a block of filters. */
static void collect_taps(const struct stk__conv_way *way, const float *weights, int channel,
                         int first, float taps[9][MOST_BLOCK])
{
    const struct stk__conv *c = &way->task.conv;
    bool is_turned = way->task.direction == STK__TO_IMAGE;
    struct pass p = pass_of(way);
    int block = p.multiply->block, n = p.filters - first < block ? p.filters - first : block;
    size_t tap = (size_t)c->channels * (size_t)c->filters, row = (size_t)c->filters;
    for (int k = 0; k < 9; k++) {
        const float *from = is_turned
                                ? weights + (size_t)(8 - k) * tap + (size_t)first * row + channel
                                : weights + (size_t)k * tap + (size_t)channel * row + first;
        for (int f = 0; f < n; f++)
            taps[k][f] = from[is_turned ? (size_t)f * row : (size_t)f];
        memset(taps[k] + n, 0, (size_t)(block - n) * sizeof(float));
    }
}

static void pack(const struct stk__conv_way *way, const float *weights, float *packed, int part,
                 int n_parts)
{
    struct pass p = pass_of(way);
    int block = p.multiply->block;
    int64_t behind = (int64_t)p.channels * (part + 1) / n_parts;
    for (int b = 0; b < p.n_blocks; b++)
        for (int c = (int)((int64_t)p.channels * part / n_parts); c < behind; c++) {
            float taps[9][MOST_BLOCK];
            collect_taps(way, weights, c, b * block, taps);
            p.tiles->take_weights(&(struct stk__wino_take){
                .x = { .at = taps[0], .across = MOST_BLOCK, .down = 3 * MOST_BLOCK },
                .n_rows = 3,
                .n_columns = 3,
                .n = block,
                .planes = packed + ((size_t)b * (size_t)p.planes * (size_t)p.channels + (size_t)c) *
                                       (size_t)block,
                .plane = (int64_t)p.channels * block });
        }
}

/* Adds up the rest of the sums in the first. */
static void add_sums(const struct pass *p, float *const *sums, int n_sums, size_t at, int64_t plane)
{
    for (int s = 1; s < n_sums; s++)
        for (int k = 0; k < p->planes; k++)
            for (int f = 0; f < p->multiply->block; f++)
                sums[0][at + (size_t)(k * plane + f)] += sums[s][at + (size_t)(k * plane + f)];
}

static void unpack(const struct stk__conv_way *way, float *const *sums, int n_sums, float *weights,
                   int part, int n_parts)
{
    struct pass p = pass_of(way);
    int block = p.multiply->block;
    int64_t behind = (int64_t)p.channels * (part + 1) / n_parts;
    int64_t plane = (int64_t)p.n_blocks * p.channels * block, row = p.filters;
    for (int b = 0; b < p.n_blocks; b++)
        for (int c = (int)((int64_t)p.channels * part / n_parts); c < behind; c++) {
            size_t at = ((size_t)b * (size_t)p.channels + (size_t)c) * (size_t)block;
            int left = p.filters - b * block;
            add_sums(&p, sums, n_sums, at, plane);
            p.tiles->give_weights(
                &(struct stk__wino_give){ .planes = sums[0] + at,
                                          .plane = plane,
                                          .y = { .at = weights + c * row + b * block,
                                                 .across = p.channels * row,
                                                 .down = 3 * p.channels * row },
                                          .n = left < block ? left : block });
        }
}

/* ---- tiles ---- */

/* Where a tile of a job is, and how much of it. */
struct tile {
    int image, row, column;
    int n_rows, n_columns; /* of the output, or of its gradient */
};

struct walk {
    const struct pass *pass;
    const struct stk__conv_job *job;
    int down, across, n; /* tiles of an image, and of all */
};

static struct walk walk_of(const struct pass *p, const struct stk__conv_job *job)
{
    struct walk w = { p, job, in_tiles(p, job->to - job->from), in_tiles(p, p->width), 0 };
    w.n = job->n_images * w.down * w.across;
    return w;
}

static int up_to(int n, int most)
{
    return n < most ? n : most;
}

static struct tile tile_at(const struct walk *w, int number)
{
    int out = w->pass->out;
    int row = number / w->across % w->down * out + w->job->from;
    int column = number % w->across * out;
    return (struct tile){ number / w->across / w->down, row, column, up_to(w->job->to - row, out),
                          up_to(w->pass->width - column, out) };
}

/* Values from where rows begin to a tile. */
static int64_t place_of(const struct stk__rows *rows, const struct tile *t, int up, int left)
{
    return t->image * rows->apart + (t->row - up - rows->first) * rows->down +
           (t->column - left) * rows->across;
}

static struct stk__read_map read_from(const struct stk__rows *rows, int64_t at)
{
    struct stk__read_map map = { .across = rows->across, .down = rows->down };
    if (rows->halves.at)
        map.halves = (struct stk__read_halves){ rows->halves.at + at, rows->halves.dtype };
    else
        map.at = rows->at + at;
    return map;
}

static struct stk__write_map write_to(const struct stk__rows *rows, int64_t at)
{
    struct stk__write_map map = { .across = rows->across, .down = rows->down };
    if (rows->halves.at)
        map.halves = (struct stk__write_halves){ rows->halves.at + at, rows->halves.dtype };
    else
        map.at = rows->at + at;
    return map;
}

static void take_images(const struct walk *w, const struct stk__rows *from, int first, int n)
{
    const struct pass *p = w->pass;
    for (int i = 0; i < n; i++) {
        struct tile t = tile_at(w, first + i);
        p->tiles->take_image(&(struct stk__wino_take){
            .x = read_from(from, place_of(from, &t, p->pad_top, p->pad_left)),
            .n_rows = t.n_rows + 2,
            .n_columns = t.n_columns + 2,
            .n = p->channels,
            .planes = w->job->scratch + i * p->in_across,
            .plane = p->in_plane });
    }
}

/* ---- forward, to image ---- */

static const int64_t nowhere_else[1] = { 0 };

/* A product at each pair of points: some tiles by a group of filters. */
static void multiply(const struct walk *w, int n, const float *packed, float *out)
{
    const struct pass *p = w->pass;
    const struct stk__patch patch = { 1, p->channels, nowhere_else, p->in_across, 0 };
    struct stk__conv_rows job = { .patch = &patch,
                                  .y_across = p->out_across,
                                  .width = n,
                                  .height = 1,
                                  .n_images = 1,
                                  .filters = (int)p->out_across,
                                  .low = -INFINITY,
                                  .high = INFINITY };
    for (int k = 0; k < p->planes; k++) {
        job.x = w->job->scratch + k * p->in_plane;
        job.y = out + k * p->out_plane;
        job.weights = packed + (int64_t)k * p->channels * p->out_across;
        p->multiply->rows(&job);
    }
}

static void give_outputs(const struct walk *w, const struct stk__rows *to, int first, int n,
                         int filter, const float *planes)
{
    const struct pass *p = w->pass;
    const struct stk__conv_job *job = w->job;
    bool is_forward = to == &job->output;
    for (int i = 0; i < n; i++) {
        struct tile t = tile_at(w, first + i);
        p->tiles->give_output(
            &(struct stk__wino_give){ .planes = planes + i * p->out_across,
                                      .plane = p->out_plane,
                                      .y = write_to(to, place_of(to, &t, 0, 0) + filter),
                                      .n_rows = t.n_rows,
                                      .n_columns = t.n_columns,
                                      .n = up_to(p->filters - filter, (int)p->out_across),
                                      .bias = is_forward && job->bias ? job->bias + filter : NULL,
                                      .low = is_forward ? job->low : -INFINITY,
                                      .high = is_forward ? job->high : INFINITY });
    }
}

static void convolve(const struct pass *p, const struct stk__conv_job *job,
                     const struct stk__rows *from, const struct stk__rows *to)
{
    struct walk w = walk_of(p, job);
    float *out = job->scratch + p->planes * p->in_plane;
    for (int first = 0, n; first < w.n; first += n) {
        n = up_to(w.n - first, p->lot);
        take_images(&w, from, first, n);
        for (int filter = 0; filter < p->filters; filter += (int)p->out_across) {
            multiply(&w, n, job->packed + (int64_t)p->planes * p->channels * filter, out);
            give_outputs(&w, to, first, n, filter, out);
        }
    }
}

/* ---- to weights ---- */

static void take_gradients(const struct walk *w, int first, int n, float *out)
{
    const struct pass *p = w->pass;
    const struct stk__rows *from = &w->job->output;
    for (int i = 0; i < n; i++) {
        struct tile t = tile_at(w, first + i);
        p->tiles->take_gradient(
            &(struct stk__wino_take){ .x = read_from(from, place_of(from, &t, 0, 0)),
                                      .n_rows = t.n_rows,
                                      .n_columns = t.n_columns,
                                      .n = p->filters,
                                      .planes = out + i * p->out_across,
                                      .plane = p->out_plane,
                                      .sums = w->job->bias_sums });
    }
}

/* Products of some tiles' channels by their filters, added to sums. */
static void gather(const struct walk *w, int n, const float *gradients)
{
    const struct pass *p = w->pass;
    const struct stk__patch patch = { 1, p->channels, nowhere_else, p->in_across, 0 };
    struct stk__conv_gradient job = { .patch = &patch,
                                      .dy_across = p->out_across,
                                      .width = n,
                                      .height = 1,
                                      .n_images = 1,
                                      .filters = p->filters };
    for (int k = 0; k < p->planes; k++) {
        job.x = w->job->scratch + k * p->in_plane;
        job.dy = gradients + k * p->out_plane;
        job.weights = w->job->sums + (int64_t)k * p->channels * p->out_across;
        p->multiply->gradient(&job);
    }
}

static void to_weights(const struct pass *p, const struct stk__conv_job *job)
{
    struct walk w = walk_of(p, job);
    float *gradients = job->scratch + p->planes * p->in_plane;
    for (int first = 0, n; first < w.n; first += n) {
        n = up_to(w.n - first, p->lot);
        take_images(&w, &job->image, first, n);
        take_gradients(&w, first, n, gradients);
        gather(&w, n, gradients);
    }
}

static void run(const struct stk__conv_way *way, const struct stk__conv_job *job)
{
    struct pass p = pass_of(way);
    if (way->task.direction == STK__FORWARD)
        convolve(&p, job, &job->image, &job->output);
    else if (way->task.direction == STK__TO_IMAGE)
        convolve(&p, job, &job->output, &job->image);
    else
        to_weights(&p, job);
}

const struct stk__conv_candidate stk__conv_winograd = {
    .name = "winograd", .can = can, .open = open, .pack = pack, .unpack = unpack, .run = run
};
const struct stk__conv_candidate stk__conv_winograd_6 = { .name = "winograd-6",
                                                          .can = can_in_half,
                                                          .open = open,
                                                          .pack = pack,
                                                          .unpack = unpack,
                                                          .run = run };
