/* SPDX-License-Identifier: Apache-2.0 */
/* lerp_pair_avx2.c: two lines at a time, for AVX2. Loads bound such loops: what says where values
 * lie along a row is loaded once for all source rows of both lines, and a row that both need stays
 * in registers. */
#include "kernel/x86/lerp_avx2.h"

#define INLINE static inline __attribute__((always_inline))

enum result { BYTES, FLOATS, AFFINE };

/* What is the same for both lines; copies, since a vector store may alias anything. */
struct pair {
    const uint8_t *top[2], *bottom[2];
    float *kept;
    void *dst[2];
    __m256 weight[2];
    const int32_t *window;
    const uint8_t *shuffle;
    const float *across;
    struct stk__affine affine;
    enum result result;
    bool is_shared, keeps_bottom;
};

/* Where the values of a group of eight lie in a row, and between which. */
struct group {
    ptrdiff_t low, high;
    __m256i shuffle;
    __m256 weight;
};

struct rows {
    __m256 top[2], bottom[2];
};

struct values {
    __m256 of[2];
};

INLINE __m256 across(const uint8_t *src, const struct group *group)
{
    __m256i bytes = both_lanes(load_16(src + group->low), load_16(src + group->high));
    return lerp_lanes(_mm256_shuffle_epi8(bytes, group->shuffle), group->weight);
}

INLINE __m256 between(__m256 top, __m256 bottom, __m256 weight)
{
    return _mm256_add_ps(top, _mm256_mul_ps(_mm256_sub_ps(bottom, top), weight));
}

/* Group g of the source rows, lerped along x. */
INLINE struct rows rows_of(const struct pair *pair, ptrdiff_t g)
{
    const struct group group = { pair->window[2 * g], pair->window[2 * g + 1],
                                 _mm256_loadu_si256((const __m256i *)(pair->shuffle + 32 * g)),
                                 _mm256_loadu_ps(pair->across + 8 * g) };
    struct rows rows;
    rows.top[0] = pair->top[0] ? across(pair->top[0], &group) : _mm256_loadu_ps(pair->kept + 8 * g);
    rows.bottom[0] = across(pair->bottom[0], &group);
    rows.top[1] = pair->is_shared ? rows.bottom[0] : across(pair->top[1], &group);
    rows.bottom[1] = across(pair->bottom[1], &group);
    if (pair->keeps_bottom)
        _mm256_storeu_ps(pair->kept + 8 * g, rows.bottom[1]);
    return rows;
}

/* The values of a group from its rows, which become those of the next group. */
INLINE struct values values_of(const struct pair *pair, struct rows *rows, ptrdiff_t next)
{
    const struct rows now = *rows;
    struct values values;
    *rows = rows_of(pair, next);
    for (int k = 0; k < 2; k++)
        values.of[k] = between(now.top[k], now.bottom[k], pair->weight[k]);
    return values;
}

INLINE __m256i rounded(__m256 value)
{
    return _mm256_cvttps_epi32(_mm256_add_ps(value, _mm256_set1_ps(0.5f)));
}

INLINE void store_bytes(const struct pair *pair, ptrdiff_t g, const struct values *values)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (int k = 0; k < 2; k++) {
        __m256i low = _mm256_packs_epi32(rounded(values[0].of[k]), rounded(values[1].of[k]));
        __m256i high = _mm256_packs_epi32(rounded(values[2].of[k]), rounded(values[3].of[k]));
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
        _mm256_storeu_si256((__m256i *)((uint8_t *)pair->dst[k] + 8 * g), bytes);
    }
}

INLINE void store_floats(const struct pair *pair, ptrdiff_t g, struct values values)
{
    for (int k = 0; k < 2; k++)
        _mm256_storeu_ps((float *)pair->dst[k] + 8 * g, values.of[k]);
}

INLINE void make_bytes(const struct pair *pair, ptrdiff_t n_groups)
{
    struct rows rows = rows_of(pair, 0);
    for (ptrdiff_t g = 0; g < n_groups; g += 4) {
        struct values values[4];
        for (int k = 0; k < 3; k++)
            values[k] = values_of(pair, &rows, g + k + 1);
        values[3] = values_of(pair, &rows, g + 4 < n_groups ? g + 4 : g + 3);
        store_bytes(pair, g, values);
    }
}

INLINE void make_floats(const struct pair *pair, ptrdiff_t n_groups)
{
    struct rows rows = rows_of(pair, 0);
    int at = 0;
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        struct values values = values_of(pair, &rows, g + 1 < n_groups ? g + 1 : g);
        if (pair->result == AFFINE) {
            __m256 mul = _mm256_loadu_ps(pair->affine.mul + at);
            __m256 add = _mm256_loadu_ps(pair->affine.add + at);
            for (int k = 0; k < 2; k++)
                values.of[k] = _mm256_add_ps(_mm256_mul_ps(values.of[k], mul), add);
            at = at + 8 < pair->affine.period ? at + 8 : 0;
        }
        store_floats(pair, g, values);
    }
}

/* Loops of their own for what they need not ask about every time. */
INLINE void make_result(struct pair pair, enum result result, ptrdiff_t n_groups)
{
    pair.result = result;
    if (result == BYTES)
        make_bytes(&pair, n_groups);
    else
        make_floats(&pair, n_groups);
}

INLINE void make_pair(struct pair pair, const struct stk__lerp_line *line, ptrdiff_t n_groups)
{
    if (line->is_rounded) {
        make_result(pair, BYTES, n_groups);
    } else if (line->affine) {
        pair.affine = *line->affine;
        make_result(pair, AFFINE, n_groups);
    } else {
        make_result(pair, FLOATS, n_groups);
    }
}

/* Lines of 16-byte windows, in blocks of 32 values. The rest goes line by line. */
void stk__lerp_pair_u8_avx2(const struct stk__lerp_line lines[2], const struct stk__lerp_row *row)
{
    int n_groups = row->window_bytes == 16 ? row->n / 32 * 4 : 0;
    if (!n_groups) {
        stk__lerp_line_u8_avx2(lines, row);
        stk__lerp_line_u8_avx2(lines + 1, row);
        return;
    }
    struct pair pair = { .top = { lines[0].top, lines[1].top },
                         .bottom = { lines[0].bottom, lines[1].bottom },
                         .kept = lines[1].kept,
                         .dst = { lines[0].dst, lines[1].dst },
                         .weight = { _mm256_set1_ps(lines[0].weight),
                                     _mm256_set1_ps(lines[1].weight) },
                         .window = row->window,
                         .shuffle = row->shuffle,
                         .across = row->weight,
                         .keeps_bottom = lines[1].keeps_bottom };
    if (lines[1].top) {
        make_pair(pair, lines, n_groups);
    } else {
        pair.is_shared = true;
        make_pair(pair, lines, n_groups);
    }
    for (int k = 0; k < 2; k++)
        for (int i = 8 * n_groups; i < row->n; i++)
            stk__lerp_line_value(lines + k, row, i);
}
