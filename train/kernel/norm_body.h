/* SPDX-License-Identifier: Apache-2.0 */
/* norm_body.h: batch normalisation, behind a vector header. A vector is channels of one pixel. Sums go
 * along a row for some vectors of channels, or for some pixels at a time where channels are few, so
 * that enough additions are under way. All maps that are read are of one type.
 */
#include "train/kernel/norm_kernel.h"
#include "train/kernel/x86/channels.h"

#include <stdbool.h>

enum { SUMS = 4 }; /* vectors times pixels */

INLINE void add_row(double *to, vector sum, int n)
{
    if (n >= LANES) {
        add_doubles(to, sum);
        return;
    }
    float part[LANES];
    store(part, sum);
    for (int i = 0; i < n; i++)
        to[i] += part[i];
}

/* ROW(vectors, c, lanes) for all channels, one or two vectors at a time; SUM for up to four. */
#define EACH_ROW(channels, ROW)                                                                    \
    do {                                                                                           \
        int c = 0;                                                                                 \
        for (; c + 2 * LANES <= (channels); c += 2 * LANES)                                        \
            ROW(2, c, LANES);                                                                      \
        for (; c + LANES <= (channels); c += LANES)                                                \
            ROW(1, c, LANES);                                                                      \
        if (c < (channels))                                                                        \
            ROW(1, c, (channels)-c);                                                               \
    } while (0)

#define EACH_SUM(channels, SUM)                                                                    \
    do {                                                                                           \
        int c = 0;                                                                                 \
        for (; c + 4 * LANES <= (channels); c += 4 * LANES)                                        \
            SUM(4, c, LANES);                                                                      \
        for (; c + 2 * LANES <= (channels); c += 2 * LANES)                                        \
            SUM(2, c, LANES);                                                                      \
        for (; c + LANES <= (channels); c += LANES)                                                \
            SUM(1, c, LANES);                                                                      \
        if (c < (channels))                                                                        \
            SUM(1, c, (channels)-c);                                                               \
    } while (0)

/* Two sums of a row, for each of some vectors of channels. */
struct two_sums {
    vector first[SUMS], second[SUMS];
};

INLINE void clear(struct two_sums *sums)
{
    UNROLL
    for (int i = 0; i < SUMS; i++)
        sums->first[i] = sums->second[i] = zero();
}

/* Sums of pixels beside each other have every `vectors`th place. */
INLINE void add_sums(const struct two_sums *sums, const int vectors, double *first, double *second,
                     const int n)
{
    UNROLL
    for (int v = 0; v < vectors; v++) {
        vector a = sums->first[v], b = sums->second[v];
        UNROLL
        for (int i = v + vectors; i < SUMS; i += vectors) {
            a = plus(a, sums->first[i]);
            b = plus(b, sums->second[i]);
        }
        add_row(first + v * LANES, a, n);
        add_row(second + v * LANES, b, n);
    }
}

/* ---- values ---- */

INLINE void sum_row(const int dtype, const int vectors, const struct stk__norm_sums *job, int row,
                    int c, const int n)
{
    const int64_t x = row * job->x.down + c;
    struct two_sums sums;
    clear(&sums);
    for (int p = 0; p < job->width; p += SUMS / vectors) {
        UNROLL
        for (int i = 0; i < SUMS; i++) {
            if (p + i / vectors >= job->width)
                break;
            const int v = i % vectors;
            vector value =
                get_from(dtype, &job->x, x + (p + i / vectors) * job->x.across + v * LANES, n);
            value = job->shift ? minus(value, get(job->shift + c + v * LANES, n)) : value;
            sums.first[i] = plus(sums.first[i], value);
            sums.second[i] = fuse(value, value, sums.second[i]);
        }
    }
    add_sums(&sums, vectors, job->sum + c, job->squares + c, n);
}

INLINE void sums_of(const int dtype, const struct stk__norm_sums *job)
{
    for (int row = 0; row < job->height; row++) {
#define SUM_ROW(vectors, c, n) sum_row(dtype, vectors, job, row, c, n)
        EACH_SUM(job->channels, SUM_ROW);
    }
}

static void sums(const struct stk__norm_sums *job)
{
    BY_DTYPE(&job->x, sums_of, job);
}

/* A row's pixels for some vectors of channels, whose coefficients stay in registers. */
INLINE void norm_row(const int dtype, const int vectors, const struct stk__norm_rows *job, int row,
                     int c, const int n)
{
    int64_t x = row * job->x.down + c, y = row * job->y.down + c;
    const vector low = spread(job->low), high = spread(job->high);
    vector scale[2], offset[2];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        scale[v] = get(job->scale + c + v * LANES, n);
        offset[v] = get(job->offset + c + v * LANES, n);
    }
    for (int p = 0; p < job->width; p++, x += job->x.across, y += job->y.across) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            vector value = fuse(scale[v], get_from(dtype, &job->x, x + v * LANES, n), offset[v]);
            put_to(&job->y, y + v * LANES, within(value, low, high), n);
        }
    }
}

