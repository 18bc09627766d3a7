/* SPDX-License-Identifier: Apache-2.0 */
/* image_avx2.c: the kernels on image rows for AVX2. No fused multiply-add: its bits would differ.
 * What a loop needs of a struct is copied out first, since a vector store may alias anything. */
#include "kernel/image.h"

#include <immintrin.h>
#include <string.h>

/* ---- lerp ---- */

/* Eight values whose lanes hold left | right << 16. The difference is exact in integers and in
 * floats. */
static inline void lerp_lanes(float *dst, __m256i lanes, const float *weight)
{
    const __m256i right_minus_left = _mm256_set1_epi32(0x0001ffff);
    __m256 step = _mm256_cvtepi32_ps(_mm256_madd_epi16(lanes, right_minus_left));
    __m256 left = _mm256_cvtepi32_ps(_mm256_and_si256(lanes, _mm256_set1_epi32(0xffff)));
    __m256 product = _mm256_mul_ps(step, _mm256_loadu_ps(weight));
    _mm256_storeu_ps(dst, _mm256_add_ps(left, product));
}

static inline __m256i both_lanes(__m128i low, __m128i high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

static inline __m128i load_two(const uint8_t *a, const uint8_t *b)
{
    __m128d low = _mm_castsi128_pd(_mm_loadl_epi64((const __m128i *)a));
    return _mm_castpd_si128(_mm_loadh_pd(low, (const double *)(const void *)b));
}

static int lerp_x_windows_16(float *dst, const uint8_t *src, const struct stk__lerp_row *row)
{
    const int32_t *window = row->window;
    const uint8_t *shuffle = row->shuffle;
    const float *weight = row->weight;
    int n = row->n / 8 * 8;
    for (int i = 0; i < n; i += 8, window += 2, shuffle += 32) {
        __m128i low = _mm_loadu_si128((const __m128i *)(src + window[0]));
        __m128i high = _mm_loadu_si128((const __m128i *)(src + window[1]));
        __m256i order = _mm256_loadu_si256((const __m256i *)shuffle);
        lerp_lanes(dst + i, _mm256_shuffle_epi8(both_lanes(low, high), order), weight + i);
    }
    return n;
}

static int lerp_x_windows_8(float *dst, const uint8_t *src, const struct stk__lerp_row *row)
{
    const int32_t *window = row->window;
    const uint8_t *shuffle = row->shuffle;
    const float *weight = row->weight;
    int n = row->n / 8 * 8;
    for (int i = 0; i < n; i += 8, window += 4, shuffle += 32) {
        __m128i low = load_two(src + window[0], src + window[1]);
        __m128i high = load_two(src + window[2], src + window[3]);
        __m256i order = _mm256_loadu_si256((const __m256i *)shuffle);
        lerp_lanes(dst + i, _mm256_shuffle_epi8(both_lanes(low, high), order), weight + i);
    }
    return n;
}

static void lerp_x_u8_avx2(float *dst, const uint8_t *src, const struct stk__lerp_row *row)
{
    int i = 0;
    if (row->window_bytes == 16)
        i = lerp_x_windows_16(dst, src, row);
    else if (row->window_bytes == 8)
        i = lerp_x_windows_8(dst, src, row);
    for (; i < row->n; i++)
        dst[i] = stk__lerp(src[row->left[i]], src[row->right[i]], row->weight[i]);
}

/* Pixels of three or four channels as vectors of four. Three channels read and write one value too
 * many, so the last pixels are left to plain code. */
static int lerp_x_pixels(float *dst, const float *src, const struct stk__lerp_row *row)
{
    const int32_t *left = row->left, *right = row->right;
    const float *weight = row->weight;
    int step = row->channels, last = row->n_src - 4, n = row->n - 4, i = 0;
    for (; i <= n && right[i] <= last; i += step) {
        __m128 a = _mm_loadu_ps(src + left[i]), b = _mm_loadu_ps(src + right[i]);
        __m128 product = _mm_mul_ps(_mm_sub_ps(b, a), _mm_set1_ps(weight[i]));
        _mm_storeu_ps(dst + i, _mm_add_ps(a, product));
    }
    return i;
}

static void lerp_x_f32_avx2(float *dst, const float *src, const struct stk__lerp_row *row)
{
    int i = row->channels == 3 || row->channels == 4 ? lerp_x_pixels(dst, src, row) : 0;
    for (; i < row->n; i++)
        dst[i] = stk__lerp(src[row->left[i]], src[row->right[i]], row->weight[i]);
}

static void lerp_y_f32_avx2(float *dst, const float *top, const float *bottom, float weight, int n)
{
    const __m256 w = _mm256_set1_ps(weight);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 a = _mm256_loadu_ps(top + i), b = _mm256_loadu_ps(bottom + i);
        _mm256_storeu_ps(dst + i, _mm256_add_ps(a, _mm256_mul_ps(_mm256_sub_ps(b, a), w)));
    }
    for (; i < n; i++)
        dst[i] = stk__lerp(top[i], bottom[i], weight);
}

/* ---- sums ---- */

static inline __m128 load_pixel_u8(const uint8_t *src)
{
    int32_t four;
    memcpy(&four, src, sizeof four);
    return _mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)));
}

