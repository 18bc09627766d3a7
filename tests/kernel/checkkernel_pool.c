/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_pool.c: trials of pools. */
#include "checkkernel_trial.h"

#include <math.h>

/* Windows over an input that ends within the last one, or right behind it. */
static struct stk__pooling pool_of(const struct shape *s)
{
    int width = (s->width - 1) * s->stride_x + s->kernel_x - s->pad_left - s->variant % 2;
    int height = (s->height - 1) * s->stride_y + s->kernel_y - s->pad_top + s->variant / 2 % 2;
    int least_x = (s->width - 1) * s->stride_x - s->pad_left + 1;
    int least_y = (s->height - 1) * s->stride_y - s->pad_top + 1;
    width = width < least_x ? least_x : width;
    height = height < least_y ? least_y : height;
    return (struct stk__pooling){ s->kernel_y,
                                  s->kernel_x,
                                  s->stride_y,
                                  s->stride_x,
                                  s->pad_top,
                                  s->pad_left,
                                  height < 1 ? 1 : height,
                                  width < 1 ? 1 : width,
                                  s->height,
                                  s->width,
                                  s->channels };
}

/* Every other row of the output, so that bands are somewhere. */
static int first_of(const struct shape *s)
{
    return s->height > 2 ? s->variant / 4 % 2 : 0;
}

/* The input's first row that windows from `first` on look at. */
static int x_row_of(const struct shape *s, int first)
{
    int row = first * s->stride_y - s->pad_top;
    return row < 0 ? 0 : row;
}

/* Floats whose bytes are cells. */
static size_t cell_floats(const struct shape *s)
{
    return ((size_t)(s->width * s->height * s->channels) + 3) / 4;
}

/* x ▸ y, cells. */
static void measure_max(struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__pooling p = pool_of(s);
    t->n[0] = map_floats(s, p.in_width, p.in_height, s->channels);
    t->n_out = map_floats(s, s->width, s->height, s->channels) + cell_floats(s);
}

/* Few values, so that there are equals. */
static void prepare_max(const struct trial *t, bool is_sizes)
{
    for (size_t i = 0; i < t->n[0] && !t->shape.loose && !is_sizes; i++)
        t->in[0][i] = roundf(t->in[0][i] * 4) / 4;
}

static void run_max(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__pooling p = pool_of(s);
    uint8_t *cells = (uint8_t *)(t->out + t->n_out - cell_floats(s));
    int first = first_of(s), x_row = x_row_of(s, first);
    struct stk__maxpool_rows job = { .pool = &p,
                                     .first = first,
                                     .n_rows = s->height - first,
                                     .x = read_map(s, t->in[0], p.in_width, s->channels),
                                     .x_row = x_row,
                                     .y = write_map(s, t->out, s->width, s->channels),
                                     .cells = s->variant % 5 ? cells : NULL,
                                     .cells_down = s->width * s->channels,
                                     .low = s->low,
                                     .high = s->high };
    job.x.at += x_row * job.x.down;
    kernels->pool.max_rows(&job);
}

/* dy, cells ▸ dx */
static void measure_max_gradient(struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__pooling p = pool_of(s);
    t->n[0] = map_floats(s, s->width, s->height, s->channels);
    t->n[1] = cell_floats(s);
    t->n_out = map_floats(s, p.in_width, p.in_height, s->channels);
}

/* The same cells for the sizes: by their places. */
static void prepare_max_gradient(const struct trial *t, bool is_sizes)
{
    const struct shape *s = &t->shape;
    uint8_t *cells = (uint8_t *)t->in[1];
    (void)is_sizes;
    for (size_t i = 0; i < 4 * t->n[1]; i++) {
        int at = (int)((i * 2654435761u >> 7) % (uint64_t)(s->kernel_y * s->kernel_x + 1));
        cells[i] = (uint8_t)(at < s->kernel_y * s->kernel_x ? at : STK__NO_CELL);
    }
}

static void run_max_gradient(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__pooling p = pool_of(s);
    int first = p.in_height > 3 ? s->variant / 4 % 2 : 0;
    const struct stk__maxpool_gradient job = { .pool = &p,
                                               .first = first,
                                               .n_rows = p.in_height - first,
                                               .dy = read_map(s, t->in[0], s->width, s->channels),
                                               .cells = (const uint8_t *)t->in[1],
                                               .cells_down = s->width * s->channels,
                                               .dx =
                                                   write_map(s, t->out, p.in_width, s->channels) };
    kernels->pool.max_gradient(&job);
}

/* x ▸ y */
static void measure_mean(struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__pooling p = pool_of(s);
    t->n[0] = map_floats(s, p.in_width, p.in_height, s->channels);
    t->n_out = map_floats(s, s->width, s->height, s->channels);
}

static void run_mean(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__pooling p = pool_of(s);
    int first = first_of(s), x_row = x_row_of(s, first);
    struct stk__avgpool_rows job = { .pool = &p,
                                     .first = first,
                                     .n_rows = s->height - first,
                                     .x = read_map(s, t->in[0], p.in_width, s->channels),
                                     .x_row = x_row,
                                     .y = write_map(s, t->out, s->width, s->channels) };
    job.x.at += x_row * job.x.down;
    kernels->pool.mean_rows(&job);
}

