/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h: the convolution of a layer: its sizes, and the frames that images and gradients need. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stk__conv {
    int height, width, channels; /* of an image */
    int out_height, out_width, filters;
    int kernel_height, kernel_width, stride_y, stride_x;
    int dilation_y, dilation_x; /* 1 where there are strides */
    int pad_top, pad_left, pad_bottom, pad_right;
    int groups; /* divide channels and filters */
};

enum { STK__MOST_TAPS = 1024 }; /* of a kernel, height by width */

/* An image with a frame around it, values of 0. */
struct stk__framed {
    int top, left, height, width, channels; /* height and width: with the frame */
};

/* The frame that images, and gradients of the output, need. */
struct stk__framed stk__conv_image(const struct stk__conv *conv);
struct stk__framed stk__conv_output(const struct stk__conv *conv);

/* Whether gradients of the output need a frame at all. */
bool stk__conv_has_frame(const struct stk__conv *conv);

/* Floats of it. */
size_t stk__framed_floats(const struct stk__framed *framed);

/* Copies an image of height by width in its middle. */
void stk__framed_fill(const struct stk__framed *framed, const float *image, int height, int width,
                      float *out);
