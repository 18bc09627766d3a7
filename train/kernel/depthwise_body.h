/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_body.h: depthwise convolutions with a multiplier of 1, behind a vector header.
 *
 * A vector is channels of one pixel. Values of the output and gradients of the image are both sums over
 * cells, and differ in how these lie (struct walk). Kernels of 3×3 are done in tiles of two rows by
 * some pixels, whose sums stay in registers: each value of the image is loaded once for all sums it is in.
 */
#include "train/kernel/depthwise_plain.h"
#include "train/kernel/x86/channels.h"

#include <math.h>
#include <stdbool.h>

/* How the cells of a sum lie, from the first one on, in values and in weights. */
struct walk {
    int rows, columns;
    int64_t down, across;
    int64_t weights_down, weights_across;
};

/* Sums of rows of pixels, some channels of them. */
struct sums {
    struct walk walk;
    struct stk__read_map
        x; /* the first cell of the first sum; across and down: to the next sum's */
    struct stk__write_map y;
    int width, height, channels;
    const float *weights;
    const float *bias;
    float low, high;
};

enum { ROWS = 2, PIXELS = REGISTERS / 8, WIDE = 8 };

INLINE void put_sum(const struct sums *job, int64_t at, vector sum, int n)
{
    put_to(&job->y, at, within(sum, spread(job->low), spread(job->high)), n);
}

/* ---- kernels of 3×3 ---- */

#define EACH_OF_9(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8)

struct kernel_3x3 {
    vector weight[9], bias;
};

/* In values from where the maps begin. */
struct place {
    int64_t x, y;
};

/* `rows` by `pixels` sums; `stride` is that of the kernel, cells lie side by side. */
INLINE void sum_tile(const int dtype, const int rows, const int pixels, const int stride,
                     const struct sums *job, const struct kernel_3x3 *kernel, struct place at,
                     const int n)
{
    vector sum[ROWS][PIXELS];
    const int64_t down = job->walk.down, across = job->walk.across;
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int p = 0; p < pixels; p++)
            sum[r][p] = kernel->bias;
    }
    UNROLL
    for (int y = 0; y < (rows - 1) * stride + 3; y++) {
        UNROLL
        for (int x = 0; x < (pixels - 1) * stride + 3; x++) {
            const vector value = get_from(dtype, &job->x, at.x + y * down + x * across, n);
            UNROLL
            for (int r = 0; r < rows; r++) {
                UNROLL
                for (int p = 0; p < pixels; p++) {
                    const int ky = y - r * stride, kx = x - p * stride;
                    if (ky >= 0 && ky < 3 && kx >= 0 && kx < 3)
                        sum[r][p] = fuse(value, kernel->weight[ky * 3 + kx], sum[r][p]);
                }
            }
        }
    }
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int p = 0; p < pixels; p++)
            put_sum(job, at.y + r * job->y.down + p * job->y.across, sum[r][p], n);
    }
}

INLINE struct kernel_3x3 get_kernel(const struct sums *job, int c, const int n)
{
    struct kernel_3x3 kernel;
#define WEIGHT(k)                                                                                  \
    kernel.weight[k] = get(job->weights + (k) / 3 * job->walk.weights_down +                       \
                               (k) % 3 * job->walk.weights_across + c,                             \
                           n);
    EACH_OF_9(WEIGHT)
    kernel.bias = job->bias ? get(job->bias + c, n) : zero();
    return kernel;
}

INLINE struct place place_of(const struct sums *job, int row, int p, int c)
{
    return (struct place){ row * job->x.down + p * job->x.across + c,
                           row * job->y.down + p * job->y.across + c };
}

/* Rows for a vector of channels, whose kernel stays in registers. The last tile begins where it ends with
 * the row: some sums are made twice. */
INLINE void sum_lane(const int dtype, const int rows, const int stride, const struct sums *job,
                     int row, int c, const int n)
{
    const struct kernel_3x3 kernel = get_kernel(job, c, n);
    for (int p = 0; job->width < PIXELS && p < job->width; p++)
        sum_tile(dtype, rows, 1, stride, job, &kernel, place_of(job, row, p, c), n);
    for (int done = 0; job->width >= PIXELS && done < job->width; done += PIXELS) {
        const int p = done + PIXELS > job->width ? job->width - PIXELS : done;
        sum_tile(dtype, rows, PIXELS, stride, job, &kernel, place_of(job, row, p, c), n);
    }
}

/* Two rows for few channels: tile by tile for all of them, so that memory is read as it lies. */
enum { FEW = 4 * LANES };

