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

INLINE __m256 across(const struct way *way, const uint8_t *src, int i)
{
    const uint8_t *shuffle = way->shuffle + 4 * i;
    __m256i lanes = way->window_bytes == 16 ? lanes_of_16(src, way->window + i / 4, shuffle)
                                            : lanes_of_8(src, way->window + i / 2, shuffle);
    return lerp_lanes(lanes, way->weight + i);
}

/* Values i to i + 7. */
INLINE __m256 value_at(const struct way *way, int i)
{
    const struct stk__lerp_line *line = &way->line;
    __m256 top = way->has_top ? across(way, line->top, i) : _mm256_loadu_ps(line->kept + i);
    __m256 bottom = across(way, line->bottom, i);
    if (way->keeps_bottom)
        _mm256_storeu_ps(line->kept + i, bottom);
    __m256 step = _mm256_mul_ps(_mm256_sub_ps(bottom, top), _mm256_set1_ps(line->weight));
    return _mm256_add_ps(top, step);
}

INLINE __m256i rounded_at(const struct way *way, int i)
{
    return _mm256_cvttps_epi32(_mm256_add_ps(value_at(way, i), _mm256_set1_ps(0.5f)));
}

INLINE int make_bytes(const struct way *way, int n)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    uint8_t *dst = way->line.dst;
    int i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i low = _mm256_packs_epi32(rounded_at(way, i), rounded_at(way, i + 8));
        __m256i high = _mm256_packs_epi32(rounded_at(way, i + 16), rounded_at(way, i + 24));
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
        _mm256_storeu_si256((__m256i *)(dst + i), bytes);
    }
    for (; i + 8 <= n; i += 8) {
        __m256i words = _mm256_packs_epi32(rounded_at(way, i), _mm256_setzero_si256());
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words, words), order);
        _mm_storel_epi64((__m128i *)(dst + i), _mm256_castsi256_si128(bytes));
    }
    return i;
}

INLINE int make_floats(const struct way *way, int n)
{
    float *dst = way->line.dst;
    int i = 0, k = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 value = value_at(way, i);
        if (way->result == AFFINE) {
            __m256 product = _mm256_mul_ps(value, _mm256_loadu_ps(way->affine.mul + k));
            value = _mm256_add_ps(product, _mm256_loadu_ps(way->affine.add + k));
            k = k + 8 < way->affine.period ? k + 8 : 0;
        }
        _mm256_storeu_ps(dst + i, value);
    }
    return i;
}

/* Loops of their own for what they need not ask about every time. */
INLINE int make_line(struct way way, const struct stk__lerp_row *row)
{
    if (way.line.top && way.line.keeps_bottom) {
        way.has_top = way.keeps_bottom = true;
        return way.result == BYTES ? make_bytes(&way, row->n) : make_floats(&way, row->n);
    }
    if (way.line.top) {
        way.has_top = true;
        return way.result == BYTES ? make_bytes(&way, row->n) : make_floats(&way, row->n);
    }
    if (way.line.keeps_bottom) {
        way.keeps_bottom = true;
        return way.result == BYTES ? make_bytes(&way, row->n) : make_floats(&way, row->n);
    }
    return way.result == BYTES ? make_bytes(&way, row->n) : make_floats(&way, row->n);
}

INLINE int make_result(struct way way, const struct stk__lerp_row *row)
{
    if (way.line.is_rounded) {
        way.result = BYTES;
        return make_line(way, row);
    }
    if (way.line.affine) {
        way.result = AFFINE;
        way.affine = *way.line.affine;
        return make_line(way, row);
    }
    way.result = FLOATS;
    return make_line(way, row);
}

void stk__lerp_line_u8_avx2(const struct stk__lerp_line *line, const struct stk__lerp_row *row)
{
    struct way way = {
        .line = *line, .window = row->window, .shuffle = row->shuffle, .weight = row->weight
    };
    int i = 0;
    if (row->window_bytes == 16) {
        way.window_bytes = 16;
        i = make_result(way, row);
    } else if (row->window_bytes == 8) {
        way.window_bytes = 8;
        i = make_result(way, row);
    }
    for (; i < row->n; i++)
        stk__lerp_line_value(line, row, i);
}
