/* SPDX-License-Identifier: Apache-2.0 */
/* half_avx2.c: float16 to float32 and back by the instructions for it, which all processors with
 * AVX2 have; NaN keeps the bits that fit. */
#include "kernel/elementwise.h"

#include <immintrin.h>
#include <string.h>

static inline void widen_8(float *dst, const uint16_t *src)
{
    _mm256_storeu_ps(dst, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)src)));
}

static inline void narrow_8(uint16_t *dst, const float *src)
{
    __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(src), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128((__m128i *)dst, halves);
}

static void convert_f16_f32(void *dst, const void *src, const void *b, const void *c, size_t n)
{
    const uint16_t *half = src;
    float *out = dst, last[8];
    uint16_t rest[8] = { 0 };
    size_t i = 0;
    (void)b, (void)c;
    for (; i + 8 <= n; i += 8)
        widen_8(out + i, half + i);
    memcpy(rest, half + i, (n - i) * sizeof *rest);
    widen_8(last, rest);
    memcpy(out + i, last, (n - i) * sizeof *last);
}

static void convert_f32_f16(void *dst, const void *src, const void *b, const void *c, size_t n)
{
    const float *value = src;
    uint16_t *out = dst, last[8];
    float rest[8] = { 0 };
    size_t i = 0;
    (void)b, (void)c;
    for (; i + 8 <= n; i += 8)
        narrow_8(out + i, value + i);
    memcpy(rest, value + i, (n - i) * sizeof *rest);
    narrow_8(last, rest);
    memcpy(out + i, last, (n - i) * sizeof *last);
}

void stk__half_fill_avx2(struct stk__elementwise_kernels *kernels)
{
    kernels->convert[STK_F16][STK_F32] = convert_f16_f32;
    kernels->convert[STK_F32][STK_F16] = convert_f32_f16;
}