INLINE void rows_of(const int dtype, const struct stk__norm_rows *job)
{
    for (int row = 0; row < job->height; row++) {
#define NORM_ROW(vectors, c, n) norm_row(dtype, vectors, job, row, c, n)
        EACH_ROW(job->channels, NORM_ROW);
    }
}

static void rows(const struct stk__norm_rows *job)
{
    BY_DTYPE(&job->x, rows_of, job);
}

/* ---- gradients ---- */

static bool has_values(const struct stk__read_map *map)
{
    return map->at || map->halves.at;
}

/* The part of dy that counts. */
INLINE vector counted(vector dy, vector y, vector low, vector high)
{
    return only(is_both(is_above(y, low), is_below(y, high)), dy);
}

INLINE void gradient_sum_row(const int dtype, const int vectors,
                             const struct stk__norm_gradient_sums *job, int row, int c, const int n)
{
    const int64_t x = row * job->x.down + c, dy = row * job->dy.down + c;
    const int64_t y = row * job->y.down + c;
    const bool is_masked = has_values(&job->y);
    const vector low = spread(job->low), high = spread(job->high);
    struct two_sums sums;
    clear(&sums);
    for (int p = 0; p < job->width; p += SUMS / vectors) {
        UNROLL
        for (int i = 0; i < SUMS; i++) {
            const int64_t at = p + i / vectors;
            const int v = i % vectors * LANES;
            if (at >= job->width)
                break;
            vector d = get_from(dtype, &job->dy, dy + at * job->dy.across + v, n);
            if (is_masked)
                d = counted(d, get_from(dtype, &job->y, y + at * job->y.across + v, n), low, high);
            const vector from_mean = minus(get_from(dtype, &job->x, x + at * job->x.across + v, n),
                                           get(job->mean + c + v, n));
            sums.first[i] = plus(sums.first[i], d);
            sums.second[i] = fuse(d, from_mean, sums.second[i]);
        }
    }
    add_sums(&sums, vectors, job->sum + c, job->products + c, n);
}

INLINE void gradient_sums_of(const int dtype, const struct stk__norm_gradient_sums *job)
{
    for (int row = 0; row < job->height; row++) {
#define GRADIENT_SUM_ROW(vectors, c, n) gradient_sum_row(dtype, vectors, job, row, c, n)
        EACH_SUM(job->channels, GRADIENT_SUM_ROW);
    }
}

static void gradient_sums(const struct stk__norm_gradient_sums *job)
{
    BY_DTYPE(&job->x, gradient_sums_of, job);
}

INLINE void gradient_row(const int dtype, const int vectors,
                         const struct stk__norm_gradient_rows *job, int row, int c, const int n)
{
    int64_t x = row * job->x.down + c, dx = row * job->dx.down + c;
    const int64_t dy = row * job->dy.down + c, y = row * job->y.down + c;
    const bool is_masked = has_values(&job->y);
    const vector low = spread(job->low), high = spread(job->high);
    vector scale[2], slope[2], mean[2], mean_dy[2];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        scale[v] = get(job->scale + c + v * LANES, n);
        slope[v] = get(job->slope + c + v * LANES, n);
        mean[v] = get(job->mean + c + v * LANES, n);
        mean_dy[v] = get(job->mean_dy + c + v * LANES, n);
    }
    for (int p = 0; p < job->width; p++, x += job->x.across, dx += job->dx.across) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            vector d = get_from(dtype, &job->dy, dy + p * job->dy.across + v * LANES, n);
            if (is_masked)
                d = counted(d, get_from(dtype, &job->y, y + p * job->y.across + v * LANES, n), low,
                            high);
            const vector from_mean = minus(get_from(dtype, &job->x, x + v * LANES, n), mean[v]);
            put_to(&job->dx, dx + v * LANES,
                   fuse(scale[v], minus(d, mean_dy[v]), times(slope[v], from_mean)), n);
        }
    }
}

INLINE void gradient_rows_of(const int dtype, const struct stk__norm_gradient_rows *job)
{
    for (int row = 0; row < job->height; row++) {
#define GRADIENT_ROW(vectors, c, n) gradient_row(dtype, vectors, job, row, c, n)
        EACH_ROW(job->channels, GRADIENT_ROW);
    }
}

static void gradient_rows(const struct stk__norm_gradient_rows *job)
{
    BY_DTYPE(&job->x, gradient_rows_of, job);
}
