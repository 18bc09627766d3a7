/* SPDX-License-Identifier: Apache-2.0 */
/* value_column.h: one field of `values`: a parsed list or an array of the caller as a column. */
#pragma once
#include "lang/value.h"

struct stk__value_column {
    struct stk_field field;
    int64_t n_rows;
    const uint8_t *data;                 /* fixed and ragged */
    const size_t *start;                 /* ragged: [n_rows + 1] offsets into data */
    const struct stk_value *const *text; /* bytes: [n_rows] strings */
    const struct stk_span *row;          /* lists of texts: [n_rows], else NULL */
    const int64_t *splits; /* bytes and ragged arrays: [n_rows + 1] values before each row */
    size_t value_bytes;    /* of one value of such an array */
};

/* Reads a list, or borrows an array. field.name is set before. What it keeps is in the arena or
 * part of the value. */
int stk__value_column_read(const struct stk_value *value, struct stk_arena *arena,
                           struct stk__value_column *column, struct stk_error *err);

/* Writes rows to a column of the executor; spans point into this one. */
void stk__value_column_rows(const struct stk__value_column *column, int n, const uint64_t *index,
                            struct stk_column *out);
