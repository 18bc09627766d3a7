/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_reduce_avx2.c: the transforms of scalar/jpeg_reduce.c on two blocks at a time, one per half
 * of a vector. */
#include "kernel/x86/jpeg_avx2.h"
#include "kernel/x86/jpeg_wide_avx2.h"

#include <string.h>

enum { MAX_INPUT = 8191, MAX_BETWEEN = 16383 };

/* Bits where a 16-bit value is not from low to high. */
static inline __m256i outside(__m256i v, int low, int high)
{
    return _mm256_or_si256(_mm256_cmpgt_epi16(v, _mm256_set1_epi16((int16_t)high)),
                           _mm256_cmpgt_epi16(_mm256_set1_epi16((int16_t)low), v));
}

/* Steps of quantisation and the largest coefficients that they may multiply, for both blocks. */
struct steps {
    __m256i quant[8], limit[8];
};

static void read_steps(struct steps *steps, const uint16_t *quant)
{
    const __m256 most = _mm256_set1_ps(MAX_INPUT);
    for (int i = 0; i < 8; i++) {
        __m128i row = _mm_loadu_si128((const __m128i *)quant + i);
        __m256i step = _mm256_max_epi32(_mm256_cvtepu16_epi32(row), _mm256_set1_epi32(1));
        __m256i limit = _mm256_cvttps_epi32(_mm256_div_ps(most, _mm256_cvtepi32_ps(step)));
        limit = _mm256_permute4x64_epi64(_mm256_packus_epi32(limit, limit), 0xd8);
        steps->quant[i] = _mm256_broadcastsi128_si256(row);
        __m256i is_zero = _mm256_cmpeq_epi16(steps->quant[i], _mm256_setzero_si256());
        steps->limit[i] = _mm256_or_si256(_mm256_permute4x64_epi64(limit, 0x44), is_zero);
    }
}

/* Row i of both blocks, multiplied; what does not fit is noted. Steps are below 2^15 here. */
static inline __m256i load_row(const struct stk__jpeg_pair *pair, const struct steps *steps, int i,
                               __m256i *wild)
{
    __m128i left = _mm_load_si128((const __m128i *)pair->left + i);
    __m128i right = _mm_load_si128((const __m128i *)pair->right + i);
    if (i == 0) {
        left = _mm_insert_epi16(left, pair->dc[0], 0);
        right = _mm_insert_epi16(right, pair->dc[1], 0);
    }
    __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(left), right, 1);
    *wild = _mm256_or_si256(*wild, _mm256_subs_epu16(_mm256_abs_epi16(v), steps->limit[i]));
    return _mm256_mullo_epi16(v, steps->quant[i]);
}

/* Rounds to samples, in each half those of a block, and notes what libjpeg's table does not have.
 */
static inline __m256i to_samples(__m256i low, __m256i high, __m256i *wild)
{
    *wild =
        _mm256_or_si256(*wild, _mm256_or_si256(outside(low, -512, 511), outside(high, -512, 511)));
    return _mm256_add_epi8(_mm256_packs_epi16(low, high), _mm256_set1_epi8(-128));
}

/* ---- 4 x 4 ---- */

/* Columns of 8 to columns of 4. */
static inline void shorten_to_4(__m256i out[4], const __m256i v[8])
{
    struct stk__wide dc =
        stk__wide_products(v[0], _mm256_set1_epi16(1), stk__wide_factors(16384, 2048));
    struct stk__wide even = stk__wide_products(v[2], v[6], stk__wide_factors(15137, -6270));
    struct stk__wide inner =
        stk__wide_add(stk__wide_products(v[7], v[5], stk__wide_factors(-1730, 11893)),
                      stk__wide_products(v[3], v[1], stk__wide_factors(-17799, 8697)));
    struct stk__wide outer =
        stk__wide_add(stk__wide_products(v[7], v[5], stk__wide_factors(-4176, -4926)),
                      stk__wide_products(v[3], v[1], stk__wide_factors(7373, 20995)));
    struct stk__wide sum = stk__wide_add(dc, even), difference = stk__wide_subtract(dc, even);
    out[0] = stk__wide_descale(stk__wide_add(sum, outer), 12);
    out[1] = stk__wide_descale(stk__wide_add(difference, inner), 12);
    out[2] = stk__wide_descale(stk__wide_subtract(difference, inner), 12);
    out[3] = stk__wide_descale(stk__wide_subtract(sum, outer), 12);
}

