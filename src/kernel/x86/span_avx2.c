/* SPDX-License-Identifier: Apache-2.0 */
/* span_avx2.c: runs of taps along a row for AVX2, four output pixels at a time (resample.h has the
 * layout). Bytes are read four taps at a time, 16 bytes; a byte shuffle puts them in lanes. Quads
 * near the end of the row read what is there and shift it. */
#include "kernel/inline.h"
#include "kernel/resample.h"

#include <immintrin.h>

/* Channels and is_plain are constants where the loops are compiled: worth a third. */

/* A row at work. */
struct run {
    const uint8_t *src;
    const int32_t *first;
    int channels, n_groups; /* of four taps */
    int last;               /* from where on 16 bytes would pass the end of the row */
};

static struct run run_of(const uint8_t *src, const struct stk__span_row *row)
{
    return (struct run){ src, row->first, row->channels, row->span / 4,
                         row->n_in * row->channels - 16 };
}

INLINE __m128i load_near_end(const struct run *run, int offset)
{
    int over = offset > run->last ? offset - run->last : 0;
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m128i bytes = _mm_loadu_si128((const __m128i *)(run->src + offset - over));
    return _mm_shuffle_epi8(bytes, _mm_add_epi8(places, _mm_set1_epi8((char)over)));
}

/* Four taps of output pixels i and i + 2. */
INLINE __m256i load_taps(const struct run *run, int i, int group, bool is_plain)
{
    int low = (run->first[i] + 4 * group) * run->channels;
    int high = (run->first[i + 2] + 4 * group) * run->channels;
    __m128i a, b;
    if (is_plain) {
        a = _mm_loadu_si128((const __m128i *)(run->src + low));
        b = _mm_loadu_si128((const __m128i *)(run->src + high));
    } else {
        a = load_near_end(run, low);
        b = load_near_end(run, high);
    }
    return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}

/* ---- integers ---- */

/* Taps 0 and 1 as pairs of 16 bits, a channel a lane; `more` bytes further taps 2 and 3. */
INLINE __m256i pair_order(int channels, int more)
{
    __m128i order = channels == 3 ? _mm_setr_epi8(0, -128, 3, -128, 1, -128, 4, -128, 2, -128, 5,
                                                  -128, -128, -128, -128, -128)
                                  : _mm_setr_epi8(0, -128, 4, -128, 1, -128, 5, -128, 2, -128, 6,
                                                  -128, 3, -128, 7, -128);
    return _mm256_broadcastsi128_si256(_mm_add_epi8(order, _mm_set1_epi8((char)more)));
}

INLINE __m256i load_256(const __m256i *from)
{
    return _mm256_load_si256(from);
}

struct sums {
    __m256i a, b; /* of pixels 0 and 2, 1 and 3 */
};

/* (sum + 2^21) >> 22 of a quad; weights in two parts, of which the high one counts 2^11. */
INLINE struct sums fixed_quad(const struct run *run, int i, const __m256i *weight,
                              const __m256i order[2], bool is_plain)
{
    __m256i high_a = _mm256_setzero_si256(), low_a = high_a, high_b = high_a, low_b = high_a;
    for (int g = 0; g < run->n_groups; g++) {
        __m256i a = load_taps(run, i, g, is_plain), b = load_taps(run, i + 1, g, is_plain);
        for (int p = 0; p < 2; p++, weight += 4) {
            __m256i pairs_a = _mm256_shuffle_epi8(a, order[p]);
            __m256i pairs_b = _mm256_shuffle_epi8(b, order[p]);
            high_a = _mm256_add_epi32(high_a, _mm256_madd_epi16(pairs_a, load_256(weight)));
            low_a = _mm256_add_epi32(low_a, _mm256_madd_epi16(pairs_a, load_256(weight + 1)));
            high_b = _mm256_add_epi32(high_b, _mm256_madd_epi16(pairs_b, load_256(weight + 2)));
            low_b = _mm256_add_epi32(low_b, _mm256_madd_epi16(pairs_b, load_256(weight + 3)));
        }
    }
    const __m256i half = _mm256_set1_epi32(1 << 21);
    __m256i sum_a = _mm256_add_epi32(_mm256_slli_epi32(high_a, 11), _mm256_add_epi32(low_a, half));
    __m256i sum_b = _mm256_add_epi32(_mm256_slli_epi32(high_b, 11), _mm256_add_epi32(low_b, half));
    return (struct sums){ _mm256_srai_epi32(sum_a, 22), _mm256_srai_epi32(sum_b, 22) };
}

/* A quad as bytes: those of pixels 0 and 1 in the low half, of 2 and 3 in the high one. */
INLINE __m256i quad_bytes(struct sums sums, int channels)
{
    const __m128i three =
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128);
    __m256i words = _mm256_packs_epi32(sums.a, sums.b);
    __m256i bytes = _mm256_packus_epi16(words, words);
    return channels == 4 ? bytes : _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(three));
}

