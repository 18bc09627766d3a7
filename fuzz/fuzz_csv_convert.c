/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_csv_convert.c: any lines as the cells of a column of any type: many at once give what each
 * alone does, on every instruction set; a guessed type takes all of them.
 *
 * Input: type, flags, then a cell on each line. */
#include "base/cpu.h"
#include "base/memory/arena.h"
#include "codec/text/csv.h"
#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = STK__CSV_BLOCK_ROWS, WIDEST = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_so)
{
    if (!is_so)
        abort();
}

static const struct stk__csv_names *make_names(void)
{
    static const struct stk__csv_text words[] = { { "a", 1 }, { "red", 3 }, { "1", 1 } };
    static struct stk__csv_names names = { words, 3, NULL, 0 };
    static struct stk_arena arena;
    if (!names.slot) {
        stk__arena_init(&arena, 1024);
        must(!stk__csv_names_make(&names, &arena));
    }
    return &names;
}

static struct stk__csv_type make_type(uint8_t choice, uint8_t flags)
{
    struct stk__csv_type type = { .kind = STK__CSV_NUMBER, .dtype = choice % STK_N_DTYPES };
    if (choice >= 128)
        type.kind = choice & 1 ? STK__CSV_TIMESTAMP : STK__CSV_CATEGORY;
    if (choice >= 128)
        type.dtype = STK_I64;
    type.unit = (enum stk__time_unit)(flags >> 4 & 3);
    type.names = make_names();
    type.has_default = flags & 1;
    return type;
}

static struct stk__csv_missing make_missing(uint8_t flags)
{
    static const struct stk__csv_text words[] = {
        { "", 0 }, { "NA", 2 }, { "nan", 3 }, { "0", 1 }
    };
    return (struct stk__csv_missing){ words, flags >> 1 & 4 ? 4 : flags >> 1 & 3,
                                      (flags >> 1 & 7) >= 3 };
}

/* Each cell in memory of its own: 16 bytes behind where it begins may be read, and 8 behind it. */
static int make_cells(const uint8_t *text, size_t n, struct stk__csv_cell *cell)
{
    int n_cells = 0;
    for (size_t at = 0; at < n && n_cells < MOST_CELLS; n_cells++) {
        const uint8_t *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        uint8_t *copy = malloc(len + 16);
        must(copy != NULL);
        memcpy(copy, text + at, len);
        memset(copy + len, '7', 16); /* what is behind must not count */
        cell[n_cells] = (struct stk__csv_cell){ copy, (uint32_t)len, false };
        at += len + 1;
    }
    return n_cells;
}

static void check_column(const struct stk__csv_target *target,
                         const struct stk__csv_missing *missing, const struct stk__csv_cell *cell,
                         int n)
{
    struct stk__csv_result result[MOST_CELLS] = { 0 };
    _Alignas(8) uint8_t together[MOST_CELLS][WIDEST] = { 0 }, alone[WIDEST];
    const struct stk__csv_convert convert = {
        target, missing, cell, 1, n, 0, stk__kernels()->csv_digits
    };
    size_t bytes = stk_dtype_bytes(target->type.dtype);
    stk__csv_convert_fixed(&convert, together[0], WIDEST, result);
    for (int i = 0; i < n; i++) {
        memset(alone, 0, sizeof alone);
        enum stk__csv_status status = stk__csv_value(&target->type, missing, &cell[i], alone);
        must(status == result[i].status);
        must(status != STK__CSV_OK || !memcmp(alone, together[i], bytes));
    }
}

static void check_guess(const struct stk__csv_missing *missing, const struct stk__csv_cell *cell,
                        int n)
{
    struct stk__csv_guess guess;
    uint64_t room;
    stk__csv_guess_begin(&guess);
    for (int i = 0; i < n; i++)
        stk__csv_guess_see(&guess, missing, &cell[i]);
    struct stk__csv_type type = stk__csv_guess_type(&guess);
    for (int i = 0; i < n && type.kind != STK__CSV_TEXT; i++)
        must(stk__csv_value(&type, missing, &cell[i], &room) == STK__CSV_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stk__csv_cell cell[MOST_CELLS];
    if (size < 2)
        return 0;
    const struct stk__csv_target target = { .type = make_type(data[0], data[1]) };
    const struct stk__csv_missing missing = make_missing(data[1]);
    int n = make_cells(data + 2, size - 2, cell);
    for (int level = 0; level <= (int)stk__cpu_best(); level++) {
        struct stk_error err;
        must(!stk_cpu_limit(stk__cpu_level_names[level], &err));
        check_column(&target, &missing, cell, n);
    }
    check_guess(&missing, cell, n);
    for (int i = 0; i < n; i++)
        free((void *)(uintptr_t)cell[i].at);
    return 0;
}