/* Pairs of columns 2 and 6, 7 and 5, 3 and 1, 0 and none: out[i] has pair i of all four rows. */
static inline void pair_columns(__m256i out[4], const __m256i rows[4])
{
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(4, 5, 12, 13, 14, 15, 10, 11, 6, 7, 2, 3, 0, 1, -1, -1));
    __m256i a = _mm256_shuffle_epi8(rows[0], order), b = _mm256_shuffle_epi8(rows[1], order);
    __m256i c = _mm256_shuffle_epi8(rows[2], order), d = _mm256_shuffle_epi8(rows[3], order);
    __m256i ab = _mm256_unpacklo_epi32(a, b), cd = _mm256_unpacklo_epi32(c, d);
    out[0] = _mm256_unpacklo_epi64(ab, cd);
    out[1] = _mm256_unpackhi_epi64(ab, cd);
    ab = _mm256_unpackhi_epi32(a, b);
    cd = _mm256_unpackhi_epi32(c, d);
    out[2] = _mm256_unpacklo_epi64(ab, cd);
    out[3] = _mm256_unpackhi_epi64(ab, cd);
}

/* Rows of 8, paired, to rows of 4 samples: four bytes for each row. */
static inline __m256i narrow_to_4(const __m256i pairs[4], __m256i *wild)
{
    __m256i dc = _mm256_add_epi32(_mm256_madd_epi16(pairs[3], stk__wide_factors(16384, 0)),
                                  _mm256_set1_epi32(1 << 18));
    __m256i even = _mm256_madd_epi16(pairs[0], stk__wide_factors(15137, -6270));
    __m256i inner = _mm256_add_epi32(_mm256_madd_epi16(pairs[1], stk__wide_factors(-1730, 11893)),
                                     _mm256_madd_epi16(pairs[2], stk__wide_factors(-17799, 8697)));
    __m256i outer = _mm256_add_epi32(_mm256_madd_epi16(pairs[1], stk__wide_factors(-4176, -4926)),
                                     _mm256_madd_epi16(pairs[2], stk__wide_factors(7373, 20995)));
    __m256i sum = _mm256_add_epi32(dc, even), difference = _mm256_sub_epi32(dc, even);
    struct stk__wide left = { _mm256_add_epi32(sum, outer), _mm256_add_epi32(difference, inner) };
    struct stk__wide right = { _mm256_sub_epi32(difference, inner), _mm256_sub_epi32(sum, outer) };
    const __m256i by_row = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    __m256i samples = to_samples(stk__wide_descale(left, 19), stk__wide_descale(right, 19), wild);
    return _mm256_shuffle_epi8(samples, by_row);
}

static inline void reduce_to_4(const struct stk__jpeg_pair *pair, const struct steps *steps,
                               size_t stride, __m256i *wild)
{
    /* The fifth column does not count. */
    const __m256i counts =
        _mm256_broadcastsi128_si256(_mm_setr_epi16(-1, -1, -1, -1, 0, -1, -1, -1));
    __m256i v[8], rows[4], pairs[4];
    for (int i = 0; i < 8; i++)
        if (i != 4)
            v[i] = load_row(pair, steps, i, wild);
    shorten_to_4(rows, v);
    for (int i = 0; i < 4; i++)
        *wild = _mm256_or_si256(
            *wild, _mm256_and_si256(counts, outside(rows[i], -MAX_BETWEEN, MAX_BETWEEN)));
    pair_columns(pairs, rows);
    __m256i samples = narrow_to_4(pairs, wild);
    __m128i left = _mm256_castsi256_si128(samples), right = _mm256_extracti128_si256(samples, 1);
    __m128i top = _mm_unpacklo_epi32(left, right), bottom = _mm_unpackhi_epi32(left, right);
    _mm_storel_epi64((__m128i *)pair->dst, top);
    _mm_storeh_pd((double *)(pair->dst + stride), _mm_castsi128_pd(top));
    _mm_storel_epi64((__m128i *)(pair->dst + 2 * stride), bottom);
    _mm_storeh_pd((double *)(pair->dst + 3 * stride), _mm_castsi128_pd(bottom));
}

/* ---- 2 x 2 ---- */

/* Columns of 8 to columns of 2. */
static inline void shorten_to_2(__m256i out[2], const __m256i v[8])
{
    const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(1 << 12);
    __m256i low = _mm256_srai_epi32(_mm256_unpacklo_epi16(zero, v[0]), 1);
    __m256i high = _mm256_srai_epi32(_mm256_unpackhi_epi16(zero, v[0]), 1);
    struct stk__wide dc = { _mm256_add_epi32(low, half), _mm256_add_epi32(high, half) };
    struct stk__wide odd =
        stk__wide_add(stk__wide_products(v[7], v[5], stk__wide_factors(-5906, 6967)),
                      stk__wide_products(v[3], v[1], stk__wide_factors(-10426, 29692)));
    out[0] = stk__wide_descale(stk__wide_add(dc, odd), 13);
    out[1] = stk__wide_descale(stk__wide_subtract(dc, odd), 13);
}

