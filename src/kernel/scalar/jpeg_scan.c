/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_scan.c: blocks out of the bits of a scan, in plain C. */
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

/* One lookup; the window has the bits for it. */
static inline enum outcome look_up(struct stk__jpeg_bits *bits, const struct stk__jpeg_table *table,
                                   int *k, int16_t *block, bool stores)
{
    uint64_t window = bits->window;
    size_t index = window >> (64 - STK__JPEG_INDEX_BITS);
    const struct stk__jpeg_entry *entry = &table->entry[index];
    unsigned step = table->step[index];
    int advance = table->advance[index], last = *k + advance;
    if (last >= 63)
        return BY_HAND;
    stk__jpeg_drop(bits, step & 63);
    if (stores) {
        block[stk__jpeg_zigzag[*k + 1 + entry->first]] = entry->value;
        block[stk__jpeg_zigzag[last + 1]] = (int16_t)last_value(window, entry);
    } else if (*k < 0) {
        bool is_pair = entry->first != advance;
        block[0] = is_pair ? entry->value : (int16_t)last_value(window, entry);
    }
    *k = last;
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
    int k = -1;
    for (enum outcome outcome = GOES_ON; outcome == GOES_ON; table = ac) {
        stk__jpeg_refill(bits);
        outcome = look_up(bits, table, &k, block, stores);
        if (outcome == GOES_ON)
            outcome = look_up(bits, ac, &k, block, stores);
        if (outcome == BY_HAND) {
            int16_t unwanted[64];
            bool is_dc = k < 0;
            int at = k;
            *bits = take_symbol(*bits, is_dc ? dc->code : ac->code, &at,
                                stores || is_dc ? block : unwanted);
            k = at;
            if (k == STK__JPEG_DAMAGED)
                return false;
            outcome = k == STK__JPEG_BLOCK_DONE ? ENDS : GOES_ON;
        }
    }
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
