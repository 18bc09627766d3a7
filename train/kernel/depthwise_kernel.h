/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_kernel.h: convolutions of each channel by itself, rows of one image at a time.
 *
 * A channel of the image gives `multiplier` channels of the output: weights are
 * [height][width][channels * multiplier], those of channel c from c * multiplier on. Images, and
 * gradients of outputs, lie in a frame of zeros (stk__conv_image, stk__conv_output of conv.h), so no
 * pixel is at an edge. Versions agree within 1e-5 of the sum of the terms' sizes; they may contract.
 */
#pragma once
#include "train/kernel/map.h"

struct stk__depthwise {
    int height, width, stride_y, stride_x, dilation_y, dilation_x; /* of the kernel */
    int channels, multiplier;                                      /* of the image; of each */
};

/* Rows of the output: Σ x · weights + bias, kept within low and high. */
struct stk__depthwise_rows {
    const struct stk__depthwise *shape;
    struct stk__read_map x; /* the first cell of the first output */
    struct stk__write_map y;
    int width, height; /* of y */
    const float *weights;
    const float *bias; /* [channels * multiplier], or NULL */
    float low, high;
};

/* Rows of the image's gradient. */
struct stk__depthwise_image {
    const struct stk__depthwise *shape;
    int pad_top, pad_left;   /* of the layer */
    struct stk__read_map dy; /* the output's first pixel */
    int first;               /* the row of the image that dx begins with */
    struct stk__write_map dx;
    int width, height; /* of dx */
    const float *weights;
};

/* What rows of the output add to the gradient of weights and bias. */
struct stk__depthwise_gradient {
    const struct stk__depthwise *shape;
    struct stk__read_map x; /* as in stk__depthwise_rows */
    struct stk__read_map dy;
    int width, height; /* of dy */
    float *weights;
    float *bias; /* or NULL */
};

struct stk__depthwise_kernels {
    void (*rows)(const struct stk__depthwise_rows *job);
    void (*image)(const struct stk__depthwise_image *job);
    void (*gradient)(const struct stk__depthwise_gradient *job);
};

void stk__depthwise_fill_scalar(struct stk__depthwise_kernels *kernels);
void stk__depthwise_fill_avx2(struct stk__depthwise_kernels *kernels);
void stk__depthwise_fill_avx512(struct stk__depthwise_kernels *kernels);
