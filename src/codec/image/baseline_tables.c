/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_tables.c: the lookup tables of jpeg.h from the codes of a file.
 *
 * Almost every file brings codes of its own, so this is done per picture and has to be quick. An
 * AC table is made in two steps: what the first code of each index stands for (singles), and then,
 * for each first symbol whose extra bits lie within the index, the singles found at the bits that
 * are left. A DC table is the second step alone, with DC symbols first and the AC singles after.
 */
#include "codec/image/baseline.h"
#include "kernel/jpeg_symbol.h"

#include <string.h>

enum {
    INDEX_BITS = STK__JPEG_INDEX_BITS,
    INDEX_SIZE = STK__JPEG_INDEX_SIZE,
    NO_CODE = 255,
};

/* A symbol with its code. */
struct symbol {
    unsigned code, n_code; /* bits of the code, and their number */
    unsigned n_extra;
    unsigned advance; /* of k */
    bool is_end;      /* of the block */
};

/* Codes of one length are consecutive, and go on at twice the value with the next length. The code
 * of ones alone is not allowed. */
static bool make_code(struct stk__jpeg_code *code, const struct stk__huffman *from)
{
    unsigned next = 0;
    int at = 0;
    for (int n = 1; n <= 16; n++) {
        int count = from->counts[n - 1];
        code->offset[n] = at - (int)next;
        next += (unsigned)count;
        at += count;
        if (count && next >= 1u << n)
            return false;
        code->end[n] = next << (16 - n);
        next <<= 1;
    }
    code->end[17] = UINT32_MAX;
    memset(code->symbol, 0, sizeof code->symbol);
    memcpy(code->symbol, from->counts + 16, (size_t)from->n_symbols);
    return true;
}

static struct symbol ac_symbol(uint8_t byte)
{
    struct symbol symbol = { .n_extra = byte & 15, .advance = (byte >> 4) + 1u };
    symbol.is_end = !symbol.n_extra && symbol.advance < 16;
    return symbol;
}

static struct symbol dc_symbol(uint8_t byte)
{
    return (struct symbol){ .n_extra = byte, .advance = 1 };
}

/* The symbol alone, its extra bits within the index or not. */
static struct stk__jpeg_entry single_entry(const struct symbol *symbol)
{
    unsigned n_bits = symbol->n_code + symbol->n_extra;
    return (struct stk__jpeg_entry){ .shift = (uint8_t)(64 - n_bits),
                                     .first = (uint8_t)symbol->advance,
                                     .mask = (uint16_t)((1u << symbol->n_extra) - 1) };
}

static void fill_entries(struct stk__jpeg_entry *entries, struct stk__jpeg_entry entry, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        entries[i] = entry;
}

/* n is a power of two, mostly a small one. */
static void fill_bytes(uint8_t *at, unsigned value, unsigned n)
{
    uint64_t word = value * UINT64_C(0x0101010101010101);
    if (n >= 8)
        for (unsigned i = 0; i < n; i += 8)
            memcpy(at + i, &word, 8);
    else if (n == 4)
        memcpy(at, &word, 4);
    else if (n == 2)
        memcpy(at, &word, 2);
    else
        *at = (uint8_t)value;
}

static unsigned single_step(const struct symbol *symbol)
{
    unsigned n_bits = symbol->n_code + symbol->n_extra;
    return symbol->is_end ? n_bits | STK__JPEG_ENDS_BLOCK : n_bits;
}

/* ---- singles ---- */

static void fill_single(struct stk__jpeg_singles *singles, const struct symbol *symbol)
{
    unsigned first = symbol->code << (INDEX_BITS - symbol->n_code);
    unsigned n = 1u << (INDEX_BITS - symbol->n_code);
    fill_bytes(singles->step + first, single_step(symbol), n);
    fill_bytes(singles->advance + first, symbol->advance, n);
    fill_entries(singles->entry + first, single_entry(symbol), n);
}

/* Marks where an end of block follows the extra bits of a symbol. */
static void mark_ended(struct stk__jpeg_singles *singles, const struct symbol *symbol,
                       const struct symbol *end)
{
    unsigned n_bits = symbol->n_code + symbol->n_extra;
    if (symbol->n_extra == 0 || n_bits + end->n_code > INDEX_BITS)
        return;
    unsigned n_left = INDEX_BITS - n_bits, n = 1u << (n_left - end->n_code);
    for (unsigned extra = 0; extra < 1u << symbol->n_extra; extra++) {
        unsigned first = ((symbol->code << symbol->n_extra | extra) << n_left) +
                         (end->code << (n_left - end->n_code));
        fill_bytes(singles->n_ended + first, n_bits + end->n_code, n);
    }
}

