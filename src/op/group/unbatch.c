/* SPDX-License-Identifier: Apache-2.0 */
/* unbatch.c: the first dimension of every field becomes elements of their own. */
#include "base/memory/slab.h"
#include "base/rows/blob.h"
#include "base/rows/chunk.h"
#include "op/order/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct stk_param params[] = { STK_ROWS_END };

/* ---- types ---- */

/* Arrays of texts, of one element: their rows are lists or arrays of texts again. */
static bool has_text_rows(const struct stk_field *field)
{
    return field->kind == STK_BYTES && !(field->flags & STK_FIELD_LISTS) && field->rank > 1;
}

/* What one entry of the first dimension is. */
static int take_apart(struct stk_field *field, struct stk_error *err)
{
    if (field->flags & STK_FIELD_PACKED) {
        bool has_lists = field->flags & STK_FIELD_LISTS;
        if (has_text_rows(field)) {
            field->rank--;
            memmove(field->shape, field->shape + 1, field->rank * sizeof *field->shape);
            return STK_OK;
        }
        field->flags &= (uint8_t) ~(has_lists ? STK_FIELD_LISTS : STK_FIELD_PACKED);
        if (field->kind == STK_BYTES && (!has_lists || field->shape[0] < 0))
            field->rank = 0; /* one text, or lists that are as long as the others of their batch */
        return STK_OK;
    }
    if (field->kind == STK_BYTES || !field->rank)
        return stk_fail(err, STK_TYPE,
                        "the field '%s' has no first dimension to take apart; leave it out with "
                        "select",
                        field->name);
    field->rank--;
    memmove(field->shape, field->shape + 1, field->rank * sizeof *field->shape);
    field->kind = STK_FIXED;
    for (int d = 0; d < field->rank; d++)
        field->kind = field->shape[d] < 0 ? STK_SHAPED : field->kind;
    return STK_OK;
}

static int check_lengths(const struct stk_type *in, struct stk_error *err)
{
    const struct stk_field *first = NULL;
    for (int f = 0; f < in->n_fields; f++) {
        const struct stk_field *field = &in->field[f];
        if (field->kind != STK_FIXED)
            continue;
        if (first && first->shape[0] != field->shape[0])
            return stk_fail(
                err, STK_TYPE, "fields must be equally long, and '%s' has %lld entries, '%s' %lld",
                first->name, (long long)first->shape[0], field->name, (long long)field->shape[0]);
        first = field;
    }
    return STK_OK;
}

/* Entries of every element where its type says so, else -1. */
static int64_t entries_of(const struct stk_type *in)
{
    return in->n_fields && in->field[0].kind == STK_FIXED ? in->field[0].shape[0] : -1;
}

static int64_t count_rows(const struct stk_type *in, int64_t n)
{
    int64_t each = entries_of(in);
    if (n < 0 || n == 0 || each < 0)
        return n > 0 ? STK_UNKNOWN_COUNT : n;
    return n <= STK__MAX_COUNT / (each ? each : 1) ? n * each : STK_UNKNOWN_COUNT;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    int code = STK_OK;
    stk_infer_pass(inf);
    for (int f = 0; f < inf->out->n_fields && !code; f++) {
        code = take_apart(&inf->out->field[f], err);
        inf->from[f] = -1;
    }
    inf->count = count_rows(inf->in[0], inf->in_count[0]);
    inf->inside->run = entries_of(inf->in[0]) > 0 ? entries_of(inf->in[0]) : 0;
    return code ? code : check_lengths(inf->in[0], err);
}

/* ---- rows ---- */

struct unbatching {
    int64_t n_done; /* how far the row at the head of the input was handed on */
    struct stk__pool *pool;
    struct stk__slab slab; /* where lists lie that were part of others */
};

static int begin(const struct stk__serial_start *b, void **run, struct stk_error *err)
{
    struct unbatching *u = calloc(1, sizeof *u);
    if (!u)
        return stk_fail(err, STK_MEMORY, "out of memory");
    u->pool = stk__pool_ref(b->pool);
    *run = u;
    return STK_OK;
}

static void end(void *run)
{
    struct unbatching *u = run;
    stk__slab_free(&u->slab);
    stk__pool_unref(u->pool);
    free(u);
}

static void next_epoch(void *run, uint64_t path)
{
    struct unbatching *u = run;
    (void)path;
    u->n_done = 0;
}

