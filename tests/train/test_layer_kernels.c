/* SPDX-License-Identifier: Apache-2.0 */
/* test_layer_kernels.c: what kernels of layers compute, on every level, against sums in double precision; and
 * gradients against values: Σ dy · y is Σ dx · x and Σ dw · w where y is linear in both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "train/conv/conv.h"
#include "train/kernel/train_kernel.h"

static uint64_t state = 11;

static int below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static float *random_values(size_t n)
{
    float *values = malloc((n ? n : 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)below(2001) / 1000 - 1;
    return values;
}

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

static void check_near(const char *what, int level, double found, double wanted, double terms)
{
    if (!(fabs(found - wanted) <= 2e-6 * (terms + 1)))
        fail_msg("%s at level %d: %.9g, not %.9g", what, level, found, wanted);
}

static void for_levels(void (*check)(const struct stk__train_kernels *kernels, int level))
{
    for (int level = 0; level <= (int)stk__cpu_best(); level++)
        for (int round = 0; round < 60; round++)
            check(stk__train_kernels_at(level), level);
}

/* ---- depthwise ---- */

static int out_size(int size, int pads, int kernel, int stride, int dilation)
{
    return (size + pads - (kernel - 1) * dilation - 1) / stride + 1;
}

/* Sizes of one. */
static struct stk__conv random_conv(int multiplier)
{
    struct stk__conv c = { .channels = 1 + below(40),
                           .kernel_height = 1 + below(4),
                           .kernel_width = 1 + below(4),
                           .stride_y = 1 + below(3),
                           .stride_x = 1 + below(3),
                           .dilation_y = 1,
                           .dilation_x = 1 };
    if (below(2))
        c.kernel_height = c.kernel_width = 3;
    if (below(2))
        c.stride_y = c.stride_x = 1 + below(2);
    if (c.stride_y == 1 && c.stride_x == 1 && !below(3))
        c.dilation_y = c.dilation_x = 2;
    c.pad_top = below(c.kernel_height);
    c.pad_left = below(c.kernel_width);
    c.pad_bottom = below(c.kernel_height);
    c.pad_right = below(c.kernel_width);
    c.height = (c.kernel_height - 1) * c.dilation_y + 1 + below(9);
    c.width = (c.kernel_width - 1) * c.dilation_x + 1 + below(14);
    c.out_height =
        out_size(c.height, c.pad_top + c.pad_bottom, c.kernel_height, c.stride_y, c.dilation_y);
    c.out_width =
        out_size(c.width, c.pad_left + c.pad_right, c.kernel_width, c.stride_x, c.dilation_x);
    c.groups = c.channels;
    c.filters = c.channels * multiplier;
    return c;
}

static float *framed(struct stk__framed b, const float *image, int height, int width)
{
    float *out = malloc(stk__framed_floats(&b) * sizeof *out);
    assert_non_null(out);
    stk__framed_fill(&b, image, height, width, out);
    return out;
}

static struct stk__read_map map_of(struct stk__framed b, const float *at)
{
    return (struct stk__read_map){ .at = at,
                                   .across = b.channels,
                                   .down = (int64_t)b.width * b.channels };
}

struct depthwise_case {
    struct stk__conv conv;
    struct stk__depthwise shape;
    size_t n_image, n_out, n_weights;
    float *image, *weights, *dy, *bias; /* given */
    float *x, *framed_dy;               /* with frames */
};

static void make_case(struct depthwise_case *d)
{
    int multiplier = below(3) ? 1 : 1 + below(3);
    const struct stk__conv c = d->conv = random_conv(multiplier);
    d->shape = (struct stk__depthwise){ c.kernel_height, c.kernel_width, c.stride_y, c.stride_x,
                                        c.dilation_y,    c.dilation_x,   c.channels, multiplier };
    d->n_image = (size_t)(c.height * c.width * c.channels);
    d->n_out = (size_t)(c.out_height * c.out_width * c.filters);
    d->n_weights = (size_t)(c.kernel_height * c.kernel_width * c.filters);
    d->image = random_values(d->n_image);
    d->weights = random_values(d->n_weights);
    d->dy = random_values(d->n_out);
    d->bias = random_values((size_t)c.filters);
    d->x = framed(stk__conv_image(&c), d->image, c.height, c.width);
    d->framed_dy = framed(stk__conv_output(&c), d->dy, c.out_height, c.out_width);
}