/* One row of 8 as 32-bit sums: of odd columns, twice, half of the first column, zero. */
static inline __m256i narrow_row(__m256i row)
{
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(14, 15, 10, 11, 6, 7, 2, 3, 0, 1, -1, -1, -1, -1, -1, -1));
    const __m256i f =
        _mm256_broadcastsi128_si256(_mm_setr_epi16(-5906, 6967, -10426, 29692, 16384, 0, 0, 0));
    return _mm256_madd_epi16(_mm256_shuffle_epi8(row, order), f);
}

static inline void reduce_to_2(const struct stk__jpeg_pair *pair, const struct steps *steps,
                               size_t stride, __m256i *wild)
{
    const __m256i counts = _mm256_broadcastsi128_si256(_mm_setr_epi16(-1, -1, 0, -1, 0, -1, 0, -1));
    const __m256i signs = _mm256_broadcastsi128_si256(_mm_setr_epi32(1, -1, 1, -1));
    __m256i v[8], rows[2];
    v[0] = load_row(pair, steps, 0, wild);
    for (int i = 1; i < 8; i += 2)
        v[i] = load_row(pair, steps, i, wild);
    shorten_to_2(rows, v);
    for (int i = 0; i < 2; i++)
        *wild = _mm256_or_si256(
            *wild, _mm256_and_si256(counts, outside(rows[i], -MAX_BETWEEN, MAX_BETWEEN)));
    __m256i sums = _mm256_hadd_epi32(narrow_row(rows[0]), narrow_row(rows[1]));
    __m256i odd = _mm256_sign_epi32(_mm256_shuffle_epi32(sums, 0xa0), signs);
    __m256i dc = _mm256_slli_epi32(_mm256_shuffle_epi32(sums, 0xf5), 1);
    __m256i sum = _mm256_add_epi32(_mm256_add_epi32(dc, odd), _mm256_set1_epi32(1 << 19));
    struct stk__wide both = { sum, sum };
    __m256i samples = stk__wide_descale(both, 20);
    samples = to_samples(samples, samples, wild);
    uint32_t left = (uint32_t)_mm256_extract_epi32(samples, 0);
    uint32_t right = (uint32_t)_mm256_extract_epi32(samples, 4);
    uint32_t top = (left & 0xffff) | right << 16, bottom = left >> 16 | (right & 0xffff0000);
    memcpy(pair->dst, &top, sizeof top);
    memcpy(pair->dst + stride, &bottom, sizeof bottom);
}

/* ---- one sample ---- */

/* A byte for each block. */
static inline void reduce_to_1(const struct stk__jpeg_pair *pair, const uint16_t *quant,
                               __m256i *wild)
{
    int left = pair->dc[0] * quant[0], right = pair->dc[1] * quant[0];
    bool is_wild = left < -MAX_INPUT || left > MAX_INPUT || right < -MAX_INPUT || right > MAX_INPUT;
    __m256i both = _mm256_setr_epi32(left, right, 0, 0, 0, 0, 0, 0);
    both = _mm256_srai_epi32(_mm256_add_epi32(both, _mm256_set1_epi32(4)), 3);
    both = _mm256_packs_epi32(both, both);
    *wild = _mm256_or_si256(*wild, _mm256_set1_epi32(is_wild));
    both = to_samples(both, both, wild);
    uint16_t samples = (uint16_t)_mm256_extract_epi16(both, 0);
    memcpy(pair->dst, &samples, sizeof samples);
}

/* ---- all ---- */

static inline void clear(int16_t *block)
{
    for (int i = 0; i < 4; i++)
        _mm256_storeu_si256((__m256i *)block + i, _mm256_setzero_si256());
}

static bool has_wide_steps(const uint16_t *quant)
{
    for (int i = 0; i < 64; i++)
        if (quant[i] > INT16_MAX)
            return true;
    return false;
}

static bool reduce_avx2(const struct stk__jpeg_pair *pairs, int n, const uint16_t *quant,
                        size_t stride, int size)
{
    if (has_wide_steps(quant)) {
        struct stk__jpeg_kernels scalar;
        stk__jpeg_fill_reduce_scalar(&scalar);
        return scalar.reduce(pairs, n, quant, stride, size);
    }
    struct steps steps;
    __m256i wild = _mm256_setzero_si256();
    read_steps(&steps, quant);
    for (const struct stk__jpeg_pair *pair = pairs; pair < pairs + n; pair++) {
        if (size == 4)
            reduce_to_4(pair, &steps, stride, &wild);
        else if (size == 2)
            reduce_to_2(pair, &steps, stride, &wild);
        else
            reduce_to_1(pair, quant, &wild);
        clear(pair->left);
        clear(pair->right);
    }
    return _mm256_testz_si256(wild, wild);
}

void stk__jpeg_fill_reduce_avx2(struct stk__jpeg_kernels *kernels)
{
    kernels->reduce = reduce_avx2;
}
