/* SPDX-License-Identifier: Apache-2.0 */
/* csv_marks_avx2.c: the marks of delimited text, 64 bytes at a time. */
#include "kernel/csv_kernel.h"

#include <immintrin.h>

struct wanted {
    __m256i byte[STK__CSV_N_MARKS];
};

static inline uint32_t mask_of(const uint8_t *data, const struct wanted *wanted)
{
    __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)data);
    __m256i a = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, wanted->byte[0]),
                                _mm256_cmpeq_epi8(bytes, wanted->byte[1]));
    __m256i b = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, wanted->byte[2]),
                                _mm256_cmpeq_epi8(bytes, wanted->byte[3]));
    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(a, b));
}

/* Writes the positions of the bits in groups of eight whether so many are set or not: a loop of a
 * length that is known costs less than one that is guessed wrong. */
static inline int put_positions(uint64_t mask, uint32_t base, uint32_t *out)
{
    int n = __builtin_popcountll(mask);
    for (int done = 0; done < n; done += 8)
        for (int i = 0; i < 8; i++) {
            out[done + i] = base + (uint32_t)_tzcnt_u64(mask);
            mask &= mask - 1;
        }
    return n;
}

int stk__csv_marks_avx2(const uint8_t *data, uint32_t *from, uint32_t to,
                        const uint8_t byte[STK__CSV_N_MARKS], uint32_t *out, int room)
{
    struct wanted wanted;
    int n = 0;
    uint32_t at = *from;
    for (int i = 0; i < STK__CSV_N_MARKS; i++)
        wanted.byte[i] = _mm256_set1_epi8((char)byte[i]);
    for (; at < to && room - n >= STK__CSV_BLOCK; at += STK__CSV_BLOCK) {
        uint64_t mask = mask_of(data + at, &wanted) | (uint64_t)mask_of(data + at + 32, &wanted)
                                                          << 32;
        if (to - at < STK__CSV_BLOCK)
            mask &= ((uint64_t)1 << (to - at)) - 1;
        n += put_positions(mask, at, out + n);
    }
    *from = at < to ? at : to;
    return n;
}
