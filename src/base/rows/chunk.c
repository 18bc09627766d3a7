/* SPDX-License-Identifier: Apache-2.0 */
/* chunk.c: one allocation per chunk: addresses, keys, masks, then the columns, each on its own
 * cache line. */
#define _GNU_SOURCE
#include "base/rows/chunk.h"

#include "base/hash.h"
#include "base/memory/arena.h"
#include "base/memory/pages.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, TAIL = 64 };

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t column_bytes(const struct stk_field *field, size_t cap)
{
    if (field->kind == STK_FIXED)
        return aligned(stk_field_bytes(field) * cap + TAIL);
    size_t bytes = aligned(sizeof(struct stk_span) * cap);
    return field->kind == STK_SHAPED ? bytes + aligned(sizeof(int32_t) * cap * field->rank) : bytes;
}

static size_t head_bytes(const struct stk_type *type)
{
    return aligned(sizeof(struct stk__chunk)) +
           aligned(sizeof(struct stk_column) * (size_t)type->n_fields);
}

size_t stk__chunk_bytes(const struct stk_type *type, int cap, int parts)
{
    size_t rows = (size_t)cap;
    size_t bytes = head_bytes(type) + aligned(rows);
    if (!(parts & STK__NO_ADDRESSES))
        bytes += aligned(sizeof(struct stk__address) * rows);
    if (parts & STK__KEYS)
        bytes += aligned(sizeof(struct stk__key) * rows);
    if (parts & STK__TRACE)
        bytes += aligned(sizeof(struct stk_span) * rows);
    for (int f = 0; f < type->n_fields; f++)
        bytes += column_bytes(&type->field[f], rows);
    return stk__memory_bytes(bytes);
}

static void place_column(struct stk_column *c, const struct stk_field *field, size_t cap,
                         uint8_t *at)
{
    *c = (struct stk_column){ .rank = field->rank };
    if (field->kind == STK_FIXED) {
        c->data = at;
        c->stride = stk_field_bytes(field);
        return;
    }
    c->span = (struct stk_span *)(void *)at;
    memset(c->span, 0, sizeof *c->span * cap);
    if (field->kind == STK_SHAPED)
        c->dims = (int32_t *)(void *)(at + aligned(sizeof *c->span * cap));
}

struct stk__chunk *stk__chunk_new(const struct stk_type *type, int cap, int parts)
{
    void *memory = stk__memory_take(stk__chunk_bytes(type, cap, parts));
    return memory ? stk__chunk_place(type, cap, parts, memory) : NULL;
}

struct stk__chunk *stk__chunk_place(const struct stk_type *type, int cap, int parts, void *memory)
{
    size_t rows = (size_t)cap;
    uint8_t *at = memory;
    struct stk__chunk *chunk = (struct stk__chunk *)(void *)at;
    *chunk = (struct stk__chunk){ .type = type, .cap = cap };
    chunk->column = (struct stk_column *)(void *)(at + aligned(sizeof *chunk));
    at += head_bytes(type);
    if (!(parts & STK__NO_ADDRESSES)) {
        chunk->address = (struct stk__address *)(void *)at;
        at += aligned(sizeof *chunk->address * rows);
    }
    chunk->mask = at;
    memset(chunk->mask, STK_LIVE, rows);
    at += aligned(rows);
    if (parts & STK__KEYS) {
        chunk->key = (struct stk__key *)(void *)at;
        at += aligned(sizeof *chunk->key * rows);
    }
    if (parts & STK__TRACE) {
        chunk->trace = (struct stk_span *)(void *)at;
        memset(chunk->trace, 0, sizeof *chunk->trace * rows);
        at += aligned(sizeof *chunk->trace * rows);
    }
    for (int f = 0; f < type->n_fields; f++) {
        place_column(&chunk->column[f], &type->field[f], rows, at);
        at += column_bytes(&type->field[f], rows);
    }
    return chunk;
}

