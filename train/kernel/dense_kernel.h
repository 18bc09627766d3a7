/* SPDX-License-Identifier: Apache-2.0 */
/* dense_kernel.h: dense layers for a batch of n rows, k inputs and m outputs; weights are [k][m].
 *
 * The inputs can be cut into ranges, each with its columns of x and its rows of weights:
 *
 *     values       a thread adds up its range into a part of its own, and `join` adds the parts up
 *     gradients    those of a range are its alone
 *
 * So large weights are read once, a few rows at a time, and while they are in cache everything can be
 * done with them: the gradient of x, that of the weights into a small tile, and the optimizer's step on
 * the span that the tile is for.
 *
 * Versions agree within 1e-5 of the sum of the terms' sizes; they may contract. What a value is does not
 * depend on the other rows of its batch.
 */
#pragma once
#include "train/kernel/map.h"

#include <stdbool.h>

/* Of rows, or of outputs, at most, where x or dx is in half precision. */
enum { STK__DENSE_HALF_ROWS = 64, STK__DENSE_HALF_OUTPUTS = 128 };

/* y = x · weights + bias, kept within low and high. */
struct stk__dense_rows {
    const float *x;                   /* [n][k], x_down apart */
    struct stk__read_halves x_halves; /* instead of x */
    int64_t x_down;
    const float *weights; /* [k][m] */
    const float *bias;    /* [m], or NULL */
    float *y;             /* [n][m], y_down apart */
    int64_t y_down;
    int n, k, m;
    float low, high;
};

/* y = Σ parts + bias, kept within low and high, added in order. */
struct stk__dense_parts {
    const float *part; /* [n_parts][n * m], part_down apart */
    int64_t part_down;
    int n_parts;
    const float *bias;
    float *y; /* [n][m]; not a part */
    int64_t y_down;
    int n, m;
    float low, high;
};

/* dx = dy · weightsᵀ */
struct stk__dense_image {
    const float *dy; /* [n][m], dy_down apart */
    int64_t dy_down;
    const float *weights;
    float *dx;                          /* [n][k], dx_down apart */
    struct stk__write_halves dx_halves; /* instead of dx: m up to STK__DENSE_HALF_OUTPUTS */
    int64_t dx_down;
    int n, k, m;
};

/* weights = xᵀ · dy, or added to what they are. */
struct stk__dense_gradient {
    const float *x;
    struct stk__read_halves x_halves; /* instead of x: n up to STK__DENSE_HALF_ROWS */
    int64_t x_down;
    const float *dy;
    int64_t dy_down;
    float *weights;
    int n, k, m;
    bool adds;
};

struct stk__dense_kernels {
    void (*rows)(const struct stk__dense_rows *job);
    void (*join)(const struct stk__dense_parts *job);
    void (*image)(const struct stk__dense_image *job);
    void (*gradient)(const struct stk__dense_gradient *job);
};

void stk__dense_fill_scalar(struct stk__dense_kernels *kernels);
void stk__dense_fill_avx2(struct stk__dense_kernels *kernels);
void stk__dense_fill_avx512(struct stk__dense_kernels *kernels);
