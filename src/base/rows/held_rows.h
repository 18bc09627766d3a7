/* SPDX-License-Identifier: Apache-2.0 */
/* held_rows.h: rows that are kept for long, apart from what they came with.
 *
 * Rows of a stream lie in blocks of many. A block is there as long as one of its rows is: a buffer that
 * draws rows by chance would keep five times the bytes of its rows (the last of k rows is drawn after
 * 1 + 1/2 + … + 1/k times as long as one of them, on average). So rows are copied when they are put into
 * such a buffer, small ones to cells, and out of these when they leave it.
 *
 *      block │ a │ b │ c │ …  ──put──▶  cells │ b │ x │ a │  ──leave──▶  slab │ x │ b │ …
 */
#pragma once
#include "base/memory/cells.h"
#include "base/memory/slab.h"
#include "base/rows/chunk.h"

struct stk__held_rows {
    struct stk__chunk *chunk; /* the rows; borrowed */
    struct stk__cells cells;
    struct stk__slab slab;     /* where small rows lie that left */
    struct stk_buffer marker;  /* owner of spans that lie in cells */
    uint64_t n_put, put_bytes; /* spans so far, and their bytes */
};

/* `pool` lives as long as it. */
void stk__held_rows_begin(struct stk__held_rows *rows, struct stk__chunk *chunk,
                          struct stk__pool *pool);
void stk__held_rows_end(struct stk__held_rows *rows); /* the chunk stays */

/* Rows [at, at + n) of the chunk were put there. Without memory they stay where they are. */
void stk__held_rows_put(struct stk__held_rows *rows, int at, int n);

/* Rows [at, at + n) of `out` came from the chunk, in which they are no more. Without memory they are bad. */
void stk__held_rows_leave(struct stk__held_rows *rows, struct stk__chunk *out, int at, int n);

/* Drops all rows. */
void stk__held_rows_clear(struct stk__held_rows *rows);
