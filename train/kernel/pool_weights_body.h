/* SPDX-License-Identifier: Apache-2.0 */
/* pool_weights_body.h: gradients of weights in front of a pool of 2×2, behind a vector header.
 *
 * A vector is filters of one pixel of the pooled row, and each of them chose a cell of its own. So all four
 * values that a weight may meet there are put side by side, a quad, and every lane picks one of it:
 *
 *     row      a0 a1 a2 …            quads   a0 a1 b0 b1 │ a1 a2 b1 b2 │ …     (of one channel)
 *     below    b0 b1 b2 …            cells   0  1  2  3
 *
 * Quads of a row serve all weights of that row of the kernel, which lie side by side as their values do.
 */

enum { VECTORS = REGISTERS / 16, TAPS = 9 }; /* sums that stay in registers: 9 or 18 */

/* What x[0], x[1] … of the row are with the pixel to the right, and both below. */
static void make_quads(const float *x, int64_t down, int channels, int n, float *quads)
{
#define MAKE_QUADS(c, count)                                                                       \
    put_quads(get(x + c, count), get(x + channels + c, count), get(x + down + c, count),           \
              get(x + down + channels + c, count), quads + 4 * c, count)
    EACH_CHANNELS(n, MAKE_QUADS);
}

/* Gradients, where a cell was chosen. */
INLINE vector chosen_gradient(const int dtype, const struct stk__maxpool_weights *job, int64_t at,
                              cells chosen, int n)
{
    return choose(is_cell(chosen, spread_cell(STK__NO_CELL)), get_from(dtype, &job->dy, at, n),
                  zero());
}

/* Adds to `taps` weights of filters f and on, vectors of n. quads: those that the first weight meets in
 * window 0. */
INLINE void add_taps(const int dtype, const struct stk__maxpool_weights *job, const float *quads,
                     int f, const int vectors, const int n, const int taps, float *weights)
{
    const int64_t step = 8 * (int64_t)job->channels;
    vector sum[TAPS][VECTORS];
    UNROLL
    for (int t = 0; t < taps; t++)
        UNROLL
    for (int v = 0; v < vectors; v++)
        sum[t][v] = get(weights + (int64_t)t * job->filters + f + v * LANES, n);
    int64_t at = f;
    for (int x = 0; x < job->width; x++, quads += step, at += job->filters) {
        vector gradient[VECTORS];
        places place[VECTORS];
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const cells chosen = load_cells(job->cells + at + v * LANES, n);
            gradient[v] = chosen_gradient(dtype, job, at + v * LANES, chosen, n);
            place[v] = places_of(chosen);
        }
        UNROLL
        for (int t = 0; t < taps; t++) {
            const vector quad = spread_quad(quads + 4 * t);
            UNROLL
            for (int v = 0; v < vectors; v++)
                sum[t][v] = fuse(pick(quad, place[v]), gradient[v], sum[t][v]);
        }
    }
    UNROLL
    for (int t = 0; t < taps; t++)
        UNROLL
    for (int v = 0; v < vectors; v++)
        put(weights + (int64_t)t * job->filters + f + v * LANES, sum[t][v], n);
}

/* All filters of some weights. */
INLINE void add_tap_rows(const int dtype, const struct stk__maxpool_weights *job,
                         const float *quads, const int taps, float *weights)
{
    int f = 0;
    for (; VECTORS > 1 && f + VECTORS * LANES <= job->filters; f += VECTORS * LANES)
        add_taps(dtype, job, quads, f, VECTORS, LANES, taps, weights);
    for (; f + LANES <= job->filters; f += LANES)
        add_taps(dtype, job, quads, f, 1, LANES, taps, weights);
    if (f < job->filters)
        add_taps(dtype, job, quads, f, 1, job->filters - f, taps, weights);
}

INLINE void add_kernel_row(const int dtype, const struct stk__maxpool_weights *job, float *weights)
{
    const int n = job->kernel_width * job->channels;
    int t = 0;
    for (; t + TAPS <= n; t += TAPS)
        add_tap_rows(dtype, job, job->quads + 4 * t, TAPS, weights + (int64_t)t * job->filters);
    for (; t + 3 <= n; t += 3)
        add_tap_rows(dtype, job, job->quads + 4 * t, 3, weights + (int64_t)t * job->filters);
    for (; t < n; t++)
        add_tap_rows(dtype, job, job->quads + 4 * t, 1, weights + (int64_t)t * job->filters);
}

INLINE void add_bias(const int dtype, const struct stk__maxpool_weights *job, int f, const int n)
{
    vector sum = get(job->bias + f, n);
    for (int64_t x = 0, at = f; x < job->width; x++, at += job->filters)
        sum = plus(sum, chosen_gradient(dtype, job, at, load_cells(job->cells + at, n), n));
    put(job->bias + f, sum, n);
}

INLINE void max_weights_of(const int dtype, const struct stk__maxpool_weights *job)
{
    const int64_t row = (int64_t)job->kernel_width * job->channels * job->filters;
    const int n = (2 * job->width - 2 + job->kernel_width) * job->channels;
    for (int ky = 0; ky < job->kernel_height; ky++) {
        make_quads(job->x + ky * job->x_down, job->x_down, job->channels, n, job->quads);
        add_kernel_row(dtype, job, job->weights + ky * row);
    }
#define ADD_BIAS(f, n) add_bias(dtype, job, f, n)
    if (job->bias)
        EACH_CHANNELS(job->filters, ADD_BIAS);
}

static void max_weights(const struct stk__maxpool_weights *job)
{
    BY_DTYPE(&job->dy, max_weights_of, job);
}
