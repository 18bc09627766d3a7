/* SPDX-License-Identifier: Apache-2.0 */
/* vector_avx512.h: a vector of sixteen floats, for bodies that are compiled for any.
 *
 * A body (depthwise_body.h, pool_body.h, …) is loops over `vector`, included by one file per
 * instruction set behind that set's vector header. Both headers define the same names: LANES floats
 * make a vector, REGISTERS of them are at hand, `lanes` chooses some, `cells` has a byte for each.
 * `_some` and a count n below LANES: the first n only, nothing else is touched.
 */
#pragma once
#include "kernel/inline.h"

#include <stoker/stoker.h>

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 16, REGISTERS = 32 };
typedef __m512 vector;
typedef __mmask16 lanes; /* a choice of lanes */
typedef __m128i cells;   /* a byte for each lane */

#define load _mm512_loadu_ps
#define store _mm512_storeu_ps
#define spread _mm512_set1_ps
#define zero _mm512_setzero_ps
#define plus _mm512_add_ps
#define minus _mm512_sub_ps
#define times _mm512_mul_ps
#define over _mm512_div_ps
#define fuse _mm512_fmadd_ps           /* a * b + c */
#define fuse_negative _mm512_fnmadd_ps /* c - a * b */
#define fuse_minus _mm512_fmsub_ps     /* a * b - c */
#define root _mm512_sqrt_ps
/* The second operand where one is NaN. */
#define least _mm512_min_ps
#define greatest _mm512_max_ps

INLINE lanes first_lanes(int n)
{
    return (lanes)((1u << n) - 1);
}

#define load_some(from, n) _mm512_maskz_loadu_ps(first_lanes(n), from)
#define store_some(to, value, n) _mm512_mask_storeu_ps(to, first_lanes(n), value)

/* ---- half precision: n lanes, dtype STK_F16 or STK_BF16 ---- */

INLINE vector load_halves(int dtype, const uint16_t *from, int n)
{
    const __m256i bits = n >= LANES ? _mm256_loadu_si256((const __m256i *)from)
                                    : _mm256_maskz_loadu_epi16(first_lanes(n), from);
    if (dtype == STK_F16)
        return _mm512_cvtph_ps(bits);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

/* Rounded to even; NaN stays one. */
INLINE __m256i bfloats_of(vector value)
{
    const __m512i bits = _mm512_castps_si512(value), one = _mm512_set1_epi32(1);
    const __m512i last = _mm512_and_epi32(_mm512_srli_epi32(bits, 16), one);
    const __m512i rounded =
        _mm512_add_epi32(bits, _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff)));
    const __m512i quiet = _mm512_or_epi32(bits, _mm512_set1_epi32(0x400000));
    const lanes is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(
        _mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, is_nan, quiet), 16));
}

INLINE void store_halves(int dtype, uint16_t *to, vector value, int n)
{
    const __m256i bits =
        dtype == STK_F16 ? _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT) : bfloats_of(value);
    if (n >= LANES)
        _mm256_storeu_si256((__m256i *)to, bits);
    else
        _mm256_mask_storeu_epi16(to, first_lanes(n), bits);
}

/* ---- choices ---- */

INLINE lanes is_above(vector a, vector b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}

INLINE lanes is_below(vector a, vector b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

/* NaN is other than anything. */
INLINE lanes is_other(vector a, vector b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ);
}

INLINE lanes is_both(lanes a, lanes b)
{
    return a & b;
}

INLINE lanes some_lanes(int n)
{
    return first_lanes(n);
}

/* b in the lanes, a elsewhere. */
INLINE vector choose(lanes where, vector a, vector b)
{
    return _mm512_mask_mov_ps(a, where, b);
}

/* 0 elsewhere. */
INLINE vector only(lanes where, vector a)
{
    return _mm512_maskz_mov_ps(where, a);
}

/* Whether any lane is. */
INLINE bool has_nan(vector a)
{
    return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q) != 0;
}

/* ---- bytes ---- */

INLINE cells spread_cell(int cell)
{
    return _mm_set1_epi8((char)cell);
}

INLINE cells choose_cells(lanes where, cells a, cells b)
{
    return _mm_mask_mov_epi8(a, where, b);
}

INLINE lanes is_cell(cells a, cells b)
{
    return _mm_cmpeq_epi8_mask(a, b);
}

INLINE cells load_cells(const uint8_t *from, int n)
{
    return n >= LANES ? _mm_loadu_si128((const __m128i *)from)
                      : _mm_maskz_loadu_epi8(first_lanes(n), from);
}

