/* SPDX-License-Identifier: Apache-2.0 */
/* colour_x86.h: what the compiler does not find by itself for the colour kernels: taking pixels of
 * three bytes apart, and looking bytes up in a table; for the files of AVX2 and above. */
#pragma once
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCK = 64 };

/* Byte shuffles, -1: zero. Of 16 pixels: [channel][a third of their 48 bytes], and [third][channel]
 * for the way back. */
/* clang-format off */
static const int8_t split_shuffle[3][3][16] = {
    {
        { 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 },
        { -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1 },
        { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13 },
    },
    {
        { 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 },
        { -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1 },
        { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14 },
    },
    {
        { 2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 },
        { -1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1 },
        { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15 },
    },
};
static const int8_t join_shuffle[3][3][16] = {
    {
        { 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5 },
        { -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1 },
        { -1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1 },
    },
    {
        { -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1 },
        { 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10 },
        { -1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1 },
    },
    {
        { -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1 },
        { -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1 },
        { 10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15 },
    },
};
/* clang-format on */

static inline __m128i shuffled(__m128i bytes, const int8_t order[16])
{
    return _mm_shuffle_epi8(bytes, _mm_loadu_si128((const void *)order));
}

static inline __m128i shuffled3(const __m128i from[3], const int8_t order[3][16])
{
    return _mm_or_si128(_mm_or_si128(shuffled(from[0], order[0]), shuffled(from[1], order[1])),
                        shuffled(from[2], order[2]));
}

static inline void split_bytes(uint8_t plane[3][BLOCK], const uint8_t *src)
{
    for (int i = 0; i < BLOCK; i += 16, src += 48) {
        const __m128i third[3] = { _mm_loadu_si128((const void *)src),
                                   _mm_loadu_si128((const void *)(src + 16)),
                                   _mm_loadu_si128((const void *)(src + 32)) };
        for (int c = 0; c < 3; c++)
            _mm_storeu_si128((void *)(plane[c] + i), shuffled3(third, split_shuffle[c]));
    }
}

static inline void join_bytes(uint8_t *dst, const uint8_t plane[3][BLOCK])
{
    for (int i = 0; i < BLOCK; i += 16, dst += 48) {
        const __m128i channel[3] = { _mm_loadu_si128((const void *)(plane[0] + i)),
                                     _mm_loadu_si128((const void *)(plane[1] + i)),
                                     _mm_loadu_si128((const void *)(plane[2] + i)) };
        for (int third = 0; third < 3; third++)
            _mm_storeu_si128((void *)(dst + 16 * third), shuffled3(channel, join_shuffle[third]));
    }
}

/* A shuffle looks up 16 entries and gives 0 where the index is negative. Part k of a half of the
 * table is kept as its difference (exclusive or) to part k - 1: an index counts down by 16 until it
 * is negative, so what is left of all differences is its own part. */
struct parts {
    __m256i part[16];
};

static inline struct parts table_parts(const uint8_t table[256])
{
    struct parts all;
    for (int k = 0; k < 16; k++) {
        __m128i part = _mm_loadu_si128((const void *)(table + 16 * k));
        if (k % 8)
            part = _mm_xor_si128(part, _mm_loadu_si128((const void *)(table + 16 * (k - 1))));
        all.part[k] = _mm256_broadcastsi128_si256(part);
    }
    return all;
}

static inline __m256i look_up(const struct parts *all, __m256i index)
{
    const __m256i step = _mm256_set1_epi8(16), high = _mm256_set1_epi8(-128);
    __m256i other = _mm256_xor_si256(index, high);
    __m256i found = _mm256_setzero_si256(), found_high = _mm256_setzero_si256();
    for (int k = 0; k < 8; k++) {
        found = _mm256_xor_si256(found, _mm256_shuffle_epi8(all->part[k], index));
        found_high = _mm256_xor_si256(found_high, _mm256_shuffle_epi8(all->part[8 + k], other));
        index = _mm256_subs_epi8(index, step);
        other = _mm256_subs_epi8(other, step);
    }
    return _mm256_xor_si256(found, found_high);
}

static void map_u8(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t table[256])
{
    const struct parts all = table_parts(table);
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        _mm256_storeu_si256((void *)(dst + i),
                            look_up(&all, _mm256_loadu_si256((const void *)(src + i))));
    for (; i < n; i++)
        dst[i] = table[src[i]];
}
