/* SPDX-License-Identifier: Apache-2.0 */
/* wino_body.h: transforms of wino_kernel.h over `vector`, for any that a vector header defines, and for the points
 * 0, ±p of each pair, ∞ that a header of points has. Each is done twice, down the columns and along the rows, for
 * LANES channels at a time. With two pairs, a and b:
 *
 *          1  ·  ·  ·          a²b²   ·   -a²-b²  ·    1  ·          1/a²b²    ·      ·
 *          1  a  a² a³          ·   -ab²    -b²   a    1  ·          1/u      a/u    a²/u    u = 2a²(a²-b²)
 *      A = 1 -a  a² -a³    Bᵀ = ·    ab²    -b²  -a    1  ·      G = 1/u     -a/u    a²/u
 *          1  b  b² b³          ·   -ba²    -a²   b    1  ·          1/v      b/v    b²/v    v = 2b²(b²-a²)
 *          1 -b  b² -b³         ·    ba²    -a²  -b    1  ·          1/v     -b/v    b²/v
 *          ·  ·  ·  1           ·   a²b²     ·  -a²-b² ·  1           ·        ·      1
 *
 * The first row of B and the last are the product of all x² - p², a pair's that of the others times x (x ± p).
 */
#include "train/kernel/wino_kernel.h"
#include "train/kernel/x86/channels.h"

enum { IN = 2 * PAIRS + 2, OUT = IN - 2, PLANES = IN * IN };

/* The sum of factors by every second value; the last factor is 1. */
INLINE vector add_every_second(const float *factor, const int n, const vector *from)
{
    vector sum = from[2 * (n - 1)];
    UNROLL for (int i = n - 2; i >= 0; i--) sum = fuse(spread(factor[i]), from[2 * i], sum);
    return sum;
}

/* Bᵀ d */
INLINE void to_points(const vector *d, vector *out)
{
    out[0] = add_every_second(all_squares, PAIRS + 1, d);
    out[IN - 1] = add_every_second(all_squares, PAIRS + 1, d + 1);
    UNROLL for (int i = 0; i < PAIRS; i++)
    {
        vector even = add_every_second(other_squares[i], PAIRS, d + 2);
        vector odd = add_every_second(other_squares[i], PAIRS, d + 1);
        out[1 + 2 * i] = fuse(spread(power[i][1]), odd, even);
        out[2 + 2 * i] = fuse_negative(spread(power[i][1]), odd, even);
    }
}

/* Sums and differences of the values at a pair of points. */
INLINE void fold_pairs(const vector *m, vector *even, vector *odd)
{
    UNROLL for (int i = 0; i < PAIRS; i++)
    {
        even[i] = plus(m[1 + 2 * i], m[2 + 2 * i]);
        odd[i] = minus(m[1 + 2 * i], m[2 + 2 * i]);
    }
}

/* The sum of pairs by a power of their points, the others added to `last`. */
INLINE vector add_pairs(const vector *pair, const int k, vector last)
{
    UNROLL for (int i = PAIRS - 2; i >= 0; i--) last = fuse(spread(power[i][k]), pair[i], last);
    return last;
}

/* Aᵀ m */
INLINE void from_points(const vector *m, vector *out)
{
    enum { LAST = PAIRS - 1 };
    vector even[PAIRS], odd[PAIRS];
    fold_pairs(m, even, odd);
    out[0] = even[LAST];
    UNROLL for (int i = LAST - 1; i >= 0; i--) out[0] = plus(even[i], out[0]);
    out[0] = plus(m[0], out[0]);
    UNROLL for (int k = 1; k < OUT - 1; k++)
    {
        const vector *pair = k % 2 ? odd : even;
        out[k] = add_pairs(pair, k, times(spread(power[LAST][k]), pair[LAST]));
    }
    out[OUT - 1] =
        add_pairs(odd, OUT - 1, fuse(spread(power[LAST][OUT - 1]), odd[LAST], m[IN - 1]));
}