INLINE void store_cells(uint8_t *to, cells a, int n)
{
    if (n >= LANES)
        _mm_storeu_si128((__m128i *)to, a);
    else
        _mm_mask_storeu_epi8(to, first_lanes(n), a);
}

INLINE vector load_bytes(const uint8_t *from, int n)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(load_cells(from, n)));
}

/* ---- quads: four floats, of which each lane picks one ---- */

typedef __m512i places;

INLINE places places_of(cells a) /* below 4 */
{
    return _mm512_cvtepu8_epi32(a);
}

INLINE vector spread_quad(const float *from)
{
    return _mm512_broadcast_f32x4(_mm_loadu_ps(from));
}

#define pick _mm512_permutevar_ps

/* n quads: a[0], b[0], c[0], d[0], a[1] … */
INLINE void put_quads(vector a, vector b, vector c, vector d, float *to, int n)
{
    const vector low = _mm512_unpacklo_ps(a, b), high = _mm512_unpackhi_ps(a, b);
    const vector low_2 = _mm512_unpacklo_ps(c, d), high_2 = _mm512_unpackhi_ps(c, d);
    const vector q0 = _mm512_shuffle_ps(low, low_2, 0x44), q1 = _mm512_shuffle_ps(low, low_2, 0xee);
    const vector q2 = _mm512_shuffle_ps(high, high_2, 0x44);
    const vector q3 = _mm512_shuffle_ps(high, high_2, 0xee);
    /* quarter i of qk is quad 4 i + k */
    const vector r0 = _mm512_shuffle_f32x4(q0, q1, 0x44), r1 = _mm512_shuffle_f32x4(q0, q1, 0xee);
    const vector r2 = _mm512_shuffle_f32x4(q2, q3, 0x44), r3 = _mm512_shuffle_f32x4(q2, q3, 0xee);
    const vector quads[4] = { _mm512_shuffle_f32x4(r0, r2, 0x88),
                              _mm512_shuffle_f32x4(r0, r2, 0xdd),
                              _mm512_shuffle_f32x4(r1, r3, 0x88),
                              _mm512_shuffle_f32x4(r1, r3, 0xdd) };
    UNROLL
    for (int i = 0; i < 4; i++)
        if (n >= 4 * i + 4)
            store(to + 16 * i, quads[i]);
        else if (n > 4 * i)
            store_some(to + 16 * i, quads[i], 4 * (n - 4 * i));
}

/* ---- sums in double ---- */

INLINE void add_doubles(double *to, vector a)
{
    __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a));
    __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1));
    _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), low));
    _mm512_storeu_pd(to + 8, _mm512_add_pd(_mm512_loadu_pd(to + 8), high));
}

#define sum_lanes _mm512_reduce_add_ps
#define greatest_lane _mm512_reduce_max_ps

/* ---- parts of a float ---- */

INLINE vector nearest(vector x)
{
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* x * 2^k for a whole k from -126 to 127. */
#define scale_by_power _mm512_scalef_ps

INLINE vector size_of(vector x)
{
    return _mm512_abs_ps(x);
}

/* The size of a with the sign of b. */
INLINE vector with_sign(vector a, vector b)
{
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    return _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(sign, _mm512_castps_si512(b), _mm512_castps_si512(a), 0xca));
}

/* ---- blocks ---- */

/* to[i][r] = from[r][i], or added, LANES by LANES: pairs, quads and quarters change places. */
INLINE void turn_block(const float *from, int64_t from_down, int adds, float *to, int64_t to_down)
{
    vector a[LANES], b[LANES];
    UNROLL
    for (int i = 0; i < LANES; i++)
        a[i] = load(from + i * from_down);
    UNROLL
    for (int i = 0; i < LANES; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
    UNROLL
    for (int i = 0; i < LANES; i += 4) {
        a[i] = _mm512_shuffle_ps(b[i], b[i + 2], 0x44);
        a[i + 1] = _mm512_shuffle_ps(b[i], b[i + 2], 0xee);
        a[i + 2] = _mm512_shuffle_ps(b[i + 1], b[i + 3], 0x44);
        a[i + 3] = _mm512_shuffle_ps(b[i + 1], b[i + 3], 0xee);
    }
    /* quarter q of a[4 g + i] is row 4 g of column 4 q + i */
    UNROLL
    for (int i = 0; i < 4; i++) {
        b[i] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88);
        b[i + 4] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd);
        b[i + 8] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0x88);
        b[i + 12] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0xdd);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        a[i] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0x88);
        a[i + 8] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0xdd);
        a[i + 4] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0x88);
        a[i + 12] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0xdd);
    }
    UNROLL
    for (int i = 0; i < LANES; i++)
        store(to + i * to_down, adds ? plus(a[i], load(to + i * to_down)) : a[i]);
}
