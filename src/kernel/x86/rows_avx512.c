/* SPDX-License-Identifier: Apache-2.0 */
/* rows_avx512.c: kernels between rows where sixteen lanes pay. Mirrors lerp_avx2.c and
 * rows_avx2.c; the last values of a row go through the same code under a mask. */
#include "kernel/resample.h"

#include <immintrin.h>

/* Lanes in use of the sixteen at i. */
static inline __mmask16 lanes_left(int n, int i)
{
    return n - i >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << (n - i)) - 1);
}

static inline __m512 lerp_16(const float *top, const float *bottom, __m512 weight, __mmask16 lanes)
{
    __m512 a = _mm512_maskz_loadu_ps(lanes, top), b = _mm512_maskz_loadu_ps(lanes, bottom);
    return _mm512_add_ps(a, _mm512_mul_ps(_mm512_sub_ps(b, a), weight));
}

static void lerp_y_f32_avx512(float *dst, const float *top, const float *bottom, float weight,
                              int n)
{
    const __m512 w = _mm512_set1_ps(weight);
    for (int i = 0; i < n; i += 16) {
        __mmask16 lanes = lanes_left(n, i);
        _mm512_mask_storeu_ps(dst + i, lanes, lerp_16(top + i, bottom + i, w, lanes));
    }
}

static void lerp_y_affine_avx512(float *dst, const float *const rows[2], float weight, int n,
                                 const struct stk__affine *affine, bool is_far)
{
    const float *top = rows[0], *bottom = rows[1], *mul = affine->mul, *add = affine->add;
    const __m512 w = _mm512_set1_ps(weight);
    int period = affine->period, k = 0;
    for (int i = 0; i < n; i += 16, k = k + 16 < period ? k + 16 : 0) {
        __mmask16 lanes = lanes_left(n, i);
        __m512 value = lerp_16(top + i, bottom + i, w, lanes);
        value =
            _mm512_add_ps(_mm512_mul_ps(value, _mm512_loadu_ps(mul + k)), _mm512_loadu_ps(add + k));
        if (is_far && lanes == 0xffff)
            _mm512_stream_ps(dst + i, value);
        else
            _mm512_mask_storeu_ps(dst + i, lanes, value);
    }
}

static inline __m512 load_u8(const uint8_t *src, __mmask16 lanes)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, src)));
}

static void sum_y_u8_avx512(float *dst, const uint8_t *const *rows, const float *weight, int n_rows,
                            int n)
{
    for (int i = 0; i < n; i += 16) {
        __mmask16 lanes = lanes_left(n, i);
        __m512 sum = _mm512_setzero_ps();
        for (int k = 0; k < n_rows; k++)
            sum = _mm512_add_ps(
                sum, _mm512_mul_ps(load_u8(rows[k] + i, lanes), _mm512_set1_ps(weight[k])));
        _mm512_mask_storeu_ps(dst + i, lanes, sum);
    }
}

static void sum_y_f32_avx512(float *dst, const float *const *rows, const float *weight, int n_rows,
                             int n)
{
    for (int i = 0; i < n; i += 16) {
        __mmask16 lanes = lanes_left(n, i);
        __m512 sum = _mm512_setzero_ps();
        for (int k = 0; k < n_rows; k++) {
            __m512 value = _mm512_maskz_loadu_ps(lanes, rows[k] + i);
            sum = _mm512_add_ps(sum, _mm512_mul_ps(value, _mm512_set1_ps(weight[k])));
        }
        _mm512_mask_storeu_ps(dst + i, lanes, sum);
    }
}

void stk__rows_fill_avx512(struct stk__resample_kernels *kernels)
{
    kernels->lerp_line_u8 = stk__lerp_line_u8_avx512;
    kernels->lerp_pair_u8 = stk__lerp_pair_u8_avx512;
    kernels->lerp_y_f32 = lerp_y_f32_avx512;
    kernels->lerp_y_affine = lerp_y_affine_avx512;
    kernels->sum_y_u8 = sum_y_u8_avx512;
    kernels->sum_y_f32 = sum_y_f32_avx512;
}
