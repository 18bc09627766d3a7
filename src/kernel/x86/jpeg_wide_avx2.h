/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_wide_avx2.h: sums of products of 16-bit values, for the transforms of JPEG blocks. */
#pragma once
#include <immintrin.h>
#include <stdint.h>

/* Factors for pairs of 16-bit values. */
static inline __m256i stk__wide_factors(int a, int b)
{
    return _mm256_set1_epi32((int)((unsigned)(uint16_t)a | (unsigned)(uint16_t)b << 16));
}

/* Sums of 32 bits for the lower and upper four values of each half. */
struct stk__wide {
    __m256i low, high;
};

static inline struct stk__wide stk__wide_products(__m256i x, __m256i y, __m256i f)
{
    return (struct stk__wide){ _mm256_madd_epi16(_mm256_unpacklo_epi16(x, y), f),
                               _mm256_madd_epi16(_mm256_unpackhi_epi16(x, y), f) };
}

static inline struct stk__wide stk__wide_add(struct stk__wide a, struct stk__wide b)
{
    return (struct stk__wide){ _mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high) };
}

static inline struct stk__wide stk__wide_subtract(struct stk__wide a, struct stk__wide b)
{
    return (struct stk__wide){ _mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high) };
}

static inline __m256i stk__wide_descale(struct stk__wide sum, int shift)
{
    return _mm256_packs_epi32(_mm256_srai_epi32(sum.low, shift),
                              _mm256_srai_epi32(sum.high, shift));
}
