/* SPDX-License-Identifier: Apache-2.0 */
/* lerp_avx2.c: two taps for AVX2, as floats and as integers. No fused multiply-add, except where a
 * product is exact: its bits would differ. What a loop needs of a struct is copied out first, since
 * a vector store may alias anything. */
#include "kernel/x86/lerp_avx2.h"

/* ---- along a row of bytes ---- */

static void lerp_x_u8_avx2(float *dst, const uint8_t *src, const struct stk__lerp_row *row)
{
    const int32_t *window = row->window;
    const uint8_t *shuffle = row->shuffle;
    const float *weight = row->weight;
    int n = row->n / 8 * 8, i = 0;
    if (row->window_bytes == 16)
        for (; i < n; i += 8, window += 2, shuffle += 32)
            _mm256_storeu_ps(dst + i, lerp_lanes(lanes_of_16(src, window, shuffle),
                                                 _mm256_loadu_ps(weight + i), false));
    else if (row->window_bytes == 8)
        for (; i < n; i += 8, window += 4, shuffle += 32)
            _mm256_storeu_ps(dst + i, lerp_lanes(lanes_of_8(src, window, shuffle),
                                                 _mm256_loadu_ps(weight + i), false));
    for (; i < row->n; i++)
        dst[i] = stk__lerp_x(src, row, i);
}

/* Eight sums of integers, >> 4. */
static inline __m256i blend_lanes(__m256i lanes, const int32_t *pair)
{
    __m256i both = _mm256_loadu_si256((const __m256i *)pair);
    return _mm256_srai_epi32(_mm256_madd_epi16(lanes, both), 4);
}

static inline void store_16(int16_t *dst, __m256i low, __m256i high)
{
    __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
    _mm256_storeu_si256((__m256i *)dst, words);
}

static void blend_x_u8_avx2(int16_t *dst, const uint8_t *src, const struct stk__lerp_row *row)
{
    const int32_t *window = row->window, *pair = row->pair;
    const uint8_t *shuffle = row->shuffle;
    int n = row->n / 16 * 16, i = 0;
    if (row->window_bytes == 16)
        for (; i < n; i += 16, window += 4, shuffle += 64)
            store_16(dst + i, blend_lanes(lanes_of_16(src, window, shuffle), pair + i),
                     blend_lanes(lanes_of_16(src, window + 2, shuffle + 32), pair + i + 8));
    else if (row->window_bytes == 8)
        for (; i < n; i += 16, window += 8, shuffle += 64)
            store_16(dst + i, blend_lanes(lanes_of_8(src, window, shuffle), pair + i),
                     blend_lanes(lanes_of_8(src, window + 4, shuffle + 32), pair + i + 8));
    for (; i < row->n; i++)
        dst[i] = stk__blend_x(src, row, i);
}

/* ---- along a row of floats ---- */

/* Pixels of three or four channels as vectors of four. Three channels read and write one value too
 * many, so the last pixels are left to plain code; in rows from right to left the first. */
static void lerp_x_f32_avx2(float *dst, const float *src, const struct stk__lerp_row *row)
{
    const int32_t *left = row->left, *right = row->right;
    const float *weight = row->weight;
    int step = row->channels, last = row->n_src - 4, n = row->n - 4, i = 0;
    bool in_fours = step == 3 || step == 4;
    while (i < row->n) {
        for (; in_fours && i <= n && right[i] <= last; i += step) {
            __m128 a = _mm_loadu_ps(src + left[i]), b = _mm_loadu_ps(src + right[i]);
            __m128 product = _mm_mul_ps(_mm_sub_ps(b, a), _mm_set1_ps(weight[i]));
            _mm_storeu_ps(dst + i, _mm_add_ps(a, product));
        }
        for (int c = 0; c < step && i < row->n; c++, i++)
            dst[i] = stk__lerp(src[left[i]], src[right[i]], weight[i]);
    }
}

/* ---- between rows ---- */

static inline __m256 lerp_8(const float *top, const float *bottom, __m256 weight)
{
    __m256 a = _mm256_loadu_ps(top), b = _mm256_loadu_ps(bottom);
    return _mm256_add_ps(a, _mm256_mul_ps(_mm256_sub_ps(b, a), weight));
}

static void lerp_y_f32_avx2(float *dst, const float *top, const float *bottom, float weight, int n)
{
    const __m256 w = _mm256_set1_ps(weight);
    int i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, lerp_8(top + i, bottom + i, w));
    for (; i < n; i++)
        dst[i] = stk__lerp(top[i], bottom[i], weight);
}

