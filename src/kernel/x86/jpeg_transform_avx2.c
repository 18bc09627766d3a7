/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_transform_avx2.c: the inverse transforms of scalar/jpeg_pixels.c and scalar/jpeg_fast.c on two
 * blocks at a time, one per half of a vector. */
#include "kernel/inline.h"
#include "kernel/jpeg.h"
#include "kernel/x86/jpeg_avx2.h"
#include "kernel/x86/jpeg_wide_avx2.h"

/* Both transforms want all of this in registers. */

/* Factors of the fast transform, times 2^8. */
enum { FAST_1_082 = 277, FAST_1_414 = 362, FAST_M1_613 = -413, FAST_1_847 = 473 };

/* Eight vectors of 16-bit values: row or column i of both blocks. */
struct rows {
    __m256i v[8];
};

/* One pass. What rounds the results is added to the even half: a constant c beside each value, and
 * its factor. */
INLINE void transform_8(struct rows *r, int shift)
{
    __m256i *v = r->v;
    const __m256i one = _mm256_set1_epi16(shift == 11 ? 1 : 16);
    const __m256i scale = stk__wide_factors(8192, shift == 11 ? 1024 : 8192);
    struct stk__wide sum = stk__wide_products(_mm256_add_epi16(v[0], v[4]), one, scale);
    struct stk__wide difference = stk__wide_products(_mm256_sub_epi16(v[0], v[4]), one, scale);
    struct stk__wide even_2 = stk__wide_products(v[2], v[6], stk__wide_factors(4433, -10704));
    struct stk__wide even_3 = stk__wide_products(v[2], v[6], stk__wide_factors(10703, 4433));
    struct stk__wide e0 = stk__wide_add(sum, even_3), e3 = stk__wide_subtract(sum, even_3);
    struct stk__wide e1 = stk__wide_add(difference, even_2),
                     e2 = stk__wide_subtract(difference, even_2);
    __m256i z3 = _mm256_add_epi16(v[7], v[3]), z4 = _mm256_add_epi16(v[5], v[1]);
    struct stk__wide odd_3 = stk__wide_products(z3, z4, stk__wide_factors(-6436, 9633));
    struct stk__wide odd_4 = stk__wide_products(z3, z4, stk__wide_factors(9633, 6437));
    struct stk__wide o0 =
        stk__wide_add(stk__wide_products(v[7], v[1], stk__wide_factors(-4927, -7373)), odd_3);
    struct stk__wide o3 =
        stk__wide_add(stk__wide_products(v[7], v[1], stk__wide_factors(-7373, 4926)), odd_4);
    struct stk__wide o1 =
        stk__wide_add(stk__wide_products(v[5], v[3], stk__wide_factors(-4176, -20995)), odd_4);
    struct stk__wide o2 =
        stk__wide_add(stk__wide_products(v[5], v[3], stk__wide_factors(-20995, 4177)), odd_3);
    v[0] = stk__wide_descale(stk__wide_add(e0, o3), shift);
    v[7] = stk__wide_descale(stk__wide_subtract(e0, o3), shift);
    v[1] = stk__wide_descale(stk__wide_add(e1, o2), shift);
    v[6] = stk__wide_descale(stk__wide_subtract(e1, o2), shift);
    v[2] = stk__wide_descale(stk__wide_add(e2, o1), shift);
    v[5] = stk__wide_descale(stk__wide_subtract(e2, o1), shift);
    v[3] = stk__wide_descale(stk__wide_add(e3, o0), shift);
    v[4] = stk__wide_descale(stk__wide_subtract(e3, o0), shift);
}

INLINE void transpose(struct rows *r)
{
    __m256i *v = r->v, a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        b[4 * i] = _mm256_unpacklo_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 1] = _mm256_unpackhi_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 2] = _mm256_unpacklo_epi32(a[4 * i + 1], a[4 * i + 3]);
        b[4 * i + 3] = _mm256_unpackhi_epi32(a[4 * i + 1], a[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        v[2 * i] = _mm256_unpacklo_epi64(b[i], b[4 + i]);
        v[2 * i + 1] = _mm256_unpackhi_epi64(b[i], b[4 + i]);
    }
}

/* Columns as vectors to rows of bytes, left block before right. */
INLINE void store(const struct rows *r, uint8_t *dst, size_t stride)
{
    const __m256i *v = r->v, middle = _mm256_set1_epi8(-128);
    __m256i c04 = _mm256_packs_epi16(v[0], v[4]), c15 = _mm256_packs_epi16(v[1], v[5]);
    __m256i c26 = _mm256_packs_epi16(v[2], v[6]), c37 = _mm256_packs_epi16(v[3], v[7]);
    __m256i c01 = _mm256_unpacklo_epi8(c04, c15), c45 = _mm256_unpackhi_epi8(c04, c15);
    __m256i c23 = _mm256_unpacklo_epi8(c26, c37), c67 = _mm256_unpackhi_epi8(c26, c37);
    __m256i low[2] = { _mm256_unpacklo_epi16(c01, c23), _mm256_unpackhi_epi16(c01, c23) };
    __m256i high[2] = { _mm256_unpacklo_epi16(c45, c67), _mm256_unpackhi_epi16(c45, c67) };
    for (int i = 0; i < 4; i++, dst += 2 * stride) {
        __m256i two = i & 1 ? _mm256_unpackhi_epi32(low[i / 2], high[i / 2])
                            : _mm256_unpacklo_epi32(low[i / 2], high[i / 2]);
        two = _mm256_permute4x64_epi64(_mm256_add_epi8(two, middle), 0xd8);
        _mm_storeu_si128((__m128i *)dst, _mm256_castsi256_si128(two));
        _mm_storeu_si128((__m128i *)(dst + stride), _mm256_extracti128_si256(two, 1));
    }
}