/* Two bytes of three channels go too far, and are written over by the next quad. */
INLINE void store_quad_u8(uint8_t *dst, __m256i bytes, int channels)
{
    _mm_storel_epi64((__m128i *)dst, _mm256_castsi256_si128(bytes));
    _mm_storel_epi64((__m128i *)(dst + 2 * channels), _mm256_extracti128_si256(bytes, 1));
}

INLINE void fixed_quads(uint8_t *dst, const struct run *run, const struct stk__span_row *row,
                        int channels)
{
    const __m256i order[2] = { pair_order(channels, 0), pair_order(channels, 2 * channels) };
    const __m256i *weight = row->packed;
    int n_quads = row->n / 4, n_plain = row->n_plain, span = row->span;
    uint8_t last[16];
    for (int q = 0; q < n_quads; q++, weight += 2 * span) {
        struct sums sums = q < n_plain ? fixed_quad(run, 4 * q, weight, order, true)
                                       : fixed_quad(run, 4 * q, weight, order, false);
        bool fits = channels == 4 || 4 * q + 4 < row->n;
        store_quad_u8(fits ? dst : last, quad_bytes(sums, channels), channels);
        for (int k = 0; !fits && k < 12; k++)
            dst[k] = last[k];
        dst += 4 * channels;
    }
}

static void fixed_x_u8_avx2(uint8_t *dst, const uint8_t *src, const struct stk__span_row *row)
{
    const struct run run = run_of(src, row);
    int i = row->packed ? row->n / 4 * 4 : 0;
    if (row->packed && row->channels == 3)
        fixed_quads(dst, &run, row, 3);
    else if (row->packed)
        fixed_quads(dst, &run, row, 4);
    for (; i < row->n; i++)
        for (int c = 0; c < row->channels; c++)
            dst[i * row->channels + c] = stk__from_fixed((uint32_t)stk__sum_fixed(src + c, row, i));
}

/* ---- sums of 32 bits ---- */

/* The last value of a pixel of three channels is not one: the next pixel is written over it. */
INLINE void store_pixels(float *dst, __m256 a, __m256 b, int channels)
{
    __m128 last = _mm256_extractf128_ps(b, 1);
    _mm_storeu_ps(dst, _mm256_castps256_ps128(a));
    _mm_storeu_ps(dst + channels, _mm256_castps256_ps128(b));
    _mm_storeu_ps(dst + 2 * channels, _mm256_extractf128_ps(a, 1));
    if (channels == 4) {
        _mm_storeu_ps(dst + 12, last);
    } else {
        _mm_storel_pi((__m64 *)(void *)(dst + 9), last);
        _mm_store_ss(dst + 11, _mm_movehl_ps(last, last));
    }
}

INLINE struct sums wide_quad(const struct run *run, int i, const __m256i *weight,
                             const __m256i order[2], bool is_plain)
{
    struct sums sums = { _mm256_setzero_si256(), _mm256_setzero_si256() };
    for (int g = 0; g < run->n_groups; g++) {
        __m256i a = load_taps(run, i, g, is_plain), b = load_taps(run, i + 1, g, is_plain);
        for (int p = 0; p < 2; p++, weight += 2) {
            __m256i pairs_a = _mm256_shuffle_epi8(a, order[p]);
            __m256i pairs_b = _mm256_shuffle_epi8(b, order[p]);
            sums.a = _mm256_add_epi32(sums.a, _mm256_madd_epi16(pairs_a, load_256(weight)));
            sums.b = _mm256_add_epi32(sums.b, _mm256_madd_epi16(pairs_b, load_256(weight + 1)));
        }
    }
    return sums;
}

INLINE void wide_quads(int32_t *dst, const struct run *run, const struct stk__span_row *row,
                       int channels)
{
    const __m256i order[2] = { pair_order(channels, 0), pair_order(channels, 2 * channels) };
    const __m256i *weight = row->packed;
    int n_quads = row->n / 4, n_plain = row->n_plain, span = row->span;
    for (int q = 0; q < n_quads; q++, weight += span, dst += 4 * channels) {
        struct sums sums = q < n_plain ? wide_quad(run, 4 * q, weight, order, true)
                                       : wide_quad(run, 4 * q, weight, order, false);
        store_pixels((float *)(void *)dst, _mm256_castsi256_ps(sums.a), _mm256_castsi256_ps(sums.b),
                     channels);
    }
}

static void wide_x_u8_avx2(int32_t *dst, const uint8_t *src, const struct stk__span_row *row)
{
    const struct run run = run_of(src, row);
    int i = row->packed ? row->n / 4 * 4 : 0;
    if (row->packed && row->channels == 3)
        wide_quads(dst, &run, row, 3);
    else if (row->packed)
        wide_quads(dst, &run, row, 4);
    for (; i < row->n; i++)
        for (int c = 0; c < row->channels; c++)
            dst[i * row->channels + c] = stk__sum_fixed(src + c, row, i);
}

/* ---- floats ---- */

/* Tap k of four as lanes of 32 bits. */
INLINE __m256i tap_order(int channels, int k)
{
    __m128i order = _mm_setr_epi8(0, -128, -128, -128, 1, -128, -128, -128, 2, -128, -128, -128,
                                  channels == 3 ? -128 : 3, -128, -128, -128);
    return _mm256_broadcastsi128_si256(_mm_add_epi8(order, _mm_set1_epi8((char)(k * channels))));
}

