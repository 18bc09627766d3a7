/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_pixels_scalar.c: from coefficients to pixels, in plain C, with the bits of libjpeg-turbo's accurate
 * integer transform and its smooth upsampling.
 *
 * The transform is one of eight values, over columns and then over rows, by sums of products with
 * constants of 13 bits. libjpeg-turbo computes it in vectors of 16 bits; where values that no
 * encoder writes make those wrap or saturate, so do we.
 */
#include "kernel/jpeg.h"

#include <string.h>

/* Twice the cosines of Loeffler's flow graph and their sums, times 2^13. */
enum {
    C_0_541 = 4433,
    C_1_307 = 10703,   /* 0.541 + 0.765 */
    C_M1_307 = -10704, /* 0.541 - 1.848 */
    C_1_176 = 9633,
    C_M0_786 = -6436, /* 1.176 - 1.962 */
    C_0_786 = 6437,   /* 1.176 - 0.390 */
    C_M0_601 = -4927, /* 0.299 - 0.900 */
    C_M0_900 = -7373,
    C_0_601 = 4926,   /* 1.501 - 0.900 */
    C_M0_510 = -4176, /* 2.053 - 2.563 */
    C_M2_563 = -20995,
    C_0_510 = 4177, /* 3.073 - 2.563 */
};

/* a * x + b * y as a sum of 32 bits that may wrap. */
static inline uint32_t products(int16_t x, int a, int16_t y, int b)
{
    return (uint32_t)(x * a) + (uint32_t)(y * b);
}

static inline int16_t saturate_i16(int32_t value)
{
    return (int16_t)(value < -32768 ? -32768 : value > 32767 ? 32767 : value);
}

/* Rounds off `shift` bits. */
static inline int16_t descale(uint32_t sum, int shift)
{
    return saturate_i16((int32_t)(sum + (1u << (shift - 1))) >> shift);
}

/* One pass over values `step` apart. Most columns of most blocks are zero but for their first. */
static inline void transform_8(int16_t *v, int step, int shift)
{
    if (!(v[step] | v[2 * step] | v[3 * step] | v[4 * step] | v[5 * step] | v[6 * step] |
          v[7 * step])) {
        int16_t value = descale((uint32_t)v[0] << 13, shift);
        for (int i = 0; i < 8; i++)
            v[i * step] = value;
        return;
    }
    int16_t i0 = v[0], i1 = v[step], i2 = v[2 * step], i3 = v[3 * step];
    int16_t i4 = v[4 * step], i5 = v[5 * step], i6 = v[6 * step], i7 = v[7 * step];
    uint32_t sum = (uint32_t)(int16_t)(i0 + i4) << 13, difference = (uint32_t)(int16_t)(i0 - i4)
                                                                    << 13;
    uint32_t even_2 = products(i2, C_0_541, i6, C_M1_307);
    uint32_t even_3 = products(i2, C_1_307, i6, C_0_541);
    uint32_t e0 = sum + even_3, e3 = sum - even_3, e1 = difference + even_2,
             e2 = difference - even_2;
    int16_t z3 = (int16_t)(i7 + i3), z4 = (int16_t)(i5 + i1);
    uint32_t odd_3 = products(z3, C_M0_786, z4, C_1_176);
    uint32_t odd_4 = products(z3, C_1_176, z4, C_0_786);
    uint32_t o0 = products(i7, C_M0_601, i1, C_M0_900) + odd_3;
    uint32_t o1 = products(i5, C_M0_510, i3, C_M2_563) + odd_4;
    uint32_t o2 = products(i5, C_M2_563, i3, C_0_510) + odd_3;
    uint32_t o3 = products(i7, C_M0_900, i1, C_0_601) + odd_4;
    v[0] = descale(e0 + o3, shift);
    v[7 * step] = descale(e0 - o3, shift);
    v[step] = descale(e1 + o2, shift);
    v[6 * step] = descale(e1 - o2, shift);
    v[2 * step] = descale(e2 + o1, shift);
    v[5 * step] = descale(e2 - o1, shift);
    v[3 * step] = descale(e3 + o0, shift);
    v[4 * step] = descale(e3 - o0, shift);
}

