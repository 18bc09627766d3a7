/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_scan_scalar.c: blocks out of the bits of a scan, in plain C. */
#include "kernel/jpeg_symbol.h"

_Alignas(256) const uint8_t stk__jpeg_zigzag[256] = {
    0, /* k = -1 */
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

bool stk__jpeg_unstuff_scalar(struct stk__jpeg_copy *copy)
{
    while (copy->dst < copy->dst_end) {
        size_t n = (size_t)(copy->src_end - copy->src), room = (size_t)(copy->dst_end - copy->dst);
        n = n < room ? n : room;
        const uint8_t *ff = n ? memchr(copy->src, 0xff, n) : NULL;
        if (ff)
            n = (size_t)(ff - copy->src);
        memcpy(copy->dst, copy->src, n);
        copy->dst += n;
        copy->src += n;
        if (ff && copy->src_end - ff > 1 && ff[1] == 0) {
            *copy->dst++ = 0xff;
            copy->src += 2;
        } else if (ff || copy->src == copy->src_end) {
            return true;
        }
    }
    return false;
}

/* The value of the last coefficient of a lookup. */
static inline int last_value(uint64_t window, const struct stk__jpeg_entry *entry)
{
    int extra = (int)(window >> entry->shift) & entry->mask;
    return extra <= entry->mask >> 1 ? extra - entry->mask : extra;
}

enum outcome { GOES_ON, ENDS, BY_HAND };

/* One lookup after n coefficients of a block; the window has the bits for it. Both values are there
 * before the first is stored: what is stored may alias the table. The mark of a block's end is
 * subtracted from n_bits with the rest, and is for the caller to take away. */
static inline __attribute__((always_inline)) enum outcome
look_up(struct stk__jpeg_bits *bits, const struct stk__jpeg_table *table, size_t *n, int16_t *block,
        bool stores)
{
    uint64_t window = bits->window;
    size_t index = window >> (64 - STK__JPEG_INDEX_BITS);
    const struct stk__jpeg_entry *entry = &table->entry[index];
    uint64_t step = table->step[index];
    size_t advance = table->advance[index], last = *n + advance;
    if (__builtin_expect(last >= 64, false))
        return BY_HAND;
    bits->window = window << (step & 63);
    bits->n_bits -= step;
    if (stores) {
        int16_t value = (int16_t)last_value(window, entry);
        int16_t *place = block + stk__jpeg_zigzag[last];
        block[stk__jpeg_zigzag[*n + entry->first]] = entry->value;
        *place = value;
    } else if (*n == 0) {
        bool is_pair = entry->first != advance;
        block[0] = is_pair ? entry->value : (int16_t)last_value(window, entry);
    }
    *n = last;
    return step & STK__JPEG_ENDS_BLOCK ? ENDS : GOES_ON;
}

/* One symbol by its code. The bits are passed by value, so that those of the loop stay in
 * registers. */
static __attribute__((noinline)) struct stk__jpeg_bits
take_symbol(struct stk__jpeg_bits bits, const struct stk__jpeg_code *code, int *k, int16_t *block)
{
    *k = stk__jpeg_symbol(&bits, code, *k, block);
    return bits;
}

/* One block. Two lookups per refill; inlined with a constant `stores`. */
static inline __attribute__((always_inline)) bool run_block(struct stk__jpeg_bits *bits,
                                                            const struct stk__jpeg_table *dc,
                                                            const struct stk__jpeg_table *ac,
                                                            int16_t *block, bool stores)
{
    const struct stk__jpeg_table *table = dc;
    size_t n = 0;
    for (enum outcome outcome = GOES_ON; outcome == GOES_ON; table = ac) {
        stk__jpeg_refill(bits);
        outcome = look_up(bits, table, &n, block, stores);
        if (outcome == GOES_ON)
            outcome = look_up(bits, ac, &n, block, stores);
        if (__builtin_expect(outcome == BY_HAND, false)) {
            int16_t unwanted[64];
            bool is_dc = n == 0;
            int k = (int)n - 1;
            *bits = take_symbol(*bits, is_dc ? dc->code : ac->code, &k,
                                stores || is_dc ? block : unwanted);
            if (k == STK__JPEG_DAMAGED)
                return false;
            n = (size_t)k + 1;
            outcome = k == STK__JPEG_BLOCK_DONE ? ENDS : GOES_ON;
        }
    }
    bits->n_bits &= 63;
    return true;
}

static inline __attribute__((always_inline)) bool run_blocks(struct stk__jpeg_bits *place,
                                                             const struct stk__jpeg_table *dc,
                                                             struct stk__jpeg_chunk *chunk, int n,
                                                             bool stores)
{
    struct stk__jpeg_bits bits = *place;
    for (int i = 0; i < n; i++) {
        const struct stk__jpeg_steer *steer = &chunk->steer[i];
        if (!run_block(&bits, dc, steer->ac, chunk->block[i], stores))
            return false;
        dc = steer->next_dc;
    }
    *place = bits;
    return true;
}

static bool decode_scalar(struct stk__jpeg_bits *bits, const struct stk__jpeg_table *dc,
                          struct stk__jpeg_chunk *chunk, int n)
{
    return run_blocks(bits, dc, chunk, n, true);
}

static bool skip_scalar(struct stk__jpeg_bits *bits, const struct stk__jpeg_table *dc,
                        struct stk__jpeg_chunk *chunk, int n, int16_t *differences)
{
    if (!run_blocks(bits, dc, chunk, n, false))
        return false;
    for (int i = 0; i < n; i++) {
        differences[i] = chunk->block[i][0];
        chunk->block[i][0] = 0;
    }
    return true;
}

void stk__jpeg_fill_scan_scalar(struct stk__jpeg_kernels *kernels)
{
    kernels->unstuff = stk__jpeg_unstuff_scalar;
    kernels->decode = decode_scalar;
    kernels->skip = skip_scalar;
}