/* A dy */
INLINE void gradient_to_points(const vector *y, vector *out)
{
    out[0] = y[0];
    out[IN - 1] = y[OUT - 1];
    UNROLL for (int i = 0; i < PAIRS; i++)
    {
        vector even = y[0], odd = y[1];
        UNROLL for (int k = 2; k < OUT; k += 2)
        {
            even = fuse(spread(power[i][k]), y[k], even);
            odd = fuse(spread(power[i][k]), y[k + 1], odd);
        }
        out[1 + 2 * i] = fuse(spread(power[i][1]), odd, even);
        out[2 + 2 * i] = fuse_negative(spread(power[i][1]), odd, even);
    }
}

/* G g */
INLINE void weights_to_points(const vector *g, vector *out)
{
    out[0] = times(spread(part_zero), g[0]);
    out[IN - 1] = g[2];
    UNROLL for (int i = 0; i < PAIRS; i++)
    {
        vector even = fuse(spread(power[i][2]), g[2], g[0]);
        out[1 + 2 * i] = times(spread(part_of[i]), fuse(spread(power[i][1]), g[1], even));
        out[2 + 2 * i] = times(spread(part_of[i]), fuse_negative(spread(power[i][1]), g[1], even));
    }
}

/* Gᵀ m */
INLINE void weights_from_points(const vector *m, vector *out)
{
    enum { LAST = PAIRS - 1 };
    vector even[PAIRS], odd[PAIRS];
    fold_pairs(m, even, odd);
    UNROLL for (int i = 0; i < PAIRS; i++)
    {
        even[i] = times(spread(part_of[i]), even[i]);
        odd[i] = times(spread(part_of[i]), odd[i]);
    }
    out[0] = even[LAST];
    UNROLL for (int i = LAST - 1; i >= 0; i--) out[0] = plus(even[i], out[0]);
    out[0] = fuse(spread(part_zero), m[0], out[0]);
    out[1] = add_pairs(odd, 1, times(spread(power[LAST][1]), odd[LAST]));
    out[2] = add_pairs(even, 2, fuse(spread(power[LAST][2]), even[LAST], m[IN - 1]));
}

/* Some values of size × size in rows, those that are not there 0, one way and then the other; n lanes. */
#define TAKE(name, size, points)                                                                   \
    INLINE void name(const int dtype, const struct stk__wino_take *tile, int n_rows,               \
                     int n_columns, int c, int n)                                                  \
    {                                                                                              \
        vector half[IN][size];                                                                     \
        UNROLL for (int j = 0; j < (size); j++)                                                    \
        {                                                                                          \
            vector d[size], column[IN];                                                            \
            UNROLL for (int i = 0; i < (size); i++) d[i] =                                         \
                i < n_rows && j < n_columns                                                        \
                    ? get_from(dtype, &tile->x, i * tile->x.down + j * tile->x.across + c, n)      \
                    : zero();                                                                      \
            points(d, column);                                                                     \
            UNROLL for (int i = 0; i < IN; i++) half[i][j] = column[i];                            \
        }                                                                                          \
        UNROLL for (int i = 0; i < IN; i++)                                                        \
        {                                                                                          \
            vector row[IN];                                                                        \
            points(half[i], row);                                                                  \
            UNROLL for (int j = 0; j < IN; j++)                                                    \
                store(tile->planes + (IN * i + j) * tile->plane + c, row[j]);                      \
        }                                                                                          \
    }
TAKE(take_image_lanes, IN, to_points)
TAKE(take_gradient_lanes, OUT, gradient_to_points)
TAKE(take_weights_lanes, 3, weights_to_points)

INLINE void take_image_of(const int dtype, const struct stk__wino_take *tile)
{
    int c = 0;
    if (tile->n_rows == IN && tile->n_columns == IN)
        for (; c + LANES <= tile->n; c += LANES)
            take_image_lanes(dtype, tile, IN, IN, c, LANES);
    for (; c < tile->n; c += LANES)
        take_image_lanes(dtype, tile, tile->n_rows, tile->n_columns, c, tile->n - c);
}

