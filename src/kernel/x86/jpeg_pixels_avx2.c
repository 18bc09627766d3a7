/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_pixels_avx2.c: upsampling and colours for AVX2. A last vector that would write too far goes
 * through memory aside. */
#include "kernel/x86/jpeg_avx2.h"

#include <immintrin.h>
#include <string.h>

static inline __m256i load_16(const uint8_t *src)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)src));
}

static inline __m256i three_and_one(__m256i near, __m256i far)
{
    return _mm256_add_epi16(_mm256_add_epi16(near, _mm256_slli_epi16(near, 1)), far);
}

/* ---- upsampling ---- */

/* 32 samples out of 16 with their neighbours: even ones lean left, odd ones right. */
static inline __m256i widen_16(__m256i left, __m256i here, __m256i right, int shift, int bias)
{
    const __m256i even_bias = _mm256_set1_epi16((int16_t)bias);
    const __m256i odd_bias = _mm256_set1_epi16((int16_t)(shift == 2 ? bias + 1 : bias - 1));
    __m256i three = _mm256_add_epi16(here, _mm256_slli_epi16(here, 1));
    __m256i even = _mm256_add_epi16(_mm256_add_epi16(three, left), even_bias);
    __m256i odd = _mm256_add_epi16(_mm256_add_epi16(three, right), odd_bias);
    even = _mm256_srli_epi16(even, shift);
    odd = _mm256_slli_epi16(_mm256_srli_epi16(odd, shift), 8);
    return _mm256_or_si256(even, odd);
}

static inline __m256i widen_h2v1_16(const uint8_t *src)
{
    return widen_16(load_16(src - 1), load_16(src), load_16(src + 1), 2, 1);
}

static void widen_h2v1_avx2(uint8_t *dst, const uint8_t *src, int n)
{
    int i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(dst + 2 * i), widen_h2v1_16(src + i));
    if (i < n) {
        uint8_t rest[32];
        _mm256_storeu_si256((__m256i *)rest, widen_h2v1_16(src + i));
        memcpy(dst + 2 * i, rest, 2 * (size_t)(n - i));
    }
}

/* 3 * near + far of 32 samples: the first eight of each 16, and the last eight. */
struct blended {
    __m256i first, last;
};

static inline struct blended blend_32(const uint8_t *near, const uint8_t *far)
{
    const __m256i weights = _mm256_set1_epi16(0x0103);
    __m256i n = _mm256_loadu_si256((const __m256i *)near);
    __m256i f = _mm256_loadu_si256((const __m256i *)far);
    return (struct blended){
        _mm256_maddubs_epi16(_mm256_unpacklo_epi8(n, f), weights),
        _mm256_maddubs_epi16(_mm256_unpackhi_epi8(n, f), weights),
    };
}

static inline void widen_h2v2_32(uint8_t *dst, const uint8_t *near, const uint8_t *far)
{
    struct blended left = blend_32(near - 1, far - 1), here = blend_32(near, far);
    struct blended right = blend_32(near + 1, far + 1);
    __m256i first = widen_16(left.first, here.first, right.first, 4, 8);
    __m256i last = widen_16(left.last, here.last, right.last, 4, 8);
    _mm256_storeu_si256((__m256i *)dst, _mm256_permute2x128_si256(first, last, 0x20));
    _mm256_storeu_si256((__m256i *)dst + 1, _mm256_permute2x128_si256(first, last, 0x31));
}

/* The last 32 samples may have some in common with those before. */
static void widen_h2v2_avx2(uint8_t *dst, const uint8_t *near, const uint8_t *far, int n)
{
    if (n < 32) {
        uint8_t rest[64];
        widen_h2v2_32(rest, near, far);
        memcpy(dst, rest, 2 * (size_t)n);
        return;
    }
    int i = 0;
    for (; i + 32 <= n; i += 32)
        widen_h2v2_32(dst + 2 * i, near + i, far + i);
    if (i < n)
        widen_h2v2_32(dst + 2 * (n - 32), near + n - 32, far + n - 32);
}

static inline __m128i widen_h1v2_16(const uint8_t *near, const uint8_t *far, __m256i bias)
{
    __m256i sum = _mm256_add_epi16(three_and_one(load_16(near), load_16(far)), bias);
    sum = _mm256_srli_epi16(sum, 2);
    __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(sum, sum), 0xd8);
    return _mm256_castsi256_si128(bytes);
}

