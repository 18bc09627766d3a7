/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_scan_avx2.c: stuffed zeros taken out; and what is around the loop of jpeg_scan_x86.S: the
 * rare symbols, the end. */
#include "kernel/jpeg_symbol.h"
#include "kernel/x86/jpeg_avx2.h"
#include "kernel/x86/jpeg_scan_x86.h"

#include <immintrin.h>

/* 32 bytes at a time, of which those up to the first 0xff are kept. Seven times out of eight there
 * is none, and then the next ones wait for nothing. The rest is left to scalar. */
static bool unstuff_avx2(struct stk__jpeg_copy *copy)
{
    const __m256i ones = _mm256_set1_epi8(-1);
    const uint8_t *src = copy->src, *src_end = copy->src_end;
    uint8_t *dst = copy->dst, *dst_end = copy->dst_end;
    bool is_marker = false;
    while (dst_end - dst >= 32 && src_end - src > 32 && !is_marker) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)src);
        unsigned mask = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, ones));
        _mm256_storeu_si256((__m256i *)dst, bytes);
        size_t n = 32;
        if (__builtin_expect(mask != 0, 0)) {
            n = (size_t)__builtin_ctz(mask);
            is_marker = src[n + 1];
            src += !is_marker * 2;
            dst += !is_marker;
        }
        src += n;
        dst += n;
    }
    copy->src = src;
    copy->dst = dst;
    return is_marker || stk__jpeg_unstuff_scalar(copy);
}

struct stk__jpeg_loop {
    struct stk__jpeg_bits bits;
    const struct stk__jpeg_table *table;
    const uint8_t *k; /* in the zigzag table */
    int16_t *block;
    const uint8_t *k_start;
    const int16_t *extend;
};

void stk__jpeg_loop_x86(struct stk__jpeg_loop *loop);
void stk__jpeg_skip_loop_x86(struct stk__jpeg_loop *loop);

