/* SPDX-License-Identifier: Apache-2.0 */
/* vector_avx2.h: a vector of eight floats, for bodies that are compiled for any; see vector_avx512.h. */
#pragma once
#include "kernel/inline.h"

#include <stoker/stoker.h>

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8, REGISTERS = 16 };
typedef __m256 vector;
typedef __m256 lanes;  /* a choice of lanes: all bits of each or none */
typedef __m256i cells; /* a byte for each lane, as int32 */

#define load _mm256_loadu_ps
#define store _mm256_storeu_ps
#define spread _mm256_set1_ps
#define zero _mm256_setzero_ps
#define plus _mm256_add_ps
#define minus _mm256_sub_ps
#define times _mm256_mul_ps
#define over _mm256_div_ps
#define fuse _mm256_fmadd_ps           /* a * b + c */
#define fuse_negative _mm256_fnmadd_ps /* c - a * b */
#define fuse_minus _mm256_fmsub_ps     /* a * b - c */
#define root _mm256_sqrt_ps
/* The second operand where one is NaN. */
#define least _mm256_min_ps
#define greatest _mm256_max_ps

INLINE __m256i first_lanes(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#define load_some(from, n) _mm256_maskload_ps(from, first_lanes(n))
#define store_some(to, value, n) _mm256_maskstore_ps(to, first_lanes(n), value)

/* ---- half precision ---- */

INLINE vector load_halves(int dtype, const uint16_t *from, int n)
{
    uint16_t some[LANES] = { 0 };
    if (n < LANES)
        memcpy(some, from, (size_t)n * sizeof *some);
    const __m128i bits = _mm_loadu_si128((const __m128i *)(n < LANES ? some : from));
    if (dtype == STK_F16)
        return _mm256_cvtph_ps(bits);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

INLINE __m128i bfloats_of(vector value)
{
    const __m256i bits = _mm256_castps_si256(value), one = _mm256_set1_epi32(1);
    const __m256i last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    const __m256i rounded =
        _mm256_add_epi32(bits, _mm256_add_epi32(last, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i words = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

INLINE void store_halves(int dtype, uint16_t *to, vector value, int n)
{
    uint16_t some[LANES];
    const __m128i bits =
        dtype == STK_F16 ? _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT) : bfloats_of(value);
    _mm_storeu_si128((__m128i *)(n < LANES ? some : to), bits);
    if (n < LANES)
        memcpy(to, some, (size_t)n * sizeof *some);
}

/* ---- choices ---- */

INLINE lanes is_above(vector a, vector b)
{
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}

INLINE lanes is_below(vector a, vector b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}

/* NaN is other than anything. */
INLINE lanes is_other(vector a, vector b)
{
    return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ);
}

INLINE lanes is_both(lanes a, lanes b)
{
    return _mm256_and_ps(a, b);
}

INLINE lanes some_lanes(int n)
{
    return _mm256_castsi256_ps(first_lanes(n));
}

/* b in the lanes, a elsewhere. */
INLINE vector choose(lanes where, vector a, vector b)
{
    return _mm256_blendv_ps(a, b, where);
}

/* 0 elsewhere. */
INLINE vector only(lanes where, vector a)
{
    return _mm256_and_ps(where, a);
}

/* Whether any lane is. */
INLINE bool has_nan(vector a)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, a, _CMP_UNORD_Q)) != 0;
}

/* ---- bytes ---- */

INLINE cells spread_cell(int cell)
{
    return _mm256_set1_epi32(cell);
}

INLINE cells choose_cells(lanes where, cells a, cells b)
{
    return _mm256_blendv_epi8(a, b, _mm256_castps_si256(where));
}

INLINE lanes is_cell(cells a, cells b)
{
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}

INLINE cells load_cells(const uint8_t *from, int n)
{
    uint64_t bytes = 0;
    if (n >= LANES)
        memcpy(&bytes, from, LANES);
    else
        for (int i = 0; i < n; i++)
            bytes |= (uint64_t)from[i] << 8 * i;
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes));
}