/* Symbols with codes that fit the index, with those codes. Returns their number. */
static int list_symbols(struct symbol *list, const struct stk__huffman *from,
                        struct symbol (*read)(uint8_t byte))
{
    const uint8_t *byte = from->counts + 16;
    unsigned code = 0;
    int n_listed = 0;
    for (unsigned n = 1; n <= INDEX_BITS; n++, code <<= 1)
        for (int i = 0; i < from->counts[n - 1]; i++, code++) {
            struct symbol symbol = read(*byte++);
            symbol.code = code;
            symbol.n_code = n;
            list[n_listed++] = symbol;
        }
    return n_listed;
}

static void make_singles(struct stk__jpeg_singles *singles, const struct symbol *list, int n)
{
    const struct symbol *end = NULL;
    memset(singles->n_ended, NO_CODE, sizeof singles->n_ended);
    memset(singles->n_short, 0, sizeof singles->n_short);
    for (int i = 0; i < n; i++) {
        fill_single(singles, &list[i]);
        for (unsigned bits = list[i].n_code; bits <= INDEX_BITS; bits++)
            singles->n_short[bits] = (list[i].code + 1) << (bits - list[i].n_code);
        if (list[i].is_end && list[i].advance == 1)
            end = &list[i];
    }
    for (int i = 0; i < n && end; i++)
        mark_ended(singles, &list[i], end);
}

/* ---- pairs ---- */

/* Fills the indices that begin with a symbol and extra bits of zero, of which n_left bits are free.
 * An end of block as the second symbol is one more coefficient, of zero. */
static void fill_pairs(struct stk__jpeg_table *table, const struct stk__jpeg_singles *singles,
                       const struct symbol *symbol, unsigned first, unsigned n_left)
{
    int value = stk__jpeg_extend(0, symbol->n_extra);
    unsigned n_bits = INDEX_BITS - n_left, n_pairs = singles->n_short[n_left];
    struct stk__jpeg_entry *entry = table->entry + first;
    uint8_t *step = table->step + first, *advance = table->advance + first;
    fill_bytes(step, n_bits, 1u << n_left);
    fill_bytes(advance, symbol->advance, 1u << n_left);
    for (unsigned rest = 0; rest < n_pairs; rest++, entry++) {
        const struct stk__jpeg_entry *last = &singles->entry[rest << n_bits];
        unsigned n_ended = singles->n_ended[rest << n_bits];
        unsigned n_last =
            n_ended <= n_left ? n_ended | STK__JPEG_ENDS_BLOCK : singles->step[rest << n_bits];
        step[rest] = (uint8_t)(n_bits + n_last);
        advance[rest] = (uint8_t)(symbol->advance + singles->advance[rest << n_bits]);
        entry->shift = (uint8_t)(last->shift - n_bits);
        entry->first = (uint8_t)symbol->advance;
        entry->mask = last->mask;
        entry->value = (int16_t)value;
    }
    fill_entries(entry, single_entry(symbol), (1u << n_left) - n_pairs);
}

/* Other extra bits of a symbol have the same pairs behind them: the first n entries go on for `times`
 * as many, with the values of those bits. */
static void repeat_pairs(struct stk__jpeg_table *table, const struct symbol *symbol, unsigned first,
                         unsigned n)
{
    unsigned times = 1u << symbol->n_extra;
    uint8_t *step = table->step + first, *advance = table->advance + first;
    for (unsigned done = n; done < n * times; done *= 2) {
        memcpy(step + done, step, done);
        memcpy(advance + done, advance, done);
    }
    const struct stk__jpeg_entry *from = table->entry + first;
    struct stk__jpeg_entry *to = table->entry + first + n;
    for (unsigned extra = 1; extra < times; extra++) {
        int16_t value = (int16_t)stk__jpeg_extend(extra, symbol->n_extra);
        for (unsigned i = 0; i < n; i++, to++) {
            *to = from[i];
            to->value = value;
        }
    }
}