void stk__faults_free(struct stk__fault *faults)
{
    for (struct stk__fault *f = faults, *next; f; f = next) {
        next = f->next;
        free(f);
    }
}

void stk__chunk_clear(struct stk__chunk *chunk)
{
    stk__chunk_drop(chunk, 0, chunk->cap);
    stk__faults_free(chunk->faults);
    chunk->faults = NULL;
    if (chunk->n_bad)
        memset(chunk->mask, STK_LIVE, (size_t)chunk->cap);
    chunk->n = chunk->n_bad = 0;
}

void stk__chunk_cut(struct stk__chunk *chunk, int n)
{
    if (n >= chunk->n)
        return;
    stk__chunk_drop(chunk, n, chunk->n - n);
    for (int row = n; chunk->n_bad && row < chunk->n; row++) {
        if (chunk->mask[row] != STK_BAD)
            continue;
        stk__fault_forget(&chunk->faults, row);
        chunk->mask[row] = STK_LIVE;
        chunk->n_bad--;
    }
    chunk->n = n;
}

void stk__chunk_free(struct stk__chunk *chunk)
{
    if (!chunk)
        return;
    stk__chunk_clear(chunk);
    int parts = (chunk->key ? STK__KEYS : 0) | (chunk->trace ? STK__TRACE : 0) |
                (chunk->address ? 0 : STK__NO_ADDRESSES);
    stk__memory_free(chunk, stk__chunk_bytes(chunk->type, chunk->cap, parts));
}

/* Rows of one buffer often lie side by side: as many as begin with the same owner. */
static int same_owner(const struct stk_span *span, int n)
{
    int same = 1;
    while (same < n && span[same].owner == span[0].owner)
        same++;
    return same;
}

void stk__spans_drop(struct stk_span *span, int n)
{
    for (int i = 0, same; i < n; i += same) {
        same = same_owner(span + i, n - i);
        if (span[i].owner)
            stk__buffer_unref_n(span[i].owner, same);
    }
    memset(span, 0, (size_t)n * sizeof *span);
}

void stk__chunk_drop(struct stk__chunk *chunk, int from, int n)
{
    for (int f = 0; f < chunk->type->n_fields; f++)
        if (chunk->column[f].span)
            stk__spans_drop(chunk->column[f].span + from, n);
    if (chunk->trace)
        stk__spans_drop(chunk->trace + from, n);
}

size_t stk__fault_bytes(const char *text)
{
    return sizeof(struct stk__fault) + strnlen(text, STK_ERROR_TEXT - 1) + 1;
}

void stk__fault_add(struct stk__fault **list, int row, int code, const char *op, const char *text)
{
    size_t bytes = stk__fault_bytes(text), len = bytes - sizeof(struct stk__fault) - 1;
    struct stk__fault *fault = malloc(bytes);
    if (!fault)
        return;
    char *copy = (char *)(fault + 1);
    memcpy(copy, text, len);
    copy[len] = 0;
    *fault = (struct stk__fault){ .next = *list, .row = row, .code = code, .op = op, .text = copy };
    *list = fault;
}

bool stk__fault_is_lasting(const struct stk__fault *fault)
{
    static const int passing[] = { STK_MEMORY, STK_STATE, STK_CANCELLED, STK_IO, STK_BUDGET };
    bool is_lasting = fault;
    for (size_t i = 0; i < sizeof passing / sizeof *passing && is_lasting; i++)
        is_lasting = fault->code != passing[i];
    return is_lasting;
}

void stk__chunk_fault(struct stk__chunk *chunk, int row, int code, const char *op, const char *text)
{
    if (chunk->mask[row] != STK_BAD)
        chunk->n_bad++;
    chunk->mask[row] = STK_BAD;
    stk__fault_add(&chunk->faults, row, code, op, text);
}

const struct stk__fault *stk__fault_find(const struct stk__fault *list, int row)
{
    const struct stk__fault *found = NULL;
    for (const struct stk__fault *f = list; f; f = f->next)
        if (f->row == row)
            found = f; /* the first that was added: lists grow at the front */
    return found;
}

