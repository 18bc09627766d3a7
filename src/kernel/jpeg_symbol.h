/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_symbol.h: bits of a scan, and one symbol by its code, for every version of the loops of
 * jpeg.h. */
#pragma once
#include "kernel/jpeg.h"

#include <string.h>

static inline uint64_t stk__load_big_endian(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Afterwards 56 bits or more are there: enough for two lookups, which take 21 bits at most. */
static inline void stk__jpeg_refill(struct stk__jpeg_bits *bits)
{
    bits->window |= stk__load_big_endian(bits->next) >> bits->n_bits;
    bits->next += (63 - bits->n_bits) >> 3;
    bits->n_bits |= 56;
}

static inline void stk__jpeg_drop(struct stk__jpeg_bits *bits, unsigned n)
{
    bits->window <<= n;
    bits->n_bits -= n;
}

/* n extra bits as a value: the lower half of the range stands for negative ones. */
static inline int stk__jpeg_extend(unsigned extra, unsigned n)
{
    return n && extra >> (n - 1) == 0 ? (int)extra - (1 << n) + 1 : (int)extra;
}

/* Takes n < 16 extra bits. */
static inline int stk__jpeg_take(struct stk__jpeg_bits *bits, unsigned n)
{
    unsigned extra = (unsigned)(bits->window >> 32) >> 16 >> (16 - n);
    stk__jpeg_drop(bits, n);
    return stk__jpeg_extend(extra, n);
}

enum { STK__JPEG_DAMAGED = 65, STK__JPEG_BLOCK_DONE = 64 };

/* Takes one symbol after coefficient k of a block, all of whose bits are in the window. Returns the
 * coefficient it stored, or one of the above. */
static inline int stk__jpeg_one(struct stk__jpeg_bits *bits, const struct stk__jpeg_code *code,
                                int k, int16_t *block)
{
    uint32_t top = (uint32_t)(bits->window >> 48);
    int n = top < code->end[STK__JPEG_INDEX_BITS] ? 1 : STK__JPEG_INDEX_BITS + 1;
    while (top >= code->end[n])
        n++;
    if (n > 16)
        return STK__JPEG_DAMAGED;
    unsigned symbol = code->symbol[(int32_t)(top >> (16 - n)) + code->offset[n]];
    unsigned run = symbol >> 4, n_extra = symbol & 15;
    stk__jpeg_drop(bits, (unsigned)n);
    if (k < 0) {
        block[0] = (int16_t)stk__jpeg_take(bits, n_extra);
        return 0;
    }
    if (!n_extra && run < 15)
        return STK__JPEG_BLOCK_DONE;
    k += (int)run + 1;
    if (k > 63 || n_extra > STK__JPEG_MAX_AC_BITS)
        return STK__JPEG_DAMAGED;
    if (n_extra)
        block[stk__jpeg_zigzag[k + 1]] = (int16_t)stk__jpeg_take(bits, n_extra);
    return k == 63 ? STK__JPEG_BLOCK_DONE : k;
}

static inline int stk__jpeg_symbol(struct stk__jpeg_bits *bits, const struct stk__jpeg_code *code,
                                   int k, int16_t *block)
{
    stk__jpeg_refill(bits);
    return stk__jpeg_one(bits, code, k, block);
}
