/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c: lists of free cells, and blocks that they are cut from: each has cells of one size. */
#include "base/memory/cells.h"

#include <string.h>

enum { BLOCK_BYTES = 1 << 14, STEP = 16, N_STEPS = 16 };

/* Steps of 16 bytes up to 256, then quarters of an octave up to 4096. */
static int size_of(size_t bytes, size_t *size)
{
    if (bytes <= STEP * N_STEPS) {
        int k = bytes ? (int)((bytes - 1) / STEP) : 0;
        *size = (size_t)(k + 1) * STEP;
        return k;
    }
    int class = N_STEPS;
    size_t octave = STEP * N_STEPS;
    for (; bytes > 2 * octave; octave *= 2)
        class += 4;
    size_t quarter = octave / 4, n = (bytes - octave + quarter - 1) / quarter;
    *size = octave + n * quarter;
    return class + (int)n - 1;
}

static bool add_block(struct stk__cells *cells, int class, size_t size)
{
    size_t bytes = size > BLOCK_BYTES / 16 ? 16 * size : BLOCK_BYTES;
    struct stk_buffer *block = stk__buffer_new(cells->pool, bytes);
    if (!block)
        return false;
    block->next = cells->blocks;
    cells->blocks = block;
    cells->fresh[class] = block->data;
    cells->end[class] = block->data + bytes / size * size;
    return true;
}

void *stk__cells_take(struct stk__cells *cells, size_t bytes)
{
    size_t size;
    int class = size_of(bytes, &size);
    void *cell = cells->free[class];
    if (cell) {
        memcpy(&cells->free[class], cell, sizeof cell);
        return cell;
    }
    if (cells->fresh[class] == cells->end[class] && !add_block(cells, class, size))
        return NULL;
    cell = cells->fresh[class];
    cells->fresh[class] += size;
    return cell;
}

void stk__cells_give(struct stk__cells *cells, void *cell, size_t bytes)
{
    size_t size;
    int class = size_of(bytes, &size);
    memcpy(cell, &cells->free[class], sizeof cell);
    cells->free[class] = cell;
}

void stk__cells_clear(struct stk__cells *cells)
{
    for (struct stk_buffer *block = cells->blocks, *next; block; block = next) {
        next = block->next;
        block->next = NULL;
        stk__buffer_unref(block);
    }
    *cells = (struct stk__cells){ .pool = cells->pool };
}
