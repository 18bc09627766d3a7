/* SPDX-License-Identifier: Apache-2.0 */
/* adjust.h: the colours of a whole image changed, as torchvision v2 does it to tensors.
 *
 * An image is [height, width, channels] of bytes or of floats from 0 to peak. Bytes equal
 * torchvision's bit for bit; what cannot is said at the function. dst may be src where nothing
 * else is said. Functions that look at colours leave images of other than three channels as they
 * are.
 */
#pragma once
#include "kernel/kernel.h"

#include <stdbool.h>

struct stk__raster {
    const struct stk__kernels *kernels;
    void *dst;
    const void *src;
    int32_t height, width, channels;
    bool is_float;
    float peak; /* 1, or 255 */
};

size_t stk__raster_values(const struct stk__raster *raster);
size_t stk__raster_bytes(const struct stk__raster *raster);

/* dst = src. */
void stk__adjust_nothing(const struct stk__raster *raster);

/* Factors from 0; 1 changes nothing. The mean that contrast needs is the exact sum of the grays as
 * a float, which is torchvision's up to 65793 pixels, and nearly always beyond. */
void stk__adjust_brightness(const struct stk__raster *raster, double factor);
void stk__adjust_contrast(const struct stk__raster *raster, double factor);
void stk__adjust_saturation(const struct stk__raster *raster, double factor);

/* -0.5 to 0.5 of the circle. */
void stk__adjust_hue(const struct stk__raster *raster, double turn);

/* Grays in place of colours: in all channels, or one channel. dst is not src. */
void stk__adjust_gray(const struct stk__raster *raster, int out_channels);

/* dst is not src. */
void stk__adjust_sharpness(const struct stk__raster *raster, double factor);

/* Values from the threshold on are inverted; it is in the image's own values. */
void stk__adjust_solarize(const struct stk__raster *raster, double threshold);
void stk__adjust_invert(const struct stk__raster *raster);

/* 0 to 8 bits are kept. */
void stk__adjust_posterize(const struct stk__raster *raster, int bits);

/* Bytes may differ by 1 where PyTorch's power is off in the last place. */
void stk__adjust_gamma(const struct stk__raster *raster, double gamma, double gain);

/* By the histogram, or the least and the greatest value, of each channel; at most
 * STK__ADJUST_CHANNELS channels. */
enum { STK__ADJUST_CHANNELS = 4 };
void stk__adjust_equalize(const struct stk__raster *raster);
void stk__adjust_autocontrast(const struct stk__raster *raster);

/* A blur along rows and columns. Bytes may differ by 1 where the sum is half way to the precision
 * of a float: torchvision sums in another order. dst is not src; each half of a size is below the
 * side it goes along. */
struct stk__blur {
    int size[2]; /* odd: along a row, along a column */
    double sigma[2];
    void *work; /* stk__blur_bytes, 64-byte aligned */
};
size_t stk__blur_bytes(const struct stk__raster *raster, const int size[2]);
void stk__adjust_blur(const struct stk__raster *raster, const struct stk__blur *blur);
