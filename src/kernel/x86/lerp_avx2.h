/* SPDX-License-Identifier: Apache-2.0 */
/* lerp_avx2.h: eight values between two neighbours of a row of bytes. */
#pragma once
#include "kernel/resample.h"

#include <immintrin.h>

static inline __m256i both_lanes(__m128i low, __m128i high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

static inline __m128i load_16(const uint8_t *from)
{
    return _mm_loadu_si128((const __m128i *)from);
}

static inline __m128i load_two(const uint8_t *a, const uint8_t *b)
{
    __m128d low = _mm_castsi128_pd(_mm_loadl_epi64((const __m128i *)a));
    return _mm_castpd_si128(_mm_loadh_pd(low, (const double *)(const void *)b));
}

static inline void store_floats(float *dst, __m256 values, bool is_far)
{
    if (is_far)
        _mm256_stream_ps(dst, values);
    else
        _mm256_storeu_ps(dst, values);
}

/* Eight values' lanes, left | right << 16, from the windows of two groups. */
static inline __m256i lanes_of_16(const uint8_t *src, const int32_t *window, const uint8_t *shuffle)
{
    __m256i bytes = both_lanes(load_16(src + window[0]), load_16(src + window[1]));
    return _mm256_shuffle_epi8(bytes, _mm256_loadu_si256((const __m256i *)shuffle));
}

static inline __m256i lanes_of_8(const uint8_t *src, const int32_t *window, const uint8_t *shuffle)
{
    __m256i bytes = both_lanes(load_two(src + window[0], src + window[1]),
                               load_two(src + window[2], src + window[3]));
    return _mm256_shuffle_epi8(bytes, _mm256_loadu_si256((const __m256i *)shuffle));
}

/* The difference is exact in integers and in floats. Where the product is exact as well, adding it
 * at once rounds as adding it afterwards does. */
static inline __attribute__((always_inline)) __m256 lerp_lanes(__m256i lanes, __m256 weight,
                                                               bool is_exact)
{
    const __m256i right_minus_left = _mm256_set1_epi32(0x0001ffff);
    __m256 step = _mm256_cvtepi32_ps(_mm256_madd_epi16(lanes, right_minus_left));
    __m256 left = _mm256_cvtepi32_ps(_mm256_and_si256(lanes, _mm256_set1_epi32(0xffff)));
    if (is_exact)
        return _mm256_fmadd_ps(step, weight, left);
    return _mm256_add_ps(left, _mm256_mul_ps(step, weight));
}
