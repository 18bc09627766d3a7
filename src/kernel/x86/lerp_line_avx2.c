/* SPDX-License-Identifier: Apache-2.0 */
/* lerp_line_avx2.c: two taps along both axes, for AVX2, one line or two at a time.
 *
 * Rows of floats between the axes are stored only if the next line needs one. What says where
 * values lie along a row is loaded once for all source rows of both lines, and a row that both need
 * stays in registers. What the next lines read and write is fetched on the way: a picture fresh
 * from the decoder and its place in a batch are not near.
 *
 * Where two lines of bytes are made, three kinds of values are told apart by how many bits their
 * weight along the row has. All give the bits of left + (right - left) * weight with a rounding
 * after each step, but where nothing is to be rounded they need fewer steps:
 *
 *     ROUNDED   as it is written
 *     EXACT     the product needs no rounding: multiplied and added at once
 *     WHOLE     the weight is k / 32768 and the sum needs no rounding either: a sum of products of
 *               integers, 32768 times the value. Lerping between rows goes on with that; powers of
 *               two change no rounding, and the last step takes them away again.
 */
#include "kernel/inline.h"
#include "kernel/x86/lerp_avx2.h"

#define NOINLINE static __attribute__((noinline))

enum kind { ROUNDED, EXACT, WHOLE };

static const float whole_scale = STK__LERP_WHOLE, per_whole = 1.0f / STK__LERP_WHOLE;

/* What a loop is compiled for. */
struct form {
    int n; /* lines */
    int window_bytes;
    bool has_kept;  /* the first line's top row is kept */
    bool is_shared; /* the second line's top row is the first one's bottom row */
    enum kind kind;
};

/* Copies, since a vector store may alias anything. */
struct lines {
    const uint8_t *row[4]; /* top and bottom of the first line, then of the second */
    const uint8_t *ahead;
    float *kept;
    uint8_t *dst[2];
    ptrdiff_t next_dst; /* bytes to the same place in the lines after these */
    __m256 weight[2];
    const int32_t *window;
    const uint8_t *shuffle;
    const float *across;
    const int32_t *whole;
    bool keeps_bottom, is_far;
};

/* A group of eight values in each of the four rows. */
struct rows {
    __m256 of[4];
};

/* And in each of the lines. */
struct values {
    __m256 of[2];
};

struct words {
    __m256i of[2];
};

/* ---- along the rows ---- */

INLINE __m256i window_at(const uint8_t *src, const int32_t *at, int window_bytes)
{
    if (window_bytes == 16)
        return both_lanes(load_16(src + at[0]), load_16(src + at[1]));
    return both_lanes(load_two(src + at[0], src + at[1]), load_two(src + at[2], src + at[3]));
}

INLINE __m256 lerp_kind(__m256i lanes, __m256 weight, enum kind kind)
{
    if (kind == WHOLE)
        return _mm256_cvtepi32_ps(_mm256_madd_epi16(lanes, _mm256_castps_si256(weight)));
    return lerp_lanes(lanes, weight, kind == EXACT);
}

INLINE __m256 load_kept(const float *kept, enum kind kind)
{
    __m256 values = _mm256_loadu_ps(kept);
    return kind == WHOLE ? _mm256_mul_ps(values, _mm256_set1_ps(whole_scale)) : values;
}

INLINE void store_kept(float *kept, __m256 values, enum kind kind)
{
    if (kind == WHOLE)
        values = _mm256_mul_ps(values, _mm256_set1_ps(per_whole));
    _mm256_storeu_ps(kept, values);
}

/* Group g of the source rows. */
INLINE struct rows rows_of(const struct lines *lines, const struct form form, ptrdiff_t g)
{
    const int32_t *window = lines->window + (form.window_bytes == 16 ? 2 : 4) * g;
    const __m256i shuffle = _mm256_loadu_si256((const __m256i *)(lines->shuffle + 32 * g));
    const __m256 weight = form.kind == WHOLE ? _mm256_loadu_ps((const float *)lines->whole + 8 * g)
                                             : _mm256_loadu_ps(lines->across + 8 * g);
    const bool is_read[4] = { !form.has_kept, true, form.n == 2 && !form.is_shared, form.n == 2 };
    struct rows rows;
    __m256i lanes[4];
    _mm_prefetch((const char *)lines->ahead + 64 * g, _MM_HINT_T0);
    for (int i = 0; i < 4; i++)
        if (is_read[i])
            lanes[i] = window_at(lines->row[i], window, form.window_bytes);
    for (int i = 0; i < 4; i++)
        if (is_read[i])
            rows.of[i] = lerp_kind(_mm256_shuffle_epi8(lanes[i], shuffle), weight, form.kind);
    if (form.has_kept)
        rows.of[0] = load_kept(lines->kept + 8 * g, form.kind);
    if (form.is_shared)
        rows.of[2] = rows.of[1];
    if (lines->keeps_bottom)
        store_kept(lines->kept + 8 * g, rows.of[2 * form.n - 1], form.kind);
    return rows;
}

