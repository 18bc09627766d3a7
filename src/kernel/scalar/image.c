/* SPDX-License-Identifier: Apache-2.0 */
/* image.c: the kernels on image rows in plain C. Every other version equals it bit for bit. */
#include "kernel/image.h"

#include <string.h>

static void lerp_x_u8_scalar(float *dst, const uint8_t *src, const struct stk__lerp_row *row)
{
    for (int i = 0; i < row->n; i++)
        dst[i] = stk__lerp(src[row->left[i]], src[row->right[i]], row->weight[i]);
}

static void lerp_x_f32_scalar(float *dst, const float *src, const struct stk__lerp_row *row)
{
    for (int i = 0; i < row->n; i++)
        dst[i] = stk__lerp(src[row->left[i]], src[row->right[i]], row->weight[i]);
}

static void lerp_y_f32_scalar(float *dst, const float *top, const float *bottom, float weight,
                              int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = stk__lerp(top[i], bottom[i], weight);
}

static void sum_x_u8_scalar(float *dst, const uint8_t *src, const struct stk__taps *taps,
                            int channels)
{
    for (int i = 0; i < taps->n_out; i++) {
        for (int c = 0; c < channels; c++)
            dst[i * channels + c] = stk__sum_u8(src + c, taps, i, channels);
    }
}

static void sum_x_f32_scalar(float *dst, const float *src, const struct stk__taps *taps,
                             int channels)
{
    for (int i = 0; i < taps->n_out; i++) {
        for (int c = 0; c < channels; c++)
            dst[i * channels + c] = stk__sum_f32(src + c, taps, i, channels);
    }
}

static void add_y_u8_scalar(float *sum, const uint8_t *src, float weight, int n)
{
    for (int i = 0; i < n; i++)
        sum[i] += (float)src[i] * weight;
}

static void add_y_f32_scalar(float *sum, const float *src, float weight, int n)
{
    for (int i = 0; i < n; i++)
        sum[i] += src[i] * weight;
}

static void mul_f32_scalar(float *dst, const float *src, float factor, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = src[i] * factor;
}

static void affine_u8_scalar(float *dst, const uint8_t *src, int64_t n,
                             const struct stk__affine *affine)
{
    for (int64_t i = 0, k = 0; i < n; i++, k = k + 1 < affine->period ? k + 1 : 0)
        dst[i] = (float)src[i] * affine->mul[k] + affine->add[k];
}

static void affine_f32_scalar(float *dst, const float *src, int64_t n,
                              const struct stk__affine *affine)
{
    for (int64_t i = 0, k = 0; i < n; i++, k = k + 1 < affine->period ? k + 1 : 0)
        dst[i] = src[i] * affine->mul[k] + affine->add[k];
}

static void round_u8_scalar(uint8_t *dst, const float *src, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = stk__round_u8(src[i]);
}

static inline void reverse(uint8_t *dst, const uint8_t *src, int n, size_t bytes)
{
    const uint8_t *from = src + (size_t)n * bytes;
    for (int i = 0; i < n; i++, dst += bytes)
        memcpy(dst, from -= bytes, bytes);
}

static inline void pick(uint8_t *dst, const uint8_t *src, const int32_t *index, int n, size_t bytes)
{
    for (int i = 0; i < n; i++)
        memcpy(dst + (size_t)i * bytes, src + (size_t)index[i] * bytes, bytes);
}

/* The usual pixel sizes are constants, so that memcpy becomes moves. */
void stk__reverse_pixels_scalar(uint8_t *dst, const uint8_t *src, int n, int pixel_bytes)
{
    if (pixel_bytes == 1)
        reverse(dst, src, n, 1);
    else if (pixel_bytes == 3)
        reverse(dst, src, n, 3);
    else if (pixel_bytes == 12)
        reverse(dst, src, n, 12);
    else
        reverse(dst, src, n, (size_t)pixel_bytes);
}

static void pick_pixels_scalar(uint8_t *dst, const uint8_t *src, const int32_t *index, int n,
                               int pixel_bytes)
{
    if (pixel_bytes == 1)
        pick(dst, src, index, n, 1);
    else if (pixel_bytes == 3)
        pick(dst, src, index, n, 3);
    else if (pixel_bytes == 12)
        pick(dst, src, index, n, 12);
    else
        pick(dst, src, index, n, (size_t)pixel_bytes);
}

void stk__image_fill_scalar(struct stk__image_kernels *kernels)
{
    *kernels = (struct stk__image_kernels){
        .lerp_x_u8 = lerp_x_u8_scalar,
        .lerp_x_f32 = lerp_x_f32_scalar,
        .lerp_y_f32 = lerp_y_f32_scalar,
        .sum_x_u8 = sum_x_u8_scalar,
        .sum_x_f32 = sum_x_f32_scalar,
        .add_y_u8 = add_y_u8_scalar,
        .add_y_f32 = add_y_f32_scalar,
        .mul_f32 = mul_f32_scalar,
        .affine_u8 = affine_u8_scalar,
        .affine_f32 = affine_f32_scalar,
        .round_u8 = round_u8_scalar,
        .reverse_pixels = stk__reverse_pixels_scalar,
        .pick_pixels = pick_pixels_scalar,
    };
}