/* How many output pixels can be made of vectors of four, as in lerp_x_pixels. */
static int n_vector_pixels(const struct stk__taps *taps, int channels)
{
    if (channels != 3)
        return channels == 4 ? taps->n_out : 0;
    int n = taps->n_out - 1;
    for (; n > 0; n--) {
        int n_taps = stk__taps_count(taps, n - 1);
        if (!n_taps || taps->index[(int64_t)(n - 1) * taps->span + n_taps - 1] < taps->n_in - 1)
            break;
    }
    return n;
}

static void sum_x_u8_avx2(float *dst, const uint8_t *src, const struct stk__taps *taps,
                          int channels)
{
    const int32_t *index = taps->index, *count = taps->count;
    const float *weight = taps->weight;
    int span = taps->span, n = n_vector_pixels(taps, channels), i = 0;
    for (; i < n; i++, index += span, weight += span) {
        int n_taps = count ? count[i] : span;
        __m128 sum = _mm_setzero_ps();
        if (n_taps)
            sum = _mm_mul_ps(load_pixel_u8(src + index[0] * channels), _mm_set1_ps(weight[0]));
        for (int k = 1; k < n_taps; k++) {
            __m128 pixel = load_pixel_u8(src + index[k] * channels);
            sum = _mm_add_ps(sum, _mm_mul_ps(pixel, _mm_set1_ps(weight[k])));
        }
        _mm_storeu_ps(dst + i * channels, sum);
    }
    for (; i < taps->n_out; i++) {
        for (int c = 0; c < channels; c++)
            dst[i * channels + c] = stk__sum_u8(src + c, taps, i, channels);
    }
}

static void sum_x_f32_avx2(float *dst, const float *src, const struct stk__taps *taps, int channels)
{
    const int32_t *index = taps->index, *count = taps->count;
    const float *weight = taps->weight;
    int span = taps->span, n = n_vector_pixels(taps, channels), i = 0;
    for (; i < n; i++, index += span, weight += span) {
        int n_taps = count ? count[i] : span;
        __m128 sum = _mm_setzero_ps();
        if (n_taps)
            sum = _mm_mul_ps(_mm_loadu_ps(src + index[0] * channels), _mm_set1_ps(weight[0]));
        for (int k = 1; k < n_taps; k++) {
            __m128 pixel = _mm_loadu_ps(src + index[k] * channels);
            sum = _mm_add_ps(sum, _mm_mul_ps(pixel, _mm_set1_ps(weight[k])));
        }
        _mm_storeu_ps(dst + i * channels, sum);
    }
    for (; i < taps->n_out; i++) {
        for (int c = 0; c < channels; c++)
            dst[i * channels + c] = stk__sum_f32(src + c, taps, i, channels);
    }
}

static inline __m256 load_8_u8(const uint8_t *src)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)src)));
}

static void add_y_u8_avx2(float *sum, const uint8_t *src, float weight, int n)
{
    const __m256 w = _mm256_set1_ps(weight);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 product = _mm256_mul_ps(load_8_u8(src + i), w);
        _mm256_storeu_ps(sum + i, _mm256_add_ps(_mm256_loadu_ps(sum + i), product));
    }
    for (; i < n; i++)
        sum[i] += (float)src[i] * weight;
}

static void add_y_f32_avx2(float *sum, const float *src, float weight, int n)
{
    const __m256 w = _mm256_set1_ps(weight);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 product = _mm256_mul_ps(_mm256_loadu_ps(src + i), w);
        _mm256_storeu_ps(sum + i, _mm256_add_ps(_mm256_loadu_ps(sum + i), product));
    }
    for (; i < n; i++)
        sum[i] += src[i] * weight;
}

/* ---- value by value ---- */

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

static inline __m256i round_8(const float *src)
{
    __m256 value = _mm256_add_ps(_mm256_loadu_ps(src), _mm256_set1_ps(0.5f));
    value = _mm256_max_ps(value, _mm256_setzero_ps()); /* the second where the first is NaN */
    return _mm256_cvttps_epi32(_mm256_min_ps(value, _mm256_set1_ps(255)));
}

static void round_u8_avx2(uint8_t *dst, const float *src, int n)
{
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        __m256i words = _mm256_packus_epi32(round_8(src + i), round_8(src + i + 8));
        words = _mm256_permute4x64_epi64(words, 0xd8);
        __m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
        _mm_storeu_si128((__m128i *)(dst + i), _mm_packus_epi16(low, high));
    }
    for (; i < n; i++)
        dst[i] = stk__round_u8(src[i]);
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
    kernels->lerp_x_u8 = lerp_x_u8_avx2;
    kernels->lerp_x_f32 = lerp_x_f32_avx2;
    kernels->lerp_y_f32 = lerp_y_f32_avx2;
    kernels->sum_x_u8 = sum_x_u8_avx2;
    kernels->sum_x_f32 = sum_x_f32_avx2;
    kernels->add_y_u8 = add_y_u8_avx2;
    kernels->add_y_f32 = add_y_f32_avx2;
    kernels->mul_f32 = mul_f32_avx2;
    kernels->affine_u8 = affine_u8_avx2;
    kernels->affine_f32 = affine_f32_avx2;
    kernels->round_u8 = round_u8_avx2;
    kernels->reverse_pixels = reverse_pixels_avx2;
}
