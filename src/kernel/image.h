/* SPDX-License-Identifier: Apache-2.0 */
/* image.h: kernels on rows of an image. A row is width * channels values, interleaved.
 *
 * Nothing is read outside the rows given. dst and src do not overlap unless a kernel says so. A
 * product is rounded before anything is added to it, in every version.
 */
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* value * mul + add with constants that repeat every `period` values, a multiple of 16. */
struct stk__affine {
    int period;
    const float *mul, *add; /* [period] */
};

struct stk__image_kernels {
    /* dst = src * factor; dst may be src. */
    void (*mul_f32)(float *dst, const float *src, float factor, int n);
    /* dst = src * mul + add; dst may be src. The row begins at channel 0. */
    void (*affine_u8)(float *dst, const uint8_t *src, int64_t n, const struct stk__affine *affine);
    void (*affine_f32)(float *dst, const float *src, int64_t n, const struct stk__affine *affine);
    /* dst = src + 0.5 cut off, in 0..255; NaN is 0. */
    void (*round_u8)(uint8_t *dst, const float *src, int n);
    /* dst = src rounded to even, in 0..255; NaN is 0. */
    void (*round_even_u8)(uint8_t *dst, const float *src, int n);
    /* dst = a * weight[0] + b * weight[1]; bytes are rounded to even, in 0..255. */
    void (*mix_f32)(float *dst, const float *a, const float *b, const float weight[2], size_t n);
    void (*mix_u8)(uint8_t *dst, const uint8_t *a, const uint8_t *b, const float weight[2],
                   size_t n);
    /* dst pixel i = src pixel n - 1 - i. */
    void (*reverse_pixels)(uint8_t *dst, const uint8_t *src, int n, int pixel_bytes);
    /* dst pixel i = src pixel index[i]; indices go up or down, not both. */
    void (*pick_pixels)(uint8_t *dst, const uint8_t *src, const int32_t *index, int n,
                        int pixel_bytes);
    /* A row of n pixels as one row per channel, plane_bytes apart; values of 1, 2, 4 or 8 bytes. */
    void (*split_planes)(uint8_t *dst, size_t plane_bytes, const uint8_t *src, int n, int channels,
                         int value_bytes);
    /* The other way round. */
    void (*join_planes)(uint8_t *dst, const uint8_t *src, size_t plane_bytes, int n, int channels,
                        int value_bytes);
};

void stk__image_fill_scalar(struct stk__image_kernels *kernels);
void stk__image_fill_avx2(struct stk__image_kernels *kernels);
void stk__image_fill_avx512(struct stk__image_kernels *kernels);
void stk__split_planes_avx2(uint8_t *dst, size_t plane_bytes, const uint8_t *src, int n,
                            int channels, int value_bytes);

/* Also for the pixels a vector version leaves over. */
void stk__reverse_pixels_scalar(uint8_t *dst, const uint8_t *src, int n, int pixel_bytes);

/* Also for what a vector version leaves over. */
void stk__split_planes_scalar(uint8_t *dst, size_t plane_bytes, const uint8_t *src, int n,
                              int channels, int value_bytes);

/* One value, for every version's last few. */
static inline uint8_t stk__round_u8(float value)
{
    float v = value + 0.5f;
    v = v > 0 ? v : 0;
    return (uint8_t)(v < 255 ? v : 255);
}

static inline uint8_t stk__round_even_u8(float value)
{
    float v = value > 0 ? value : 0;
    return (uint8_t)lrintf(v < 255 ? v : 255);
}
