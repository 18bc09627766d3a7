/* SPDX-License-Identifier: Apache-2.0 */
/* csv_digits_avx2.c: plain numbers of delimited text, all characters of one at a time.
 *
 *     12.345        the text
 *     ……………12.345   moved to the right end of 16 bytes, zeros before
 *     ………………12345   the point closed up
 *
 * and neighbours are joined: bytes to numbers below 100, 10^4, 10^8. What is longer is two such
 * parts.
 */
#include "kernel/csv_kernel.h"

#include <immintrin.h>

/* Loaded at `len`: moves so many bytes to the right end. */
static const uint8_t to_right[32] = {
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15,
};

/* 16 digits, the most significant first, as one number. */
static inline uint64_t join(__m128i digits)
{
    const __m128i tens = _mm_set1_epi16(1 << 8 | 10), hundreds = _mm_set1_epi32(1 << 16 | 100);
    const __m128i ten_thousands = _mm_set1_epi32(1 << 16 | 10000);
    __m128i pairs = _mm_maddubs_epi16(digits, tens);
    __m128i fours = _mm_madd_epi16(pairs, hundreds);
    __m128i packed = _mm_packus_epi32(fours, fours);
    uint64_t eights = (uint64_t)_mm_cvtsi128_si64(_mm_madd_epi16(packed, ten_thousands));
    return (eights & 0xffffffff) * 100000000 + (eights >> 32);
}

/* Up to 16 characters: their digits, and where the point is among them. */
struct part {
    uint64_t value;
    bool is_plain, has_point;
    int n_behind; /* digits behind the point; all without one */
};

static inline struct part read_part(const uint8_t *at, uint32_t len)
{
    const __m128i count = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
    text = _mm_sub_epi8(text, _mm_set1_epi8('0'));
    uint32_t all = (1u << len) - 1;
    __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(text, _mm_set1_epi8(9)), text);
    __m128i is_point = _mm_cmpeq_epi8(text, _mm_set1_epi8('.' - '0'));
    uint32_t digits = (uint32_t)_mm_movemask_epi8(is_digit) & all;
    uint32_t points = (uint32_t)_mm_movemask_epi8(is_point) & all;
    /* Where the point is once the text is at the right end; -1: nowhere. */
    int point = points ? (int)(16 - len + _tzcnt_u32(points)) : -1;
    __m128i moved =
        _mm_shuffle_epi8(text, _mm_loadu_si128((const __m128i *)(const void *)(to_right + len)));
    __m128i is_before = _mm_cmpgt_epi8(_mm_set1_epi8((char)(point + 1)), count);
    return (struct part){ .value = join(_mm_shuffle_epi8(moved, _mm_add_epi8(count, is_before))),
                          .is_plain = (digits | points) == all && !(points & (points - 1)),
                          .has_point = points != 0,
                          .n_behind = points ? 15 - point : (int)len };
}

/* 17 to 19 characters, a point among them: the last 16 and those before. */
static inline struct part read_long(const uint8_t *at, uint32_t len)
{
    const uint64_t ten_15 = 1000000000000000, ten_16 = 10 * ten_15;
    struct part head = read_part(at, len - 16), tail = read_part(at + len - 16, 16);
    bool is_plain = head.is_plain && tail.is_plain && head.has_point != tail.has_point;
    return (struct part){ .value = head.value * (tail.has_point ? ten_15 : ten_16) + tail.value,
                          .is_plain = is_plain,
                          .has_point = true,
                          .n_behind = tail.has_point ? tail.n_behind : head.n_behind + 16 };
}

static inline void read_one(const struct stk__csv_cell *cell, int64_t *whole, int8_t *places)
{
    const uint8_t *at = cell->at;
    uint32_t len = cell->len;
    bool is_negative = len && *at == '-';
    uint32_t has_sign = len && (*at == '-' || *at == '+');
    at += has_sign;
    len -= has_sign;
    *whole = 0;
    *places = -1;
    if (len == 0 || len > 19)
        return;
    struct part all = len <= 16 ? read_part(at, len) : read_long(at, len);
    bool is_point_alone = len == 1 && all.has_point;
    if (!all.is_plain || is_point_alone || (is_negative && all.value == 0))
        return;
    *whole = is_negative ? -(int64_t)all.value : (int64_t)all.value;
    *places = (int8_t)(all.has_point ? all.n_behind : 0);
}

void stk__csv_digits_avx2(const struct stk__csv_cell *cell, int step, int n, int64_t *whole,
                          int8_t *places)
{
    for (int i = 0; i < n; i++, cell += step)
        read_one(cell, &whole[i], &places[i]);
}