static void fill_symbol(struct stk__jpeg_table *table, const struct stk__jpeg_singles *singles,
                        const struct symbol *symbol)
{
    unsigned first = symbol->code << (INDEX_BITS - symbol->n_code);
    unsigned n = 1u << (INDEX_BITS - symbol->n_code);
    unsigned n_bits = symbol->n_code + symbol->n_extra;
    if (n_bits < INDEX_BITS && !symbol->is_end) {
        unsigned n_left = INDEX_BITS - n_bits;
        fill_pairs(table, singles, symbol, first, n_left);
        repeat_pairs(table, symbol, first, 1u << n_left);
        return;
    }
    fill_bytes(table->step + first, single_step(symbol), n);
    fill_bytes(table->advance + first, symbol->advance, n);
    fill_entries(table->entry + first, single_entry(symbol), n);
}

static void make_table(struct stk__jpeg_table *table, const struct stk__jpeg_singles *singles,
                       const struct symbol *list, int n)
{
    unsigned filled = 0;
    for (int i = 0; i < n; i++) {
        fill_symbol(table, singles, &list[i]);
        filled = (list[i].code + 1) << (INDEX_BITS - list[i].n_code);
    }
    memset(table->step + filled, 0, INDEX_SIZE - filled);
    memset(table->advance + filled, STK__JPEG_BY_HAND, INDEX_SIZE - filled);
    fill_entries(table->entry + filled, (struct stk__jpeg_entry){ 0 }, INDEX_SIZE - filled);
}

/* ---- using them again ---- */

static bool is_made_from(const struct stk__huffman_copy *copy, const struct stk__huffman *from)
{
    return copy->n_bytes == 16 + from->n_symbols &&
           !memcmp(copy->bytes, from->counts, (size_t)copy->n_bytes);
}

static void remember(struct stk__huffman_copy *copy, const struct stk__huffman *from)
{
    copy->n_bytes = 16 + from->n_symbols;
    memcpy(copy->bytes, from->counts, (size_t)copy->n_bytes);
}

/* Whether a symbol has more extra bits than 8-bit samples need. */
static bool has_large_values(const struct stk__huffman *from, int mask, int most)
{
    for (int i = 0; i < from->n_symbols; i++)
        if ((from->counts[16 + i] & mask) > most)
            return true;
    return false;
}

static bool make_ac(struct stk__jpeg_ac_table *ac, const struct stk__huffman *from)
{
    if (is_made_from(&ac->made_from, from))
        return true;
    struct symbol list[256];
    ac->made_from.n_bytes = 0;
    if (has_large_values(from, 15, STK__JPEG_MAX_AC_BITS) || !make_code(&ac->code, from))
        return false;
    int n = list_symbols(list, from, ac_symbol);
    make_singles(&ac->singles, list, n);
    make_table(&ac->table, &ac->singles, list, n);
    ac->table.code = &ac->code;
    remember(&ac->made_from, from);
    return true;
}

static bool make_dc(struct stk__jpeg_dc_table *dc, const struct stk__huffman *from,
                    const struct stk__huffman *next, const struct stk__jpeg_singles *singles)
{
    if (is_made_from(&dc->made_from, from) && is_made_from(&dc->followed_by, next))
        return true;
    struct symbol list[256];
    dc->made_from.n_bytes = 0;
    if (has_large_values(from, 255, STK__JPEG_MAX_DC_BITS) || !make_code(&dc->code, from))
        return false;
    int n = list_symbols(list, from, dc_symbol);
    make_table(&dc->table, singles, list, n);
    dc->table.code = &dc->code;
    remember(&dc->made_from, from);
    remember(&dc->followed_by, next);
    return true;
}

/* Components with the same tables share them. */
bool stk__jpeg_tables_make(struct stk__jpeg_tables *tables, const struct stk__jpeg_header *header)
{
    const struct stk__component *component = header->component;
    for (int c = 0; c < header->n_components; c++) {
        const struct stk__huffman *ac = &header->ac[component[c].ac];
        const struct stk__huffman *dc = &header->dc[component[c].dc];
        int same_ac = 0, same_dc = 0;
        while (component[same_ac].ac != component[c].ac)
            same_ac++;
        while (component[same_dc].ac != component[c].ac || component[same_dc].dc != component[c].dc)
            same_dc++;
        if (!make_ac(&tables->ac[same_ac], ac) ||
            !make_dc(&tables->dc[same_dc], dc, ac, &tables->ac[same_ac].singles))
            return false;
        tables->ac_of[c] = &tables->ac[same_ac].table;
        tables->dc_of[c] = &tables->dc[same_dc].table;
    }
    return true;
}