static inline __m256 affine_8(__m256 value, const float *mul, const float *add)
{
    return _mm256_add_ps(_mm256_mul_ps(value, _mm256_loadu_ps(mul)), _mm256_loadu_ps(add));
}

static void lerp_y_affine_avx2(float *dst, const float *const rows[2], float weight, int n,
                               const struct stk__affine *affine, bool is_far)
{
    const float *top = rows[0], *bottom = rows[1], *mul = affine->mul, *add = affine->add;
    const __m256 w = _mm256_set1_ps(weight);
    int period = affine->period, i = 0, k = 0;
    for (; i + 16 <= n; i += 16, k = k + 16 < period ? k + 16 : 0) {
        __m256 low = affine_8(lerp_8(top + i, bottom + i, w), mul + k, add + k);
        __m256 high = affine_8(lerp_8(top + i + 8, bottom + i + 8, w), mul + k + 8, add + k + 8);
        store_floats(dst + i, low, is_far);
        store_floats(dst + i + 8, high, is_far);
    }
    for (; i < n; i++, k++)
        dst[i] = stk__lerp(top[i], bottom[i], weight) * mul[k] + add[k];
}

static inline __m256i rounded_8(const float *top, const float *bottom, __m256 weight)
{
    __m256 value = lerp_8(top, bottom, weight);
    return _mm256_cvttps_epi32(_mm256_add_ps(value, _mm256_set1_ps(0.5f)));
}

static void lerp_y_round_avx2(uint8_t *dst, const float *top, const float *bottom, float weight,
                              int n)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256 w = _mm256_set1_ps(weight);
    int i = 0;
    for (; i + 32 <= n; i += 32) {
        const float *a = top + i, *b = bottom + i;
        __m256i low = _mm256_packs_epi32(rounded_8(a, b, w), rounded_8(a + 8, b + 8, w));
        __m256i high =
            _mm256_packs_epi32(rounded_8(a + 16, b + 16, w), rounded_8(a + 24, b + 24, w));
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
        _mm256_storeu_si256((__m256i *)(dst + i), bytes);
    }
    for (; i < n; i++)
        dst[i] = stk__round_u8(stk__lerp(top[i], bottom[i], weight));
}

static inline __m256i blend_16(const int16_t *top, const int16_t *bottom, __m256i w0, __m256i w1)
{
    __m256i a = _mm256_mulhi_epi16(_mm256_loadu_si256((const __m256i *)top), w0);
    __m256i b = _mm256_mulhi_epi16(_mm256_loadu_si256((const __m256i *)bottom), w1);
    return _mm256_srai_epi16(_mm256_add_epi16(_mm256_add_epi16(a, b), _mm256_set1_epi16(2)), 2);
}

static void blend_y_i16_avx2(uint8_t *dst, const int16_t *top, const int16_t *bottom,
                             const int32_t weight[2], int n)
{
    const __m256i w0 = _mm256_set1_epi16((int16_t)weight[0]);
    const __m256i w1 = _mm256_set1_epi16((int16_t)weight[1]);
    int i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i low = blend_16(top + i, bottom + i, w0, w1);
        __m256i high = blend_16(top + i + 16, bottom + i + 16, w0, w1);
        __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8);
        _mm256_storeu_si256((__m256i *)(dst + i), bytes);
    }
    for (; i < n; i++)
        dst[i] = stk__blend_y(top[i], bottom[i], weight);
}

static void settle_x86(void)
{
    _mm_sfence();
}

void stk__lerp_fill_avx2(struct stk__resample_kernels *kernels)
{
    kernels->lerp_x_u8 = lerp_x_u8_avx2;
    kernels->lerp_line_u8 = stk__lerp_line_u8_avx2;
    kernels->lerp_pair_u8 = stk__lerp_pair_u8_avx2;
    kernels->settle = settle_x86;
    kernels->lerp_x_f32 = lerp_x_f32_avx2;
    kernels->lerp_y_f32 = lerp_y_f32_avx2;
    kernels->lerp_y_affine = lerp_y_affine_avx2;
    kernels->lerp_y_round = lerp_y_round_avx2;
    kernels->blend_x_u8 = blend_x_u8_avx2;
    kernels->blend_y_i16 = blend_y_i16_avx2;
}
