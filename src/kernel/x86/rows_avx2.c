/* SPDX-License-Identifier: Apache-2.0 */
/* rows_avx2.c: sums of rows for AVX2, and the mean of 2 x 2 pixels. */
#include "kernel/resample.h"

#include <immintrin.h>

/* ---- floats ---- */

static inline __m256 load_8_u8(const uint8_t *src)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)src)));
}

static inline __m256 add_product(__m256 sum, __m256 value, __m256 weight)
{
    return _mm256_add_ps(sum, _mm256_mul_ps(value, weight));
}

static int sum_16_u8(float *dst, const uint8_t *const *rows, const float *weight, int n_rows, int n)
{
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        __m256 low = _mm256_setzero_ps(), high = low;
        for (int k = 0; k < n_rows; k++) {
            __m256 w = _mm256_broadcast_ss(weight + k);
            low = add_product(low, load_8_u8(rows[k] + i), w);
            high = add_product(high, load_8_u8(rows[k] + i + 8), w);
        }
        _mm256_storeu_ps(dst + i, low);
        _mm256_storeu_ps(dst + i + 8, high);
    }
    return i;
}

static void sum_y_u8_avx2(float *dst, const uint8_t *const *rows, const float *weight, int n_rows,
                          int n)
{
    for (int i = sum_16_u8(dst, rows, weight, n_rows, n); i < n; i++) {
        float sum = 0;
        for (int k = 0; k < n_rows; k++)
            sum += (float)rows[k][i] * weight[k];
        dst[i] = sum;
    }
}

static int sum_16_f32(float *dst, const float *const *rows, const float *weight, int n_rows, int n)
{
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        __m256 low = _mm256_setzero_ps(), high = low;
        for (int k = 0; k < n_rows; k++) {
            __m256 w = _mm256_broadcast_ss(weight + k);
            low = add_product(low, _mm256_loadu_ps(rows[k] + i), w);
            high = add_product(high, _mm256_loadu_ps(rows[k] + i + 8), w);
        }
        _mm256_storeu_ps(dst + i, low);
        _mm256_storeu_ps(dst + i + 8, high);
    }
    return i;
}

static void sum_y_f32_avx2(float *dst, const float *const *rows, const float *weight, int n_rows,
                           int n)
{
    for (int i = sum_16_f32(dst, rows, weight, n_rows, n); i < n; i++) {
        float sum = 0;
        for (int k = 0; k < n_rows; k++)
            sum += rows[k][i] * weight[k];
        dst[i] = sum;
    }
}

/* ---- integers of 22 bits ---- */

enum { MAX_PAIRS = 128 }; /* of rows that one call takes; more go through plain code */

/* Weights of two rows, 16 bits each, in two parts of which the high one counts 2^11. */
struct pairs {
    int32_t high[MAX_PAIRS], low[MAX_PAIRS];
};

static int32_t pair_of(int32_t first, int32_t second)
{
    return (int32_t)((uint32_t)(first & 0xffff) | (uint32_t)second << 16);
}

static void make_pairs(struct pairs *pairs, const int32_t *weight, int n_rows)
{
    for (int k = 0; k < n_rows; k += 2) {
        int32_t next = k + 1 < n_rows ? weight[k + 1] : 0;
        pairs->high[k / 2] = pair_of(weight[k] >> 11, next >> 11);
        pairs->low[k / 2] = pair_of(weight[k] & 0x7ff, next & 0x7ff);
    }
}

static inline __m256i widen(__m128i bytes)
{
    return _mm256_cvtepu8_epi16(bytes);
}

static inline __m256i add_pairs(__m256i sum, __m256i values, __m256i weights)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(values, weights));
}

static inline __m256i from_parts(__m256i high, __m256i low)
{
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(high, 11), low);
    return _mm256_srai_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(1 << 21)), 22);
}

