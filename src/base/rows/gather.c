/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c: stacking, packing and padding rows. */
#include "base/rows/gather.h"

#include "base/rows/blob.h"
#include "base/rows/chunk.h"

#include <string.h>

struct stk__gather stk__gather_of(const struct stk_field *field)
{
    bool is_packed = field->kind == STK_BYTES || field->kind == STK_RAGGED;
    return (struct stk__gather){ .field = *field, .kind = is_packed ? STK__PACK : STK__STACK };
}

/* ---- shapes ---- */

static bool is_texts(const struct stk__gather *g)
{
    return g->field.kind == STK_BYTES && g->field.flags & STK_FIELD_PACKED;
}

int stk__gather_rank(const struct stk__gather *g)
{
    return is_texts(g) && !g->field.rank ? 1 : g->field.rank;
}

static void row_dims(const struct stk__gather *g, const struct stk_column *c, int row,
                     int32_t *dims)
{
    const struct stk_field *field = &g->field;
    size_t rank = field->rank;
    if (is_texts(g) && rank < 2) {
        dims[0] = (int32_t)stk__blob_open(c->span[row].data).n;
        return;
    }
    if (field->kind == STK_SHAPED) {
        memcpy(dims, c->dims + (size_t)row * rank, rank * sizeof *dims);
        return;
    }
    for (size_t d = 0; d < rank; d++)
        dims[d] = (int32_t)field->shape[d];
    if (field->kind == STK_RAGGED)
        dims[0] = (int32_t)(c->span[row].bytes / stk__blob_unit(field));
}

bool stk__gather_is_bounded(const struct stk__gather *g)
{
    bool is_bounded = false;
    for (int d = 0; g->kind == STK__PAD && d < stk__gather_rank(g); d++)
        is_bounded |= g->box[d] >= 0 && (d >= g->field.rank || g->field.shape[d] < 0);
    return is_bounded;
}

int stk__gather_check(const struct stk__gather *g, const struct stk_column *c, int row,
                      struct stk_error *err)
{
    int32_t dims[STK_MAX_RANK];
    row_dims(g, c, row, dims);
    for (int d = 0; d < stk__gather_rank(g); d++)
        if (g->box[d] >= 0 && dims[d] > g->box[d])
            return stk_fail(err, STK_DATA,
                            "field '%s' has %d entries along dimension %d, and rows are padded to "
                            "%lld",
                            g->field.name, (int)dims[d], d, (long long)g->box[d]);
    return STK_OK;
}

int stk__gather_mark(const struct stk__gather *gather, struct stk__chunk *chunk, int from, int n,
                     const char *op)
{
    int n_marked = 0;
    for (int f = 0; f < chunk->type->n_fields; f++) {
        bool is_bounded = stk__gather_is_bounded(&gather[f]);
        for (int i = from; is_bounded && i < from + n; i++) {
            struct stk_error err;
            if (chunk->mask[i] != STK_LIVE ||
                !stk__gather_check(&gather[f], &chunk->column[f], i, &err))
                continue;
            stk__chunk_fault(chunk, i, err.code, op, err.text);
            n_marked++;
        }
    }
    return n_marked;
}

/* ---- measures ---- */

static int measure_stack(const struct stk__gather *g, const struct stk__picked *rows, int32_t *dims,
                         int *differs)
{
    const struct stk_column *c = rows->column;
    size_t rank = g->field.rank;
    row_dims(g, c, rows->first, dims);
    for (int i = 1; c->dims && i < rows->n; i++) {
        size_t row = (size_t)rows->first + (size_t)i * (size_t)rows->step;
        if (!memcmp(dims, c->dims + row * rank, rank * sizeof *dims))
            continue;
        *differs = (int)row;
        return STK_DATA;
    }
    return STK_OK;
}

static void measure_box(const struct stk__gather *g, const struct stk__picked *rows, int32_t *dims)
{
    int rank = stk__gather_rank(g);
    for (int d = 0; d < rank; d++)
        dims[d] = g->box[d] >= 0 ? (int32_t)g->box[d] : 0;
    for (int i = 0; i < rows->n; i++) {
        int32_t other[STK_MAX_RANK];
        row_dims(g, rows->column, rows->first + i * rows->step, other);
        for (int d = 0; d < rank; d++)
            dims[d] = dims[d] > other[d] ? dims[d] : other[d];
    }
}

/* Rows that are lists of texts, or of lists. */
static struct stk__lists lists_of(const struct stk__gather *g, const struct stk__picked *rows)
{
    return (struct stk__lists){ rows->column->span + rows->first, rows->step, rows->n,
                                stk__blob_unit(&g->field) };
}

static struct stk__list_fill fill_of(const struct stk__gather *g, const int32_t *dims)
{
    return (struct stk__list_fill){ stk__gather_rank(g), g->field.shape, dims, g->text,
                                    g->text_bytes };
}

static int measure_pack(const struct stk__gather *g, const struct stk__picked *rows, size_t *bytes)
{
    const struct stk__lists lists = lists_of(g, rows);
    *bytes = g->field.flags & STK_FIELD_PACKED ? stk__lists_bytes(&lists, NULL)
                                               : stk__blob_bytes(lists.span, lists.step, lists.n);
    return STK_OK;
}

