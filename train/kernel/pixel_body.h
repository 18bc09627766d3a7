/* SPDX-License-Identifier: Apache-2.0 */
/* pixel_body.h: small loops over pixels, behind a vector header. */
#include "train/kernel/pixel_kernel.h"
#include "train/kernel/x86/channels.h"

#include <stdbool.h>

enum { SUMS = 4, MOST_SMALL = 16 };

/* A row's pixels for a vector of channels, in several sums. */
INLINE void sum_row(const struct stk__pixel_sums *job, int row, int c, const int n)
{
    const float *x = job->x.at + row * job->x.down + c;
    vector sum[SUMS] = { zero(), zero(), zero(), zero() };
    int p = 0;
    for (; p + SUMS <= job->width; p += SUMS) {
        UNROLL
        for (int i = 0; i < SUMS; i++)
            sum[i] = plus(sum[i], get(x + (p + i) * job->x.across, n));
    }
    for (; p < job->width; p++)
        sum[0] = plus(sum[0], get(x + p * job->x.across, n));
    sum[0] = plus(plus(sum[0], sum[1]), plus(sum[2], sum[3]));
    put(job->sum + c, plus(get(job->sum + c, n), sum[0]), n);
}

static void sums(const struct stk__pixel_sums *job)
{
    for (int row = 0; row < job->height; row++) {
#define SUM_ROW(c, n) sum_row(job, row, c, n)
        EACH_CHANNELS(job->channels, SUM_ROW);
    }
}

static void spread_pixel(const struct stk__pixel_spread *job, float *y)
{
#define SPREAD(c, n) put(y + (c), times(get(job->value + (c), n), spread(job->factor)), n)
    EACH_CHANNELS(job->channels, SPREAD);
}

static void spread_rows(const struct stk__pixel_spread *job)
{
    for (int row = 0; row < job->height; row++)
        for (int p = 0; p < job->width; p++)
            spread_pixel(job, job->y.at + row * job->y.down + p * job->y.across);
}

/* ---- bytes ---- */

/* Of a vector's values, which are channels c, c + 1 and so on around. */
struct factors {
    vector scale[MOST_SMALL], offset[MOST_SMALL];
};

static void make_factors(const struct stk__pixel_bytes *job, struct factors *factors)
{
    for (int v = 0; v < job->channels; v++) {
        float scale[LANES], offset[LANES];
        for (int i = 0; i < LANES; i++) {
            scale[i] = job->scale[(v * LANES + i) % job->channels];
            offset[i] = job->offset[(v * LANES + i) % job->channels];
        }
        factors->scale[v] = load(scale);
        factors->offset[v] = load(offset);
    }
}

/* Values of a row as they lie: after `channels` vectors the channels are those of the first. */
static void small_row(const struct factors *factors, const uint8_t *x, int values, int channels,
                      float *y)
{
    int v = 0, i = 0;
    for (; i + LANES <= values; i += LANES, v = v + 1 < channels ? v + 1 : 0)
        store(y + i, fuse(load_bytes(x + i, LANES), factors->scale[v], factors->offset[v]));
    if (i < values)
        store_some(y + i,
                   fuse(load_bytes(x + i, values - i), factors->scale[v], factors->offset[v]),
                   values - i);
}

static void large_row(const struct stk__pixel_bytes *job, const uint8_t *x, float *y)
{
    for (int p = 0; p < job->width; p++, x += job->channels, y += job->channels) {
#define BYTES(c, n)                                                                                \
    put(y + (c),                                                                                   \
        fuse(load_bytes(x + (c), n), get(job->scale + (c), n), get(job->offset + (c), n)), n)
        EACH_CHANNELS(job->channels, BYTES);
    }
}

static void from_bytes(const struct stk__pixel_bytes *job)
{
    struct factors factors;
    const bool is_small = job->channels <= MOST_SMALL;
    if (is_small)
        make_factors(job, &factors);
    for (int row = 0; row < job->height; row++) {
        const uint8_t *x = job->x + row * job->x_down;
        float *y = job->y.at + row * job->y.down;
        if (is_small)
            small_row(&factors, x, job->width * job->channels, job->channels, y);
        else
            large_row(job, x, y);
    }
}

static void add(const float *x, size_t n, float *y)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store(y + i, plus(load(y + i), load(x + i)));
    if (i < n)
        store_some(y + i, plus(load_some(y + i, (int)(n - i)), load_some(x + i, (int)(n - i))),
                   (int)(n - i));
}
