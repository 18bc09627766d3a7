/* SPDX-License-Identifier: Apache-2.0 */
/* norm_body.h: batch normalisation, behind a vector header. A vector is channels of one pixel. Sums go
 * along a row for some vectors of channels, or for some pixels at a time where channels are few, so
 * that enough additions are under way.
 */
#include "train/kernel/norm_kernel.h"
#include "train/kernel/x86/channels.h"

#include <stdbool.h>

enum { SUMS = 4 }; /* vectors times pixels */

TILE void add_row(double *to, vector sum, int n)
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

TILE void clear(struct two_sums *sums)
{
    UNROLL
    for (int i = 0; i < SUMS; i++)
        sums->first[i] = sums->second[i] = zero();
}

/* Sums of pixels beside each other have every `vectors`th place. */
TILE void add_sums(const struct two_sums *sums, const int vectors, double *first, double *second,
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

TILE void sum_row(const int vectors, const struct stk__norm_sums *job, int row, int c, const int n)
{
    const float *x = job->x.at + row * job->x.down + c;
    struct two_sums sums;
    clear(&sums);
    for (int p = 0; p < job->width; p += SUMS / vectors) {
        UNROLL
        for (int i = 0; i < SUMS; i++) {
            if (p + i / vectors >= job->width)
                break;
            const int v = i % vectors;
            vector value = get(x + (p + i / vectors) * job->x.across + v * LANES, n);
            value = job->shift ? minus(value, get(job->shift + c + v * LANES, n)) : value;
            sums.first[i] = plus(sums.first[i], value);
            sums.second[i] = fuse(value, value, sums.second[i]);
        }
    }
    add_sums(&sums, vectors, job->sum + c, job->squares + c, n);
}

static void sums(const struct stk__norm_sums *job)
{
    for (int row = 0; row < job->height; row++) {
#define SUM_ROW(vectors, c, n) sum_row(vectors, job, row, c, n)
        EACH_SUM(job->channels, SUM_ROW);
    }
}

/* A row's pixels for some vectors of channels, whose coefficients stay in registers. */
TILE void norm_row(const int vectors, const struct stk__norm_rows *job, int row, int c, const int n)
{
    const float *x = job->x.at + row * job->x.down + c;
    const float *more = job->more.at ? job->more.at + row * job->more.down + c : NULL;
    float *y = job->y.at + row * job->y.down + c;
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
            vector value = fuse(scale[v], get(x + v * LANES, n), offset[v]);
            if (more)
                value = plus(value, get(more + p * job->more.across + v * LANES, n));
            put(y + v * LANES, within(value, low, high), n);
        }
    }
}

static void rows(const struct stk__norm_rows *job)
{
    for (int row = 0; row < job->height; row++) {
#define NORM_ROW(vectors, c, n) norm_row(vectors, job, row, c, n)
        EACH_ROW(job->channels, NORM_ROW);
    }
}

/* ---- gradients ---- */

/* The part of dy that counts. */
TILE vector counted(vector dy, const float *y, vector low, vector high, const int n)
{
    const vector value = get(y, n);
    return only(is_both(is_above(value, low), is_below(value, high)), dy);
}

TILE void gradient_sum_row(const int vectors, const struct stk__norm_gradient_sums *job, int row,
                           int c, const int n)
{
    const float *x = job->x.at + row * job->x.down + c;
    const float *dy = job->dy.at + row * job->dy.down + c;
    const float *y = job->y.at ? job->y.at + row * job->y.down + c : NULL;
    float *kept = job->kept.at ? job->kept.at + row * job->kept.down + c : NULL;
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
            vector d = get(dy + at * job->dy.across + v, n);
            if (y)
                d = counted(d, y + at * job->y.across + v, low, high, n);
            if (kept)
                put(kept + at * job->kept.across + v, d, n);
            const vector from_mean =
                minus(get(x + at * job->x.across + v, n), get(job->mean + c + v, n));
            sums.first[i] = plus(sums.first[i], d);
            sums.second[i] = fuse(d, from_mean, sums.second[i]);
        }
    }
    add_sums(&sums, vectors, job->sum + c, job->products + c, n);
}

static void gradient_sums(const struct stk__norm_gradient_sums *job)
{
    for (int row = 0; row < job->height; row++) {
#define GRADIENT_SUM_ROW(vectors, c, n) gradient_sum_row(vectors, job, row, c, n)
        EACH_SUM(job->channels, GRADIENT_SUM_ROW);
    }
}

TILE void gradient_row(const int vectors, const struct stk__norm_gradient_rows *job, int row, int c,
                       const int n)
{
    const float *x = job->x.at + row * job->x.down + c;
    const float *dy = job->dy.at + row * job->dy.down + c;
    const float *y = job->y.at ? job->y.at + row * job->y.down + c : NULL;
    float *dx = job->dx.at + row * job->dx.down + c;
    const vector low = spread(job->low), high = spread(job->high);
    vector scale[2], slope[2], mean[2], level[2];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        scale[v] = get(job->scale + c + v * LANES, n);
        slope[v] = get(job->slope + c + v * LANES, n);
        mean[v] = get(job->mean + c + v * LANES, n);
        level[v] = get(job->level + c + v * LANES, n);
    }
    for (int p = 0; p < job->width; p++, x += job->x.across, dx += job->dx.across) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            vector d = get(dy + p * job->dy.across + v * LANES, n);
            if (y)
                d = counted(d, y + p * job->y.across + v * LANES, low, high, n);
            const vector from_mean = minus(get(x + v * LANES, n), mean[v]);
            put(dx + v * LANES, fuse(slope[v], from_mean, fuse(scale[v], d, level[v])), n);
        }
    }
}

static void gradient_rows(const struct stk__norm_gradient_rows *job)
{
    for (int row = 0; row < job->height; row++) {
#define GRADIENT_ROW(vectors, c, n) gradient_row(vectors, job, row, c, n)
        EACH_ROW(job->channels, GRADIENT_ROW);
    }
}