INLINE void sum_few(const int dtype, const int stride, const struct sums *job, int row)
{
    for (int done = 0; done < job->width; done += PIXELS) {
        const int p = done + PIXELS > job->width ? job->width - PIXELS : done;
        for (int c = 0; c < job->channels; c += LANES) {
            const struct kernel_3x3 kernel = get_kernel(job, c, LANES);
            sum_tile(dtype, ROWS, PIXELS, stride, job, &kernel, place_of(job, row, p, c), LANES);
        }
    }
}

INLINE void sum_many(const int dtype, const int stride, const struct sums *job, int row)
{
    for (int c = 0; c < job->channels; c += LANES) {
        const int left = job->channels - c;
        if (row + ROWS > job->height)
            sum_lane(dtype, 1, stride, job, row, c, left < LANES ? left : LANES);
        else if (left < LANES)
            sum_lane(dtype, ROWS, stride, job, row, c, left);
        else
            sum_lane(dtype, ROWS, stride, job, row, c, LANES);
    }
}

INLINE void sum_all(const int dtype, const int stride, const struct sums *job)
{
    const bool is_few = job->channels <= FEW && job->channels % LANES == 0 && job->width >= PIXELS;
    for (int row = 0; row < job->height; row += ROWS) {
        if (is_few && row + ROWS <= job->height)
            sum_few(dtype, stride, job, row);
        else
            sum_many(dtype, stride, job, row);
    }
}

static void sum_3x3(const struct sums *job)
{
    BY_DTYPE(&job->x, sum_all, 1, job);
}

static void sum_3x3_by_2(const struct sums *job)
{
    BY_DTYPE(&job->x, sum_all, 2, job);
}

/* ---- any kernel ---- */

/* `pixels` sums of one row. */
INLINE void sum_pixels(const int dtype, const int pixels, const struct sums *job, int c,
                       struct place at, const int n)
{
    const struct walk *walk = &job->walk;
    vector sum[WIDE];
    UNROLL
    for (int p = 0; p < pixels; p++)
        sum[p] = job->bias ? get(job->bias + c, n) : zero();
    for (int ky = 0; ky < walk->rows; ky++)
        for (int kx = 0; kx < walk->columns; kx++) {
            const int64_t x = at.x + ky * walk->down + kx * walk->across;
            const vector weight =
                get(job->weights + ky * walk->weights_down + kx * walk->weights_across + c, n);
            UNROLL
            for (int p = 0; p < pixels; p++)
                sum[p] = fuse(get_from(dtype, &job->x, x + p * job->x.across, n), weight, sum[p]);
        }
    UNROLL
    for (int p = 0; p < pixels; p++)
        put_sum(job, at.y + p * job->y.across, sum[p], n);
}

INLINE void sum_row(const int dtype, const struct sums *job, int row, int c, const int n)
{
    for (int p = 0; p < job->width;) {
        const struct place at = place_of(job, row, p, c);
        if (job->width - p >= WIDE) {
            sum_pixels(dtype, WIDE, job, c, at, n);
            p += WIDE;
        } else {
            sum_pixels(dtype, 1, job, c, at, n);
            p++;
        }
    }
}

INLINE void sum_rows(const int dtype, const struct sums *job)
{
    for (int row = 0; row < job->height; row++)
        for (int c = 0; c < job->channels; c += LANES) {
            if (job->channels - c < LANES)
                sum_row(dtype, job, row, c, job->channels - c);
            else
                sum_row(dtype, job, row, c, LANES);
        }
}

static void sum_any(const struct sums *job)
{
    BY_DTYPE(&job->x, sum_rows, job);
}

/* ---- values ---- */

static bool is_3x3(const struct stk__depthwise *s)
{
    return s->height == 3 && s->width == 3 && s->dilation_y == 1 && s->dilation_x == 1 &&
           s->stride_y == s->stride_x && s->stride_x <= 2;
}

static void rows(const struct stk__depthwise_rows *job)
{
    const struct stk__depthwise *s = job->shape;
    const struct sums sums = {
        .walk = { s->height, s->width, s->dilation_y * job->x.down, s->dilation_x * job->x.across,
                  (int64_t)s->width * s->channels, s->channels },
        .x = { job->x.at, s->stride_x * job->x.across, s->stride_y * job->x.down, job->x.halves },
        .y = job->y,
        .width = job->width,
        .height = job->height,
        .channels = s->channels,
        .weights = job->weights,
        .bias = job->bias,
        .low = job->low,
        .high = job->high,
    };
    if (s->multiplier > 1)
        plain_rows(job);
    else if (!is_3x3(s))
        sum_any(&sums);
    else if (s->stride_x == 1)
        sum_3x3(&sums);
    else
        sum_3x3_by_2(&sums);
}

