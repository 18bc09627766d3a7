/* SPDX-License-Identifier: Apache-2.0 */
/* norm_kernel.h: batch normalisation, rows of one image at a time. What is found for all images is a
 * number or two for each channel; coefficients are made of them by the caller:
 *
 *     y  = scale · x + offset            scale = gamma / sqrt(variance + epsilon)
 *                                        offset = beta - scale · mean
 *     dx = scale · (dy - mean_dy) + slope · (x - mean)
 *                                        slope = -scale / (variance + epsilon) · Σ dy (x - mean) / n
 *                                        mean_dy = Σ dy / n
 *
 * Means are taken away first: scale may be large, and would enlarge the rounding of two products that
 * cancel out. Of one value alone dx is 0.
 *
 * The gradients of beta and gamma are Σ dy and Σ dy (x - mean) / sqrt(variance + epsilon).
 * Sums of a row's pixels are floats, sums of rows doubles. Versions agree within 1e-5 of the sum of the
 * terms' sizes; they may contract.
 */
#pragma once
#include "train/kernel/map.h"

/* Adds to Σ (x - shift) and Σ (x - shift)². A shift near the mean keeps the variance exact where it is
 * small beside the mean; the result is that of x less shift. */
struct stk__norm_sums {
    struct stk__read_map x;
    int width, height, channels;
    const float *shift;    /* [channels], or NULL */
    double *sum, *squares; /* [channels] */
};

/* y = scale · x + offset, kept within low and high. */
struct stk__norm_rows {
    struct stk__read_map x;
    struct stk__write_map y; /* may be x */
    int width, height, channels;
    const float *scale, *offset; /* [channels] */
    float low, high;
};

/* Adds to Σ dy and Σ dy (x - mean), where dy counts where y is above low and below high. */
struct stk__norm_gradient_sums {
    struct stk__read_map x, dy;
    struct stk__read_map y; /* without values: all of dy counts */
    int width, height, channels;
    const float *mean;
    float low, high;
    double *sum, *products; /* [channels] */
};

/* dx = scale · (dy - mean_dy) + slope · (x - mean), where a dy that does not count is 0. */
struct stk__norm_gradient_rows {
    struct stk__read_map x, dy;
    struct stk__read_map y;   /* without values: all of dy counts */
    struct stk__write_map dx; /* may be x or dy */
    int width, height, channels;
    const float *scale, *slope, *mean, *mean_dy;
    float low, high;
};

struct stk__norm_kernels {
    void (*sums)(const struct stk__norm_sums *job);
    void (*rows)(const struct stk__norm_rows *job);
    void (*gradient_sums)(const struct stk__norm_gradient_sums *job);
    void (*gradient_rows)(const struct stk__norm_gradient_rows *job);
};

void stk__norm_fill_scalar(struct stk__norm_kernels *kernels);
void stk__norm_fill_avx2(struct stk__norm_kernels *kernels);
void stk__norm_fill_avx512(struct stk__norm_kernels *kernels);