static int64_t n_entries(const struct stk_field *field, const struct stk_column *c, int row)
{
    if (has_text_rows(field))
        return field->shape[0];
    if (field->flags & STK_FIELD_PACKED)
        return stk__blob_open(c->span[row].data).n;
    if (field->kind == STK_RAGGED)
        return (int64_t)(c->span[row].bytes / stk__blob_unit(field));
    return field->kind == STK_FIXED ? field->shape[0] : c->dims[(size_t)row * (size_t)c->rank];
}

/* Entries of a row, the same in all fields; -1 after marking a row of `out` where they differ. */
static int64_t entries_of_row(const struct stk__chunk *in, int row, struct stk__chunk *out)
{
    const struct stk_field *field = in->type->field;
    int64_t n = in->type->n_fields ? n_entries(field, in->column, row) : 0;
    for (int f = 1; f < in->type->n_fields; f++) {
        int64_t other = n_entries(&field[f], &in->column[f], row);
        if (other == n)
            continue;
        char text[160];
        snprintf(text, sizeof text,
                 "fields must be equally long, and '%.40s' has %lld entries, '%.40s' %lld",
                 field[0].name, (long long)n, field[f].name, (long long)other);
        out->address[out->n] = in->address[row];
        if (out->key)
            out->key[out->n] = in->key[row];
        stk__chunk_fault(out, out->n++, STK_DATA, "unbatch", text);
        return -1;
    }
    return n;
}

/* Entries [first, first + n) of one field of a row. */
struct entries {
    const struct stk_field *field;
    const struct stk_column *column;
    int row, n;
    size_t first;
};

static void set_span(struct stk_span *span, const struct stk_span *whole, uint8_t *data,
                     size_t bytes)
{
    struct stk_buffer *owner = bytes && whole->owner ? stk__buffer_ref(whole->owner) : NULL;
    stk__buffer_unref(span->owner);
    *span = (struct stk_span){ data, bytes, owner };
}

static void put_packed(const struct entries *e, struct stk_column *dst, int at)
{
    const struct stk_span *whole = &e->column->span[e->row];
    struct stk__blob blob = stk__blob_open(whole->data);
    size_t unit = stk__blob_unit(e->field);
    const int64_t *splits = blob.splits + e->first;
    for (int i = 0; i < e->n; i++)
        set_span(&dst->span[at + i], whole, blob.data + (size_t)splits[i] * unit,
                 (size_t)(splits[i + 1] - splits[i]) * unit);
}

/* Entries [first, first + n) of a blob become a row: it gets splits of its own. */
static bool put_part(struct unbatching *u, const struct stk__blob *all, int64_t first, int64_t n,
                     size_t unit, struct stk_span *span)
{
    if (!stk__slab_take(&u->slab, u->pool, stk__blob_part_bytes(all, first, n, unit), span))
        return false;
    stk__blob_part_write(all, first, n, unit, span->data);
    return true;
}

/* Lists out of a list of lists. */
static bool put_lists(struct unbatching *u, const struct entries *e, struct stk_column *dst, int at)
{
    struct stk__blob lists = stk__blob_open(e->column->span[e->row].data);
    struct stk__blob all = stk__blob_open(lists.data);
    const int64_t *splits = lists.splits + e->first;
    for (int i = 0; i < e->n; i++)
        if (!put_part(u, &all, splits[i], splits[i + 1] - splits[i], stk__blob_unit(e->field),
                      &dst->span[at + i]))
            return false;
    return true;
}

/* Rows of an array of texts. */
static bool put_text_rows(struct unbatching *u, const struct entries *e, struct stk_column *dst,
                          int at)
{
    struct stk__blob all = stk__blob_open(e->column->span[e->row].data);
    int64_t n = all.n / e->field->shape[0];
    for (int i = 0; i < e->n; i++)
        if (!put_part(u, &all, ((int64_t)e->first + i) * n, n, 1, &dst->span[at + i]))
            return false;
    return true;
}

static void put_shaped(const struct entries *e, struct stk_column *dst, int at)
{
    const struct stk_span *whole = &e->column->span[e->row];
    const int32_t *dims = e->column->dims + (size_t)e->row * (size_t)e->column->rank;
    size_t rank = (size_t)dst->rank, bytes = stk_dtype_bytes(e->field->dtype);
    for (size_t d = 1; d <= rank; d++)
        bytes *= (size_t)dims[d];
    for (int i = 0; i < e->n; i++) {
        uint8_t *data = bytes ? whole->data + (e->first + (size_t)i) * bytes : NULL;
        set_span(&dst->span[at + i], whole, data, bytes);
        memcpy(dst->dims + (size_t)(at + i) * rank, dims + 1, rank * sizeof *dims);
    }
}