INLINE __m256i load_row(const struct stk__jpeg_pair *pair, int i)
{
    __m128i left = _mm_load_si128((const __m128i *)pair->left + i);
    __m128i right = _mm_load_si128((const __m128i *)pair->right + i);
    if (i == 0) {
        left = _mm_insert_epi16(left, pair->dc[0], 0);
        right = _mm_insert_epi16(right, pair->dc[1], 0);
    }
    return _mm256_inserti128_si256(_mm256_castsi128_si256(left), right, 1);
}

INLINE void clear(int16_t *block)
{
    for (int i = 0; i < 4; i++)
        _mm256_storeu_si256((__m256i *)block + i, _mm256_setzero_si256());
}

/* Rows of factors, for both blocks. */
INLINE struct rows load_factors(const uint16_t *quant)
{
    struct rows factors;
    for (int i = 0; i < 8; i++)
        factors.v[i] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)quant + i));
    return factors;
}

/* Takes the coefficients of both blocks, times their factors, and leaves zeros. */
INLINE struct rows take_rows(const struct stk__jpeg_pair *pair, const struct rows *factors)
{
    struct rows rows;
    for (int i = 0; i < 8; i++)
        rows.v[i] = _mm256_mullo_epi16(load_row(pair, i), factors->v[i]);
    clear(pair->left);
    clear(pair->right);
    return rows;
}

static bool transform_avx2(const struct stk__jpeg_pair *pairs, int n, const uint16_t *quant,
                           size_t stride)
{
    const struct rows factors = load_factors(quant);
    __m256i wild = _mm256_setzero_si256();
    for (const struct stk__jpeg_pair *pair = pairs; pair < pairs + n; pair++) {
        struct rows r = take_rows(pair, &factors);
        __m256i tame = _mm256_srai_epi16(_mm256_slli_epi16(r.v[0], 2), 2);
        wild = _mm256_or_si256(wild, _mm256_xor_si256(tame, r.v[0]));
        transform_8(&r, 11);
        transpose(&r);
        transform_8(&r, 18);
        store(&r, pair->dst, stride);
    }
    return _mm256_testz_si256(wild, wild);
}

/* ---- the fast transform ---- */

INLINE __m256i fast_product(__m256i value, int factor)
{
    return _mm256_mulhi_epi16(_mm256_slli_epi16(value, 2), _mm256_set1_epi16((short)(factor * 64)));
}

INLINE void transform_8_fast(struct rows *r)
{
    __m256i *v = r->v;
    __m256i sum_04 = _mm256_add_epi16(v[0], v[4]), difference_04 = _mm256_sub_epi16(v[0], v[4]);
    __m256i sum_26 = _mm256_add_epi16(v[2], v[6]);
    __m256i odd_26 =
        _mm256_sub_epi16(fast_product(_mm256_sub_epi16(v[2], v[6]), FAST_1_414), sum_26);
    __m256i e0 = _mm256_add_epi16(sum_04, sum_26), e3 = _mm256_sub_epi16(sum_04, sum_26);
    __m256i e1 = _mm256_add_epi16(difference_04, odd_26),
            e2 = _mm256_sub_epi16(difference_04, odd_26);
    __m256i sum_53 = _mm256_add_epi16(v[5], v[3]), z10 = _mm256_sub_epi16(v[5], v[3]);
    __m256i sum_17 = _mm256_add_epi16(v[1], v[7]), z12 = _mm256_sub_epi16(v[1], v[7]);
    __m256i o7 = _mm256_add_epi16(sum_17, sum_53);
    __m256i turn = fast_product(_mm256_add_epi16(z10, z12), FAST_1_847);
    __m256i o6 = _mm256_sub_epi16(_mm256_add_epi16(turn, fast_product(z10, FAST_M1_613)),
                                  _mm256_add_epi16(z10, o7));
    __m256i o5 = _mm256_sub_epi16(fast_product(_mm256_sub_epi16(sum_17, sum_53), FAST_1_414), o6);
    __m256i o4 = _mm256_add_epi16(_mm256_sub_epi16(fast_product(z12, FAST_1_082), turn), o5);
    v[0] = _mm256_add_epi16(e0, o7);
    v[7] = _mm256_sub_epi16(e0, o7);
    v[1] = _mm256_add_epi16(e1, o6);
    v[6] = _mm256_sub_epi16(e1, o6);
    v[2] = _mm256_add_epi16(e2, o5);
    v[5] = _mm256_sub_epi16(e2, o5);
    v[4] = _mm256_add_epi16(e3, o4);
    v[3] = _mm256_sub_epi16(e3, o4);
}

static void transform_fast_avx2(const struct stk__jpeg_pair *pairs, int n, const uint16_t *quant,
                                size_t stride)
{
    const struct rows factors = load_factors(quant);
    for (const struct stk__jpeg_pair *pair = pairs; pair < pairs + n; pair++) {
        struct rows r = take_rows(pair, &factors);
        transform_8_fast(&r);
        transpose(&r);
        transform_8_fast(&r);
        for (int i = 0; i < 8; i++)
            r.v[i] = _mm256_srai_epi16(r.v[i], 5);
        store(&r, pair->dst, stride);
    }
}

void stk__jpeg_fill_transform_avx2(struct stk__jpeg_kernels *kernels)
{
    kernels->transform = transform_avx2;
    kernels->transform_fast = transform_fast_avx2;
}
