/* SPDX-License-Identifier: Apache-2.0 */
/* pool_kernel.h: pools, rows of one image at a time.
 *
 * A maximum is kept with one byte: the cell of its window that was the largest, row * width + column,
 * the first of equals. So the gradient of a pool's input is rebuilt from the output's gradient and
 * bytes alone. What is below `low` or above `high` (ReLU) goes in between: a maximum there has the
 * byte STK__NO_CELL, and no cell gets its gradient. Cells of the padding count for nothing; each
 * window has one cell at least that is none.
 *
 * Maxima and bytes are the same in all versions, unless a value is NaN; where windows do not overlap
 * gradients are, too. Other sums agree within 1e-5 of the sum of the terms' sizes.
 */
#pragma once
#include "train/kernel/map.h"

enum { STK__NO_CELL = 255 }; /* windows have up to 255 cells */

struct stk__pooling {
    int height, width, stride_y, stride_x; /* of windows */
    int pad_top, pad_left;
    int in_height, in_width, out_height, out_width, channels;
};

/* Rows `first` and on of the output. */
struct stk__maxpool_rows {
    const struct stk__pooling *pool;
    int first, n_rows;
    struct stk__read_map x; /* from the input's row x_row on: those the windows need */
    int x_row;
    struct stk__write_map y;
    uint8_t *cells;     /* [out_width * channels] of the first row; NULL: not wanted */
    int64_t cells_down; /* bytes from a row to the next */
    float low, high;    /* maxima are kept within */
};

/* Rows `first` and on of the input's gradient, written whole. */
struct stk__maxpool_gradient {
    const struct stk__pooling *pool;
    int first, n_rows;
    struct stk__read_map dy; /* from the output's row dy_row on: all whose windows reach the rows */
    const uint8_t *cells;
    int64_t cells_down;
    int dy_row;
    struct stk__write_map dx;
};

/* As those of maxima. A mean is that of the cells which are no padding. */
struct stk__avgpool_rows {
    const struct stk__pooling *pool;
    int first, n_rows;
    struct stk__read_map x;
    int x_row;
    struct stk__write_map y;
};

struct stk__avgpool_gradient {
    const struct stk__pooling *pool;
    int first, n_rows;
    struct stk__read_map dy;
    int dy_row;
    struct stk__write_map dx;
};

/* The gradient of a convolution's weights, added to sums, from a row of its pooled output: windows of 2×2
 * side by side, strides of 1. Only a chosen cell has a gradient, so there is a product for each and none for
 * the three beside it. */
struct stk__maxpool_weights {
    int kernel_height, kernel_width, channels; /* of the convolution */
    int width, filters;                        /* of the row */
    const float *x; /* what weight 0 meets in cell 0 of window 0; pixels lie side by side */
    int64_t x_down;
    struct stk__read_map dy; /* [width][filters], side by side */
    const uint8_t *cells;    /* [width][filters] */
    float *quads;            /* scratch: stk__maxpool_quads() floats */
    float *weights;          /* [kernel_height][kernel_width][channels][filters] */
    float *bias;             /* [filters], or NULL */
};

/* Values of a row that its weights meet, each as four: for every cell of a window. */
static inline size_t stk__maxpool_quads(int width, int kernel_width, int channels)
{
    return 4 * (size_t)(2 * width - 2 + kernel_width) * (size_t)channels;
}

struct stk__pool_kernels {
    void (*max_rows)(const struct stk__maxpool_rows *job);
    void (*max_gradient)(const struct stk__maxpool_gradient *job);
    void (*mean_rows)(const struct stk__avgpool_rows *job);
    void (*mean_gradient)(const struct stk__avgpool_gradient *job);
    void (*max_weights)(const struct stk__maxpool_weights *job);
};

void stk__pool_fill_scalar(struct stk__pool_kernels *kernels);
void stk__pool_fill_avx2(struct stk__pool_kernels *kernels);
void stk__pool_fill_avx512(struct stk__pool_kernels *kernels);
