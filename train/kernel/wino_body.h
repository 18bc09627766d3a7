/* SPDX-License-Identifier: Apache-2.0 */
/* wino_body.h: transforms of wino_kernel.h over `vector`, for any that a vector header defines. Each is done
 * twice, down the columns and along the rows, for LANES channels at a time.
 *
 *          1  ·  ·  ·          a²b²   ·   -a²-b²  ·    1  ·          1/a²b²    ·      ·
 *          1  a  a² a³          ·   -ab²    -b²   a    1  ·          1/p      a/p    a²/p    p = 2a²(a²-b²)
 *      A = 1 -a  a² -a³    Bᵀ = ·    ab²    -b²  -a    1  ·      G = 1/p     -a/p    a²/p
 *          1  b  b² b³          ·   -ba²    -a²   b    1  ·          1/q      b/q    b²/q    q = 2b²(b²-a²)
 *          1 -b  b² -b³         ·    ba²    -a²  -b    1  ·          1/q     -b/q    b²/q
 *          ·  ·  ·  1           ·   a²b²     ·  -a²-b² ·  1           ·        ·      1
 */
#include "train/kernel/wino_kernel.h"
#include "train/kernel/x86/channels.h"

#define POINT_A 0.75f
#define POINT_B 1.5f
#define A2 (POINT_A * POINT_A)
#define B2 (POINT_B * POINT_B)
#define A3 (A2 * POINT_A)
#define B3 (B2 * POINT_B)
#define PART_A (1 / (2 * A2 * (A2 - B2)))
#define PART_B (1 / (2 * B2 * (B2 - A2)))
#define PART_0 (1 / (A2 * B2))

/* Bᵀ d */
TILE void to_points(const vector *d, vector *out)
{
    const vector a2 = spread(A2), b2 = spread(B2), a2b2 = spread(A2 * B2), both = spread(A2 + B2);
    const vector a = spread(POINT_A), b = spread(POINT_B);
    vector even = fuse_negative(b2, d[2], d[4]), odd = fuse_negative(b2, d[1], d[3]);
    out[0] = fuse(a2b2, d[0], fuse_negative(both, d[2], d[4]));
    out[1] = fuse(a, odd, even);
    out[2] = fuse_negative(a, odd, even);
    even = fuse_negative(a2, d[2], d[4]), odd = fuse_negative(a2, d[1], d[3]);
    out[3] = fuse(b, odd, even);
    out[4] = fuse_negative(b, odd, even);
    out[5] = fuse(a2b2, d[1], fuse_negative(both, d[3], d[5]));
}

/* Aᵀ m */
TILE void from_points(const vector *m, vector *out)
{
    const vector a2 = spread(A2), b2 = spread(B2), a3 = spread(A3), b3 = spread(B3);
    const vector a = spread(POINT_A), b = spread(POINT_B);
    vector even_a = plus(m[1], m[2]), odd_a = minus(m[1], m[2]);
    vector even_b = plus(m[3], m[4]), odd_b = minus(m[3], m[4]);
    out[0] = plus(m[0], plus(even_a, even_b));
    out[1] = fuse(a, odd_a, times(b, odd_b));
    out[2] = fuse(a2, even_a, times(b2, even_b));
    out[3] = fuse(a3, odd_a, fuse(b3, odd_b, m[5]));
}

/* A dy */
TILE void gradient_to_points(const vector *y, vector *out)
{
    const vector a2 = spread(A2), b2 = spread(B2);
    const vector a = spread(POINT_A), b = spread(POINT_B);
    vector even = fuse(a2, y[2], y[0]), odd = fuse(a2, y[3], y[1]);
    out[0] = y[0];
    out[1] = fuse(a, odd, even);
    out[2] = fuse_negative(a, odd, even);
    even = fuse(b2, y[2], y[0]), odd = fuse(b2, y[3], y[1]);
    out[3] = fuse(b, odd, even);
    out[4] = fuse_negative(b, odd, even);
    out[5] = y[3];
}

/* G g */
TILE void weights_to_points(const vector *g, vector *out)
{
    const vector a2 = spread(A2), b2 = spread(B2), p = spread(PART_A), q = spread(PART_B);
    const vector a = spread(POINT_A), b = spread(POINT_B);
    vector even = fuse(a2, g[2], g[0]);
    out[0] = times(spread(PART_0), g[0]);
    out[1] = times(p, fuse(a, g[1], even));
    out[2] = times(p, fuse_negative(a, g[1], even));
    even = fuse(b2, g[2], g[0]);
    out[3] = times(q, fuse(b, g[1], even));
    out[4] = times(q, fuse_negative(b, g[1], even));
    out[5] = g[2];
}