INLINE void store_cells(uint8_t *to, cells a, int n)
{
    __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    uint64_t bytes = (uint64_t)_mm_cvtsi128_si64(_mm_packus_epi16(words, words));
    if (n >= LANES)
        memcpy(to, &bytes, LANES);
    else
        for (int i = 0; i < n; i++)
            to[i] = (uint8_t)(bytes >> 8 * i);
}

INLINE vector load_bytes(const uint8_t *from, int n)
{
    return _mm256_cvtepi32_ps(load_cells(from, n));
}

/* ---- quads: four floats, of which each lane picks one ---- */

typedef __m256i places;

INLINE places places_of(cells a) /* below 4 */
{
    return a;
}

INLINE vector spread_quad(const float *from)
{
    return _mm256_broadcast_ps((const __m128 *)from);
}

#define pick _mm256_permutevar_ps

/* n quads: a[0], b[0], c[0], d[0], a[1] … */
INLINE void put_quads(vector a, vector b, vector c, vector d, float *to, int n)
{
    const vector low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
    const vector low_2 = _mm256_unpacklo_ps(c, d), high_2 = _mm256_unpackhi_ps(c, d);
    const vector q0 = _mm256_shuffle_ps(low, low_2, 0x44), q1 = _mm256_shuffle_ps(low, low_2, 0xee);
    const vector q2 = _mm256_shuffle_ps(high, high_2, 0x44);
    const vector q3 = _mm256_shuffle_ps(high, high_2, 0xee);
    /* half i of qk is quad 4 i + k */
    const vector quads[4] = { _mm256_permute2f128_ps(q0, q1, 0x20),
                              _mm256_permute2f128_ps(q2, q3, 0x20),
                              _mm256_permute2f128_ps(q0, q1, 0x31),
                              _mm256_permute2f128_ps(q2, q3, 0x31) };
    UNROLL
    for (int i = 0; i < 4; i++)
        if (n >= 2 * i + 2)
            store(to + 8 * i, quads[i]);
        else if (n > 2 * i)
            store_some(to + 8 * i, quads[i], 4 * (n - 2 * i));
}

/* ---- sums in double ---- */

INLINE void add_doubles(double *to, vector a)
{
    __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(a));
    __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));
    _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), low));
    _mm256_storeu_pd(to + 4, _mm256_add_pd(_mm256_loadu_pd(to + 4), high));
}

INLINE float sum_lanes(vector x)
{
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

INLINE float greatest_lane(vector x)
{
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}

/* ---- parts of a float ---- */

INLINE vector nearest(vector x)
{
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* x * 2^k for a whole k from -126 to 127. */
INLINE vector scale_by_power(vector x, vector k)
{
    __m256i power = _mm256_add_epi32(_mm256_cvtps_epi32(k), _mm256_set1_epi32(127));
    return _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(power, 23)));
}

INLINE vector size_of(vector x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

/* The size of a with the sign of b. */
INLINE vector with_sign(vector a, vector b)
{
    const vector sign = _mm256_set1_ps(-0.0f);
    return _mm256_or_ps(_mm256_andnot_ps(sign, a), _mm256_and_ps(sign, b));
}

/* ---- blocks ---- */

/* to[i][r] = from[r][i], or added, LANES by LANES: pairs, quads and halves change places. */
INLINE void turn_block(const float *from, int64_t from_down, int adds, float *to, int64_t to_down)
{
    vector a[LANES], b[LANES];
    UNROLL
    for (int i = 0; i < LANES; i++)
        a[i] = load(from + i * from_down);
    UNROLL
    for (int i = 0; i < LANES; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    UNROLL
    for (int i = 0; i < LANES; i += 4) {
        a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
        a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
        a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
        a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        b[i] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x20);
        b[i + 4] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x31);
    }
    UNROLL
    for (int i = 0; i < LANES; i++)
        store(to + i * to_down, adds ? plus(b[i], load(to + i * to_down)) : b[i]);
}