static void put_fixed(const struct entries *e, struct stk_column *dst, int at)
{
    const struct stk_column *c = e->column;
    const uint8_t *src = c->span ? c->span[e->row].data : c->data + (size_t)e->row * c->stride;
    if (!dst->stride)
        return; /* nothing, and perhaps nowhere */
    memcpy(dst->data + (size_t)at * dst->stride, src + e->first * dst->stride,
           (size_t)e->n * dst->stride);
}

/* False: out of memory. */
static bool put_fields(struct unbatching *u, const struct stk__chunk *in, int row,
                       struct stk__chunk *out, int n)
{
    bool is_done = true;
    size_t first = (size_t)u->n_done;
    for (int f = 0; f < in->type->n_fields && is_done; f++) {
        const struct entries e = { &in->type->field[f], &in->column[f], row, n, first };
        struct stk_column *dst = &out->column[f];
        if (!dst->span)
            put_fixed(&e, dst, out->n);
        else if (e.field->flags & STK_FIELD_LISTS)
            is_done = put_lists(u, &e, dst, out->n);
        else if (has_text_rows(e.field))
            is_done = put_text_rows(u, &e, dst, out->n);
        else if (e.field->flags & STK_FIELD_PACKED)
            put_packed(&e, dst, out->n);
        else
            put_shaped(&e, dst, out->n);
    }
    return is_done;
}

/* The rows of a batch are those it was made of, as long as nobody changed their number. */
static void put_names(const struct stk__chunk *in, int row, int64_t n_all, size_t first,
                      struct stk__chunk *out, int n)
{
    const struct stk_span *trace = in->trace ? &in->trace[row] : NULL;
    const struct stk__address *rows = trace ? (const void *)trace->data : NULL;
    bool is_known = rows && trace->bytes == (size_t)n_all * sizeof *rows;
    for (int i = 0; i < n; i++) {
        out->address[out->n + i] = is_known ? rows[first + (size_t)i] : in->address[row];
        if (out->key)
            out->key[out->n + i] =
                stk__key_make(in->key[row].hi, in->key[row].lo, first + (uint64_t)i);
    }
}

static int step(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out)
{
    struct unbatching *u = run;
    int used = 0;
    while (used < n && out->n < out->cap) {
        int row = from + used;
        if (in->n_bad && in->mask[row] == STK_BAD) {
            stk__chunk_hand_on_bad(out, in, row, stk__chunk_find_fault(in, row));
            used++;
            continue;
        }
        int64_t n_all = entries_of_row(in, row, out), left = n_all - u->n_done;
        int m = (int)stk__min_count(left < 0 ? 0 : left, out->cap - out->n);
        if (m) {
            put_names(in, row, n_all, (size_t)u->n_done, out, m);
            bool is_done = put_fields(u, in, row, out, m);
            for (int i = 0; !is_done && i < m; i++)
                stk__chunk_fault(out, out->n + i, STK_MEMORY, "unbatch", "out of memory");
        }
        out->n += m;
        u->n_done = m < left ? u->n_done + m : 0;
        used += m >= left;
    }
    return used;
}

const struct stk__op stk__op_unbatch = {
    .subject = STK__ABOUT_BATCHES,
    .decl = { "unbatch", 1, "Take batches apart: the first dimension becomes elements.",
              "Every field loses its first dimension, and an element becomes as many as that has "
              "entries, in order. All fields of an element must be equally long. Texts and lists "
              "that a batch brought together are single ones again, without a copy.\n"
              "\n"
              "    range(10).batch(4).unbatch()\n"
              "    values({x: [[1, 2], [3, 4]], y: [[5, 6], [7, 8]]}).unbatch()\n"
              "    values({tokens: [[1, 2, 3], [4]]}).unbatch()\n"
              "\n"
              "A bad element stays one bad element in its place. Random ops that follow draw anew "
              "for each of the elements.",
              params, 0 },
    .flags = STK__OP_EXPANDS | STK__OP_KEEPS_CLASSES,
    .infer = infer,
    .serial = { .begin = begin, .end = end, .next_epoch = next_epoch, .step = step },
};