static void free_case(struct depthwise_case *d)
{
    float *all[] = { d->image, d->weights, d->dy, d->bias, d->x, d->framed_dy };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* A value of the output but for the bias. */
static double value_at(const struct depthwise_case *d, int row, int column, int filter)
{
    const struct stk__conv *c = &d->conv;
    double sum = 0;
    for (int cell = 0; cell < c->kernel_height * c->kernel_width; cell++) {
        int y = row * c->stride_y - c->pad_top + cell / c->kernel_width * c->dilation_y;
        int x = column * c->stride_x - c->pad_left + cell % c->kernel_width * c->dilation_x;
        if (y >= 0 && y < c->height && x >= 0 && x < c->width)
            sum +=
                (double)d->image[(y * c->width + x) * c->channels + filter / d->shape.multiplier] *
                d->weights[cell * c->filters + filter];
    }
    return sum;
}

static void check_values(const struct stk__train_kernels *kernels, int level,
                         const struct depthwise_case *d, float *y)
{
    const struct stk__conv *c = &d->conv;
    struct stk__depthwise_rows job = {
        .shape = &d->shape,
        .x = map_of(stk__conv_image(c), d->x),
        .y = { .at = y, .across = c->filters, .down = (int64_t)c->out_width * c->filters },
        .width = c->out_width,
        .height = c->out_height,
        .weights = d->weights,
        .bias = d->bias,
        .low = -0.5f,
        .high = 0.5f
    };
    kernels->depthwise.rows(&job);
    for (size_t i = 0; i < d->n_out; i++) {
        int filter = (int)i % c->filters, pixel = (int)i / c->filters;
        double sum =
            value_at(d, pixel / c->out_width, pixel % c->out_width, filter) + d->bias[filter];
        check_near("depthwise", level, y[i],
                   sum < -0.5  ? -0.5
                   : sum > 0.5 ? 0.5
                               : sum,
                   c->kernel_height * c->kernel_width);
    }
    job.bias = NULL;
    job.low = -INFINITY;
    job.high = INFINITY;
    kernels->depthwise.rows(&job); /* linear, for the gradients */
}

/* The image's gradient, a few rows at a time. */
static void find_image(const struct stk__train_kernels *kernels, const struct depthwise_case *d,
                       float *dx)
{
    const struct stk__conv *c = &d->conv;
    const struct stk__framed b = stk__conv_output(c);
    const int64_t down = (int64_t)c->width * c->channels;
    struct stk__depthwise_image job = { .shape = &d->shape,
                                        .pad_top = c->pad_top,
                                        .pad_left = c->pad_left,
                                        .dy = map_of(b, d->framed_dy + (b.top * b.width + b.left) *
                                                                           b.channels),
                                        .dx = { .at = dx, .across = c->channels, .down = down },
                                        .width = c->width,
                                        .weights = d->weights };
    for (; job.first < c->height; job.first += job.height, job.dx.at += job.height * down) {
        job.height = 1 + below(4);
        if (job.height > c->height - job.first)
            job.height = c->height - job.first;
        kernels->depthwise.image(&job);
    }
}

static void check_depthwise(const struct stk__train_kernels *kernels, int level)
{
    struct depthwise_case d;
    make_case(&d);
    const struct stk__conv *c = &d.conv;
    float *y = random_values(d.n_out), *dx = random_values(d.n_image);
    float *dw = calloc(d.n_weights, sizeof *dw), *bias = calloc((size_t)c->filters, sizeof *bias);
    check_values(kernels, level, &d, y);
    double wanted = dot(d.dy, y, d.n_out), terms = (double)(d.n_out * (size_t)d.shape.height);
    find_image(kernels, &d, dx);
    check_near("depthwise image", level, dot(d.image, dx, d.n_image), wanted, terms);
    const struct stk__depthwise_gradient job = {
        .shape = &d.shape,
        .x = map_of(stk__conv_image(c), d.x),
        .dy = { .at = d.dy, .across = c->filters, .down = (int64_t)c->out_width * c->filters },
        .width = c->out_width,
        .height = c->out_height,
        .weights = dw,
        .bias = bias
    };
    kernels->depthwise.gradient(&job);
    check_near("depthwise gradient", level, dot(d.weights, dw, d.n_weights), wanted, terms);
    for (int f = 0; f < c->filters; f++) {
        double sum = 0;
        for (size_t i = (size_t)f; i < d.n_out; i += (size_t)c->filters)
            sum += d.dy[i];
        check_near("depthwise bias", level, bias[f], sum, c->out_height * c->out_width);
    }
    free(y);
    free(dx);
    free(dw);
    free(bias);
    free_case(&d);
}

static void test_depthwise(void **unused)
{
    (void)unused;
    for_levels(check_depthwise);
}

/* ---- pools ---- */

static struct stk__pooling random_pool(void)
{
    struct stk__pooling p = {
        1 + below(4), 1 + below(4), 1 + below(3), 1 + below(3), 0, 0, 0, 0, 0, 0, 1 + below(40)
    };
    if (below(2))
        p.height = p.width = p.stride_y = p.stride_x = 2;
    p.pad_top = below(p.height);
    p.pad_left = below(p.width);
    p.in_height = p.height + below(9);
    p.in_width = p.width + below(14);
    p.out_height = out_size(p.in_height, p.pad_top, p.height, p.stride_y, 1);
    p.out_width = out_size(p.in_width, p.pad_left, p.width, p.stride_x, 1);
    return p;
}

/* The largest cell of a window, its number, and the mean. */
struct window {
    double most, mean;
    int cell;
};

static struct window look(const struct stk__pooling *p, const float *x, int row, int column, int c)
{
    struct window w = { -INFINITY, 0, -1 };
    int n = 0;
    for (int cell = 0; cell < p->height * p->width; cell++) {
        int y = row * p->stride_y - p->pad_top + cell / p->width;
        int at = column * p->stride_x - p->pad_left + cell % p->width;
        if (y < 0 || y >= p->in_height || at < 0 || at >= p->in_width)
            continue;
        double value = x[(y * p->in_width + at) * p->channels + c];
        n++;
        w.mean += value;
        if (value > w.most) {
            w.most = value;
            w.cell = cell;
        }
    }
    w.mean /= n;
    return w;
}

struct pool_case {
    struct stk__pooling pool;
    size_t n_in, n_out;
    int64_t in_down, out_down;
    float *x, *dy, *y, *dx;
    uint8_t *cells;
};

/* All rows of the output, some at a time. */
static void pool_values(const struct stk__train_kernels *kernels, struct pool_case *c, bool is_max,
                        float low)
{
    const struct stk__pooling *p = &c->pool;
    for (int first = 0, n; first < p->out_height; first += n) {
        n = first + 2 < p->out_height ? 2 : p->out_height - first;
        int row = first * p->stride_y - p->pad_top;
        row = row < 0 ? 0 : row;
        const struct stk__read_map x = { .at = c->x + row * c->in_down,
                                         .across = p->channels,
                                         .down = c->in_down };
        const struct stk__write_map y = { .at = c->y + first * c->out_down,
                                          .across = p->channels,
                                          .down = c->out_down };
        const struct stk__maxpool_rows max = {
            p, first, n, x, row, y, c->cells + first * c->out_down, c->out_down, low, 3
        };
        const struct stk__avgpool_rows mean = { p, first, n, x, row, y };
        if (is_max)
            kernels->pool.max_rows(&max);
        else
            kernels->pool.mean_rows(&mean);
    }
}

static void pool_gradient(const struct stk__train_kernels *kernels, struct pool_case *c,
                          bool is_max)
{
    const struct stk__pooling *p = &c->pool;
    const struct stk__read_map dy = { .at = c->dy, .across = p->channels, .down = c->out_down };
    for (int first = 0, n; first < p->in_height; first += n) {
        n = first + 3 < p->in_height ? 3 : p->in_height - first;
        const struct stk__write_map dx = { .at = c->dx + first * c->in_down,
                                           .across = p->channels,
                                           .down = c->in_down };
        const struct stk__maxpool_gradient max = { p, first, n, dy, c->cells, c->out_down, 0, dx };
        const struct stk__avgpool_gradient mean = { p, first, n, dy, 0, dx };
        if (is_max)
            kernels->pool.max_gradient(&max);
        else
            kernels->pool.mean_gradient(&mean);
    }
}

static void check_windows(const struct pool_case *c, int level, bool is_max, float low)
{
    const struct stk__pooling *p = &c->pool;
    for (size_t i = 0; i < c->n_out; i++) {
        int channel = (int)i % p->channels, pixel = (int)i / p->channels;
        struct window w = look(p, c->x, pixel / p->out_width, pixel % p->out_width, channel);
        if (!is_max) {
            check_near("mean", level, c->y[i], w.mean, 1);
            continue;
        }
        check_near("maximum", level, c->y[i], w.most < low ? low : w.most, 0);
        assert_int_equal(c->cells[i], w.most > low ? w.cell : STK__NO_CELL);
    }
}

static void check_pool(const struct stk__train_kernels *kernels, int level)
{
    struct pool_case c = { .pool = random_pool() };
    const struct stk__pooling *p = &c.pool;
    c.in_down = (int64_t)p->in_width * p->channels;
    c.out_down = (int64_t)p->out_width * p->channels;
    c.n_in = (size_t)(p->in_height * c.in_down);
    c.n_out = (size_t)(p->out_height * c.out_down);
    c.x = random_values(c.n_in);
    c.dx = random_values(c.n_in);
    c.dy = random_values(c.n_out);
    c.y = random_values(c.n_out);
    c.cells = calloc(c.n_out, 1);
    for (int round = 0; round < 3; round++) {
        const bool is_max = round > 0;
        const float low = round == 2 ? 0 : -INFINITY;
        pool_values(kernels, &c, is_max, low);
        check_windows(&c, level, is_max, low);
        pool_gradient(kernels, &c, is_max);
        check_near("pool gradient", level, dot(c.x, c.dx, c.n_in), dot(c.dy, c.y, c.n_out),
                   (double)c.n_out);
    }
    free(c.x);
    free(c.dx);
    free(c.dy);
    free(c.y);
    free(c.cells);
}

static void test_pool(void **unused)
{
    (void)unused;
    for_levels(check_pool);
}

/* ---- dense ---- */

/* Two ranges of inputs and their parts joined; gradients of ranges. */
static void check_dense(const struct stk__train_kernels *kernels, int level)
{
    const int n = 1 + below(40), k = 2 + below(300), m = 1 + below(70), cut = 1 + below(k - 1);
    const size_t nk = (size_t)(n * k), km = (size_t)(k * m), nm = (size_t)(n * m);
    float *x = random_values(nk), *w = random_values(km), *dy = random_values(nm);
    float *bias = random_values((size_t)m), *parts = random_values(2 * nm);
    float *y = random_values(nm), *dx = random_values(nk), *dw = random_values(km);
    const int from[] = { 0, cut, k };
    for (int i = 0; i < 2; i++) {
        const int begin = from[i], size = from[i + 1] - begin;
        const struct stk__dense_rows rows = { .x = x + begin,
                                              .x_down = k,
                                              .weights = w + begin * m,
                                              .y = parts + i * (int)nm,
                                              .y_down = m,
                                              .n = n,
                                              .k = size,
                                              .m = m,
                                              .low = -INFINITY,
                                              .high = INFINITY };
        const struct stk__dense_image image = { .dy = dy,
                                                .dy_down = m,
                                                .weights = w + begin * m,
                                                .dx = dx + begin,
                                                .dx_down = k,
                                                .n = n,
                                                .k = size,
                                                .m = m };
        const struct stk__dense_gradient gradient = { .x = x + begin,
                                                      .x_down = k,
                                                      .dy = dy,
                                                      .dy_down = m,
                                                      .weights = dw + begin * m,
                                                      .n = n,
                                                      .k = size,
                                                      .m = m };
        kernels->dense.rows(&rows);
        kernels->dense.image(&image);
        kernels->dense.gradient(&gradient);
    }
    const struct stk__dense_parts join = { parts, (int64_t)nm, 2, bias, y, m, n, m, -1, 1 };
    kernels->dense.join(&join);
    double product = 0;
    for (size_t i = 0; i < nm; i++) {
        double sum = 0;
        for (int j = 0; j < k; j++)
            sum += (double)x[(int)i / m * k + j] * w[j * m + (int)i % m];
        product += sum * dy[i];
        sum += bias[(int)i % m];
        check_near("dense", level, y[i], sum < -1 ? -1 : sum > 1 ? 1 : sum, k);
    }
    check_near("dense image", level, dot(x, dx, nk), product, (double)nk);
    check_near("dense gradient", level, dot(w, dw, km), product, (double)nk);
    float *all[] = { x, w, dy, bias, parts, y, dx, dw };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void test_dense(void **unused)
{
    (void)unused;
    for_levels(check_dense);
}

/* ---- normalisation: one channel among some, its gradient by small differences ---- */

enum { WIDTH = 5, HEIGHT = 4, PIXELS = WIDTH * HEIGHT };

/* Σ dy · relu(gamma · x̂ + beta) of one channel, in double. */
static double loss_of(const double *x, const float *dy, double gamma, double beta)
{
    double mean = 0, variance = 0, loss = 0;
    for (int i = 0; i < PIXELS; i++)
        mean += x[i] / PIXELS;
    for (int i = 0; i < PIXELS; i++)
        variance += (x[i] - mean) * (x[i] - mean) / PIXELS;
    for (int i = 0; i < PIXELS; i++)
        loss += dy[i] * fmax(0, gamma * (x[i] - mean) / sqrt(variance + 1e-3) + beta);
    return loss;
}

static double difference(double *x, int at, const float *dy, double gamma, double beta)
{
    double before = x[at], step = 1e-6;
    x[at] = before + step;
    double above = loss_of(x, dy, gamma, beta);
    x[at] = before - step;
    double under = loss_of(x, dy, gamma, beta);
    x[at] = before;
    return (above - under) / (2 * step);
}

struct norm_case {
    int channels;
    float *x, *dy, *y, *dx, *coefficients; /* shift, scale, offset, mean, slope, level */
    double *sums;
};

static struct stk__read_map pixels_of(const struct norm_case *n, const float *at)
{
    return (struct stk__read_map){ .at = at, .across = n->channels, .down = WIDTH * n->channels };
}

static struct stk__write_map write_of(const struct norm_case *n, float *at)
{
    return (struct stk__write_map){ .at = at, .across = n->channels, .down = WIDTH * n->channels };
}

/* As norm_kernel.h says. */
static void normalise(const struct stk__train_kernels *kernels, struct norm_case *n, float gamma,
                      float beta)
{
    const int c = n->channels;
    float *shift = n->coefficients, *scale = shift + c, *offset = scale + c, *mean = offset + c,
          *slope = mean + c, *mean_dy = slope + c;
    memset(n->sums, 0, 4 * (size_t)c * sizeof *n->sums);
    const struct stk__norm_sums sums = { pixels_of(n, n->x), WIDTH, HEIGHT, c, shift, n->sums,
                                         n->sums + c };
    kernels->norm.sums(&sums);
    for (int i = 0; i < c; i++) {
        double from_shift = n->sums[i] / PIXELS;
        double variance = n->sums[c + i] / PIXELS - from_shift * from_shift;
        mean[i] = (float)(shift[i] + from_shift);
        scale[i] = (float)(gamma / sqrt(variance + 1e-3));
        offset[i] = beta - scale[i] * mean[i];
        slope[i] = (float)(-scale[i] / (variance + 1e-3));
    }
    const struct stk__norm_rows rows = { .x = pixels_of(n, n->x),
                                         .y = write_of(n, n->y),
                                         .width = WIDTH,
                                         .height = HEIGHT,
                                         .channels = c,
                                         .scale = scale,
                                         .offset = offset,
                                         .low = 0,
                                         .high = INFINITY };
    kernels->norm.rows(&rows);
    const struct stk__norm_gradient_sums gradient_sums = { .x = pixels_of(n, n->x),
                                                           .dy = pixels_of(n, n->dy),
                                                           .y = pixels_of(n, n->y),
                                                           .width = WIDTH,
                                                           .height = HEIGHT,
                                                           .channels = c,
                                                           .mean = mean,
                                                           .low = 0,
                                                           .high = INFINITY,
                                                           .sum = n->sums + 2 * c,
                                                           .products = n->sums + 3 * c };
    kernels->norm.gradient_sums(&gradient_sums);
    for (int i = 0; i < c; i++) {
        slope[i] *= (float)(n->sums[3 * c + i] / PIXELS);
        mean_dy[i] = (float)(n->sums[2 * c + i] / PIXELS);
    }
    const struct stk__norm_gradient_rows gradient = { .x = pixels_of(n, n->x),
                                                      .dy = pixels_of(n, n->dy),
                                                      .y = pixels_of(n, n->y),
                                                      .dx = write_of(n, n->dx),
                                                      .width = WIDTH,
                                                      .height = HEIGHT,
                                                      .channels = c,
                                                      .scale = scale,
                                                      .slope = slope,
                                                      .mean = mean,
                                                      .mean_dy = mean_dy,
                                                      .low = 0,
                                                      .high = INFINITY };
    kernels->norm.gradient_rows(&gradient);
}

static void check_norm(const struct stk__train_kernels *kernels, int level)
{
    struct norm_case n = { .channels = 1 + below(40) };
    const size_t c = (size_t)n.channels, all = PIXELS * c;
    const float gamma = 1.25f, beta = 0.1f;
    n.x = random_values(all);
    n.dy = random_values(all);
    n.y = random_values(all);
    n.dx = random_values(all);
    n.coefficients = random_values(6 * c);
    n.sums = malloc(4 * c * sizeof *n.sums);
    assert_non_null(n.sums);
    normalise(kernels, &n, gamma, beta);
    const size_t channel = (size_t)below(n.channels);
    double x[PIXELS];
    float dy[PIXELS];
    bool is_near_edge = false; /* where relu has no derivative */
    for (size_t i = 0; i < PIXELS; i++) {
        x[i] = n.x[i * c + channel];
        dy[i] = n.dy[i * c + channel];
        is_near_edge |= n.y[i * c + channel] > 0 && n.y[i * c + channel] < 1e-4;
    }
    for (int i = 0; i < PIXELS && !is_near_edge; i++)
        check_near("normalisation", level, n.dx[(size_t)i * c + channel],
                   difference(x, i, dy, gamma, beta), 10);
    free(n.x);
    free(n.dy);
    free(n.y);
    free(n.dx);
    free(n.coefficients);
    free(n.sums);
}

static void test_norm(void **unused)
{
    (void)unused;
    for_levels(check_norm);
}

/* One value is its own mean, and its gradient the mean of gradients: nothing is left, however large the scale
 * is that would make much of a rounding. */
static void check_norm_of_one(const struct stk__train_kernels *kernels, int level)
{
    enum { CHANNELS = 37 };
    float *x = random_values(CHANNELS), *dy = random_values(CHANNELS);
    float *scale = random_values(CHANNELS), *slope = random_values(CHANNELS), dx[CHANNELS];
    kernels->norm.gradient_rows(&(struct stk__norm_gradient_rows){ .x = { .at = x },
                                                                   .dy = { .at = dy },
                                                                   .dx = { .at = dx },
                                                                   .width = 1,
                                                                   .height = 1,
                                                                   .channels = CHANNELS,
                                                                   .scale = scale,
                                                                   .slope = slope,
                                                                   .mean = x,
                                                                   .mean_dy = dy });
    for (int c = 0; c < CHANNELS; c++)
        if (dx[c] != 0)
            fail_msg("the gradient of one value at level %d is %.9g, not 0", level, dx[c]);
    free(x);
    free(dy);
    free(scale);
    free(slope);
}

static void test_norm_of_one(void **unused)
{
    (void)unused;
    for_levels(check_norm_of_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depthwise),   cmocka_unit_test(test_pool),
        cmocka_unit_test(test_dense),       cmocka_unit_test(test_norm),
        cmocka_unit_test(test_norm_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
