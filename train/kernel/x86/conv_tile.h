/* SPDX-License-Identifier: Apache-2.0 */
/* conv_tile.h: convolutions by tiles that stay in registers, behind a vector header and MOST, the rows of the
 * largest tile (pixels, or weights).
 *
 * A tile is up to MOST rows by two vectors, its sums in registers. Each value is spread to a vector
 * once for both. Sizes are constants when the functions are compiled, and one of them is called by
 * its number.
 */
#include "train/kernel/x86/channels.h"

enum { BLOCK = 2 * LANES };

/* DO(row) for the rows of a tile of n: written out, because sums in an array stay in registers only
 * where each has a number that is a constant. */
#define EACH(DO)                                                                                   \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13)

/* ---- values ---- */

struct pixels {
    const float *place;
    int64_t across;
    int64_t y, y_across; /* from where values of the job begin */
};

/* One value of each pixel, which are `a` apart, by a block of weights. Products of small numbers and
 * `a` are made of few, so that addresses need few registers. */
#define ADD(row, offset)                                                                           \
    if (n > (row)) {                                                                               \
        vector value = spread(x[offset]);                                                          \
        sum[row][0] = fuse(value, left, sum[row][0]);                                              \
        sum[row][1] = fuse(value, right, sum[row][1]);                                             \
    }

INLINE void add_pieces(const int n, const struct stk__patch *patch, const struct pixels *pixels,
                       const float *weights, vector (*sum)[2])
{
    const int64_t a = pixels->across, a3 = 3 * a, a5 = 5 * a, a7 = 7 * a, a9 = 9 * a, a11 = 11 * a,
                  a13 = 13 * a;
    for (int k = 0; k < patch->n_pieces; k++) {
        const float *x = pixels->place + patch->at[k];
        for (int i = 0; i < patch->piece; i++, x++, weights += BLOCK) {
            const vector left = load(weights), right = load(weights + LANES);
            ADD(0, 0)
            ADD(1, a)
            ADD(2, 2 * a)
            ADD(3, a3)
            ADD(4, 4 * a)
            ADD(5, a5)
            ADD(6, 2 * a3)
            ADD(7, a7)
            ADD(8, 8 * a)
            ADD(9, a9)
            ADD(10, 2 * a5)
            ADD(11, a11)
            ADD(12, 4 * a3)
            ADD(13, a13)
        }
    }
}

INLINE vector begin(const float *bias, int n)
{
    return n <= 0 || !bias ? zero() : n >= LANES ? load(bias) : load_some(bias, n);
}

INLINE void end(vector value, const struct stk__conv_rows *job, int64_t y, int n)
{
    value = within(value, spread(job->low), spread(job->high));
    if (n <= 0)
        return;
    if (job->y_halves.at)
        store_halves(job->y_halves.dtype, job->y_halves.at + y, value, n);
    else
        put(job->y + y, value, n);
}

/* `first`: of the block's filters. */
INLINE void tile(const int n, const struct stk__conv_rows *job, int first,
                 const struct pixels *pixels)
{
    int left = job->filters - first;
    size_t terms = (size_t)job->patch->n_pieces * (size_t)job->patch->piece;
    const float *bias = job->bias ? job->bias + first : NULL;
    vector sum[14][2];
    const vector low = begin(bias, left), high = begin(bias ? bias + LANES : NULL, left - LANES);
#define BEGIN(row)                                                                                 \
    if (n > (row)) {                                                                               \
        sum[row][0] = low;                                                                         \
        sum[row][1] = high;                                                                        \
    }
    EACH(BEGIN)
    add_pieces(n, job->patch, pixels, job->weights + (size_t)first * terms, sum);
#define END(row)                                                                                   \
    if (n > (row)) {                                                                               \
        int64_t y = pixels->y + (row)*pixels->y_across + first;                                    \
        end(sum[row][0], job, y, left);                                                            \
        end(sum[row][1], job, y + LANES, left - LANES);                                            \
    }
    EACH(END)
}

typedef void tile_fn(const struct stk__conv_rows *job, int first, const struct pixels *pixels);
#define TILE_OF(n)                                                                                 \
    static void tile_##n(const struct stk__conv_rows *job, int first, const struct pixels *pixels) \
    {                                                                                              \
        tile(n, job, first, pixels);                                                               \
    }

/* ---- gradients of weights ---- */

/* Some weights of a piece by a block of filters, over all pixels of some rows. */
INLINE void gather(const int n, const struct stk__conv_gradient *job, const float *place,
                   const float *dy, int filters, float *weights)
{
    vector sum[14][2];
#define LOAD(row)                                                                                  \
    if (n > (row)) {                                                                               \
        sum[row][0] = load(weights + (row)*BLOCK);                                                 \
        sum[row][1] = load(weights + (row)*BLOCK + LANES);                                         \
    }
    EACH(LOAD)
    for (int row = 0; row < job->height; row++) {
        const float *x = place + row * job->patch->down, *d = dy + row * job->dy_down;
        for (int p = 0; p < job->width; p++, x += job->patch->across, d += job->dy_across) {
            const vector left = filters >= LANES ? load(d) : load_some(d, filters);
            const vector right = filters >= BLOCK  ? load(d + LANES)
                                 : filters > LANES ? load_some(d + LANES, filters - LANES)
                                                   : zero();
#define ADD_SAME(row) ADD(row, row)
            EACH(ADD_SAME)
        }
    }
#define STORE(row)                                                                                 \
    if (n > (row)) {                                                                               \
        store(weights + (row)*BLOCK, sum[row][0]);                                                 \
        store(weights + (row)*BLOCK + LANES, sum[row][1]);                                         \
    }
    EACH(STORE)
}

typedef void gather_fn(const struct stk__conv_gradient *job, const float *x, const float *dy,
                       int filters, float *weights);
#define GATHER_OF(n)                                                                               \
    static void gather_##n(const struct stk__conv_gradient *job, const float *x, const float *dy,  \
                           int filters, float *weights)                                            \
    {                                                                                              \
        if (filters >= BLOCK) /* what most layers have: no test per pixel */                       \
            gather(n, job, x, dy, BLOCK, weights);                                                 \
        else                                                                                       \
            gather(n, job, x, dy, filters, weights);                                               \
    }
