/* SPDX-License-Identifier: Apache-2.0 */
/* record_index.c: offsets of records, compact. */
#include "io/record_index.h"

#include "io/record_index_data.h"

#include <stdlib.h>
#include <string.h>

struct stk__record_index *stk__record_index_new(void)
{
    return calloc(1, sizeof(struct stk__record_index));
}

void stk__record_index_free(struct stk__record_index *index)
{
    if (!index)
        return;
    free(index->wide);
    free(index->base);
    free(index->step);
    free(index);
}

int stk__record_index_add(struct stk__record_index *index, uint64_t offset)
{
    if (index->n == index->cap) {
        uint64_t cap = index->cap ? 2 * index->cap : 256;
        uint64_t *wide = realloc(index->wide, cap * sizeof *wide);
        if (!wide)
            return STK_MEMORY;
        index->wide = wide;
        index->cap = cap;
    }
    index->wide[index->n++] = offset;
    return STK_OK;
}

static bool is_narrow(const struct stk__record_index *index)
{
    for (uint64_t i = 0; i < index->n; i++)
        if (index->wide[i] - index->wide[i / STK__INDEX_BLOCK * STK__INDEX_BLOCK] > UINT32_MAX)
            return false;
    return true;
}

int stk__record_index_close(struct stk__record_index *index, uint64_t end)
{
    index->end = end;
    if (!index->n || !is_narrow(index))
        return STK_OK;
    index->base = malloc(stk__index_blocks(index->n) * sizeof *index->base);
    index->step = malloc(index->n * sizeof *index->step);
    if (!index->base || !index->step)
        return STK_MEMORY;
    for (uint64_t i = 0; i < index->n; i++) {
        uint64_t block = i / STK__INDEX_BLOCK;
        if (i % STK__INDEX_BLOCK == 0)
            index->base[block] = index->wide[i];
        index->step[i] = (uint32_t)(index->wide[i] - index->base[block]);
    }
    free(index->wide);
    index->wide = NULL;
    return STK_OK;
}

void stk__record_index_keep_private(struct stk__record_index *index)
{
    index->is_private = true;
}

bool stk__record_index_is_private(const struct stk__record_index *index)
{
    return index->is_private;
}

size_t stk__record_index_bytes(const struct stk__record_index *index)
{
    size_t n = (size_t)index->n;
    return index->wide ? n * sizeof *index->wide
                       : n * sizeof *index->step +
                             (size_t)stk__index_blocks(index->n) * sizeof *index->base;
}

uint64_t stk__record_index_count(const struct stk__record_index *index)
{
    return index->n;
}

static uint64_t offset_of(const struct stk__record_index *index, uint64_t record)
{
    if (record == index->n)
        return index->end;
    return index->wide ? index->wide[record]
                       : index->base[record / STK__INDEX_BLOCK] + index->step[record];
}

void stk__record_index_at(const struct stk__record_index *index, uint64_t record,
                          struct stk__file_place *place)
{
    place->offset = offset_of(index, record);
    place->bytes = offset_of(index, record + 1) - place->offset;
}
