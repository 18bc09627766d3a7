/* SPDX-License-Identifier: Apache-2.0 */
/* held_rows.c: spans to cells and back. */
#include "base/rows/held_rows.h"

#include <string.h>

void stk__held_rows_begin(struct stk__held_rows *rows, struct stk__chunk *chunk,
                          struct stk__pool *pool)
{
    *rows = (struct stk__held_rows){ .chunk = chunk, .cells = { .pool = pool } };
    atomic_init(&rows->marker.refs, 1);
}

void stk__held_rows_clear(struct stk__held_rows *rows)
{
    stk__chunk_clear(rows->chunk);
    stk__cells_clear(&rows->cells);
}

void stk__held_rows_end(struct stk__held_rows *rows)
{
    stk__held_rows_clear(rows);
    stk__slab_free(&rows->slab);
}

/* Copying takes time: rows of which a chunk full is little stay with their blocks, */
static bool is_little(const struct stk__held_rows *rows)
{
    const double little = 1 << 20;
    return (double)rows->chunk->cap * (double)rows->put_bytes < little * (double)rows->n_put;
}

/* and so does a row that is most of its owner. */
static bool is_most(const struct stk_span *span)
{
    return !span->owner || span->owner->capacity / 2 <= span->bytes + 256;
}

/* A row without bytes needs no block. */
static void put_nothing(struct stk_span *span)
{
    static uint8_t nothing[64]; /* readable, as what lies behind any row */
    stk__buffer_unref(span->owner);
    *span = (struct stk_span){ nothing, 0, NULL };
}

static void put_span(struct stk__held_rows *rows, struct stk_span *span)
{
    bool is_small = span->bytes <= STK__LARGEST_CELL;
    if (!span->bytes && span->owner)
        put_nothing(span);
    if (!span->bytes || span->owner == &rows->marker || is_most(span))
        return;
    struct stk_buffer *own =
        is_small ? &rows->marker : stk__buffer_new(rows->cells.pool, span->bytes);
    uint8_t *data = !own ? NULL : is_small ? stk__cells_take(&rows->cells, span->bytes) : own->data;
    if (!data)
        return;
    memcpy(data, span->data, span->bytes);
    stk__buffer_unref(span->owner);
    *span = (struct stk_span){ data, span->bytes, is_small ? stk__buffer_ref(own) : own };
}

/* False when out of memory: the span is empty then. */
static bool leave_span(struct stk__held_rows *rows, struct stk_span *span)
{
    if (span->owner != &rows->marker)
        return true;
    struct stk_span cell = *span;
    *span = (struct stk_span){ 0 };
    bool is_there = stk__slab_take(&rows->slab, rows->cells.pool, cell.bytes, span);
    if (is_there)
        memcpy(span->data, cell.data, cell.bytes);
    stk__cells_give(&rows->cells, cell.data, cell.bytes);
    stk__buffer_unref(&rows->marker);
    return is_there;
}

static void put_spans(struct stk__held_rows *rows, struct stk_span *span, int n)
{
    rows->n_put += (uint64_t)n;
    rows->put_bytes += stk__span_bytes(span, n);
    for (int i = 0; i < n && !is_little(rows); i++)
        put_span(rows, &span[i]);
}

void stk__held_rows_put(struct stk__held_rows *rows, int at, int n)
{
    const struct stk__chunk *chunk = rows->chunk;
    for (int f = 0; f < chunk->type->n_fields; f++)
        if (chunk->column[f].span)
            put_spans(rows, chunk->column[f].span + at, n);
    if (chunk->trace)
        put_spans(rows, chunk->trace + at, n);
}

static void fail_row(struct stk__chunk *out, int row)
{
    if (out->mask[row] != STK_BAD)
        stk__chunk_fault(out, row, STK_MEMORY, NULL, "out of memory");
}

void stk__held_rows_leave(struct stk__held_rows *rows, struct stk__chunk *out, int at, int n)
{
    for (int f = 0; f < out->type->n_fields; f++)
        for (int i = at; out->column[f].span && i < at + n; i++)
            if (!leave_span(rows, &out->column[f].span[i]))
                fail_row(out, i);
    for (int i = at; out->trace && i < at + n; i++)
        if (!leave_span(rows, &out->trace[i]))
            fail_row(out, i);
}
