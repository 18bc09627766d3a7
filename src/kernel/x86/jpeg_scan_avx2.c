/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_scan_avx2.c: what is around the loop of jpeg_scan_x86.S: the rare symbols, the end. */
#include "kernel/jpeg_symbol.h"
#include "kernel/x86/jpeg_avx2.h"
#include "kernel/x86/jpeg_scan_x86.h"

struct stk__jpeg_loop {
    struct stk__jpeg_bits bits;
    const struct stk__jpeg_table *table;
    const uint8_t *k; /* in the zigzag table */
    int16_t *block;
    const uint8_t *k_start;
    const int16_t *extend;
};

void stk__jpeg_loop_x86(struct stk__jpeg_loop *loop);

#define SAME(type, member, value)                                                                  \
    _Static_assert(offsetof(struct type, member) == (value), #member " as in the assembly")
SAME(stk__jpeg_table, entry, TABLE_ENTRY);
SAME(stk__jpeg_entry, shift, ENTRY_SHIFT);
SAME(stk__jpeg_entry, first, ENTRY_FIRST);
SAME(stk__jpeg_entry, last, ENTRY_LAST);
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
_Static_assert(INDEX_BITS == STK__JPEG_INDEX_BITS, "as in the assembly");

/* Follows the last block of a chunk. */
static const struct stk__jpeg_table stop = {
    .entry = { [0 ... STK__JPEG_INDEX_SIZE - 1] = { .last = STK__JPEG_BY_HAND } },
};

/* Values of extra bits, at their mask plus themselves; written once, when the table of kernels is
 * filled. */
static int16_t extend[2 << STK__JPEG_MAX_DC_BITS];

/* In the place of the zigzag table: everything but DC goes to one place. */
_Alignas(256) static const uint8_t to_one_place[256] = { [0 ... 1] = 0, [2 ... 255] = 1 };

/* Takes the symbol the loop was left for. False: damaged. */
static bool take_symbol(struct stk__jpeg_loop *loop, const struct stk__jpeg_table *dc,
                        const struct stk__jpeg_steer *steer)
{
    int k = (int)(loop->k - loop->k_start) - 1;
    const struct stk__jpeg_table *table = k < 0 ? dc : steer->ac;
    int16_t unwanted[64];
    bool is_wanted = k < 0 || loop->k_start == stk__jpeg_zigzag;
    k = stk__jpeg_symbol(&loop->bits, table->code, k, is_wanted ? loop->block : unwanted);
    if (k == STK__JPEG_DAMAGED)
        return false;
    bool is_done = k == STK__JPEG_BLOCK_DONE;
    loop->table = is_done ? steer->next_dc : steer->ac;
    loop->k = loop->k_start + (is_done ? 0 : k + 1);
    loop->block += is_done ? 64 : 0;
    return true;
}

/* `zigzag`: where coefficients go. */
static bool run_loop(struct stk__jpeg_bits *bits, const struct stk__jpeg_table *dc,
                     struct stk__jpeg_chunk *chunk, int n, const uint8_t *zigzag)
{
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
        stk__jpeg_loop_x86(&loop);
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
    return run_loop(bits, dc, chunk, n, stk__jpeg_zigzag);
}

static bool skip_avx2(struct stk__jpeg_bits *bits, const struct stk__jpeg_table *dc,
                      struct stk__jpeg_chunk *chunk, int n)
{
    return run_loop(bits, dc, chunk, n, to_one_place);
}

void stk__jpeg_fill_scan_avx2(struct stk__jpeg_kernels *kernels)
{
    for (unsigned n = 1; n <= STK__JPEG_MAX_DC_BITS; n++)
        for (unsigned extra = 0; extra < 1u << n; extra++)
            extend[(1u << n) - 1 + extra] = (int16_t)stk__jpeg_extend(extra, n);
    kernels->decode = decode_avx2;
    kernels->skip = skip_avx2;
}
