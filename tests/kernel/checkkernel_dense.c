/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_dense.c: trials of dense layers: `height` rows of `width` inputs, `channels` outputs. */
#include "checkkernel_trial.h"

#include <math.h>

/* Inputs, and rows of batches, are more than pixels are. */
static void widen(struct shape *s)
{
    if (s->stride_x) {
        s->height = 1 + s->variant % 61;
        s->width = s->variant % 7 ? 1 + s->variant % 131 : 300 + s->variant;
        s->stride_x = 0;
    }
}

static size_t matrix(const struct shape *s, int rows, int columns)
{
    return (size_t)((rows - 1) * (columns + s->loose) + columns);
}

/* x, weights, bias ▸ y */
static void measure_rows(struct trial *t)
{
    struct shape *s = &t->shape;
    widen(s);
    t->n[0] = matrix(s, s->height, s->width);
    t->n[1] = (size_t)s->width * (size_t)s->channels;
    t->n[2] = (size_t)s->channels;
    t->n_out = matrix(s, s->height, s->channels);
}

static void run_rows(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__dense_rows job = { .x = t->in[0],
                                         .x_down = s->width + s->loose,
                                         .weights = t->in[1],
                                         .bias = s->variant % 3 ? t->in[2] : NULL,
                                         .y = t->out,
                                         .y_down = s->channels + s->loose,
                                         .n = s->height,
                                         .k = s->width,
                                         .m = s->channels,
                                         .low = s->low,
                                         .high = s->high };
    kernels->dense.rows(&job);
}

/* parts, bias ▸ y */
static int n_parts(const struct shape *s)
{
    return 1 + s->variant % 5;
}

static void measure_join(struct trial *t)
{
    struct shape *s = &t->shape;
    size_t part = (size_t)(s->height * s->channels);
    t->n[0] = part * (size_t)n_parts(s) + (size_t)(s->loose * (n_parts(s) - 1));
    t->n[1] = (size_t)s->channels;
    t->n_out = matrix(s, s->height, s->channels);
}

static void run_join(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__dense_parts job = { .part = t->in[0],
                                          .part_down = s->height * s->channels + s->loose,
                                          .n_parts = n_parts(s),
                                          .bias = s->variant % 3 ? t->in[1] : NULL,
                                          .y = t->out,
                                          .y_down = s->channels + s->loose,
                                          .n = s->height,
                                          .m = s->channels,
                                          .low = s->low,
                                          .high = s->high };
    kernels->dense.join(&job);
}

/* dy, weights ▸ dx */
static void measure_image(struct trial *t)
{
    struct shape *s = &t->shape;
    widen(s);
    t->n[0] = matrix(s, s->height, s->channels);
    t->n[1] = (size_t)s->width * (size_t)s->channels;
    t->n_out = matrix(s, s->height, s->width);
}

static void run_image(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__dense_image job = { .dy = t->in[0],
                                          .dy_down = s->channels + s->loose,
                                          .weights = t->in[1],
                                          .dx = t->out,
                                          .dx_down = s->width + s->loose,
                                          .n = s->height,
                                          .k = s->width,
                                          .m = s->channels };
    kernels->dense.image(&job);
}

/* x, dy ▸ weights */
static void measure_gradient(struct trial *t)
{
    struct shape *s = &t->shape;
    widen(s);
    t->n[0] = matrix(s, s->height, s->width);
    t->n[1] = matrix(s, s->height, s->channels);
    t->n_out = (size_t)s->width * (size_t)s->channels;
}

static void run_gradient(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__dense_gradient job = { .x = t->in[0],
                                             .x_down = s->width + s->loose,
                                             .dy = t->in[1],
                                             .dy_down = s->channels + s->loose,
                                             .weights = t->out,
                                             .n = s->height,
                                             .k = s->width,
                                             .m = s->channels,
                                             .adds = s->variant % 2 };
    kernels->dense.gradient(&job);
}

/* Of m1 (a range of its inputs), m4 (likewise), m2, resnet18 and mobilenet_v2. */
#define SHAPE(n, k, wide)                                                                          \
    {                                                                                              \
        .width = k, .height = n, .channels = wide, .low = 0, .high = INFINITY, .variant = 1        \
    }
static const struct shape timed[] = { SHAPE(32, 4096, 128),  SHAPE(32, 4096, 10),
                                      SHAPE(32, 1024, 64),   SHAPE(32, 512, 1000),
                                      SHAPE(32, 1280, 1000), SHAPE(256, 1024, 1024),
                                      { .width = 0 } };

static double work(const struct shape *s)
{
    return 2.0 * s->width * s->height * s->channels;
}

static double work_join(const struct shape *s)
{
    return 1.0 * s->height * s->channels * n_parts(s);
}

const struct layer_job dense_jobs[] = {
    { "train dense rows", 1e-5, measure_rows, run_rows, NULL, timed, work },
    { "train dense join", 1e-5, measure_join, run_join, NULL, timed, work_join },
    { "train dense image", 1e-5, measure_image, run_image, NULL, timed, work },
    { "train dense gradient", 1e-5, measure_gradient, run_gradient, NULL, timed, work },
    { NULL, 0, NULL, NULL, NULL, NULL, NULL },
};
