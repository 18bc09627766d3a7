/* SPDX-License-Identifier: Apache-2.0 */
/* pixel_kernel.h: small loops over pixels: sums, copies, spreading. `sums` agrees within 1e-5 of the sum
 * of the terms' sizes, `from_bytes` to one rounding; the others give the same bits. (Spans are converted
 * to float16 and bfloat16 and back by `convert` of kernel/elementwise.h.)
 */
#pragma once
#include "train/kernel/map.h"

/* sum[c] += Σ x: the gradient of a bias; the mean of an image, but for a factor. */
struct stk__pixel_sums {
    struct stk__read_map x;
    int width, height, channels;
    float *sum; /* [channels] */
};

/* Every pixel becomes `value` times factor: the gradient of an image's mean. */
struct stk__pixel_spread {
    const float *value; /* [channels] */
    float factor;
    struct stk__write_map y;
    int width, height, channels;
};

/* y = x · scale[c] + offset[c]: bytes of a pipeline into a framed image. */
struct stk__pixel_bytes {
    const uint8_t *x; /* pixels side by side */
    int64_t x_down;
    struct stk__write_map y; /* pixels side by side: across is channels */
    int width, height, channels;
    const float *scale, *offset; /* [channels] */
};

struct stk__pixel_kernels {
    void (*sums)(const struct stk__pixel_sums *job);
    void (*spread)(const struct stk__pixel_spread *job);
    void (*from_bytes)(const struct stk__pixel_bytes *job);
    /* y += x */
    void (*add)(const float *x, size_t n, float *y);
};

void stk__pixel_fill_scalar(struct stk__pixel_kernels *kernels);
void stk__pixel_fill_avx2(struct stk__pixel_kernels *kernels);
void stk__pixel_fill_avx512(struct stk__pixel_kernels *kernels);