/* Gᵀ m */
TILE void weights_from_points(const vector *m, vector *out)
{
    const vector p = spread(PART_A), q = spread(PART_B);
    vector even_a = times(p, plus(m[1], m[2])), odd_a = times(p, minus(m[1], m[2]));
    vector even_b = times(q, plus(m[3], m[4])), odd_b = times(q, minus(m[3], m[4]));
    out[0] = fuse(spread(PART_0), m[0], plus(even_a, even_b));
    out[1] = fuse(spread(POINT_A), odd_a, times(spread(POINT_B), odd_b));
    out[2] = fuse(spread(A2), even_a, fuse(spread(B2), even_b, m[5]));
}

/* Some values of size × size in rows, those that are not there 0, one way and then the other; n lanes. */
#define TAKE(name, size, points)                                                                   \
    TILE void name(const int dtype, const struct stk__wino_take *tile, int n_rows, int n_columns,  \
                   int c, int n)                                                                   \
    {                                                                                              \
        vector half[6][size];                                                                      \
        UNROLL for (int j = 0; j < (size); j++)                                                    \
        {                                                                                          \
            vector d[size], column[6];                                                             \
            UNROLL for (int i = 0; i < (size); i++) d[i] =                                         \
                i < n_rows && j < n_columns                                                        \
                    ? get_from(dtype, &tile->x, i * tile->x.down + j * tile->x.across + c, n)      \
                    : zero();                                                                      \
            points(d, column);                                                                     \
            UNROLL for (int i = 0; i < 6; i++) half[i][j] = column[i];                             \
        }                                                                                          \
        UNROLL for (int i = 0; i < 6; i++)                                                         \
        {                                                                                          \
            vector row[6];                                                                         \
            points(half[i], row);                                                                  \
            UNROLL for (int j = 0; j < 6; j++)                                                     \
                store(tile->planes + (6 * i + j) * tile->plane + c, row[j]);                       \
        }                                                                                          \
    }
TAKE(take_image_lanes, 6, to_points)
TAKE(take_gradient_lanes, 4, gradient_to_points)
TAKE(take_weights_lanes, 3, weights_to_points)

TILE void take_image_of(const int dtype, const struct stk__wino_take *tile)
{
    int c = 0;
    if (tile->n_rows == 6 && tile->n_columns == 6)
        for (; c + LANES <= tile->n; c += LANES)
            take_image_lanes(dtype, tile, 6, 6, c, LANES);
    for (; c < tile->n; c += LANES)
        take_image_lanes(dtype, tile, tile->n_rows, tile->n_columns, c, tile->n - c);
}

static void take_image(const struct stk__wino_take *tile)
{
    BY_DTYPE(&tile->x, take_image_of, tile);
}

TILE void add_up(const struct stk__wino_take *tile, int c, int n)
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
    if (tile->n_rows == 4 && tile->n_columns == 4)
        for (; c + LANES <= tile->n; c += LANES)
            take_gradient_lanes(STK_F32, tile, 4, 4, c, LANES);
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

/* The first half: size × 6 of a tile's planes. */
#define HALF(size, points)                                                                         \
    vector half[size][6];                                                                          \
    UNROLL for (int j = 0; j < 6; j++)                                                             \
    {                                                                                              \
        vector m[6], column[size];                                                                 \
        UNROLL for (int i = 0; i < 6; i++) m[i] =                                                  \
            load(tile->planes + (6 * i + j) * tile->plane + c);                                    \
        points(m, column);                                                                         \
        UNROLL for (int i = 0; i < (size); i++) half[i][j] = column[i];                            \
    }

TILE void give_output_lanes(const struct stk__wino_give *tile, int n_rows, int n_columns, int c,
                            int n)
{
    const vector bias = tile->bias ? get(tile->bias + c, n) : zero();
    const vector low = spread(tile->low), high = spread(tile->high);
    HALF(4, from_points)
    UNROLL for (int i = 0; i < 4; i++)
    {
        vector row[4];
        from_points(half[i], row);
        UNROLL for (int j = 0; j < 4; j++) if (i < n_rows && j < n_columns)
            put_to(&tile->y, i * tile->y.down + j * tile->y.across + c,
                   within(plus(row[j], bias), low, high), n);
    }
}

static void give_output(const struct stk__wino_give *tile)
{
    int c = 0;
    if (tile->n_rows == 4 && tile->n_columns == 4)
        for (; c + LANES <= tile->n; c += LANES)
            give_output_lanes(tile, 4, 4, c, LANES);
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
                                                      .take_image = take_image,
                                                      .take_gradient = take_gradient,
                                                      .take_weights = take_weights,
                                                      .give_output = give_output,
                                                      .give_weights = give_weights };