/* dy ▸ dx */
static void measure_mean_gradient(struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__pooling p = pool_of(s);
    t->n[0] = map_floats(s, s->width, s->height, s->channels);
    t->n_out = map_floats(s, p.in_width, p.in_height, s->channels);
}

static void run_mean_gradient(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__pooling p = pool_of(s);
    const struct stk__avgpool_gradient job = { .pool = &p,
                                               .first = 0,
                                               .n_rows = p.in_height,
                                               .dy = read_map(s, t->in[0], s->width, s->channels),
                                               .dx =
                                                   write_map(s, t->out, p.in_width, s->channels) };
    kernels->pool.mean_gradient(&job);
}

/* x, dy, cells ▸ weights, bias: rows of windows of 2×2 behind a convolution of up to four channels. */
static int image_channels(const struct shape *s)
{
    return s->variant == 4 ? 3 : s->variant / 2 % 4 + 1;
}

static int64_t image_row(const struct shape *s)
{
    return (int64_t)(2 * s->width - 1 + s->kernel_x) * image_channels(s) + s->loose;
}

static size_t kernel_floats(const struct shape *s)
{
    return (size_t)(s->kernel_y * s->kernel_x * image_channels(s) * s->channels);
}

static size_t quads_of(const struct shape *s)
{
    return stk__maxpool_quads(s->width, s->kernel_x, image_channels(s));
}

static void measure_max_weights(struct trial *t)
{
    const struct shape *s = &t->shape;
    t->n[0] = (size_t)((2 * s->height - 1 + s->kernel_y) * image_row(s));
    t->n[1] = (size_t)(s->width * s->height * s->channels);
    t->n[2] = cell_floats(s);
    t->n[3] = quads_of(s);
    t->n_out = kernel_floats(s) + (size_t)s->channels;
}

static void prepare_max_weights(const struct trial *t, bool is_sizes)
{
    uint8_t *cells = (uint8_t *)t->in[2];
    (void)is_sizes;
    for (size_t i = 0; i < 4 * t->n[2]; i++) {
        int at = (int)((i * 2654435761u >> 7) % 5);
        cells[i] = (uint8_t)(at < 4 ? at : STK__NO_CELL);
    }
}

static void run_max_weights(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    int64_t row = (int64_t)s->width * s->channels;
    for (int y = 0; y < s->height; y++)
        kernels->pool.max_weights(&(struct stk__maxpool_weights){
            .kernel_height = s->kernel_y,
            .kernel_width = s->kernel_x,
            .channels = image_channels(s),
            .width = s->width,
            .filters = s->channels,
            .x = t->in[0] + 2 * y * image_row(s),
            .x_down = image_row(s),
            .dy = { .at = t->in[1] + y * row },
            .cells = (const uint8_t *)t->in[2] + y * row,
            .quads = t->in[3],
            .weights = t->out,
            .bias = s->variant % 3 ? t->out + kernel_floats(s) : NULL });
}

/* Of m1, m2, m4 and resnet18. */
#define SHAPE(side, wide, kernel, pad)                                                             \
    {                                                                                              \
        .width = side, .height = side, .channels = wide, .kernel_y = kernel, .kernel_x = kernel,   \
        .stride_y = 2, .stride_x = 2, .pad_top = pad, .pad_left = pad, .low = 0, .high = INFINITY, \
        .variant = 4                                                                               \
    }
static const struct shape timed[] = { SHAPE(111, 32, 2, 0),
                                      SHAPE(54, 64, 2, 0),
                                      SHAPE(15, 32, 2, 0),
                                      SHAPE(56, 64, 3, 1),
                                      { .width = 0 } };

/* Of the first layers of m1 and m2. */
static const struct shape timed_weights[] = { SHAPE(111, 32, 3, 0),
                                              SHAPE(15, 32, 3, 0),
                                              { .width = 0 } };

/* As if every cell counted. */
static double work_weights(const struct shape *s)
{
    return 8.0 * s->width * s->height * (double)kernel_floats(s);
}

static double work(const struct shape *s)
{
    return 1.0 * s->width * s->height * s->channels * s->kernel_y * s->kernel_x;
}

const struct layer_job pool_jobs[] = {
    { "train maxpool rows", 0, measure_max, run_max, prepare_max, timed, work },
    { "train maxpool gradient", 1e-5, measure_max_gradient, run_max_gradient, prepare_max_gradient,
      timed, work },
    { "train avgpool rows", 1e-5, measure_mean, run_mean, NULL, timed, work },
    { "train avgpool gradient", 1e-5, measure_mean_gradient, run_mean_gradient, NULL, timed, work },
    { "train maxpool weights", 1e-5, measure_max_weights, run_max_weights, prepare_max_weights,
      timed_weights, work_weights },
    { NULL, 0, NULL, NULL, NULL, NULL, NULL },
};
