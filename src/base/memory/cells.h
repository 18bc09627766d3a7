/* SPDX-License-Identifier: Apache-2.0 */
/* cells.h: small strings of bytes that come and go in any order, in cells of a few sizes.
 *
 * A cell that is given back is the next one of its size that is taken, so what is there follows the most
 * that was kept at a time. One thread at a time.
 */
#pragma once
#include "base/memory/buffer.h"

enum { STK__CELL_SIZES = 32, STK__LARGEST_CELL = 4096 };

struct stk__cells {
    struct stk__pool *pool; /* borrowed */
    void *free[STK__CELL_SIZES];
    struct stk_buffer *blocks;                              /* all of them, linked by `next` */
    uint8_t *fresh[STK__CELL_SIZES], *end[STK__CELL_SIZES]; /* of each size's last block */
};

/* At most STK__LARGEST_CELL bytes, aligned to 16, contents undefined. NULL when out of memory. */
void *stk__cells_take(struct stk__cells *cells, size_t bytes);
void stk__cells_give(struct stk__cells *cells, void *cell, size_t bytes);

/* All cells are gone. */
void stk__cells_clear(struct stk__cells *cells);
