/* SPDX-License-Identifier: Apache-2.0 */
/* lerp_line_avx2.c: two taps along both axes, for AVX2: rows of floats between the axes are stored
 * only if the next line needs one. */
#include "kernel/x86/lerp_avx2.h"

#define INLINE static inline __attribute__((always_inline))

enum result { BYTES, FLOATS, AFFINE };

/* What is the same for a whole line; copies, since a vector store may alias anything. */
struct way {
    struct stk__lerp_line line;
    struct stk__affine affine;
    const int32_t *window;
    const uint8_t *shuffle;
    const float *weight;
    int window_bytes;
    enum result result;
    bool has_top, keeps_bottom;
};

/* Values of group g, eight of them. */
INLINE __m256 across(const struct way *way, const uint8_t *src, ptrdiff_t g)
{
    const uint8_t *shuffle = way->shuffle + 32 * g;
    __m256i lanes = way->window_bytes == 16 ? lanes_of_16(src, way->window + 2 * g, shuffle)
                                            : lanes_of_8(src, way->window + 4 * g, shuffle);
    return lerp_lanes(lanes, _mm256_loadu_ps(way->weight + 8 * g));
}

INLINE __m256 value_of(const struct way *way, ptrdiff_t g)
{
    const struct stk__lerp_line *line = &way->line;
    __m256 top = way->has_top ? across(way, line->top, g) : _mm256_loadu_ps(line->kept + 8 * g);
    __m256 bottom = across(way, line->bottom, g);
    if (way->keeps_bottom)
        _mm256_storeu_ps(line->kept + 8 * g, bottom);
    __m256 step = _mm256_mul_ps(_mm256_sub_ps(bottom, top), _mm256_set1_ps(line->weight));
    return _mm256_add_ps(top, step);
}

INLINE __m256i rounded(const struct way *way, ptrdiff_t g)
{
    return _mm256_cvttps_epi32(_mm256_add_ps(value_of(way, g), _mm256_set1_ps(0.5f)));
}

INLINE void make_bytes(const struct way *way, ptrdiff_t n_groups)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    uint8_t *dst = way->line.dst;
    ptrdiff_t g = 0;
    for (; g + 4 <= n_groups; g += 4) {
        __m256i low = _mm256_packs_epi32(rounded(way, g), rounded(way, g + 1));
        __m256i high = _mm256_packs_epi32(rounded(way, g + 2), rounded(way, g + 3));
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
        _mm256_storeu_si256((__m256i *)(dst + 8 * g), bytes);
    }
    for (; g < n_groups; g++) {
        __m256i words = _mm256_packs_epi32(rounded(way, g), _mm256_setzero_si256());
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words, words), order);
        _mm_storel_epi64((__m128i *)(dst + 8 * g), _mm256_castsi256_si128(bytes));
    }
}

INLINE void make_floats(const struct way *way, ptrdiff_t n_groups)
{
    float *dst = way->line.dst;
    int k = 0;
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        __m256 value = value_of(way, g);
        if (way->result == AFFINE) {
            __m256 product = _mm256_mul_ps(value, _mm256_loadu_ps(way->affine.mul + k));
            value = _mm256_add_ps(product, _mm256_loadu_ps(way->affine.add + k));
            k = k + 8 < way->affine.period ? k + 8 : 0;
        }
        _mm256_storeu_ps(dst + 8 * g, value);
    }
}

INLINE void make_values(const struct way *way, ptrdiff_t n_groups)
{
    if (way->result == BYTES)
        make_bytes(way, n_groups);
    else
        make_floats(way, n_groups);
}

/* Loops of their own for what they need not ask about every time. */
INLINE void make_line(struct way way, ptrdiff_t n_groups)
{
    if (way.line.top && way.line.keeps_bottom) {
        way.has_top = way.keeps_bottom = true;
        make_values(&way, n_groups);
    } else if (way.line.top) {
        way.has_top = true;
        make_values(&way, n_groups);
    } else if (way.line.keeps_bottom) {
        way.keeps_bottom = true;
        make_values(&way, n_groups);
    } else {
        make_values(&way, n_groups);
    }
}

INLINE void make_result(struct way way, ptrdiff_t n_groups)
{
    if (way.line.is_rounded) {
        way.result = BYTES;
        make_line(way, n_groups);
    } else if (way.line.affine) {
        way.result = AFFINE;
        way.affine = *way.line.affine;
        make_line(way, n_groups);
    } else {
        way.result = FLOATS;
        make_line(way, n_groups);
    }
}

void stk__lerp_line_u8_avx2(const struct stk__lerp_line *line, const struct stk__lerp_row *row)
{
    struct way way = {
        .line = *line, .window = row->window, .shuffle = row->shuffle, .weight = row->weight
    };
    int n_groups = row->window_bytes ? row->n / 8 : 0;
    if (row->window_bytes == 16) {
        way.window_bytes = 16;
        make_result(way, n_groups);
    } else if (row->window_bytes == 8) {
        way.window_bytes = 8;
        make_result(way, n_groups);
    }
    for (int i = 8 * n_groups; i < row->n; i++)
        stk__lerp_line_value(line, row, i);
}