/* ---- gradients of images ---- */

/* Along one way: the first cell, from the far end, that looks at a place, how many do, and the output
 * that does by it. */
struct lookers {
    int first, n, output;
};

static struct lookers lookers_of(int place, int kernel, int stride, int dilation)
{
    int first = place % stride, n = first < kernel ? (kernel - 1 - first) / stride + 1 : 0;
    first += (n - 1) * stride;
    return (struct lookers){ first, n, (place - first * dilation) / stride };
}

/* Every stride-th pixel of the gradient from one on. */
static struct stk__write_map dx_from(const struct stk__depthwise_image *job, int row, int column)
{
    const struct stk__depthwise *s = job->shape;
    const int64_t at = row * job->dx.down + column * job->dx.across;
    struct stk__write_map dx = { .across = s->stride_x * job->dx.across,
                                 .down = s->stride_y * job->dx.down };
    if (job->dx.halves.at)
        dx.halves = (struct stk__write_halves){ job->dx.halves.at + at, job->dx.halves.dtype };
    else
        dx.at = job->dx.at + at;
    return dx;
}

/* Places of one remainder by the stride, both ways; y and x: of the first, with the padding. */
static void sum_places(const struct stk__depthwise_image *job, int row, int column)
{
    const struct stk__depthwise *s = job->shape;
    const struct lookers down =
        lookers_of(row + job->first + job->pad_top, s->height, s->stride_y, s->dilation_y);
    const struct lookers across =
        lookers_of(column + job->pad_left, s->width, s->stride_x, s->dilation_x);
    const int64_t weights_down = (int64_t)s->width * s->channels;
    const struct sums sums = {
        .walk = { down.n, across.n, s->dilation_y * job->dy.down, s->dilation_x * job->dy.across,
                  -s->stride_y * weights_down, -(int64_t)s->stride_x * s->channels },
        .x = { .at = job->dy.at + down.output * job->dy.down + across.output * job->dy.across,
               .across = job->dy.across,
               .down = job->dy.down },
        .y = dx_from(job, row, column),
        .width = (job->width - column + s->stride_x - 1) / s->stride_x,
        .height = (job->height - row + s->stride_y - 1) / s->stride_y,
        .channels = s->channels,
        .weights = job->weights + down.first * weights_down + (int64_t)across.first * s->channels,
        .low = -INFINITY,
        .high = INFINITY,
    };
    if (is_3x3(s) && s->stride_x == 1)
        sum_3x3(&sums);
    else
        sum_any(&sums);
}

static void image(const struct stk__depthwise_image *job)
{
    const struct stk__depthwise *s = job->shape;
    if (s->multiplier > 1) {
        plain_image(job);
        return;
    }
    for (int row = 0; row < s->stride_y && row < job->height; row++)
        for (int column = 0; column < s->stride_x && column < job->width; column++)
            sum_places(job, row, column);
}

/* ---- gradients of weights ---- */

/* What `rows` by `pixels` outputs add; sum[9] is that of the bias. */
INLINE void gather_tile(const int dtype, const int rows, const int pixels, const int stride,
                        const struct stk__depthwise_gradient *job, int64_t x, const float *dy,
                        vector *sum, const int n)
{
    vector d[ROWS][PIXELS];
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int p = 0; p < pixels; p++) {
            d[r][p] = get(dy + r * job->dy.down + p * job->dy.across, n);
            sum[9] = plus(sum[9], d[r][p]);
        }
    }
    UNROLL
    for (int y = 0; y < (rows - 1) * stride + 3; y++) {
        UNROLL
        for (int i = 0; i < (pixels - 1) * stride + 3; i++) {
            const vector value =
                get_from(dtype, &job->x, x + y * job->x.down + i * job->x.across, n);
            UNROLL
            for (int r = 0; r < rows; r++) {
                UNROLL
                for (int p = 0; p < pixels; p++) {
                    const int ky = y - r * stride, kx = i - p * stride;
                    if (ky >= 0 && ky < 3 && kx >= 0 && kx < 3)
                        sum[ky * 3 + kx] = fuse(value, d[r][p], sum[ky * 3 + kx]);
                }
            }
        }
    }
}

