/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_row_image.c: any bytes as the record of a row with any kind of field, whose checksum is
 * right: it is refused, or all of the row can be read.
 *
 * Input: flags of the record, what is put right about it and fields; then its bytes. */
#include "base/rows/blob.h"
#include "op/cache/row_image.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
    IS_BAD = STK__IMAGE_BAD,
    IS_PACKED = STK__IMAGE_PACKED,
    FIXES_SIZES = 4,
    FIXES_SHAPE = 8,
    IS_TO_PACK = 16,
    FIELDS = 32,     /* and above */
    TRACE_SIZE = 32, /* where it is, what lies behind, and how long the fixed field is */
    SIZES = 40,
    FIXED_BYTES = 8,
    ADDRESS_BYTES = 16,
    MOST_BYTES = 4096
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_KINDS = 7 };
static const struct stk_field kinds[N_KINDS] = {
    { .name = "fixed", .kind = STK_FIXED, .dtype = STK_F32, .rank = 1, .shape = { 2 } },
    { .name = "image", .kind = STK_SHAPED, .dtype = STK_I16, .rank = 2, .shape = { -1, 3 } },
    { .name = "bytes", .kind = STK_BYTES, .dtype = STK_U8 },
    { .name = "list", .kind = STK_RAGGED, .dtype = STK_I64, .rank = 1, .shape = { -1 } },
    { .name = "texts", .kind = STK_BYTES, .dtype = STK_U8, .flags = STK_FIELD_PACKED },
    { .name = "lists",
      .kind = STK_RAGGED,
      .dtype = STK_F32,
      .rank = 2,
      .flags = STK_FIELD_PACKED,
      .shape = { -1, 2 } },
    { .name = "many",
      .kind = STK_BYTES,
      .dtype = STK_U8,
      .flags = STK_FIELD_PACKED | STK_FIELD_LISTS },
};

/* Rows with one of them behind the fixed one, or with all. */
static struct stk_type types[N_KINDS + 1];
static struct stk__chunk *chunks[N_KINDS + 1];

static void must(bool is_so)
{
    if (!is_so)
        abort();
}

/* ---- a log with one record; the linker sends what reads it here ---- */

static struct {
    const uint8_t *data;
    size_t bytes;
    uint32_t flags;
    bool is_lost;
} record;

bool __wrap_stk__row_log_find(struct stk__row_log *log, uint64_t number,
                              struct stk__log_entry *out);
bool __wrap_stk__row_log_peek(struct stk__row_log *log, const struct stk__log_entry *entry,
                              void *into, size_t bytes);
bool __wrap_stk__row_log_read(struct stk__row_log *log, const struct stk__log_entry *entry,
                              struct stk__copy *piece, int n);
void __wrap_stk__row_log_lose(struct stk__row_log *log, uint64_t number);

bool __wrap_stk__row_log_find(struct stk__row_log *log, uint64_t number, struct stk__log_entry *out)
{
    (void)log;
    *out = (struct stk__log_entry){ number, 0, record.bytes, 0, record.flags };
    return true;
}

bool __wrap_stk__row_log_peek(struct stk__row_log *log, const struct stk__log_entry *entry,
                              void *into, size_t bytes)
{
    (void)log, (void)entry;
    if (bytes > record.bytes)
        return false;
    memcpy(into, record.data, bytes);
    return true;
}

bool __wrap_stk__row_log_read(struct stk__row_log *log, const struct stk__log_entry *entry,
                              struct stk__copy *piece, int n)
{
    size_t at = 0, bytes = 0;
    (void)log, (void)entry;
    for (int i = 0; i < n; i++)
        bytes += piece[i].bytes;
    if (bytes != record.bytes)
        return false;
    for (int i = 0; i < n; at += piece[i++].bytes)
        if (piece[i].bytes)
            memcpy(piece[i].dst, record.data + at, piece[i].bytes);
    return true;
}

void __wrap_stk__row_log_lose(struct stk__row_log *log, uint64_t number)
{
    (void)log, (void)number;
    record.is_lost = true;
}

/* ---- the rest ---- */

static void look_at(const uint8_t *data, size_t bytes)
{
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < bytes; i++)
        sum = (uint8_t)(sum + data[i]);
}

static void look_at_rows(const struct stk__blob *blob, size_t unit)
{
    for (int64_t i = 0; i < blob->n; i++)
        look_at(blob->data + (size_t)blob->splits[i] * unit,
                (size_t)(blob->splits[i + 1] - blob->splits[i]) * unit);
}

