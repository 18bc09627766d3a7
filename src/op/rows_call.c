/* SPDX-License-Identifier: Apache-2.0 */
/* rows_call.c: what an op may do while it runs over rows: memory, faults, random words. */
#include "base/memory/arena.h"
#include "base/rng.h"
#include "base/rows/chunk.h"
#include "op/dice.h"

#include <stdarg.h>
#include <stdio.h>

void *stk_rows_alloc(struct stk_rows *rows, size_t bytes)
{
    return stk__arena_take(rows->inside->scratch, bytes);
}

void stk_rows_fail(struct stk_rows *rows, int row, int code, const char *format, ...)
{
    char text[STK_ERROR_TEXT];
    va_list args;
    if (row < 0 || row >= rows->n) {
        rows->inside->n_outside++;
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (rows->mask[row] == STK_BAD)
        return;
    rows->mask[row] = STK_BAD;
    stk__fault_add(rows->inside->faults, row, code,
                   rows->inside->blamed ? rows->inside->blamed : rows->inside->name, text);
}

void stk_rows_random(const struct stk_rows *rows, int row, uint64_t user_seed, uint32_t index,
                     uint32_t words[4])
{
    struct stk__dice_place place = stk__rows_place(rows, row, user_seed, index);
    stk__philox(place.counter, place.key, words);
}
