/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h: the convolution of a layer, image by image, in the terms of conv_kernel.h.
 *
 * Weights are packed before a step and gradients unpacked behind it; an image is given with a border
 * where the layer pads it. Images are independent of each other: any thread may take any.
 */
#pragma once
#include "train/kernel/conv_kernel.h"

struct stk__conv {
    int height, width, channels; /* of an image */
    int out_height, out_width, filters;
    int kernel_height, kernel_width, stride_y, stride_x;
    int dilation_y, dilation_x; /* 1 where there are strides */
    int pad_top, pad_left, pad_bottom, pad_right;
    int groups; /* divide channels and filters */
};

enum { STK__MOST_TAPS = 1024 }; /* of a kernel, height by width */

/* An image with a border, values of 0. */
struct stk__bordered {
    int top, left, height, width, channels; /* height and width: with the border */
};

/* The border that images, and gradients of the output, need. */
struct stk__bordered stk__conv_image(const struct stk__conv *conv);
struct stk__bordered stk__conv_output(const struct stk__conv *conv);

/* Floats of it. */
size_t stk__bordered_floats(const struct stk__bordered *bordered);

/* Copies an image of height by width in its middle. */
void stk__border(const struct stk__bordered *bordered, const float *image, int height, int width,
                 float *out);

/* Makes the border 0 around an image that is written later. */
void stk__zero_border(const struct stk__bordered *bordered, int height, int width, float *out);

/* Floats of weights that are packed in blocks, as they are and turned. */
size_t stk__conv_packed_floats(const struct stk__conv *conv, int block);
size_t stk__conv_turned_floats(const struct stk__conv *conv, int block);

/* Weights are [kernel_height, kernel_width, channels / groups, filters]. */
void stk__conv_pack(const struct stk__conv *conv, int block, const float *weights, float *packed);
void stk__conv_turn(const struct stk__conv *conv, int block, const float *weights, float *turned);
void stk__conv_unpack(const struct stk__conv *conv, int block, const float *packed, float *weights);

/* Values of the output, kept within low and high; bias may be NULL. */
void stk__conv_forward(const struct stk__conv *conv, const struct stk__conv_kernels *kernels,
                       const float *bordered, const float *packed, const float *bias, float low,
                       float high, float *out);

/* The gradient of an image, from that of the output with a border. */
void stk__conv_to_image(const struct stk__conv *conv, const struct stk__conv_kernels *kernels,
                        const float *bordered_gradient, const float *turned, float *image_gradient);

/* Adds to the gradient of packed weights, and to that of the bias unless it is NULL. */
void stk__conv_to_weights(const struct stk__conv *conv, const struct stk__conv_kernels *kernels,
                          const float *bordered, const float *gradient, float *packed, float *bias);