#define SAME(type, member, value)                                                                  \
    _Static_assert(offsetof(struct type, member) == (value), #member " as in the assembly")
SAME(stk__jpeg_table, advance, TABLE_ADVANCE);
SAME(stk__jpeg_table, entry, TABLE_ENTRY);
SAME(stk__jpeg_table, code, TABLE_CODE);
SAME(stk__jpeg_code, end, CODE_END);
SAME(stk__jpeg_code, offset, CODE_OFFSET);
SAME(stk__jpeg_code, symbol, CODE_SYMBOL);
SAME(stk__jpeg_entry, shift, ENTRY_SHIFT);
SAME(stk__jpeg_entry, first, ENTRY_FIRST);
SAME(stk__jpeg_entry, mask, ENTRY_MASK);
SAME(stk__jpeg_entry, value, ENTRY_VALUE);
SAME(stk__jpeg_chunk, steer[0].ac, STEER_AC);
SAME(stk__jpeg_chunk, steer[0].next_dc, STEER_NEXT_DC);
SAME(stk__jpeg_loop, bits.window, LOOP_WINDOW);
SAME(stk__jpeg_loop, bits.n_bits, LOOP_N_BITS);
SAME(stk__jpeg_loop, bits.next, LOOP_NEXT);
SAME(stk__jpeg_loop, table, LOOP_TABLE);
SAME(stk__jpeg_loop, k, LOOP_K);
SAME(stk__jpeg_loop, block, LOOP_BLOCK);
SAME(stk__jpeg_loop, k_start, LOOP_K_START);
SAME(stk__jpeg_loop, extend, LOOP_EXTEND);
_Static_assert(sizeof(struct stk__jpeg_steer) == 128, "walks along with the blocks");
_Static_assert(INDEX_BITS == STK__JPEG_INDEX_BITS && MAX_AC_BITS == STK__JPEG_MAX_AC_BITS,
               "as in the assembly");

/* Follows the last block of a chunk. */
static const struct stk__jpeg_table stop = {
    .advance = { [0 ... STK__JPEG_INDEX_SIZE - 1] = STK__JPEG_BY_HAND },
};

/* Values of extra bits, at their mask plus themselves; written once, when the table of kernels is
 * filled. */
static int16_t extend[2 << STK__JPEG_MAX_DC_BITS];

/* In the place of the zigzag table: what belongs to DC, and all the rest. */
enum { WINDOW_OF_DC = 0, OTHER_WINDOW = 4 };
_Alignas(256) static const uint8_t window_places[256] = { WINDOW_OF_DC,
                                                          [1 ... 255] = OTHER_WINDOW };

/* Takes the symbol the loop was left for. False: damaged. */
static bool take_symbol(struct stk__jpeg_loop *loop, const struct stk__jpeg_table *dc,
                        const struct stk__jpeg_steer *steer)
{
    int k = (int)(loop->k - loop->k_start) - 1;
    const struct stk__jpeg_table *table = k < 0 ? dc : steer->ac;
    int16_t unwanted[64];
    bool is_skipped = loop->k_start == window_places;
    if (is_skipped && k < 0)
        memcpy(loop->block + WINDOW_OF_DC, &loop->bits.window, sizeof loop->bits.window);
    k = stk__jpeg_symbol(&loop->bits, table->code, k, is_skipped ? unwanted : loop->block);
    if (k == STK__JPEG_DAMAGED)
        return false;
    bool is_done = k == STK__JPEG_BLOCK_DONE;
    loop->table = is_done ? steer->next_dc : steer->ac;
    loop->k = loop->k_start + (is_done ? 0 : k + 1);
    loop->block += is_done ? 64 : 0;
    return true;
}

static inline __attribute__((always_inline)) bool run_loop(struct stk__jpeg_bits *bits,
                                                           const struct stk__jpeg_table *dc,
                                                           struct stk__jpeg_chunk *chunk, int n,
                                                           bool skips)
{
    const uint8_t *zigzag = skips ? window_places : stk__jpeg_zigzag;
    struct stk__jpeg_loop loop = { .bits = *bits,
                                   .table = dc,
                                   .k = zigzag,
                                   .block = chunk->block[0],
                                   .k_start = zigzag,
                                   .extend = extend };
    const struct stk__jpeg_table *next = chunk->steer[n - 1].next_dc;
    bool is_good = true;
    chunk->steer[n - 1].next_dc = &stop;
    stk__jpeg_refill(&loop.bits);
    while (is_good) {
        (skips ? stk__jpeg_skip_loop_x86 : stk__jpeg_loop_x86)(&loop);
        ptrdiff_t i = (loop.block - chunk->block[0]) / 64;
        if (i == n)
            break;
        is_good = take_symbol(&loop, i ? chunk->steer[i - 1].next_dc : dc, &chunk->steer[i]);
        if (loop.table == &stop)
            break;
        stk__jpeg_refill(&loop.bits);
    }
    chunk->steer[n - 1].next_dc = next;
    *bits = loop.bits;
    return is_good;
}

static bool decode_avx2(struct stk__jpeg_bits *bits, const struct stk__jpeg_table *dc,
                        struct stk__jpeg_chunk *chunk, int n)
{
    return run_loop(bits, dc, chunk, n, false);
}

static int16_t dc_by_hand(uint64_t window, const struct stk__jpeg_table *dc)
{
    int16_t block[64] = { 0 };
    struct stk__jpeg_bits bits = { .window = window, .n_bits = 63 };
    stk__jpeg_one(&bits, dc->code, -1, block);
    return block[0];
}

/* The DC difference at the top of a window. Whether it is the first of two symbols nobody can
 * predict. */
static inline int16_t dc_of(uint64_t window, const struct stk__jpeg_table *dc)
{
    size_t index = window >> (64 - STK__JPEG_INDEX_BITS);
    const struct stk__jpeg_entry *entry = &dc->entry[index];
    unsigned advance = dc->advance[index];
    if (advance == STK__JPEG_BY_HAND)
        return dc_by_hand(window, dc);
    int last = extend[entry->mask + (window >> entry->shift & entry->mask)];
    int mask_last = -(advance == entry->first);
    return (int16_t)((last & mask_last) | (entry->value & ~mask_last));
}

static bool skip_avx2(struct stk__jpeg_bits *bits, const struct stk__jpeg_table *dc,
                      struct stk__jpeg_chunk *chunk, int n, int16_t *differences)
{
    if (!run_loop(bits, dc, chunk, n, true))
        return false;
    for (int i = 0; i < n; i++) {
        uint64_t window;
        memcpy(&window, chunk->block[i] + WINDOW_OF_DC, sizeof window);
        memset(chunk->block[i], 0, 2 * sizeof window);
        differences[i] = dc_of(window, dc);
        dc = chunk->steer[i].next_dc;
    }
    return true;
}

void stk__jpeg_fill_scan_avx2(struct stk__jpeg_kernels *kernels)
{
    for (unsigned n = 1; n <= STK__JPEG_MAX_DC_BITS; n++)
        for (unsigned extra = 0; extra < 1u << n; extra++)
            extend[(1u << n) - 1 + extra] = (int16_t)stk__jpeg_extend(extra, n);
    kernels->unstuff = unstuff_avx2;
    kernels->decode = decode_avx2;
    kernels->skip = skip_avx2;
}