/* 16 values: bytes of two rows side by side, values 0..7 and 8..15. */
static inline __m128i fixed_16(const uint8_t *const *rows, const struct pairs *pairs, int n_rows,
                               int i)
{
    __m256i high_a = _mm256_setzero_si256(), low_a = high_a, high_b = high_a, low_b = high_a;
    for (int k = 0; k < n_rows; k += 2) {
        const uint8_t *next = rows[k + 1 < n_rows ? k + 1 : k];
        __m128i even = _mm_loadu_si128((const __m128i *)(rows[k] + i));
        __m128i odd = _mm_loadu_si128((const __m128i *)(next + i));
        __m256i a = widen(_mm_unpacklo_epi8(even, odd)), b = widen(_mm_unpackhi_epi8(even, odd));
        __m256i high = _mm256_set1_epi32(pairs->high[k / 2]);
        __m256i low = _mm256_set1_epi32(pairs->low[k / 2]);
        high_a = add_pairs(high_a, a, high);
        low_a = add_pairs(low_a, a, low);
        high_b = add_pairs(high_b, b, high);
        low_b = add_pairs(low_b, b, low);
    }
    __m256i words = _mm256_packs_epi32(from_parts(high_a, low_a), from_parts(high_b, low_b));
    words = _mm256_permute4x64_epi64(words, 0xd8);
    return _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

static void fixed_y_u8_avx2(uint8_t *dst, const uint8_t *const *rows, const int32_t *weight,
                            int n_rows, int n)
{
    struct pairs pairs;
    int i = 0;
    if (n_rows <= 2 * MAX_PAIRS) {
        make_pairs(&pairs, weight, n_rows);
        for (; i + 16 <= n; i += 16)
            _mm_storeu_si128((__m128i *)(dst + i), fixed_16(rows, &pairs, n_rows, i));
    }
    for (; i < n; i++)
        dst[i] = stk__fixed_y(rows, weight, n_rows, i);
}

/* ---- integers of 11 bits ---- */

static inline __m256i load_8_i32(const int32_t *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

static inline __m256i wide_8(const int32_t *const *rows, const int32_t *weight, int n_rows, int i)
{
    __m256i sum = _mm256_set1_epi32(1 << 21);
    for (int k = 0; k < n_rows; k++)
        sum = _mm256_add_epi32(
            sum, _mm256_mullo_epi32(load_8_i32(rows[k] + i), _mm256_set1_epi32(weight[k])));
    return _mm256_srai_epi32(sum, 22);
}

static inline __m256i wide_8_float(const int32_t *const *rows, const float *weight, int n_rows,
                                   int i)
{
    int k = n_rows - 1;
    __m256 sum =
        _mm256_mul_ps(_mm256_cvtepi32_ps(load_8_i32(rows[k] + i)), _mm256_set1_ps(weight[k]));
    while (k-- > 0)
        sum = _mm256_add_ps(
            _mm256_mul_ps(_mm256_cvtepi32_ps(load_8_i32(rows[k] + i)), _mm256_set1_ps(weight[k])),
            sum);
    return _mm256_cvtps_epi32(sum);
}

/* Eight integers as bytes. */
static inline void store_8_u8(uint8_t *dst, __m256i value)
{
    __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    _mm_storel_epi64((__m128i *)dst, _mm_packus_epi16(words, words));
}

static void wide_y_i32_avx2(uint8_t *dst, const int32_t *const *rows, const int32_t *weight,
                            int n_rows, int n, int n_float)
{
    float floats[8];
    int i = 0;
    for (int k = 0; k < n_rows; k++)
        floats[k] = stk__wide_weight(weight[k]);
    for (; i + 8 <= n_float; i += 8)
        store_8_u8(dst + i, wide_8_float(rows, floats, n_rows, i));
    for (; i < n_float; i++)
        dst[i] = stk__wide_y_float(rows, weight, n_rows, i);
    for (; i + 8 <= n; i += 8)
        store_8_u8(dst + i, wide_8(rows, weight, n_rows, i));
    for (; i < n; i++)
        dst[i] = stk__wide_y(rows, weight, n_rows, i);
}

/* ---- 2 x 2 ---- */

/* Pixels 0 and 1, 2 and 3 of 16 bytes beside each other: how many that makes, and their order. */
static __m128i halves_order(int channels)
{
    if (channels == 1)
        return _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    if (channels == 3)
        return _mm_setr_epi8(0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11, -128, -128, -128, -128);
    return _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
}

static inline __m128i pair_sums(const uint8_t *src, __m128i order)
{
    __m128i bytes = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)src), order);
    return _mm_maddubs_epi16(bytes, _mm_set1_epi8(1));
}

/* 16 bytes of both rows at a time, 12 of three channels: half as many bytes come out, and what is
 * stored behind them is written over. */
static void halve_u8_avx2(uint8_t *dst, const uint8_t *top, const uint8_t *bottom, int n,
                          int channels)
{
    const __m128i order = halves_order(channels);
    bool is_known = channels == 1 || channels == 3 || channels == 4;
    int step = channels == 3 ? 6 : 8, n_bytes = is_known ? n * channels : 0, i = 0;
    for (; i + 8 <= n_bytes; i += step) {
        __m128i sum =
            _mm_add_epi16(pair_sums(top + 2 * i, order), pair_sums(bottom + 2 * i, order));
        sum = _mm_srli_epi16(_mm_add_epi16(sum, _mm_set1_epi16(2)), 2);
        _mm_storel_epi64((__m128i *)(dst + i), _mm_packus_epi16(sum, sum));
    }
    for (; i < n * channels; i++) {
        int at = i / channels * 2 * channels + i % channels;
        dst[i] =
            (uint8_t)((top[at] + top[at + channels] + bottom[at] + bottom[at + channels] + 2) >> 2);
    }
}

void stk__rows_fill_avx2(struct stk__resample_kernels *kernels)
{
    kernels->sum_y_u8 = sum_y_u8_avx2;
    kernels->sum_y_f32 = sum_y_f32_avx2;
    kernels->fixed_y_u8 = fixed_y_u8_avx2;
    kernels->wide_y_i32 = wide_y_i32_avx2;
    kernels->halve_u8 = halve_u8_avx2;
}
