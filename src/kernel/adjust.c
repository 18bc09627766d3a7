/* SPDX-License-Identifier: Apache-2.0 */
/* adjust.c: brightness, contrast, saturation, hue, gray and sharpness of images. */
#include "kernel/adjust.h"

#include <string.h>

size_t stk__raster_values(const struct stk__raster *raster)
{
    return (size_t)raster->height * (size_t)raster->width * (size_t)raster->channels;
}

size_t stk__raster_bytes(const struct stk__raster *raster)
{
    return stk__raster_values(raster) * (raster->is_float ? sizeof(float) : 1);
}

void stk__adjust_nothing(const struct stk__raster *raster)
{
    if (raster->dst != raster->src)
        memcpy(raster->dst, raster->src, stk__raster_bytes(raster));
}

static size_t n_pixels(const struct stk__raster *raster)
{
    return (size_t)raster->height * (size_t)raster->width;
}

static struct stk__blend blend_of(const struct stk__raster *raster, double factor)
{
    return (struct stk__blend){ (float)factor, (float)(1 - factor), raster->peak };
}

/* Every value blended with the same other one. */
static void blend_with(const struct stk__raster *raster, const struct stk__blend *blend,
                       float other)
{
    const struct stk__colour_kernels *kernels = &raster->kernels->colour;
    size_t n = stk__raster_values(raster);
    if (raster->is_float) {
        kernels->blend_f32(raster->dst, raster->src, n, blend, other);
        return;
    }
    float result[256];
    uint8_t table[256];
    for (int i = 0; i < 256; i++)
        result[i] = (float)i;
    kernels->blend_f32(result, result, 256, blend, other);
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)result[i];
    kernels->map_u8(raster->dst, raster->src, n, table);
}

void stk__adjust_brightness(const struct stk__raster *raster, double factor)
{
    struct stk__blend blend = { (float)factor, 0, raster->peak };
    blend_with(raster, &blend, 0);
}

static double plain_sum(const struct stk__raster *raster)
{
    size_t n = stk__raster_values(raster);
    const float *values = raster->src;
    const uint8_t *bytes = raster->src;
    double sum = 0;
    if (raster->is_float) {
        for (size_t i = 0; i < n; i++)
            sum += (double)values[i];
        return sum;
    }
    uint64_t whole = 0;
    for (size_t i = 0; i < n; i++)
        whole += bytes[i];
    return (double)whole;
}

/* The mean gray; of one channel, or of channels that are no colours, the mean value. */
static float mean_of(const struct stk__raster *raster)
{
    const struct stk__colour_kernels *kernels = &raster->kernels->colour;
    size_t n = n_pixels(raster);
    if (raster->channels != 3)
        return (float)plain_sum(raster) / (float)stk__raster_values(raster);
    double sum = raster->is_float ? kernels->gray_sum_f32(raster->src, n)
                                  : kernels->gray_sum_u8(raster->src, n);
    return (float)sum / (float)n;
}

void stk__adjust_contrast(const struct stk__raster *raster, double factor)
{
    if (!n_pixels(raster))
        return;
    struct stk__blend blend = blend_of(raster, factor);
    blend_with(raster, &blend, mean_of(raster));
}

void stk__adjust_saturation(const struct stk__raster *raster, double factor)
{
    const struct stk__colour_kernels *kernels = &raster->kernels->colour;
    struct stk__blend blend = blend_of(raster, factor);
    if (raster->channels != 3)
        stk__adjust_nothing(raster);
    else if (raster->is_float)
        kernels->saturate_f32(raster->dst, raster->src, n_pixels(raster), &blend);
    else
        kernels->saturate_u8(raster->dst, raster->src, n_pixels(raster), &blend);
}

void stk__adjust_hue(const struct stk__raster *raster, double turn)
{
    const struct stk__colour_kernels *kernels = &raster->kernels->colour;
    if (raster->channels != 3)
        stk__adjust_nothing(raster);
    else if (raster->is_float)
        kernels->turn_hue_f32(raster->dst, raster->src, n_pixels(raster), (float)turn,
                              raster->peak);
    else
        kernels->turn_hue_u8(raster->dst, raster->src, n_pixels(raster), (float)turn);
}

/* ---- gray ---- */

/* Gray in the first third of dst, spread from the end: a pixel is read before it is overwritten. */
static void spread_u8(uint8_t *dst, size_t n)
{
    for (size_t i = n; i-- > 0;)
        memset(dst + 3 * i, dst[i], 3);
}

static void spread_f32(float *dst, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        float value = dst[i];
        dst[3 * i] = dst[3 * i + 1] = dst[3 * i + 2] = value;
    }
}

void stk__adjust_gray(const struct stk__raster *raster, int out_channels)
{
    const struct stk__colour_kernels *kernels = &raster->kernels->colour;
    size_t n = n_pixels(raster);
    if (raster->channels != 3)
        stk__adjust_nothing(raster);
    else if (raster->is_float)
        kernels->gray_f32(raster->dst, raster->src, n);
    else
        kernels->gray_u8(raster->dst, raster->src, n);
    if (out_channels != 3)
        return;
    if (raster->is_float)
        spread_f32(raster->dst, n);
    else
        spread_u8(raster->dst, n);
}

/* ---- sharpness ---- */

/* The pixels between the first and the last of a row that is neither the first nor the last. */
static void sharpen_row(const struct stk__raster *raster, int32_t y, const struct stk__blend *blend)
{
    const struct stk__colour_kernels *kernels = &raster->kernels->colour;
    size_t step = (size_t)raster->channels, row = (size_t)raster->width * step;
    size_t at = (size_t)y * row + step, n = row - 2 * step;
    if (raster->is_float) {
        const float *src = (const float *)raster->src + at;
        const float *rows[3] = { src - row, src, src + row };
        kernels->sharpen_f32((float *)raster->dst + at, rows, n, step, blend);
    } else {
        const uint8_t *src = (const uint8_t *)raster->src + at;
        const uint8_t *rows[3] = { src - row, src, src + row };
        kernels->sharpen_u8((uint8_t *)raster->dst + at, rows, n, step, blend);
    }
}

/* The frame around stays as it is, floats within their bounds. */
void stk__adjust_sharpness(const struct stk__raster *raster, double factor)
{
    struct stk__blend blend = blend_of(raster, factor);
    bool is_thin = raster->height <= 2 || raster->width <= 2;
    if (raster->is_float && !is_thin)
        stk__adjust_brightness(raster, 1);
    else
        stk__adjust_nothing(raster);
    for (int32_t y = 1; y + 1 < raster->height && !is_thin; y++)
        sharpen_row(raster, y, &blend);
}