static void take_image(const struct stk__wino_take *tile)
{
    BY_DTYPE(&tile->x, take_image_of, tile);
}

INLINE void add_up(const struct stk__wino_take *tile, int c, int n)
{
    vector sum = get(tile->sums + c, n);
    for (int i = 0; i < tile->n_rows; i++)
        for (int j = 0; j < tile->n_columns; j++)
            sum = plus(sum, get(tile->x.at + i * tile->x.down + j * tile->x.across + c, n));
    put(tile->sums + c, sum, n);
}

static void take_gradient(const struct stk__wino_take *tile)
{
    int c = 0;
    if (tile->n_rows == OUT && tile->n_columns == OUT)
        for (; c + LANES <= tile->n; c += LANES)
            take_gradient_lanes(STK_F32, tile, OUT, OUT, c, LANES);
    for (; c < tile->n; c += LANES)
        take_gradient_lanes(STK_F32, tile, tile->n_rows, tile->n_columns, c, tile->n - c);
    for (c = 0; tile->sums && c < tile->n; c += LANES)
        add_up(tile, c, tile->n - c);
}

static void take_weights(const struct stk__wino_take *taps)
{
    for (int c = 0; c < taps->n; c += LANES)
        take_weights_lanes(STK_F32, taps, 3, 3, c, taps->n - c);
}

/* The first half: size × IN of a tile's planes. */
#define HALF(size, points)                                                                         \
    vector half[size][IN];                                                                         \
    UNROLL for (int j = 0; j < IN; j++)                                                            \
    {                                                                                              \
        vector m[IN], column[size];                                                                \
        UNROLL for (int i = 0; i < IN; i++) m[i] =                                                 \
            load(tile->planes + (IN * i + j) * tile->plane + c);                                   \
        points(m, column);                                                                         \
        UNROLL for (int i = 0; i < (size); i++) half[i][j] = column[i];                            \
    }

INLINE void give_output_lanes(const struct stk__wino_give *tile, int n_rows, int n_columns, int c,
                              int n)
{
    const vector bias = tile->bias ? get(tile->bias + c, n) : zero();
    const vector low = spread(tile->low), high = spread(tile->high);
    HALF(OUT, from_points)
    UNROLL for (int i = 0; i < OUT; i++)
    {
        vector row[OUT];
        from_points(half[i], row);
        UNROLL for (int j = 0; j < OUT; j++) if (i < n_rows && j < n_columns)
            put_to(&tile->y, i * tile->y.down + j * tile->y.across + c,
                   within(plus(row[j], bias), low, high), n);
    }
}

static void give_output(const struct stk__wino_give *tile)
{
    int c = 0;
    if (tile->n_rows == OUT && tile->n_columns == OUT)
        for (; c + LANES <= tile->n; c += LANES)
            give_output_lanes(tile, OUT, OUT, c, LANES);
    for (; c < tile->n; c += LANES)
        give_output_lanes(tile, tile->n_rows, tile->n_columns, c, tile->n - c);
}

static void give_weights(const struct stk__wino_give *tile)
{
    for (int c = 0; c < tile->n; c += LANES) {
        HALF(3, weights_from_points)
        UNROLL for (int i = 0; i < 3; i++)
        {
            vector row[3];
            weights_from_points(half[i], row);
            UNROLL for (int j = 0; j < 3; j++)
                put_to(&tile->y, i * tile->y.down + j * tile->y.across + c, row[j], tile->n - c);
        }
    }
}

static const struct stk__wino_kernels own_kernels = { .lanes = LANES,
                                                      .in = IN,
                                                      .out = OUT,
                                                      .take_image = take_image,
                                                      .take_gradient = take_gradient,
                                                      .take_weights = take_weights,
                                                      .give_output = give_output,
                                                      .give_weights = give_weights };