static void widen_h1v2_avx2(uint8_t *dst, const uint8_t *near, const uint8_t *far, int n, int bias)
{
    const __m256i b = _mm256_set1_epi16((int16_t)bias);
    int i = 0;
    for (; i + 16 <= n; i += 16)
        _mm_storeu_si128((__m128i *)(dst + i), widen_h1v2_16(near + i, far + i, b));
    if (i < n) {
        uint8_t rest[16];
        _mm_storeu_si128((__m128i *)rest, widen_h1v2_16(near + i, far + i, b));
        memcpy(dst + i, rest, (size_t)(n - i));
    }
}

/* ---- colour ---- */

struct colours {
    __m256i r, g, b;
};

/* Sixteen pixels; chroma around 0. A factor above what 16 bits hold is split into a whole part and
 * a fraction: 1.402 = 1 + 0.402, 1.772 = 2 - 0.228, -0.71414 = 0.28586 - 1. Products are rounded as
 * (x * factor * 2^16 + 2^15) >> 16. */
static inline struct colours convert_16(__m256i y, __m256i cb, __m256i cr)
{
    const __m256i one = _mm256_set1_epi16(1);
    __m256i red = _mm256_mulhi_epi16(_mm256_add_epi16(cr, cr), _mm256_set1_epi16(26345));
    red = _mm256_srai_epi16(_mm256_add_epi16(red, one), 1);
    __m256i blue = _mm256_mulhrs_epi16(cb, _mm256_set1_epi16(-7471));
    const __m256i green_factors = _mm256_set1_epi32((int)((uint16_t)-22554 | 18734u << 16));
    const __m256i half = _mm256_set1_epi32(1 << 15);
    __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), green_factors);
    __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), green_factors);
    low = _mm256_srai_epi32(_mm256_add_epi32(low, half), 16);
    high = _mm256_srai_epi32(_mm256_add_epi32(high, half), 16);
    __m256i green = _mm256_sub_epi16(_mm256_packs_epi32(low, high), cr);
    return (
        struct colours){ _mm256_add_epi16(_mm256_add_epi16(y, cr), red), _mm256_add_epi16(y, green),
                         _mm256_add_epi16(_mm256_add_epi16(y, _mm256_add_epi16(cb, cb)), blue) };
}

static inline struct colours convert_32(const uint8_t *y, const uint8_t *cb, const uint8_t *cr)
{
    const __m256i zero = _mm256_setzero_si256(), middle = _mm256_set1_epi16(128);
    __m256i luma = _mm256_loadu_si256((const __m256i *)y);
    __m256i blue = _mm256_loadu_si256((const __m256i *)cb);
    __m256i red = _mm256_loadu_si256((const __m256i *)cr);
    struct colours low = convert_16(_mm256_unpacklo_epi8(luma, zero),
                                    _mm256_sub_epi16(_mm256_unpacklo_epi8(blue, zero), middle),
                                    _mm256_sub_epi16(_mm256_unpacklo_epi8(red, zero), middle));
    struct colours high = convert_16(_mm256_unpackhi_epi8(luma, zero),
                                     _mm256_sub_epi16(_mm256_unpackhi_epi8(blue, zero), middle),
                                     _mm256_sub_epi16(_mm256_unpackhi_epi8(red, zero), middle));
    return (struct colours){ _mm256_packus_epi16(low.r, high.r), _mm256_packus_epi16(low.g, high.g),
                             _mm256_packus_epi16(low.b, high.b) };
}

static inline struct colours load_32(const uint8_t *r, const uint8_t *g, const uint8_t *b)
{
    return (struct colours){ _mm256_loadu_si256((const __m256i *)r),
                             _mm256_loadu_si256((const __m256i *)g),
                             _mm256_loadu_si256((const __m256i *)b) };
}

/* Where the bytes of each colour go in 48 bytes, 16 at a time. */
static const int8_t spread_order[3][3][16] = {
    { { 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5 },
      { -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1 },
      { -1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1 } },
    { { -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1 },
      { 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10 },
      { -1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1 } },
    { { -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1 },
      { -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1 },
      { 10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15 } },
};

static inline __m256i spread(__m256i plane, int part, int colour)
{
    __m128i order = _mm_loadu_si128((const __m128i *)spread_order[part][colour]);
    return _mm256_shuffle_epi8(plane, _mm256_broadcastsi128_si256(order));
}