const struct stk__fault *stk__chunk_find_fault(const struct stk__chunk *chunk, int row)
{
    return stk__fault_find(chunk->faults, row);
}

void stk__fault_forget(struct stk__fault **list, int row)
{
    for (struct stk__fault **f = list; *f;) {
        struct stk__fault *fault = *f;
        if (fault->row != row) {
            f = &fault->next;
            continue;
        }
        *f = fault->next;
        free(fault);
    }
}

void stk__chunk_hand_on_bad(struct stk__chunk *out, const struct stk__chunk *in, int row,
                            const struct stk__fault *fault)
{
    out->address[out->n] = in->address[row];
    if (out->key)
        out->key[out->n] = in->key[row];
    stk__chunk_fault(out, out->n, fault ? fault->code : STK_MEMORY, fault ? fault->op : NULL,
                     fault ? fault->text : "out of memory");
    out->n++;
}

static void move_spans(struct stk_span *span, int at, int from, int n)
{
    for (int i = 0; i < n; i++) {
        stk__buffer_unref(span[at + i].owner);
        span[at + i] = span[from + i];
        span[from + i] = (struct stk_span){ 0 };
    }
}

uint64_t stk__span_bytes(const struct stk_span *span, int n)
{
    uint64_t bytes = 0;
    for (int i = 0; span && i < n; i++)
        bytes += span[i].bytes;
    return bytes;
}

void stk__spans_copy(struct stk_span *dst, const struct stk_span *src, int n)
{
    for (int i = 0, same; i < n; i += same) {
        same = same_owner(src + i, n - i);
        if (src[i].owner)
            stk__buffer_ref_n(src[i].owner, same);
    }
    for (int i = 0; i < n; i++) {
        if (dst[i].owner)
            stk__buffer_unref(dst[i].owner);
        dst[i] = src[i];
    }
}

static void copy_column(struct stk_column *d, int at, const struct stk_column *s, int from, int n)
{
    size_t rows = (size_t)n, to = (size_t)at, begin = (size_t)from, rank = (size_t)d->rank;
    if (!d->span) {
        memmove(d->data + to * d->stride, s->data + begin * s->stride, rows * d->stride);
        return;
    }
    if (d == s)
        move_spans(d->span, at, from, n);
    else
        stk__spans_copy(d->span + at, s->span + from, n);
    if (d->dims)
        memmove(d->dims + to * rank, s->dims + begin * rank, rows * rank * sizeof *d->dims);
}

/* Masks and faults of rows that come from another chunk. */
static void copy_masks(struct stk__chunk *dst, int at, const struct stk__chunk *src, int from,
                       int n)
{
    for (int i = 0; i < n; i++) {
        int was = dst->mask[at + i], is = src->mask[from + i];
        dst->n_bad -= was == STK_BAD;
        dst->mask[at + i] = is == STK_DEAD ? STK_DEAD : STK_LIVE;
        if (was == STK_BAD)
            stk__fault_forget(&dst->faults, at + i);
        if (is != STK_BAD)
            continue;
        const struct stk__fault *fault = stk__chunk_find_fault(src, from + i);
        stk__chunk_fault(dst, at + i, fault ? fault->code : STK_MEMORY, fault ? fault->op : NULL,
                         fault ? fault->text : "out of memory");
    }
}

void stk__chunk_copy_rows(struct stk__chunk *dst, int at, const struct stk__chunk *src, int from,
                          int n)
{
    size_t rows = (size_t)n;
    memmove(dst->address + at, src->address + from, rows * sizeof *dst->address);
    if (dst->key && src->key)
        memmove(dst->key + at, src->key + from, rows * sizeof *dst->key);
    for (int f = 0; f < dst->type->n_fields; f++)
        copy_column(&dst->column[f], at, &src->column[f], from, n);
    if (dst->trace && src->trace) {
        if (dst == src)
            move_spans(dst->trace, at, from, n);
        else
            stk__spans_copy(dst->trace + at, src->trace + from, n);
    }
}

