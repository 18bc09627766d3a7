/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_norm.c: trials of batch normalisation, and of small loops over pixels. */
#include "checkkernel_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t map_of(const struct shape *s)
{
    return map_floats(s, s->width, s->height, s->channels);
}

static struct stk__read_map read_of(const struct trial *t, int operand)
{
    return read_map(&t->shape, t->in[operand], t->shape.width, t->shape.channels);
}

/* Sums in double become floats in the block of results. */
static double *sums_from(const float *out, size_t n)
{
    double *sums = malloc(n * sizeof *sums);
    if (!sums)
        exit(2);
    for (size_t i = 0; i < n; i++)
        sums[i] = out[i];
    return sums;
}

static void sums_to(double *sums, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)sums[i];
    free(sums);
}

/* x, shift ▸ sum, squares. */
static void measure_sums(struct trial *t)
{
    t->n[0] = map_of(&t->shape);
    t->n[1] = (size_t)t->shape.channels;
    t->n_out = 2 * (size_t)t->shape.channels;
}

/* The size of a difference is the sum of sizes. */
static void negate(float *values, int n)
{
    for (int i = 0; i < n; i++)
        values[i] = -values[i];
}

static void prepare_sums(const struct trial *t, bool is_sizes)
{
    if (is_sizes)
        negate(t->in[1], t->shape.channels);
}

static void run_sums(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    double *sums = sums_from(t->out, t->n_out);
    const struct stk__norm_sums job = { .x = read_of(t, 0),
                                        .width = s->width,
                                        .height = s->height,
                                        .channels = s->channels,
                                        .shift = s->variant % 2 ? t->in[1] : NULL,
                                        .sum = sums,
                                        .squares = sums + s->channels };
    kernels->norm.sums(&job);
    sums_to(sums, t->n_out, t->out);
}

/* x, coefficients ▸ y */
static void measure_rows(struct trial *t)
{
    t->n[0] = t->n_out = map_of(&t->shape);
    t->n[1] = 2 * (size_t)t->shape.channels;
}

static void run_rows(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__norm_rows job = { .x = read_of(t, 0),
                                        .y = write_map(s, t->out, s->width, s->channels),
                                        .width = s->width,
                                        .height = s->height,
                                        .channels = s->channels,
                                        .scale = t->in[1],
                                        .offset = t->in[1] + s->channels,
                                        .low = s->low,
                                        .high = s->high };
    kernels->norm.rows(&job);
}

/* x, dy, y, mean ▸ sums */
static void measure_gradient_sums(struct trial *t)
{
    t->n[0] = t->n[1] = t->n[2] = map_of(&t->shape);
    t->n[3] = (size_t)t->shape.channels;
    t->n_out = 2 * (size_t)t->shape.channels;
}

static void prepare_gradient_sums(const struct trial *t, bool is_sizes)
{
    if (is_sizes)
        negate(t->in[3], t->shape.channels);
}

static void run_gradient_sums(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    size_t n = 2 * (size_t)s->channels;
    double *sums = sums_from(t->out, n);
    struct stk__norm_gradient_sums job = { .x = read_of(t, 0),
                                           .dy = read_of(t, 1),
                                           .y = read_of(t, 2),
                                           .width = s->width,
                                           .height = s->height,
                                           .channels = s->channels,
                                           .mean = t->in[3],
                                           .low = s->low,
                                           .high = s->high,
                                           .sum = sums,
                                           .products = sums + s->channels };
    if (s->variant % 3 == 0)
        job.y.at = NULL;
    kernels->norm.gradient_sums(&job);
    sums_to(sums, n, t->out);
}

/* x, dy, y, coefficients ▸ dx */
static void measure_gradient_rows(struct trial *t)
{
    t->n[0] = t->n[1] = t->n[2] = t->n_out = map_of(&t->shape);
    t->n[3] = 4 * (size_t)t->shape.channels;
}

static void prepare_gradient_rows(const struct trial *t, bool is_sizes)
{
    if (is_sizes)
        negate(t->in[3] + 2 * t->shape.channels, 2 * t->shape.channels);
}