static inline __m256i third(const struct colours *c, int part)
{
    return _mm256_or_si256(_mm256_or_si256(spread(c->r, part, 0), spread(c->g, part, 1)),
                           spread(c->b, part, 2));
}

/* 32 pixels of three channels. Each half of a vector gives 48 bytes of its own. */
static inline void store_rgb(uint8_t *dst, const struct colours *c)
{
    __m256i a = third(c, 0), b = third(c, 1), d = third(c, 2);
    __m256i *to = (__m256i *)dst;
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(a, b, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_blend_epi32(d, a, 0xf0));
    _mm256_storeu_si256(to + 2, _mm256_permute2x128_si256(b, d, 0x31));
}

static inline void store_rgba(uint8_t *dst, const struct colours *c)
{
    const __m256i alpha = _mm256_set1_epi8(-1);
    __m256i rg0 = _mm256_unpacklo_epi8(c->r, c->g), rg1 = _mm256_unpackhi_epi8(c->r, c->g);
    __m256i ba0 = _mm256_unpacklo_epi8(c->b, alpha), ba1 = _mm256_unpackhi_epi8(c->b, alpha);
    __m256i p0 = _mm256_unpacklo_epi16(rg0, ba0), p1 = _mm256_unpackhi_epi16(rg0, ba0);
    __m256i p2 = _mm256_unpacklo_epi16(rg1, ba1), p3 = _mm256_unpackhi_epi16(rg1, ba1);
    __m256i *to = (__m256i *)dst;
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(p0, p1, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(p2, p3, 0x20));
    _mm256_storeu_si256(to + 2, _mm256_permute2x128_si256(p0, p1, 0x31));
    _mm256_storeu_si256(to + 3, _mm256_permute2x128_si256(p2, p3, 0x31));
}

/* 32 pixels of a row. Inlined with a constant `is_ycc` and `channels`, as what follows. */
static inline __attribute__((always_inline)) void
write_32(uint8_t *dst, const uint8_t *const planes[3], ptrdiff_t at, int channels, bool is_ycc)
{
    const uint8_t *a = planes[0] + at, *b = planes[1] + at, *c = planes[2] + at;
    struct colours colours = is_ycc ? convert_32(a, b, c) : load_32(a, b, c);
    if (channels == 3)
        store_rgb(dst, &colours);
    else
        store_rgba(dst, &colours);
}

/* The last 32 pixels may have some in common with those before. */
static inline __attribute__((always_inline)) void
write_row(uint8_t *dst, const uint8_t *const planes[3], int n, int channels, bool is_ycc)
{
    const uint8_t *const from[3] = { planes[0], planes[1], planes[2] };
    if (n < 32) {
        uint8_t rest[128];
        write_32(rest, from, 0, channels, is_ycc);
        memcpy(dst, rest, (size_t)n * (size_t)channels);
        return;
    }
    ptrdiff_t i = 0;
    for (; i + 32 <= n; i += 32)
        write_32(dst + i * channels, from, i, channels, is_ycc);
    if (i < n)
        write_32(dst + (ptrdiff_t)(n - 32) * channels, from, n - 32, channels, is_ycc);
}

static void ycc_to_rgb_avx2(uint8_t *dst, const uint8_t *const planes[3], int n, int channels)
{
    if (channels == 3)
        write_row(dst, planes, n, 3, true);
    else
        write_row(dst, planes, n, 4, true);
}

static void interleave_avx2(uint8_t *dst, const uint8_t *const planes[3], int n, int channels)
{
    if (channels == 3)
        write_row(dst, planes, n, 3, false);
    else
        write_row(dst, planes, n, 4, false);
}

void stk__jpeg_fill_avx2(struct stk__jpeg_kernels *kernels)
{
    stk__jpeg_fill_scan_avx2(kernels);
    stk__jpeg_fill_transform_avx2(kernels);
    stk__jpeg_fill_reduce_avx2(kernels);
    kernels->widen_h2v1 = widen_h2v1_avx2;
    kernels->widen_h2v2 = widen_h2v2_avx2;
    kernels->widen_h1v2 = widen_h1v2_avx2;
    kernels->ycc_to_rgb = ycc_to_rgb_avx2;
    kernels->interleave = interleave_avx2;
}
