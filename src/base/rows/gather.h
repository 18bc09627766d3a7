/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h: how rows of one field become one: the only place that stacks, packs and pads.
 *
 *     stack   rows of one shape, one behind the other
 *     pack    rows of any length, one behind the other, with splits: blob.h
 *     pad     rows of any shape, each in a box as large as the largest; what is left of a box has a
 *             value. Lists of texts are boxes of one dimension, arrays of texts of theirs
 *
 * The shape of one row in the result is asked for first, with the bytes that all take; then they
 * are written wherever there is room for that.
 */
#pragma once
#include "base/rows/chunk.h"

enum stk__gather_kind { STK__STACK, STK__PACK, STK__PAD };

struct stk__gather {
    struct stk_field field; /* of the rows */
    enum stk__gather_kind kind;
    /* pad: entries along each dimension; -1: as many as the largest row of a batch has */
    int64_t box[STK_MAX_RANK];
    uint64_t value;   /* pad: its first bytes are one of the field's dtype */
    const char *text; /* pad: what fills lists of texts */
    size_t text_bytes;
};

/* Rows of a column: n of them, every step-th from the first on. */
struct stk__picked {
    const struct stk_column *column;
    int first, step, n;
};

/* What `batch` does: bytes and ragged fields are packed, others stacked. */
struct stk__gather stk__gather_of(const struct stk_field *field);

/* Dimensions of a box. */
int stk__gather_rank(const struct stk__gather *gather);

/* Fails if a row cannot be gathered; the message is the cause. */
int stk__gather_check(const struct stk__gather *gather, const struct stk_column *column, int row,
                      struct stk_error *err);

/* True if stk__gather_check may fail. */
bool stk__gather_is_bounded(const struct stk__gather *gather);

/* Bytes of the result, and the shape of one row in it unless rows are packed. Fails if rows that
 * must be equal in shape are not: `differs` is then the first such row. */
int stk__gather_measure(const struct stk__gather *gather, const struct stk__picked *rows,
                        size_t *bytes, int32_t *dims, int *differs);

/* Writes the result of such a measure. */
void stk__gather_write(const struct stk__gather *gather, const struct stk__picked *rows,
                       const int32_t *dims, uint8_t *dst);

/* Marks rows [from, from + n) of a chunk, with a gather for each field, that are not bad already
 * and cannot be gathered; returns how many. */
int stk__gather_mark(const struct stk__gather *gather, struct stk__chunk *chunk, int from, int n,
                     const char *op);