static int measure_texts(const struct stk__gather *g, const struct stk__picked *rows,
                         const int32_t *dims, size_t *bytes)
{
    const struct stk__lists lists = lists_of(g, rows);
    const struct stk__list_fill fill = fill_of(g, dims);
    *bytes = stk__lists_bytes(&lists, &fill);
    return *bytes == SIZE_MAX ? STK_MEMORY : STK_OK;
}

int stk__gather_measure(const struct stk__gather *g, const struct stk__picked *rows, size_t *bytes,
                        int32_t *dims, int *differs)
{
    if (g->kind == STK__PACK)
        return measure_pack(g, rows, bytes);
    if (g->kind == STK__PAD)
        measure_box(g, rows, dims);
    if (g->kind == STK__PAD && is_texts(g))
        return measure_texts(g, rows, dims, bytes);
    if (g->kind == STK__STACK && rows->n && measure_stack(g, rows, dims, differs))
        return STK_DATA;
    *bytes = (size_t)rows->n * stk_dtype_bytes(g->field.dtype);
    for (int d = 0; d < g->field.rank; d++)
        if (__builtin_mul_overflow(*bytes, (size_t)dims[d], bytes))
            return STK_MEMORY; /* boxes may be much larger than their rows */
    return STK_OK;
}

/* ---- writing ---- */

static void write_stack(const struct stk__picked *rows, uint8_t *dst)
{
    const struct stk_column *c = rows->column;
    if (!c->span && rows->step == 1) {
        memcpy(dst, c->data + (size_t)rows->first * c->stride, (size_t)rows->n * c->stride);
        return;
    }
    for (int i = 0; i < rows->n; i++) {
        int row = rows->first + i * rows->step;
        size_t bytes = c->span ? c->span[row].bytes : c->stride;
        if (bytes)
            memcpy(dst, c->span ? c->span[row].data : c->data + (size_t)row * c->stride, bytes);
        dst += bytes;
    }
}

struct box {
    const struct stk__gather *gather;
    const int32_t *from, *to; /* shapes of the row and of the box */
    size_t value_bytes;
    /* bytes of what lies behind one step along each dimension: of the row and of the box */
    size_t from_bytes[STK_MAX_RANK + 1], to_bytes[STK_MAX_RANK + 1];
    int n_outer; /* dimensions up to the last one that differs */
};

static void fill(const struct box *b, uint8_t *dst, size_t bytes)
{
    if (!b->gather->value || b->value_bytes == 1) {
        memset(dst, *(const uint8_t *)&b->gather->value, bytes);
        return;
    }
    size_t done = b->value_bytes < bytes ? b->value_bytes : bytes;
    memcpy(dst, &b->gather->value, done);
    for (; done < bytes; done *= 2)
        memcpy(dst + done, dst, done < bytes - done ? done : bytes - done);
}

static void put_in_box(const struct box *b, int d, const uint8_t *src, uint8_t *dst)
{
    size_t n = (size_t)b->from[d], step = b->to_bytes[d + 1];
    if (d + 1 == b->n_outer) {
        if (n)
            memcpy(dst, src, n * step);
    } else {
        for (size_t i = 0; i < n; i++)
            put_in_box(b, d + 1, src + i * b->from_bytes[d + 1], dst + i * step);
    }
    fill(b, dst + n * step, ((size_t)b->to[d] - n) * step);
}

static void write_boxes(const struct stk__gather *g, const struct stk__picked *rows,
                        const int32_t *dims, uint8_t *dst)
{
    const struct stk_column *c = rows->column;
    int rank = g->field.rank;
    for (int i = 0; i < rows->n; i++) {
        int32_t from[STK_MAX_RANK];
        int row = rows->first + i * rows->step;
        const uint8_t *src = c->span ? c->span[row].data : c->data + (size_t)row * c->stride;
        struct box b = { .gather = g, .from = from, .to = dims };
        row_dims(g, c, row, from);
        b.value_bytes = b.from_bytes[rank] = b.to_bytes[rank] = stk_dtype_bytes(g->field.dtype);
        for (int d = rank; d-- > 0;) {
            b.from_bytes[d] = b.from_bytes[d + 1] * (size_t)from[d];
            b.to_bytes[d] = b.to_bytes[d + 1] * (size_t)dims[d];
            if (from[d] != dims[d] && !b.n_outer)
                b.n_outer = d + 1;
        }
        if (!b.from_bytes[0])
            fill(&b, dst, b.to_bytes[0]); /* an empty row may have no address */
        else if (b.n_outer)
            put_in_box(&b, 0, src, dst);
        else
            memcpy(dst, src, b.to_bytes[0]);
        dst += b.to_bytes[0];
    }
}

static void write_packed(const struct stk__gather *g, const struct stk__picked *rows,
                         const int32_t *dims, uint8_t *dst)
{
    const struct stk__lists lists = lists_of(g, rows);
    if (g->kind == STK__PAD) {
        const struct stk__list_fill fill = fill_of(g, dims);
        stk__lists_join(&lists, &fill, dst);
    } else if (g->field.flags & STK_FIELD_PACKED) {
        stk__lists_join(&lists, NULL, dst);
    } else {
        stk__blob_write(lists.span, lists.step, lists.n, lists.unit, dst);
    }
}

void stk__gather_write(const struct stk__gather *g, const struct stk__picked *rows,
                       const int32_t *dims, uint8_t *dst)
{
    if (g->kind == STK__PACK || is_texts(g))
        write_packed(g, rows, dims, dst);
    else if (g->kind == STK__PAD)
        write_boxes(g, rows, dims, dst);
    else
        write_stack(rows, dst);
}