static void run_gradient_rows(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const float *values = t->in[3];
    struct stk__norm_gradient_rows job = { .x = read_of(t, 0),
                                           .dy = read_of(t, 1),
                                           .y = read_of(t, 2),
                                           .dx = write_map(s, t->out, s->width, s->channels),
                                           .width = s->width,
                                           .height = s->height,
                                           .channels = s->channels,
                                           .scale = values,
                                           .slope = values + s->channels,
                                           .mean = values + 2 * s->channels,
                                           .mean_dy = values + 3 * s->channels,
                                           .low = s->low,
                                           .high = s->high };
    if (s->variant % 3 == 0)
        job.y.at = NULL;
    kernels->norm.gradient_rows(&job);
}

/* ---- pixels ---- */

static void measure_pixel_sums(struct trial *t)
{
    t->n[0] = map_of(&t->shape);
    t->n_out = (size_t)t->shape.channels;
}

static void run_pixel_sums(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__pixel_sums job = { read_of(t, 0), s->width, s->height, s->channels, t->out };
    kernels->pixel.sums(&job);
}

static void measure_spread(struct trial *t)
{
    t->n[0] = (size_t)t->shape.channels;
    t->n_out = map_of(&t->shape);
}

static void run_spread(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__pixel_spread job = {
        t->in[0], 0.3f,      write_map(s, t->out, s->width, s->channels),
        s->width, s->height, s->channels
    };
    kernels->pixel.spread(&job);
}

/* Bytes in floats; coefficients ▸ y */
static void measure_bytes(struct trial *t)
{
    const struct shape *s = &t->shape;
    t->n[0] = ((size_t)(s->width * s->channels + s->loose) * (size_t)s->height + 3) / 4;
    t->n[1] = 2 * (size_t)s->channels;
    t->n_out = map_of(s);
}

static void run_bytes(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    struct stk__pixel_bytes job = { .x = (const uint8_t *)t->in[0],
                                    .x_down = s->width * s->channels + s->loose,
                                    .y = write_map(s, t->out, s->width, s->channels),
                                    .width = s->width,
                                    .height = s->height,
                                    .channels = s->channels,
                                    .scale = t->in[1],
                                    .offset = t->in[1] + s->channels };
    job.y.across = s->channels;
    kernels->pixel.from_bytes(&job);
}

static void measure_add(struct trial *t)
{
    t->n[0] = t->n_out = map_of(&t->shape);
}

static void run_add(const struct stk__train_kernels *kernels, const struct trial *t)
{
    kernels->pixel.add(t->in[0], t->n[0], t->out);
}

/* Of resnet18 and mobilenet_v2; all but one map in L2. */
#define SHAPE(side, wide)                                                                          \
    {                                                                                              \
        .width = side, .height = side, .channels = wide, .stride_x = 1, .low = 0,                  \
        .high = INFINITY, .variant = 1                                                             \
    }
static const struct shape timed[] = {
    SHAPE(112, 64), SHAPE(28, 32), SHAPE(14, 256), SHAPE(7, 512), { .width = 0 }
};
static const struct shape timed_bytes[] = { SHAPE(224, 3), SHAPE(32, 3), { .width = 0 } };

static double work_two(const struct shape *s)
{
    return 2.0 * s->width * s->height * s->channels;
}

static double work_one(const struct shape *s)
{
    return 1.0 * s->width * s->height * s->channels;
}

const struct layer_job norm_jobs[] = {
    { "train norm sums", 1e-5, measure_sums, run_sums, prepare_sums, timed, work_two },
    { "train norm rows", 1e-5, measure_rows, run_rows, NULL, timed, work_two },
    { "train norm gradient sums", 1e-5, measure_gradient_sums, run_gradient_sums,
      prepare_gradient_sums, timed, work_two },
    { "train norm gradient rows", 1e-5, measure_gradient_rows, run_gradient_rows,
      prepare_gradient_rows, timed, work_two },
    { NULL, 0, NULL, NULL, NULL, NULL, NULL },
};

const struct layer_job pixel_jobs[] = {
    { "train pixel sums", 1e-5, measure_pixel_sums, run_pixel_sums, NULL, timed, work_one },
    { "train pixel spread", 0, measure_spread, run_spread, NULL, timed, work_one },
    { "train pixel bytes", 1e-6, measure_bytes, run_bytes, NULL, timed_bytes, work_two },
    { "train pixel add", 0, measure_add, run_add, NULL, timed, work_one },
    { NULL, 0, NULL, NULL, NULL, NULL, NULL },
};