/* ---- between them ---- */

/* The values of a group from its rows, which become those of the next group. */
INLINE struct values values_of(const struct lines *lines, const struct form form, struct rows *rows,
                               ptrdiff_t next)
{
    const struct rows now = *rows;
    struct values values;
    *rows = rows_of(lines, form, next);
    for (int k = 0; k < form.n; k++) {
        __m256 top = now.of[2 * k], bottom = now.of[2 * k + 1];
        __m256 step = _mm256_mul_ps(_mm256_sub_ps(bottom, top), lines->weight[k]);
        values.of[k] = _mm256_add_ps(top, step);
    }
    return values;
}

/* ---- bytes ---- */

INLINE __m256i rounded(__m256 value, enum kind kind)
{
    const __m256 half = _mm256_set1_ps(0.5f);
    if (kind == WHOLE)
        return _mm256_cvttps_epi32(_mm256_fmadd_ps(value, _mm256_set1_ps(per_whole), half));
    return _mm256_cvttps_epi32(_mm256_add_ps(value, half));
}

/* Groups g and g + 1 of each line, in the order of packing; the rows become those of `next`. */
INLINE struct words words_of(const struct lines *lines, const struct form form, struct rows *rows,
                             ptrdiff_t g, ptrdiff_t next)
{
    const struct values first = values_of(lines, form, rows, g + 1);
    const struct values second = values_of(lines, form, rows, next);
    struct words words;
    for (int k = 0; k < form.n; k++)
        words.of[k] =
            _mm256_packs_epi32(rounded(first.of[k], form.kind), rounded(second.of[k], form.kind));
    return words;
}

INLINE __m256i bytes_of(__m256i low, __m256i high)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
}

INLINE void make_bytes(const struct lines *lines, const struct form form, ptrdiff_t g, ptrdiff_t to)
{
    struct rows rows = rows_of(lines, form, g);
    for (; g + 4 <= to; g += 4) {
        const struct words low = words_of(lines, form, &rows, g, g + 2);
        const struct words high = words_of(lines, form, &rows, g + 2, g + 4 < to ? g + 4 : g + 3);
        for (int k = 0; k < form.n; k++) {
            uint8_t *dst = lines->dst[k] + 8 * g;
            _mm256_storeu_si256((__m256i *)dst, bytes_of(low.of[k], high.of[k]));
            __builtin_prefetch(dst + lines->next_dst, 1);
        }
    }
    for (; g < to && form.kind == ROUNDED; g++) { /* others come in fours */
        const struct values values = values_of(lines, form, &rows, g + 1 < to ? g + 1 : g);
        for (int k = 0; k < form.n; k++) {
            __m256i value = rounded(values.of[k], form.kind);
            __m256i words = _mm256_packs_epi32(value, value);
            _mm_storel_epi64((__m128i *)(lines->dst[k] + 8 * g),
                             _mm256_castsi256_si128(bytes_of(words, words)));
        }
    }
}

/* ---- floats ---- */

/* Inlined with or without an affine. */
INLINE void make_floats(const struct lines *lines, const struct form form, ptrdiff_t to,
                        const struct stk__affine *affine)
{
    const float *mul = affine ? affine->mul : NULL, *add = affine ? affine->add : NULL;
    const int period = affine ? affine->period : 8;
    int at = 0;
    struct rows rows = rows_of(lines, form, 0);
    for (ptrdiff_t g = 0; g < to; g++) {
        struct values values = values_of(lines, form, &rows, g + 1 < to ? g + 1 : g);
        for (int k = 0; k < form.n && affine; k++) {
            __m256 product = _mm256_mul_ps(values.of[k], _mm256_loadu_ps(mul + at));
            values.of[k] = _mm256_add_ps(product, _mm256_loadu_ps(add + at));
        }
        at = at + 8 < period ? at + 8 : 0;
        for (int k = 0; k < form.n; k++)
            store_floats((float *)(void *)lines->dst[k] + 8 * g, values.of[k], lines->is_far);
    }
}

/* ---- loops of their own for what they need not ask about every time ---- */

INLINE struct form with_kind(struct form form, enum kind kind)
{
    form.kind = kind;
    return form;
}

/* Whole values lie between exact ones, and those between others. */
INLINE void make_kinds(const struct lines *lines, const struct form form,
                       const struct stk__lerp_row *row)
{
    static const enum kind kinds[] = { ROUNDED, EXACT, WHOLE, EXACT, ROUNDED };
    const int bounds[] = {
        0, row->exact_from, row->whole_from, row->whole_to, row->exact_to, row->n
    };
    for (int i = 0; i < 5; i++) {
        ptrdiff_t from = bounds[i] / 8, to = bounds[i + 1] / 8;
        if (from == to)
            continue;
        if (kinds[i] == WHOLE)
            make_bytes(lines, with_kind(form, WHOLE), from, to);
        else if (kinds[i] == EXACT)
            make_bytes(lines, with_kind(form, EXACT), from, to);
        else
            make_bytes(lines, with_kind(form, ROUNDED), from, to);
    }
}

