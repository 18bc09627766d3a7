/* SPDX-License-Identifier: Apache-2.0 */
/* image_scalar.c: the kernels on image rows in plain C. Every other version equals it bit for bit. */
#include "kernel/image.h"

#include <stdbool.h>
#include <string.h>

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

static void round_even_u8_scalar(uint8_t *dst, const float *src, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = stk__round_even_u8(src[i]);
}

static void mix_f32_scalar(float *dst, const float *a, const float *b, const float weight[2],
                           size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = a[i] * weight[0] + b[i] * weight[1];
}

static void mix_u8_scalar(uint8_t *dst, const uint8_t *a, const uint8_t *b, const float weight[2],
                          size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = stk__round_even_u8((float)a[i] * weight[0] + (float)b[i] * weight[1]);
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

/* Four bytes at a time: the one too many is written over by the next pixel, and was read inside the
 * row, since that goes on to the last pixel picked at least. Indices go up or down. */
static void pick_three(uint8_t *dst, const uint8_t *src, const int32_t *index, int n)
{
    int32_t last = n && index[0] > index[n - 1] ? index[0] : n ? index[n - 1] : 0;
    for (int i = 0; i < n; i++, dst += 3) {
        bool is_inside = i < n - 1 && index[i] < last;
        if (is_inside)
            memcpy(dst, src + (size_t)index[i] * 3, 4);
        else
            memcpy(dst, src + (size_t)index[i] * 3, 3);
    }
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
        pick_three(dst, src, index, n);
    else if (pixel_bytes == 12)
        pick(dst, src, index, n, 12);
    else
        pick(dst, src, index, n, (size_t)pixel_bytes);
}

/* ---- planes ---- */

static inline void split(uint8_t *dst, size_t plane_bytes, const uint8_t *src, int n, int channels,
                         size_t bytes)
{
    for (int c = 0; c < channels; c++, dst += plane_bytes, src += bytes)
        for (int i = 0; i < n; i++)
            memcpy(dst + (size_t)i * bytes, src + (size_t)i * (size_t)channels * bytes, bytes);
}

static inline void join(uint8_t *dst, const uint8_t *src, size_t plane_bytes, int n, int channels,
                        size_t bytes)
{
    for (int c = 0; c < channels; c++, src += plane_bytes, dst += bytes)
        for (int i = 0; i < n; i++)
            memcpy(dst + (size_t)i * (size_t)channels * bytes, src + (size_t)i * bytes, bytes);
}

void stk__split_planes_scalar(uint8_t *dst, size_t plane_bytes, const uint8_t *src, int n,
                              int channels, int value_bytes)
{
    if (value_bytes == 1)
        split(dst, plane_bytes, src, n, channels, 1);
    else if (value_bytes == 2)
        split(dst, plane_bytes, src, n, channels, 2);
    else if (value_bytes == 4)
        split(dst, plane_bytes, src, n, channels, 4);
    else
        split(dst, plane_bytes, src, n, channels, (size_t)value_bytes);
}

static void join_planes_scalar(uint8_t *dst, const uint8_t *src, size_t plane_bytes, int n,
                               int channels, int value_bytes)
{
    if (value_bytes == 1)
        join(dst, src, plane_bytes, n, channels, 1);
    else if (value_bytes == 4)
        join(dst, src, plane_bytes, n, channels, 4);
    else
        join(dst, src, plane_bytes, n, channels, (size_t)value_bytes);
}

void stk__image_fill_scalar(struct stk__image_kernels *kernels)
{
    *kernels = (struct stk__image_kernels){
        .mul_f32 = mul_f32_scalar,
        .affine_u8 = affine_u8_scalar,
        .affine_f32 = affine_f32_scalar,
        .round_u8 = round_u8_scalar,
        .round_even_u8 = round_even_u8_scalar,
        .mix_f32 = mix_f32_scalar,
        .mix_u8 = mix_u8_scalar,
        .reverse_pixels = stk__reverse_pixels_scalar,
        .pick_pixels = pick_pixels_scalar,
        .split_planes = stk__split_planes_scalar,
        .join_planes = join_planes_scalar,
    };
}
