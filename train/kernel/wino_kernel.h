/* SPDX-License-Identifier: Apache-2.0 */
/* wino_kernel.h: tiles of Winograd's convolutions F(4×4, 3×3) and F(6×6, 3×3), channels innermost.
 *
 * An output tile of 4×4 pixels looks at 6×6. As polynomials, both ways, pixels and weights become
 * values at six points, and a convolution becomes a product at each of the 36 pairs of
 * points, where there are 144 products otherwise. Products of all tiles at one pair of points are a
 * product of matrices, tiles × channels by channels × filters: a *plane* has what belongs to one pair.
 * Tiles of 6×6 look at 8×8: 64 products where there are 324 otherwise, at points that lose more digits.
 *
 *     image      d 6×6   ▸ Bᵀ d B     A, B, G are in wino_body.h, points in wino_points_4.h and wino_points_6.h
 *     weights    g 3×3   ▸ G g Gᵀ
 *     output     Aᵀ m A  ▸ y 4×4      m = sums over channels of products
 *
 * and turned around for the gradient of weights:
 *
 *     gradient   dy 4×4  ▸ A dy Aᵀ    weights: Gᵀ m G, m = sums over tiles of products with Bᵀ d B
 */
#pragma once
#include "train/kernel/map.h"

/* One tile, or the taps of some filters, and its place in planes. */
struct stk__wino_take {
    struct stk__read_map x;
    int n_rows, n_columns; /* that are there; the others are 0 */
    int n;                 /* channels; planes have room for them up to whole vectors */
    float *planes;
    int64_t plane; /* floats to the next */
    float *sums;   /* of a gradient: [n], what is there is added; or NULL */
};

struct stk__wino_give {
    const float *planes;
    int64_t plane;
    struct stk__write_map y;
    int n_rows, n_columns; /* that are wanted */
    int n;
    const float *bias; /* [n], or NULL */
    float low, high;
};

struct stk__wino_kernels {
    int lanes;
    int in, out; /* sides of what a tile looks at and of what it gives; there are in × in planes */
    void (*take_image)(const struct stk__wino_take *tile);
    void (*take_gradient)(const struct stk__wino_take *tile);
    void (*take_weights)(const struct stk__wino_take *taps); /* 3×3, all there */
    void (*give_output)(const struct stk__wino_give *tile);
    void (*give_weights)(const struct stk__wino_give *taps); /* 3×3, all wanted, no bounds */
};

void stk__wino_4_fill_scalar(struct stk__wino_kernels *kernels);
void stk__wino_4_fill_avx2(struct stk__wino_kernels *kernels);
void stk__wino_4_fill_avx512(struct stk__wino_kernels *kernels);
void stk__wino_6_fill_scalar(struct stk__wino_kernels *kernels);
void stk__wino_6_fill_avx2(struct stk__wino_kernels *kernels);
void stk__wino_6_fill_avx512(struct stk__wino_kernels *kernels);
