/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c: which chunks a box touches, and pasting them together. */
#include "codec/array/grid.h"

#include <limits.h>
#include <string.h>

int64_t stk__grid_along(const struct stk__grid *grid, int axis)
{
    int64_t chunk = grid->chunk[axis];
    return grid->dims[axis] / chunk + (grid->dims[axis] % chunk != 0);
}

int64_t stk__grid_chunks(const struct stk__grid *grid)
{
    int64_t n = 1;
    for (int a = 0; a < grid->rank; a++)
        if (__builtin_mul_overflow(n, stk__grid_along(grid, a), &n))
            return -1;
    return n;
}

size_t stk__grid_chunk_bytes(const struct stk__grid *grid)
{
    size_t bytes = grid->item_bytes;
    for (int a = 0; a < grid->rank; a++)
        if (__builtin_mul_overflow(bytes, (size_t)grid->chunk[a], &bytes))
            return 0;
    return bytes;
}

int stk__grid_most_touched(const struct stk__grid *grid, const int64_t *size)
{
    int64_t n = 1;
    for (int a = 0; a < grid->rank; a++) {
        int64_t chunk = grid->chunk[a], along = stk__grid_along(grid, a);
        int64_t most = size[a] == 1 ? 1 : (size[a] - 2) / chunk + 2;
        if (most > along)
            most = along;
        if (__builtin_mul_overflow(n, most, &n) || n > INT_MAX)
            return INT_MAX;
    }
    return (int)n;
}

bool stk__grid_touched(const struct stk__grid *grid, const struct stk__chunk_box *box, int k,
                       int64_t *chunk)
{
    int64_t left = k;
    for (int a = grid->rank - 1; a >= 0; a--) {
        int64_t first = box->start[a] / grid->chunk[a];
        int64_t last = (box->start[a] + box->size[a] - 1) / grid->chunk[a];
        chunk[a] = first + left % (last - first + 1);
        left /= last - first + 1;
    }
    return left == 0;
}

uint64_t stk__grid_number(const struct stk__grid *grid, const int64_t *chunk)
{
    uint64_t number = 0;
    for (int a = 0; a < grid->rank; a++)
        number = number * (uint64_t)stk__grid_along(grid, a) + (uint64_t)chunk[a];
    return number;
}

/* What a box and a chunk have in common: in coordinates of the chunk and of the box. */
struct common {
    int64_t in_chunk[STK__GRID_MAX_RANK], in_box[STK__GRID_MAX_RANK], size[STK__GRID_MAX_RANK];
};

static void intersect(const struct stk__grid *grid, const struct stk__chunk_box *box,
                      const int64_t *chunk, struct common *out)
{
    for (int a = 0; a < grid->rank; a++) {
        int64_t origin = chunk[a] * grid->chunk[a];
        int64_t start = box->start[a] > origin ? box->start[a] : origin;
        int64_t box_end = box->start[a] + box->size[a], end = origin + grid->chunk[a];
        out->in_chunk[a] = start - origin;
        out->in_box[a] = start - box->start[a];
        out->size[a] = (end < box_end ? end : box_end) - start;
    }
}

/* The offset of a position in an array of this shape, in items. */
static size_t offset_of(int rank, const int64_t *shape, const int64_t *position)
{
    size_t offset = 0;
    for (int a = 0; a < rank; a++)
        offset = offset * (size_t)shape[a] + (size_t)position[a];
    return offset;
}

void stk__grid_range(const struct stk__grid *grid, const struct stk__chunk_box *box,
                     const int64_t *chunk, size_t *first, size_t *bytes)
{
    struct common c;
    int64_t last[STK__GRID_MAX_RANK];
    intersect(grid, box, chunk, &c);
    for (int a = 0; a < grid->rank; a++)
        last[a] = c.in_chunk[a] + c.size[a] - 1;
    size_t from = offset_of(grid->rank, grid->chunk, c.in_chunk);
    size_t to = offset_of(grid->rank, grid->chunk, last) + 1;
    *first = from * grid->item_bytes;
    *bytes = (to - from) * grid->item_bytes;
}

/* Trailing dimensions that are whole in the chunk and in the box are one run with the dimension
 * before them. Returns how many dimensions are left to step through; *run is in items. */
static int find_run(const struct stk__grid *grid, const struct stk__chunk_box *box,
                    const struct common *c, size_t *run)
{
    int outer = grid->rank;
    *run = 1;
    while (outer > 0) {
        outer--;
        *run *= (size_t)c->size[outer];
        if (c->size[outer] != grid->chunk[outer] || c->size[outer] != box->size[outer])
            break;
    }
    return outer;
}

/* Moves to the next position of the outer dimensions; false behind the last. */
static bool step(int outer, const struct common *c, int64_t *at)
{
    for (int a = outer - 1; a >= 0; a--) {
        if (++at[a] < c->size[a])
            return true;
        at[a] = 0;
    }
    return false;
}

static void fill_run(uint8_t *dst, const uint8_t *fill, size_t item_bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(dst + i * item_bytes, fill, item_bytes);
}

void stk__grid_paste(const struct stk__grid *grid, const struct stk__chunk_box *box,
                     const int64_t *chunk, struct stk__grid_bytes src, uint8_t *dst)
{
    struct common c;
    size_t run, item = grid->item_bytes;
    int64_t at[STK__GRID_MAX_RANK] = { 0 };
    intersect(grid, box, chunk, &c);
    int outer = find_run(grid, box, &c, &run);
    do {
        int64_t from[STK__GRID_MAX_RANK], to[STK__GRID_MAX_RANK];
        for (int a = 0; a < grid->rank; a++) {
            from[a] = c.in_chunk[a] + at[a];
            to[a] = c.in_box[a] + at[a];
        }
        uint8_t *out = dst + offset_of(grid->rank, box->size, to) * item;
        size_t offset = offset_of(grid->rank, grid->chunk, from) * item;
        if (src.data)
            memcpy(out, src.data + (offset - src.first), run * item);
        else
            fill_run(out, src.fill, item, run);
    } while (step(outer, &c, at));
}