INLINE __m256 tap_of(__m256i bytes, __m256i order)
{
    return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, order));
}

INLINE __m256 add_product(__m256 sum, __m256 value, const float *weight)
{
    return _mm256_add_ps(sum, _mm256_mul_ps(value, _mm256_load_ps(weight)));
}

INLINE void sum_quad_u8(float *dst, const struct run *run, int i, const float *weight,
                        bool is_plain, int channels)
{
    __m256 sum_a = _mm256_setzero_ps(), sum_b = sum_a;
    for (int g = 0; g < run->n_groups; g++) {
        __m256i a = load_taps(run, i, g, is_plain), b = load_taps(run, i + 1, g, is_plain);
        for (int k = 0; k < 4; k++, weight += 16) {
            sum_a = add_product(sum_a, tap_of(a, tap_order(channels, k)), weight);
            sum_b = add_product(sum_b, tap_of(b, tap_order(channels, k)), weight + 8);
        }
    }
    store_pixels(dst, sum_a, sum_b, channels);
}

INLINE void sum_quads_u8(float *dst, const struct run *run, const struct stk__span_row *row,
                         int channels)
{
    const float *weight = row->packed;
    int n_quads = row->n / 4, n_plain = row->n_plain, span = row->span, q = 0;
    for (; q < n_plain; q++, weight += 16 * span, dst += 4 * channels)
        sum_quad_u8(dst, run, 4 * q, weight, true, channels);
    for (; q < n_quads; q++, weight += 16 * span, dst += 4 * channels)
        sum_quad_u8(dst, run, 4 * q, weight, false, channels);
}

static void sum_x_u8_avx2(float *dst, const uint8_t *src, const struct stk__span_row *row)
{
    const struct run run = run_of(src, row);
    bool in_quads = row->packed && row->span % 4 == 0;
    int i = in_quads ? row->n / 4 * 4 : 0;
    if (in_quads && row->channels == 3)
        sum_quads_u8(dst, &run, row, 3);
    else if (in_quads)
        sum_quads_u8(dst, &run, row, 4);
    for (; i < row->n; i++)
        for (int c = 0; c < row->channels; c++)
            dst[i * row->channels + c] = stk__sum_u8(src + c, row, i);
}

/* A tap of two pixels; of three channels where the row may end behind them. */
INLINE __m256 load_tap(const float *low, const float *high, bool is_plain)
{
    const __m128i three = _mm_setr_epi32(-1, -1, -1, 0);
    __m128 a = is_plain ? _mm_loadu_ps(low) : _mm_maskload_ps(low, three);
    __m128 b = is_plain ? _mm_loadu_ps(high) : _mm_maskload_ps(high, three);
    return _mm256_insertf128_ps(_mm256_castps128_ps256(a), b, 1);
}

INLINE void sum_quad_f32(float *dst, const float *const at[4], int span, const float *weight,
                         bool is_plain, int channels)
{
    __m256 sum_a = _mm256_setzero_ps(), sum_b = sum_a;
    for (int k = 0, v = 0; k < span; k++, v += channels, weight += 16) {
        sum_a = add_product(sum_a, load_tap(at[0] + v, at[2] + v, is_plain), weight);
        sum_b = add_product(sum_b, load_tap(at[1] + v, at[3] + v, is_plain), weight + 8);
    }
    store_pixels(dst, sum_a, sum_b, channels);
}

INLINE void sum_quads_f32(float *dst, const float *src, const struct stk__span_row *row,
                          int channels)
{
    const float *weight = row->packed;
    const int32_t *first = row->first;
    int n_quads = row->n / 4, n_plain = channels == 4 ? n_quads : row->n_plain, span = row->span;
    for (int q = 0; q < n_quads; q++, first += 4, weight += 16 * span, dst += 4 * channels) {
        const float *const at[4] = { src + first[0] * channels, src + first[1] * channels,
                                     src + first[2] * channels, src + first[3] * channels };
        if (q < n_plain)
            sum_quad_f32(dst, at, span, weight, true, channels);
        else
            sum_quad_f32(dst, at, span, weight, false, channels);
    }
}

static void sum_x_f32_avx2(float *dst, const float *src, const struct stk__span_row *row)
{
    int i = row->packed ? row->n / 4 * 4 : 0;
    if (row->packed && row->channels == 3)
        sum_quads_f32(dst, src, row, 3);
    else if (row->packed)
        sum_quads_f32(dst, src, row, 4);
    for (; i < row->n; i++)
        for (int c = 0; c < row->channels; c++)
            dst[i * row->channels + c] = stk__sum_f32(src + c, row, i);
}

void stk__span_fill_avx2(struct stk__resample_kernels *kernels)
{
    kernels->sum_x_u8 = sum_x_u8_avx2;
    kernels->sum_x_f32 = sum_x_f32_avx2;
    kernels->fixed_x_u8 = fixed_x_u8_avx2;
    kernels->wide_x_u8 = wide_x_u8_avx2;
}