void stk__chunk_copy(struct stk__chunk *dst, int at, const struct stk__chunk *src, int from, int n)
{
    if (n <= 0)
        return;
    stk__chunk_copy_rows(dst, at, src, from, n);
    if (dst->n_bad || src->n_bad)
        copy_masks(dst, at, src, from, n);
}

int stk__chunk_compact(struct stk__chunk *chunk, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (chunk->mask[i] == STK_DEAD) {
            chunk->mask[i] = STK_LIVE;
            continue;
        }
        if (kept != i) {
            stk__chunk_copy_rows(chunk, kept, chunk, i, 1);
            chunk->mask[kept] = chunk->mask[i];
            chunk->mask[i] = STK_LIVE;
        }
        for (struct stk__fault *f = chunk->mask[kept] == STK_BAD ? chunk->faults : NULL; f;
             f = f->next)
            f->row = f->row == i ? kept : f->row;
        kept++;
    }
    return kept;
}

static size_t unowned_bytes(const struct stk__chunk *chunk, int at, int n)
{
    size_t bytes = 0;
    for (int f = 0; f < chunk->type->n_fields; f++)
        for (int i = at; chunk->column[f].span && i < at + n; i++)
            if (!chunk->column[f].span[i].owner)
                bytes += aligned(chunk->column[f].span[i].bytes);
    return bytes;
}

/* A row that fills a block of scratch gets the block: a large picture is not there twice. */
static void take_blocks(struct stk__chunk *chunk, int at, int n, struct stk_arena *scratch,
                        struct stk__pool *pool)
{
    const size_t large = (size_t)1 << 20;
    for (int f = 0; f < chunk->type->n_fields; f++) {
        struct stk_span *span = chunk->column[f].span;
        for (int i = at; span && i < at + n; i++)
            if (!span[i].owner && span[i].bytes > large)
                span[i].owner = stk__arena_hand_over(scratch, span[i], pool);
    }
}

bool stk__chunk_own(struct stk__chunk *chunk, int at, int n, struct stk_arena *scratch,
                    struct stk__pool *pool)
{
    if (scratch)
        take_blocks(chunk, at, n, scratch, pool);
    size_t bytes = unowned_bytes(chunk, at, n);
    if (!bytes)
        return true;
    struct stk_buffer *buffer = stk__buffer_new(pool, bytes);
    if (!buffer)
        return false;
    size_t used = 0;
    for (int f = 0; f < chunk->type->n_fields; f++) {
        struct stk_span *span = chunk->column[f].span;
        for (int i = at; span && i < at + n; i++) {
            if (span[i].owner || !span[i].bytes)
                continue;
            memcpy(buffer->data + used, span[i].data, span[i].bytes);
            span[i].data = buffer->data + used;
            span[i].owner = stk__buffer_ref(buffer);
            used += aligned(span[i].bytes);
        }
    }
    stk__buffer_unref(buffer);
    return true;
}

void stk__chunk_join(struct stk__chunk *dst, int at, int field, const struct stk__chunk *src,
                     int from, int n)
{
    for (int f = 0; f < src->type->n_fields; f++)
        copy_column(&dst->column[field + f], at, &src->column[f], from, n);
    if (!field && dst->trace && src->trace)
        stk__spans_copy(dst->trace + at, src->trace + from, n);
    for (int i = 0; i < n; i++) {
        if (!field)
            dst->address[at + i] = src->address[from + i];
        if (dst->key)
            dst->key[at + i] =
                field ? stk__key_join(dst->key[at + i], src->key[from + i]) : src->key[from + i];
        if (!src->n_bad || src->mask[from + i] != STK_BAD || dst->mask[at + i] == STK_BAD)
            continue;
        const struct stk__fault *fault = stk__chunk_find_fault(src, from + i);
        stk__chunk_fault(dst, at + i, fault ? fault->code : STK_MEMORY, fault ? fault->op : NULL,
                         fault ? fault->text : "out of memory");
    }
}
