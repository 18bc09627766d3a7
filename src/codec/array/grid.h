/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h: an array that is stored in chunks, and boxes cut out of it.
 *
 *      0   1   2     chunks of 3 x 4 in an array of 5 x 10: the last of each row and column reach
 *     ┌───┬───┬──┐   over the edge and are stored whole. The box B touches four chunks; its parts
 *     │   │ B │  │   are pasted one chunk at a time.
 *     ├───┼─B─┼──┤
 *     └───┴───┴──┘
 */
#pragma once
#include <stoker/op.h>

enum { STK__GRID_MAX_RANK = STK_MAX_RANK + 1 };

struct stk__grid {
    int rank;
    uint32_t item_bytes;
    int64_t dims[STK__GRID_MAX_RANK], chunk[STK__GRID_MAX_RANK];
};

struct stk__chunk_box {
    int64_t start[STK__GRID_MAX_RANK], size[STK__GRID_MAX_RANK];
};

/* Chunks along a dimension, in all (-1: too many), and bytes of one chunk (0: too many). */
int64_t stk__grid_along(const struct stk__grid *grid, int axis);
int64_t stk__grid_chunks(const struct stk__grid *grid);
size_t stk__grid_chunk_bytes(const struct stk__grid *grid);

/* Most chunks that boxes of this size touch, wherever they are (INT_MAX: more than that). */
int stk__grid_most_touched(const struct stk__grid *grid, const int64_t *size);

/* The k-th chunk that a box touches, by its place along each dimension; false if it touches fewer.
 * The box must lie in the array. */
bool stk__grid_touched(const struct stk__grid *grid, const struct stk__chunk_box *box, int k,
                       int64_t *chunk);

/* The number of a chunk in row-major order. */
uint64_t stk__grid_number(const struct stk__grid *grid, const int64_t *chunk);

/* Bytes of a chunk that a box needs: first and how many, without holes. */
void stk__grid_range(const struct stk__grid *grid, const struct stk__chunk_box *box,
                     const int64_t *chunk, size_t *first, size_t *bytes);

/* The bytes of a chunk from its byte `first` on; NULL: every item is `fill`. */
struct stk__grid_bytes {
    const uint8_t *data;
    size_t first;
    const uint8_t *fill;
};

/* Copies what a box has in common with a chunk to its place in the box. */
void stk__grid_paste(const struct stk__grid *grid, const struct stk__chunk_box *box,
                     const int64_t *chunk, struct stk__grid_bytes src, uint8_t *dst);
