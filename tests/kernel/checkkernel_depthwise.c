/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_depthwise.c: trials of depthwise convolutions. */
#include "checkkernel_trial.h"

#include <math.h>

static struct stk__depthwise depthwise_of(const struct shape *s)
{
    return (struct stk__depthwise){ s->kernel_y, s->kernel_x, s->stride_y, s->stride_x,
                                    s->dilation, s->dilation, s->channels, s->multiplier };
}

/* What outputs look at, along one way. */
static int reach(int size, int kernel, int stride, int dilation)
{
    return (size - 1) * stride + (kernel - 1) * dilation + 1;
}

static int in_width(const struct shape *s)
{
    return reach(s->width, s->kernel_x, s->stride_x, s->dilation);
}

static int in_height(const struct shape *s)
{
    return reach(s->height, s->kernel_y, s->stride_y, s->dilation);
}

static size_t weights_of(const struct shape *s)
{
    return (size_t)(s->kernel_y * s->kernel_x * s->channels * s->multiplier);
}

/* x, weights, bias ▸ y */
static void measure_rows(struct trial *t)
{
    struct shape *s = &t->shape;
    t->n[0] = map_floats(s, in_width(s), in_height(s), s->channels);
    t->n[1] = weights_of(s);
    t->n[2] = (size_t)(s->channels * s->multiplier);
    t->n_out = map_floats(s, s->width, s->height, s->channels * s->multiplier);
}

static void run_rows(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__depthwise depthwise = depthwise_of(s);
    const struct stk__depthwise_rows job = { .shape = &depthwise,
                                             .x = read_map(s, t->in[0], in_width(s), s->channels),
                                             .y = write_map(s, t->out, s->width,
                                                            s->channels * s->multiplier),
                                             .width = s->width,
                                             .height = s->height,
                                             .weights = t->in[1],
                                             .bias = s->variant % 3 ? t->in[2] : NULL,
                                             .low = s->low,
                                             .high = s->high };
    kernels->depthwise.rows(&job);
}

/* dy, weights ▸ dx; width and height are those of dx. The frame is large enough for any place. */
static int before(int kernel, int stride, int dilation)
{
    return (kernel - 1) * dilation / stride + 1;
}

static void measure_image(struct trial *t)
{
    struct shape *s = &t->shape;
    int left = before(s->kernel_x, s->stride_x, s->dilation);
    int top = before(s->kernel_y, s->stride_y, s->dilation);
    int width = left + (s->width - 1 + s->pad_left) / s->stride_x + 1;
    int height = top + (s->height - 1 + 2 + s->pad_top) / s->stride_y + 1;
    t->n[0] = map_floats(s, width, height, s->channels * s->multiplier);
    t->n[1] = weights_of(s);
    t->n_out = map_floats(s, s->width, s->height, s->channels);
}

static void run_image(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__depthwise depthwise = depthwise_of(s);
    int left = before(s->kernel_x, s->stride_x, s->dilation);
    int top = before(s->kernel_y, s->stride_y, s->dilation);
    int width = left + (s->width - 1 + s->pad_left) / s->stride_x + 1;
    struct stk__depthwise_image job = { .shape = &depthwise,
                                        .pad_top = s->pad_top,
                                        .pad_left = s->pad_left,
                                        .dy = read_map(s, t->in[0], width,
                                                       s->channels * s->multiplier),
                                        .first = s->variant % 3,
                                        .dx = write_map(s, t->out, s->width, s->channels),
                                        .width = s->width,
                                        .height = s->height,
                                        .weights = t->in[1] };
    job.dy.at += top * job.dy.down + left * job.dy.across;
    kernels->depthwise.image(&job);
}

/* x, dy ▸ weights, bias */
static void measure_gradient(struct trial *t)
{
    struct shape *s = &t->shape;
    t->n[0] = map_floats(s, in_width(s), in_height(s), s->channels);
    t->n[1] = map_floats(s, s->width, s->height, s->channels * s->multiplier);
    t->n_out = weights_of(s) + (size_t)(s->channels * s->multiplier);
}

static void run_gradient(const struct stk__train_kernels *kernels, const struct trial *t)
{
    const struct shape *s = &t->shape;
    const struct stk__depthwise depthwise = depthwise_of(s);
    const struct stk__depthwise_gradient job = {
        .shape = &depthwise,
        .x = read_map(s, t->in[0], in_width(s), s->channels),
        .dy = read_map(s, t->in[1], s->width, s->channels * s->multiplier),
        .width = s->width,
        .height = s->height,
        .weights = t->out,
        .bias = s->variant % 3 ? t->out + weights_of(s) : NULL
    };
    kernels->depthwise.gradient(&job);
}

/* Of m3 and mobilenet_v2; in the image's gradient with strides, twice as many pixels. */
#define SHAPE(side, wide, stride)                                                                  \
    {                                                                                              \
        .width = side, .height = side, .channels = wide, .kernel_y = 3, .kernel_x = 3,             \
        .stride_y = stride, .stride_x = stride, .dilation = 1, .multiplier = 1, .pad_top = 1,      \
        .pad_left = 1, .low = 0, .high = INFINITY, .variant = 1                                    \
    }
static const struct shape timed[] = { SHAPE(112, 32, 1), SHAPE(56, 64, 2),  SHAPE(56, 128, 1),
                                      SHAPE(28, 128, 2), SHAPE(28, 256, 1), SHAPE(14, 576, 1),
                                      SHAPE(7, 960, 1),  { .width = 0 } };
static const struct shape timed_image[] = { SHAPE(112, 32, 1), SHAPE(112, 64, 2), SHAPE(56, 128, 1),
                                            SHAPE(56, 128, 2), SHAPE(28, 256, 1), SHAPE(14, 576, 1),
                                            SHAPE(7, 960, 1),  { .width = 0 } };

static double work_rows(const struct shape *s)
{
    return 2.0 * s->width * s->height * s->channels * s->kernel_y * s->kernel_x;
}

static double work_image(const struct shape *s)
{
    return work_rows(s) / (s->stride_x * s->stride_y);
}

const struct layer_job depthwise_jobs[] = {
    { "train depthwise rows", 1e-5, measure_rows, run_rows, NULL, timed, work_rows },
    { "train depthwise image", 1e-5, measure_image, run_image, NULL, timed_image, work_image },
    { "train depthwise gradient", 1e-5, measure_gradient, run_gradient, NULL, timed, work_rows },
    { NULL, 0, NULL, NULL, NULL, NULL, NULL },
};
