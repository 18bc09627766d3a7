/* SPDX-License-Identifier: Apache-2.0 */
/* image_avx2.c: the kernels on image rows for AVX2. No fused multiply-add: its bits would differ.
 * What a loop needs of a struct is copied out first, since a vector store may alias anything. */
#include "kernel/image.h"

#include <immintrin.h>

/* ---- value by value ---- */

static inline __m256 load_8_u8(const uint8_t *src)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)src)));
}

static void mul_f32_avx2(float *dst, const float *src, float factor, int n)
{
    const __m256 f = _mm256_set1_ps(factor);
    int i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_mul_ps(_mm256_loadu_ps(src + i), f));
    for (; i < n; i++)
        dst[i] = src[i] * factor;
}

static inline __m256 affine_8(__m256 value, const float *mul, const float *add)
{
    return _mm256_add_ps(_mm256_mul_ps(value, _mm256_loadu_ps(mul)), _mm256_loadu_ps(add));
}

static void affine_u8_avx2(float *dst, const uint8_t *src, int64_t n,
                           const struct stk__affine *affine)
{
    const float *mul = affine->mul, *add = affine->add;
    int period = affine->period;
    for (; n >= period; n -= period, src += period, dst += period) {
        for (int k = 0; k < period; k += 16) {
            _mm256_storeu_ps(dst + k, affine_8(load_8_u8(src + k), mul + k, add + k));
            _mm256_storeu_ps(dst + k + 8,
                             affine_8(load_8_u8(src + k + 8), mul + k + 8, add + k + 8));
        }
    }
    for (int k = 0; k < n; k++)
        dst[k] = (float)src[k] * mul[k] + add[k];
}

static void affine_f32_avx2(float *dst, const float *src, int64_t n,
                            const struct stk__affine *affine)
{
    const float *mul = affine->mul, *add = affine->add;
    int period = affine->period;
    for (; n >= period; n -= period, src += period, dst += period) {
        for (int k = 0; k < period; k += 16) {
            __m256 low = _mm256_loadu_ps(src + k), high = _mm256_loadu_ps(src + k + 8);
            _mm256_storeu_ps(dst + k, affine_8(low, mul + k, add + k));
            _mm256_storeu_ps(dst + k + 8, affine_8(high, mul + k + 8, add + k + 8));
        }
    }
    for (int k = 0; k < n; k++)
        dst[k] = src[k] * mul[k] + add[k];
}

/* Sixteen integers as bytes. */
static inline void store_16_u8(uint8_t *dst, __m256i low, __m256i high)
{
    __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    __m128i half = _mm256_extracti128_si256(words, 1);
    _mm_storeu_si128((__m128i *)dst, _mm_packus_epi16(_mm256_castsi256_si128(words), half));
}

static inline __m256i round_8(const float *src)
{
    __m256 value = _mm256_add_ps(_mm256_loadu_ps(src), _mm256_set1_ps(0.5f));
    value = _mm256_max_ps(value, _mm256_setzero_ps()); /* the second where the first is NaN */
    return _mm256_cvttps_epi32(_mm256_min_ps(value, _mm256_set1_ps(255)));
}

static void round_u8_avx2(uint8_t *dst, const float *src, int n)
{
    int i = 0;
    for (; i + 16 <= n; i += 16)
        store_16_u8(dst + i, round_8(src + i), round_8(src + i + 8));
    for (; i < n; i++)
        dst[i] = stk__round_u8(src[i]);
}

static inline __m256i round_even_8(const float *src)
{
    __m256 value = _mm256_max_ps(_mm256_loadu_ps(src), _mm256_setzero_ps());
    return _mm256_cvtps_epi32(_mm256_min_ps(value, _mm256_set1_ps(255)));
}

static void round_even_u8_avx2(uint8_t *dst, const float *src, int n)
{
    int i = 0;
    for (; i + 16 <= n; i += 16)
        store_16_u8(dst + i, round_even_8(src + i), round_even_8(src + i + 8));
    for (; i < n; i++)
        dst[i] = stk__round_even_u8(src[i]);
}

static inline __m256 mix_8(__m256 a, __m256 b, __m256 weight_a, __m256 weight_b)
{
    return _mm256_add_ps(_mm256_mul_ps(a, weight_a), _mm256_mul_ps(b, weight_b));
}

static void mix_f32_avx2(float *dst, const float *a, const float *b, const float weight[2],
                         size_t n)
{
    const __m256 first = _mm256_set1_ps(weight[0]), second = _mm256_set1_ps(weight[1]);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i,
                         mix_8(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), first, second));
    for (; i < n; i++)
        dst[i] = a[i] * weight[0] + b[i] * weight[1];
}

static inline __m256i mix_round_8(const uint8_t *a, const uint8_t *b, __m256 first, __m256 second)
{
    __m256 value = mix_8(load_8_u8(a), load_8_u8(b), first, second);
    value = _mm256_max_ps(value, _mm256_setzero_ps());
    return _mm256_cvtps_epi32(_mm256_min_ps(value, _mm256_set1_ps(255)));
}

static void mix_u8_avx2(uint8_t *dst, const uint8_t *a, const uint8_t *b, const float weight[2],
                        size_t n)
{
    const __m256 first = _mm256_set1_ps(weight[0]), second = _mm256_set1_ps(weight[1]);
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        store_16_u8(dst + i, mix_round_8(a + i, b + i, first, second),
                    mix_round_8(a + i + 8, b + i + 8, first, second));
    for (; i < n; i++)
        dst[i] = stk__round_even_u8((float)a[i] * weight[0] + (float)b[i] * weight[1]);
}

/* ---- pixels ---- */

/* As many whole pixels as 16 bytes hold are turned at a time; the bytes written behind them are
 * overwritten by the next step. Pixels of which there are not two in 16 bytes, and the last ones,
 * go one by one. */
static void reverse_pixels_avx2(uint8_t *dst, const uint8_t *src, int n, int pixel_bytes)
{
    int n_step = pixel_bytes <= 8 ? 16 / pixel_bytes : 0, step_bytes = n_step * pixel_bytes;
    uint8_t turn[16] = { 0 };
    for (int b = 0; b < step_bytes; b++)
        turn[b] = (uint8_t)(16 - pixel_bytes * (b / pixel_bytes + 1) + b % pixel_bytes);
    const __m128i shuffle = _mm_loadu_si128((const __m128i *)turn);
    while (n_step && (int64_t)n * pixel_bytes >= 16) {
        const uint8_t *end = src + (int64_t)n * pixel_bytes;
        __m128i pixels = _mm_loadu_si128((const __m128i *)(end - 16));
        _mm_storeu_si128((__m128i *)dst, _mm_shuffle_epi8(pixels, shuffle));
        dst += step_bytes;
        n -= n_step;
    }
    stk__reverse_pixels_scalar(dst, src, n, pixel_bytes);
}

void stk__image_fill_avx2(struct stk__image_kernels *kernels)
{
    kernels->mul_f32 = mul_f32_avx2;
    kernels->affine_u8 = affine_u8_avx2;
    kernels->affine_f32 = affine_f32_avx2;
    kernels->round_u8 = round_u8_avx2;
    kernels->round_even_u8 = round_even_u8_avx2;
    kernels->mix_f32 = mix_f32_avx2;
    kernels->mix_u8 = mix_u8_avx2;
    kernels->split_planes = stk__split_planes_avx2;
    kernels->reverse_pixels = reverse_pixels_avx2;
}