static void look_at_field(const struct stk_field *field, const struct stk_column *c)
{
    if (c->data) {
        look_at(c->data, c->stride);
        return;
    }
    if (c->dims)
        look_at(c->span->data, (size_t)c->dims[0] * (size_t)c->dims[1] * sizeof(int16_t));
    look_at(c->span->data, c->span->bytes);
    if (!(field->flags & STK_FIELD_PACKED))
        return;
    struct stk__blob blob = stk__blob_open(c->span->data);
    if (!(field->flags & STK_FIELD_LISTS)) {
        look_at_rows(&blob, stk__blob_unit(field));
        return;
    }
    struct stk__blob inner = stk__blob_open(blob.data);
    must(blob.splits[blob.n] == inner.n);
    look_at_rows(&inner, stk__blob_unit(field));
}

static struct stk__pool *pool_for_all(void)
{
    static struct stk__pool *pool;
    if (!pool) {
        pool = stk__pool_new();
        must(pool != NULL);
        stk__pool_limit(pool, 0); /* what is given back is gone, as the sanitizer wants it */
    }
    return pool;
}

/* The sizes of fields and trace, so that they are all there is; and the shape of its field. */
static void fix_sizes(const struct stk_type *type, uint8_t *bytes, size_t n, bool fixes_shape)
{
    uint64_t head = SIZES;
    for (int f = 1; f < type->n_fields; f++)
        head += sizeof(uint64_t) + (type->field[f].kind == STK_SHAPED ? 2 * sizeof(int32_t) : 0);
    if (n < head + FIXED_BYTES)
        return;
    uint64_t left = n - head - FIXED_BYTES, size;
    uint8_t *at = bytes + SIZES;
    for (int f = 1; f < type->n_fields; f++, at += sizeof size) {
        memcpy(&size, at, sizeof size);
        size %= left + 1;
        if (type->field[f].kind == STK_SHAPED)
            size -= size % 6;
        if (f == type->n_fields - 1)
            size += (left - size) % ADDRESS_BYTES;
        memcpy(at, &size, sizeof size);
        left -= size;
        if (type->field[f].kind != STK_SHAPED)
            continue;
        const int32_t dims[2] = { (int32_t)(size / 6), 3 };
        if (fixes_shape)
            memcpy(at + sizeof size, dims, sizeof dims);
        at += sizeof dims;
    }
    memcpy(bytes + TRACE_SIZE, &left, sizeof left);
}

/* The record that the input says, in memory of its size. */
static void make_record(const struct stk_type *type, uint8_t kind, const uint8_t *data, size_t n)
{
    static uint8_t plain[MOST_BYTES], packed[2 * MOST_BYTES];
    const uint64_t plain_bytes = n;
    const uint8_t *from = plain;
    memcpy(plain, data, n);
    if (kind & FIXES_SIZES)
        fix_sizes(type, plain, n, kind & FIXES_SHAPE);
    record.flags = kind & (IS_BAD | IS_PACKED);
    if (kind & IS_TO_PACK) {
        memcpy(packed, &plain_bytes, sizeof plain_bytes);
        n = ZSTD_compress(packed + 8, sizeof packed - 8, plain, n, 1);
        must(!ZSTD_isError(n));
        n += 8;
        from = packed;
        record.flags |= IS_PACKED;
    }
    record.data = malloc(n + 1);
    must(record.data != NULL);
    memcpy((uint8_t *)(uintptr_t)record.data, from, n);
    record.bytes = n;
    record.is_lost = false;
}

static void look_at_row(struct stk__chunk *chunk, int code)
{
    chunk->n = 1;
    chunk->n_bad = !code && chunk->mask[0] == STK_BAD;
    for (int f = 0; f < chunk->type->n_fields && !code && !chunk->n_bad; f++)
        look_at_field(&chunk->type->field[f], &chunk->column[f]);
    stk__chunk_clear(chunk);
}

static void make_chunks(void)
{
    for (int i = 0; i <= N_KINDS; i++) {
        struct stk_type *type = &types[i];
        type->n_fields = i == 0 ? 1 : i == N_KINDS ? N_KINDS : 2;
        memcpy(type->field, kinds, sizeof kinds);
        if (i && i < N_KINDS)
            type->field[1] = kinds[i];
        chunks[i] = stk__chunk_new(type, 1, STK__KEYS | STK__TRACE);
        must(chunks[i] != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!chunks[0])
        make_chunks();
    if (!size || size > MOST_BYTES)
        return 0;
    struct stk__chunk *chunk = chunks[data[0] / FIELDS];
    make_record(chunk->type, data[0], data + 1, size - 1);
    const struct stk__row_place place = { .column = chunk->column,
                                          .mask = chunk->mask,
                                          .key = chunk->key,
                                          .address = chunk->address,
                                          .trace = chunk->trace,
                                          .faults = &chunk->faults,
                                          .pool = pool_for_all() };
    int code = stk__row_image_read(NULL, 0, chunk->type, &place);
    must(code == STK_OK || (code == STK_DATA && record.is_lost));
    look_at_row(chunk, code);
    free((void *)(uintptr_t)record.data);
    return 0;
}
