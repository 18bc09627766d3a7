/* SPDX-License-Identifier: Apache-2.0 */
/* lerp_line_avx512.c: lines and pairs of them with sixteen lanes: a byte permutation takes the neighbours
 * of sixteen values out of 64 source bytes. */
#include "kernel/inline.h"
#include "kernel/resample.h"

#include <immintrin.h>

/* Lanes are left | right << 16. */
INLINE __m512 across(const uint8_t *window, __m512i shuffle, __m512 weight)
{
    const __mmask64 low_bytes = 0x5555555555555555;
    const __m512i right_minus_left = _mm512_set1_epi32(0x0001ffff);
    __m512i lanes = _mm512_maskz_permutexvar_epi8(low_bytes, shuffle, _mm512_loadu_si512(window));
    __m512 step = _mm512_cvtepi32_ps(_mm512_madd_epi16(lanes, right_minus_left));
    __m512 left = _mm512_cvtepi32_ps(_mm512_and_si512(lanes, _mm512_set1_epi32(0xffff)));
    return _mm512_add_ps(left, _mm512_mul_ps(step, weight));
}

INLINE __m512 between(__m512 top, __m512 bottom, float weight)
{
    return _mm512_add_ps(top, _mm512_mul_ps(_mm512_sub_ps(bottom, top), _mm512_set1_ps(weight)));
}

enum result { BYTES, FLOATS, AFFINE };

INLINE void store(const struct stk__lerp_line *line, int i, __mmask16 lanes, __m512 value,
                  enum result result)
{
    if (result == BYTES) {
        __m512i whole = _mm512_cvttps_epi32(_mm512_add_ps(value, _mm512_set1_ps(0.5f)));
        _mm_mask_storeu_epi8((uint8_t *)line->dst + i, lanes, _mm512_cvtepi32_epi8(whole));
    } else if (line->is_far && lanes == 0xffff) {
        _mm512_stream_ps((float *)line->dst + i, value);
    } else {
        _mm512_mask_storeu_ps((float *)line->dst + i, lanes, value);
    }
}

/* One line or two; the second one's top may be the first one's bottom. */
INLINE void make_lines(const struct stk__lerp_line *given, int n_lines,
                       const struct stk__lerp_row *row, enum result result)
{
    const struct stk__lerp_line lines[2] = { given[0], given[n_lines - 1] };
    const struct stk__lerp_line *last = &lines[n_lines - 1];
    const int32_t *window = row->window_64;
    const uint8_t *shuffle = row->shuffle_64;
    const float *weight = row->weight;
    const struct stk__affine affine =
        result == AFFINE ? *given->affine : (struct stk__affine){ .period = 16 };
    for (int i = 0, k = 0, n = row->n; i < n; i += 16, shuffle += 64) {
        __mmask16 lanes = n - i >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << (n - i)) - 1);
        __m512i order = _mm512_loadu_si512(shuffle);
        __m512 across_by = _mm512_maskz_loadu_ps(lanes, weight + i);
        int at = *window++;
        __m512 bottom = _mm512_setzero_ps();
        if (!lines->top)
            bottom = _mm512_maskz_loadu_ps(lanes, lines->kept + i);
        for (int l = 0; l < n_lines; l++) {
            const struct stk__lerp_line *line = &lines[l];
            __m512 top = line->top ? across(line->top + at, order, across_by) : bottom;
            bottom = across(line->bottom + at, order, across_by);
            __m512 value = between(top, bottom, line->weight);
            if (result == AFFINE) {
                __m512 product = _mm512_mul_ps(value, _mm512_loadu_ps(affine.mul + k));
                value = _mm512_add_ps(product, _mm512_loadu_ps(affine.add + k));
            }
            store(line, i, lanes, value, result);
        }
        if (last->keeps_bottom)
            _mm512_mask_storeu_ps(last->kept + i, lanes, bottom);
        k = k + 16 < affine.period ? k + 16 : 0;
    }
}

INLINE void make_result(const struct stk__lerp_line *lines, int n_lines,
                        const struct stk__lerp_row *row)
{
    if (lines->is_rounded)
        make_lines(lines, n_lines, row, BYTES);
    else if (lines->affine)
        make_lines(lines, n_lines, row, AFFINE);
    else
        make_lines(lines, n_lines, row, FLOATS);
}

void stk__lerp_line_u8_avx512(const struct stk__lerp_line *line, const struct stk__lerp_row *row)
{
    if (row->window_64)
        make_result(line, 1, row);
    else
        stk__lerp_line_u8_avx2(line, row);
}

void stk__lerp_pair_u8_avx512(const struct stk__lerp_line lines[2], const struct stk__lerp_row *row)
{
    if (row->window_64)
        make_result(lines, 2, row);
    else
        stk__lerp_pair_u8_avx2(lines, row);
}
