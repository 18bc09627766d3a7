/* SPDX-License-Identifier: Apache-2.0 */
/* expr_rows.h: for the tests of expressions: rows without an executor. Stands in for the functions
 * that row ops call, so no test that includes this may link the evaluator. */
#pragma once
#include "base/memory/arena.h"
#include "op/field/expr_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct stk_arena scratch = { .block_bytes = 1 << 16 };
static int allocations_left = -1; /* -1: no limit */
static char last_fault[STK_ERROR_TEXT];

void *stk_rows_alloc(struct stk_rows *rows, size_t bytes)
{
    (void)rows;
    if (!allocations_left)
        return NULL;
    allocations_left -= allocations_left > 0;
    return stk__arena_take(&scratch, bytes);
}

void stk_rows_fail(struct stk_rows *rows, int row, int code, const char *format, ...)
{
    va_list args;
    (void)code;
    va_start(args, format);
    vsnprintf(last_fault, sizeof last_fault, format, args);
    va_end(args);
    rows->mask[row] = STK_BAD;
}

/* Columns for n rows of a type, from the scratch arena; spans and dims are empty. */
static inline void make_columns(const struct stk_type *type, int n, struct stk_column *column)
{
    for (int f = 0; f < type->n_fields; f++) {
        const struct stk_field *field = &type->field[f];
        column[f] = (struct stk_column){ .rank = field->rank };
        if (field->kind == STK_FIXED) {
            column[f].stride = stk_field_bytes(field);
            column[f].data = stk_arena_alloc(&scratch, column[f].stride * (size_t)n + 1);
            continue;
        }
        column[f].span = stk_arena_alloc(&scratch, (size_t)n * sizeof *column[f].span);
        column[f].dims = stk_arena_alloc(&scratch, (size_t)n * (size_t)(field->rank + 1) *
                                                       sizeof *column[f].dims);
    }
}