/* Returns whether the first row was in range. */
static bool transform_block(uint8_t *dst, size_t stride, int16_t *block, const uint16_t *quant)
{
    bool is_tame = true;
    for (int i = 0; i < 64; i++)
        block[i] = (int16_t)(uint16_t)((uint32_t)(uint16_t)block[i] * quant[i]);
    for (int x = 0; x < 8; x++)
        is_tame &= block[x] >= -8192 && block[x] < 8192;
    for (int x = 0; x < 8; x++)
        transform_8(block + x, 8, 11);
    for (int y = 0; y < 8; y++, dst += stride) {
        int16_t *row = block + 8 * y;
        transform_8(row, 1, 18);
        for (int x = 0; x < 8; x++)
            dst[x] = (uint8_t)((row[x] < -128 ? -128 : row[x] > 127 ? 127 : row[x]) + 128);
    }
    return is_tame;
}

static bool transform_scalar(const struct stk__jpeg_pair *pairs, int n, const uint16_t *quant,
                             size_t stride)
{
    bool is_tame = true;
    for (int i = 0; i < n; i++) {
        const struct stk__jpeg_pair *pair = &pairs[i];
        for (int side = 0; side < 2; side++) {
            int16_t block[64];
            memcpy(block, side ? pair->right : pair->left, sizeof block);
            block[0] = pair->dc[side];
            is_tame &= transform_block(pair->dst + 8 * side, stride, block, quant);
        }
        memset(pair->left, 0, 64 * sizeof *pair->left);
        memset(pair->right, 0, 64 * sizeof *pair->right);
    }
    return is_tame;
}

/* ---- upsampling ---- */

static void widen_h2v1_scalar(uint8_t *dst, const uint8_t *src, int n)
{
    for (int i = 0; i < n; i++) {
        dst[2 * i] = (uint8_t)((3 * src[i] + src[i - 1] + 1) >> 2);
        dst[2 * i + 1] = (uint8_t)((3 * src[i] + src[i + 1] + 2) >> 2);
    }
}

static void widen_h2v2_scalar(uint8_t *dst, const uint8_t *near, const uint8_t *far, int n)
{
    for (int i = 0; i < n; i++) {
        int left = 3 * near[i - 1] + far[i - 1], right = 3 * near[i + 1] + far[i + 1];
        int here = 3 * near[i] + far[i];
        dst[2 * i] = (uint8_t)((3 * here + left + 8) >> 4);
        dst[2 * i + 1] = (uint8_t)((3 * here + right + 7) >> 4);
    }
}

static void widen_h1v2_scalar(uint8_t *dst, const uint8_t *near, const uint8_t *far, int n,
                              int bias)
{
    for (int i = 0; i < n; i++)
        dst[i] = (uint8_t)((3 * near[i] + far[i] + bias) >> 2);
}

/* ---- colour ---- */

static inline uint8_t clamp_u8(int value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Factors times 2^16: 1.402, 0.34414, 0.71414, 1.772. */
static void ycc_to_rgb_scalar(uint8_t *dst, const uint8_t *const planes[3], int n, int channels)
{
    for (int i = 0; i < n; i++, dst += channels) {
        int y = planes[0][i], cb = planes[1][i] - 128, cr = planes[2][i] - 128;
        dst[0] = clamp_u8(y + ((91881 * cr + 32768) >> 16));
        dst[1] = clamp_u8(y + ((-22554 * cb - 46802 * cr + 32768) >> 16));
        dst[2] = clamp_u8(y + ((116130 * cb + 32768) >> 16));
        if (channels == 4)
            dst[3] = 255;
    }
}

static void interleave_scalar(uint8_t *dst, const uint8_t *const planes[3], int n, int channels)
{
    for (int i = 0; i < n; i++, dst += channels) {
        dst[0] = planes[0][i];
        dst[1] = planes[1][i];
        dst[2] = planes[2][i];
        if (channels == 4)
            dst[3] = 255;
    }
}

void stk__jpeg_fill_scalar(struct stk__jpeg_kernels *kernels)
{
    stk__jpeg_fill_scan_scalar(kernels);
    stk__jpeg_fill_reduce_scalar(kernels);
    stk__jpeg_fill_fast_scalar(kernels);
    kernels->transform = transform_scalar;
    kernels->widen_h2v1 = widen_h2v1_scalar;
    kernels->widen_h2v2 = widen_h2v2_scalar;
    kernels->widen_h1v2 = widen_h1v2_scalar;
    kernels->ycc_to_rgb = ycc_to_rgb_scalar;
    kernels->interleave = interleave_scalar;
}