/* Floats wait for memory, and lines that go alone are few: the steps saved would not show. */
INLINE void make_lines(const struct stk__lerp_line *given, const struct stk__lerp_row *row,
                       const struct form form)
{
    const struct stk__lerp_line *last = &given[form.n - 1];
    const struct stk__affine *affine = given->affine;
    const struct lines lines = {
        .row = { given->top, given->bottom, last->top, last->bottom },
        .ahead = last->ahead,
        .kept = last->kept,
        .dst = { given->dst, last->dst },
        .next_dst = 2 * ((uint8_t *)last->dst - (uint8_t *)given->dst),
        .weight = { _mm256_set1_ps(given->weight), _mm256_set1_ps(last->weight) },
        .window = row->window,
        .shuffle = row->shuffle,
        .across = row->weight,
        .whole = row->whole,
        .keeps_bottom = last->keeps_bottom,
        .is_far = given->is_far && last->is_far,
    };
    if (given->is_rounded && form.n == 2)
        make_kinds(&lines, form, row);
    else if (given->is_rounded)
        make_bytes(&lines, form, 0, row->n / 8);
    else if (affine)
        make_floats(&lines, form, row->n / 8, affine);
    else
        make_floats(&lines, form, row->n / 8, NULL);
}

/* Functions of their own, too, or compilers take minutes. */
typedef void make_fn(const struct stk__lerp_line *given, const struct stk__lerp_row *row);

NOINLINE void make_line(const struct stk__lerp_line *given, const struct stk__lerp_row *row)
{
    make_lines(given, row, (struct form){ .n = 1, .window_bytes = 16 });
}

NOINLINE void make_line_kept(const struct stk__lerp_line *given, const struct stk__lerp_row *row)
{
    make_lines(given, row, (struct form){ .n = 1, .window_bytes = 16, .has_kept = true });
}

NOINLINE void make_narrow(const struct stk__lerp_line *given, const struct stk__lerp_row *row)
{
    make_lines(given, row, (struct form){ .n = 1, .window_bytes = 8 });
}

NOINLINE void make_narrow_kept(const struct stk__lerp_line *given, const struct stk__lerp_row *row)
{
    make_lines(given, row, (struct form){ .n = 1, .window_bytes = 8, .has_kept = true });
}

NOINLINE void make_pair(const struct stk__lerp_line *given, const struct stk__lerp_row *row)
{
    make_lines(given, row, (struct form){ .n = 2, .window_bytes = 16 });
}

NOINLINE void make_pair_kept(const struct stk__lerp_line *given, const struct stk__lerp_row *row)
{
    make_lines(given, row, (struct form){ .n = 2, .window_bytes = 16, .has_kept = true });
}

NOINLINE void make_shared(const struct stk__lerp_line *given, const struct stk__lerp_row *row)
{
    make_lines(given, row, (struct form){ .n = 2, .window_bytes = 16, .is_shared = true });
}

NOINLINE void make_shared_kept(const struct stk__lerp_line *given, const struct stk__lerp_row *row)
{
    make_lines(given, row,
               (struct form){ .n = 2, .window_bytes = 16, .is_shared = true, .has_kept = true });
}

/* The values behind the last group of eight; all of them in rows without windows. */
static void make_rest(const struct stk__lerp_line *line, const struct stk__lerp_row *row)
{
    for (int i = row->window_bytes ? row->n / 8 * 8 : 0; i < row->n; i++)
        stk__lerp_line_value(line, row, i);
}

void stk__lerp_line_u8_avx2(const struct stk__lerp_line *line, const struct stk__lerp_row *row)
{
    static make_fn *const make[2][2] = { { make_line, make_line_kept },
                                         { make_narrow, make_narrow_kept } };
    if (row->window_bytes && row->n >= 8)
        make[row->window_bytes == 8][!line->top](line, row);
    make_rest(line, row);
}

/* The second line's top row is the first one's bottom row if it has none. */
void stk__lerp_pair_u8_avx2(const struct stk__lerp_line lines[2], const struct stk__lerp_row *row)
{
    static make_fn *const make[2][2] = { { make_pair, make_pair_kept },
                                         { make_shared, make_shared_kept } };
    if (row->window_bytes != 16 || row->n < 8) {
        stk__lerp_line_u8_avx2(lines, row);
        stk__lerp_line_u8_avx2(lines + 1, row);
        return;
    }
    make[!lines[1].top][!lines->top](lines, row);
    make_rest(lines, row);
    make_rest(lines + 1, row);
}
