/* SPDX-License-Identifier: Apache-2.0 */
/* wino_kernel.h: tiles of Winograd's convolution F(4×4, 3×3), channels innermost.
 *
 * An output tile of 4×4 pixels looks at 6×6. As polynomials, both ways, pixels and weights become
 * values at the points 0, ±3/4, ±3/2 and ∞, and a convolution becomes a product at each of the 36 pairs of
 * points, where there are 144 products otherwise. Products of all tiles at one pair of points are a
 * product of matrices, tiles × channels by channels × filters: a *plane* has what belongs to one pair.
 *
 *     image      d 6×6   ▸ Bᵀ d B     A, B, G for points 0, ±a, ±b, ∞ are in wino_body.h
 *     weights    g 3×3   ▸ G g Gᵀ
 *     output     Aᵀ m A  ▸ y 4×4      m = sums over channels of products
 *
 * and turned around for the gradient of weights:
 *
 *     gradient   dy 4×4  ▸ A dy Aᵀ    weights: Gᵀ m G, m = sums over tiles of products with Bᵀ d B
 *
 * These points were the most exact of those tried: results are within 2e-6 of the sum of the terms' sizes,
 * 6e-8 as the mean of squares (a direct sum: 3e-8; points 0, ±1, ±2, ∞: 1.5e-7).
 */
#pragma once
#include "train/kernel/map.h"

enum { STK__WINO_IN = 6, STK__WINO_OUT = 4, STK__WINO_PLANES = 36 };

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
    void (*take_image)(const struct stk__wino_take *tile);
    void (*take_gradient)(const struct stk__wino_take *tile);
    void (*take_weights)(const struct stk__wino_take *taps); /* 3×3, all there */
    void (*give_output)(const struct stk__wino_give *tile);
    void (*give_weights)(const struct stk__wino_give *taps); /* 3×3, all wanted, no bounds */
};

void stk__wino_fill_scalar(struct stk__wino_kernels *kernels);
void stk__wino_fill_avx2(struct stk__wino_kernels *kernels);
void stk__wino_fill_avx512(struct stk__wino_kernels *kernels);
