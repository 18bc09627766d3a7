/* SPDX-License-Identifier: Apache-2.0 */
/* image_avx512.c: the kernels on image rows where sixteen lanes pay. Mirrors image_avx2.c; the
 * last values of a row go through the same code under a mask. */
#include "kernel/image.h"

#include <immintrin.h>

/* Lanes in use of the sixteen at i. */
static inline __mmask16 lanes_left(int64_t n, int64_t i)
{
    return n - i >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << (n - i)) - 1);
}

static inline __m512 load_u8(const uint8_t *src, __mmask16 lanes)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, src)));
}

static inline __m512 affine_16(__m512 value, const float *mul, const float *add)
{
    return _mm512_add_ps(_mm512_mul_ps(value, _mm512_loadu_ps(mul)), _mm512_loadu_ps(add));
}

static void affine_u8_avx512(float *dst, const uint8_t *src, int64_t n,
                             const struct stk__affine *affine)
{
    const float *mul = affine->mul, *add = affine->add;
    int period = affine->period, k = 0;
    for (int64_t i = 0; i < n; i += 16, k = k + 16 < period ? k + 16 : 0) {
        __mmask16 lanes = lanes_left(n, i);
        __m512 value = load_u8(src + i, lanes);
        _mm512_mask_storeu_ps(dst + i, lanes, affine_16(value, mul + k, add + k));
    }
}

static void affine_f32_avx512(float *dst, const float *src, int64_t n,
                              const struct stk__affine *affine)
{
    const float *mul = affine->mul, *add = affine->add;
    int period = affine->period, k = 0;
    for (int64_t i = 0; i < n; i += 16, k = k + 16 < period ? k + 16 : 0) {
        __mmask16 lanes = lanes_left(n, i);
        __m512 value = _mm512_maskz_loadu_ps(lanes, src + i);
        _mm512_mask_storeu_ps(dst + i, lanes, affine_16(value, mul + k, add + k));
    }
}

void stk__image_fill_avx512(struct stk__image_kernels *kernels)
{
    kernels->affine_u8 = affine_u8_avx512;
    kernels->affine_f32 = affine_f32_avx512;
}