INLINE void add_to(float *to, vector sum, const int n)
{
    put(to, plus(get(to, n), sum), n);
}

enum { GATHERED = PIXELS > 2 ? PIXELS : 2 };

INLINE void gather_rows(const int dtype, const int rows, const int stride,
                        const struct stk__depthwise_gradient *job, int row, int c, const int n)
{
    const int64_t x = row * stride * job->x.down + c;
    const float *dy = job->dy.at + row * job->dy.down + c;
    const int64_t across = stride * job->x.across;
    vector sum[10];
#define CLEAR(k) sum[k] = zero();
    EACH_OF_9(CLEAR)
    CLEAR(9)
    int p = 0;
    for (; p + GATHERED <= job->width; p += GATHERED)
        gather_tile(dtype, rows, GATHERED, stride, job, x + p * across, dy + p * job->dy.across,
                    sum, n);
    for (; p < job->width; p++)
        gather_tile(dtype, rows, 1, stride, job, x + p * across, dy + p * job->dy.across, sum, n);
#define ADD_TO(k) add_to(job->weights + (k)*job->shape->channels + c, sum[k], n);
    EACH_OF_9(ADD_TO)
    if (job->bias)
        add_to(job->bias + c, sum[9], n);
}

INLINE void gather_all(const int dtype, const int stride, const struct stk__depthwise_gradient *job)
{
    for (int row = 0; row < job->height; row += ROWS)
        for (int c = 0; c < job->shape->channels; c += LANES) {
            int left = job->shape->channels - c;
            if (row + ROWS > job->height)
                gather_rows(dtype, 1, stride, job, row, c, left < LANES ? left : LANES);
            else if (left < LANES)
                gather_rows(dtype, ROWS, stride, job, row, c, left);
            else
                gather_rows(dtype, ROWS, stride, job, row, c, LANES);
        }
}

/* A cell of any kernel, or the bias (x: -1), over the pixels of a row. */
INLINE vector gather_cell(const int dtype, const struct stk__depthwise_gradient *job, int64_t x,
                          const float *dy, const int n)
{
    const int64_t across = job->shape->stride_x * job->x.across;
    vector sum[4] = { zero(), zero(), zero(), zero() };
    int p = 0;
    for (; p + 4 <= job->width; p += 4) {
        UNROLL
        for (int i = 0; i < 4; i++) {
            const vector d = get(dy + (p + i) * job->dy.across, n);
            sum[i] = x < 0 ? plus(d, sum[i])
                           : fuse(get_from(dtype, &job->x, x + (p + i) * across, n), d, sum[i]);
        }
    }
    for (; p < job->width; p++) {
        const vector d = get(dy + p * job->dy.across, n);
        sum[0] =
            x < 0 ? plus(d, sum[0]) : fuse(get_from(dtype, &job->x, x + p * across, n), d, sum[0]);
    }
    return plus(plus(sum[0], sum[1]), plus(sum[2], sum[3]));
}

INLINE void gather_any(const int dtype, const struct stk__depthwise_gradient *job, int row, int c,
                       int n)
{
    const struct stk__depthwise *s = job->shape;
    const int64_t x = row * s->stride_y * job->x.down + c;
    const float *dy = job->dy.at + row * job->dy.down + c;
    float *weights = job->weights + c;
    for (int ky = 0; ky < s->height; ky++)
        for (int kx = 0; kx < s->width; kx++, weights += s->channels)
            add_to(weights,
                   gather_cell(dtype, job,
                               x + ky * s->dilation_y * job->x.down +
                                   kx * s->dilation_x * job->x.across,
                               dy, n),
                   n);
    if (job->bias)
        add_to(job->bias + c, gather_cell(dtype, job, -1, dy, n), n);
}

INLINE void gather_cells(const int dtype, const struct stk__depthwise_gradient *job)
{
    const int channels = job->shape->channels;
    for (int row = 0; row < job->height; row++)
        for (int c = 0; c < channels; c += LANES)
            gather_any(dtype, job, row, c, channels - c < LANES ? channels - c : LANES);
}

static void gradient(const struct stk__depthwise_gradient *job)
{
    const struct stk__depthwise *s = job->shape;
    if (s->multiplier > 1) {
        plain_gradient(job);
    } else if (is_3x3(s) && s->stride_x == 1) {
        BY_DTYPE(&job->x, gather_all, 1, job);
    } else if (is_3x3(s)) {
        BY_DTYPE(&job->x, gather_all, 2, job);
    } else {
        BY_DTYPE(&job->x, gather_cells, job);
    }
}
