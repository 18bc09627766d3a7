/* SPDX-License-Identifier: Apache-2.0 */
/* row_image.c: rows as bytes. */
#include "op/cache/row_image.h"

#include "base/memory/arena.h"
#include "base/rows/blob.h"
#include "op/registry.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { MOST_FIELD_HEAD = 8 + 4 * STK_MAX_RANK };

struct front {
    struct stk__key key;
    struct stk__address address;
    uint64_t trace_bytes;
};

struct why {
    int32_t code;
    uint32_t op_bytes;
};

enum { HEAD_BYTES = sizeof(struct front) + STK_MAX_FIELDS * MOST_FIELD_HEAD };

static size_t field_head(const struct stk_field *field)
{
    if (field->kind == STK_FIXED)
        return 0;
    return sizeof(uint64_t) + (field->kind == STK_SHAPED ? sizeof(int32_t) * field->rank : 0);
}

static size_t head_bytes(const struct stk_type *type)
{
    size_t bytes = sizeof(struct front);
    for (int f = 0; f < type->n_fields; f++)
        bytes += field_head(&type->field[f]);
    return bytes;
}

/* ---- writing ---- */

struct pieces {
    struct iovec item[STK__LOG_PIECES];
    int n;
    size_t bytes;
};

static void add_piece(struct pieces *p, const void *data, size_t bytes)
{
    if (!bytes)
        return;
    p->item[p->n++] = (struct iovec){ (void *)(uintptr_t)data, bytes };
    p->bytes += bytes;
}

static void put_front(const struct stk__row_ref *row, uint8_t *head)
{
    struct front front;
    memset(&front, 0, sizeof front);
    if (row->key)
        front.key = *row->key;
    if (row->address)
        front.address = *row->address;
    if (row->trace && !row->is_bad)
        front.trace_bytes = row->trace->bytes;
    memcpy(head, &front, sizeof front);
}

static void gather_good(const struct stk_type *type, const struct stk__row_ref *row, uint8_t *head,
                        struct pieces *p)
{
    uint8_t *at = head + sizeof(struct front);
    size_t i = (size_t)row->row;
    add_piece(p, head, head_bytes(type));
    for (int f = 0; f < type->n_fields; f++) {
        const struct stk_column *c = &row->column[f];
        if (c->span) {
            uint64_t bytes = c->span[i].bytes;
            memcpy(at, &bytes, sizeof bytes);
            if (c->dims)
                memcpy(at + sizeof bytes, c->dims + i * (size_t)c->rank,
                       sizeof *c->dims * (size_t)c->rank);
            at += field_head(&type->field[f]);
        } else
            add_piece(p, c->data + i * c->stride, c->stride);
    }
    for (int f = 0; f < type->n_fields; f++)
        if (row->column[f].span)
            add_piece(p, row->column[f].span[i].data, row->column[f].span[i].bytes);
    if (row->trace)
        add_piece(p, row->trace->data, row->trace->bytes);
}

static void gather_bad(const struct stk__row_ref *row, uint8_t *head, struct pieces *p)
{
    const struct stk__fault *fault = row->fault;
    const char *op = fault->op ? fault->op : "";
    struct why why = { fault->code, (uint32_t)strlen(op) };
    memcpy(head + sizeof(struct front), &why, sizeof why);
    add_piece(p, head, sizeof(struct front) + sizeof why);
    add_piece(p, op, why.op_bytes);
    add_piece(p, fault->text, strlen(fault->text));
}

static bool add_packed(struct stk__row_log *log, uint64_t number, const struct pieces *p,
                       uint32_t flags, int level)
{
    uint64_t bytes = p->bytes;
    size_t bound = ZSTD_compressBound(bytes), at = 0;
    uint8_t *plain = malloc(bytes + 1), *packed = malloc(bound + 1);
    bool is_added = false;
    for (int i = 0; plain && packed && i < p->n; at += p->item[i++].iov_len)
        memcpy(plain + at, p->item[i].iov_base, p->item[i].iov_len);
    size_t n = plain && packed ? ZSTD_compress(packed, bound, plain, bytes, level) : 0;
    if (n && !ZSTD_isError(n)) {
        const struct iovec piece[] = { { &bytes, sizeof bytes }, { packed, n } };
        is_added = stk__row_log_add(log, number, flags | STK__IMAGE_PACKED, piece, 2);
    }
    free(plain);
    free(packed);
    return is_added;
}

bool stk__row_image_add(struct stk__row_log *log, uint64_t number, const struct stk_type *type,
                        const struct stk__row_ref *row, int level)
{
    uint8_t head[HEAD_BYTES];
    struct pieces p = { .n = 0 };
    put_front(row, head);
    if (row->is_bad)
        gather_bad(row, head, &p);
    else
        gather_good(type, row, head, &p);
    uint32_t flags = row->is_bad ? STK__IMAGE_BAD : 0;
    return level ? add_packed(log, number, &p, flags, level)
                 : stk__row_log_add(log, number, flags, p.item, p.n);
}

/* ---- reading ---- */

/* Memory for what a row that is not fixed has. */
static bool take(const struct stk__row_place *to, size_t bytes, struct stk_span *out)
{
    struct stk_span span = { .bytes = bytes };
    if (to->pool && bytes) {
        span.owner = stk__buffer_new(to->pool, bytes);
        span.data = span.owner ? span.owner->data : NULL;
    } else if (bytes) {
        span.data = stk__arena_take(to->scratch, bytes + 64);
    }
    stk__buffer_unref(to->pool ? out->owner : NULL);
    *out = span;
    return span.data || !bytes;
}

/* The pieces that a good row is made of, where they go; STK_DATA if they cannot be `bytes` long. */
static int place_pieces(const struct stk_type *type, const struct stk__row_place *to, uint8_t *head,
                        uint64_t bytes, struct stk__copy *piece, int *n)
{
    struct front front;
    const uint8_t *at = head + sizeof front;
    size_t i = (size_t)to->row;
    uint64_t size[STK_MAX_FIELDS], left = bytes - head_bytes(type);
    memcpy(&front, head, sizeof front);
    piece[(*n)++] = (struct stk__copy){ .dst = head, .bytes = head_bytes(type) };
    for (int f = 0; f < type->n_fields; at += field_head(&type->field[f++])) {
        size[f] = to->column[f].stride;
        if (to->column[f].span)
            memcpy(&size[f], at, sizeof *size);
        if (size[f] > left)
            return STK_DATA;
        left -= size[f];
        if (!to->column[f].span)
            piece[(*n)++] =
                (struct stk__copy){ .dst = to->column[f].data + i * to->column[f].stride,
                                    .bytes = size[f] };
    }
    if (front.trace_bytes != left)
        return STK_DATA;
    for (int f = 0; f < type->n_fields; f++) {
        struct stk_span *span = to->column[f].span ? &to->column[f].span[i] : NULL;
        if (span && !take(to, size[f], span))
            return STK_MEMORY;
        if (span && size[f])
            piece[(*n)++] = (struct stk__copy){ .dst = span->data, .bytes = size[f] };
    }
    if (left && (!to->trace || !take(to, left, to->trace)))
        return to->trace ? STK_MEMORY : STK_DATA;
    if (left)
        piece[(*n)++] = (struct stk__copy){ .dst = to->trace->data, .bytes = left };
    return STK_OK;
}

static void set_front(const struct stk__row_place *to, const uint8_t *head)
{
    struct front front;
    memcpy(&front, head, sizeof front);
    if (to->key)
        *to->key = front.key;
    if (to->address)
        *to->address = front.address;
}

static void set_dims(const struct stk_type *type, const struct stk__row_place *to,
                     const uint8_t *head)
{
    const uint8_t *at = head + sizeof(struct front);
    for (int f = 0; f < type->n_fields; at += field_head(&type->field[f++])) {
        const struct stk_column *c = &to->column[f];
        if (c->dims)
            memcpy(c->dims + (size_t)to->row * (size_t)c->rank, at + sizeof(uint64_t),
                   sizeof *c->dims * (size_t)c->rank);
    }
}

/* A row with the right checksum whose fields cannot be was not written by us. */
static bool is_shape(const struct stk_field *field, const int32_t *dims, size_t bytes)
{
    uint64_t n = stk_dtype_bytes(field->dtype);
    for (int d = 0; d < field->rank; d++)
        if (dims[d] < 0 || (field->shape[d] >= 0 && field->shape[d] != dims[d]) ||
            __builtin_mul_overflow(n, (uint64_t)dims[d], &n))
            return false;
    return n == bytes;
}

static bool is_sound(const struct stk_type *type, const struct stk__row_place *to)
{
    for (int f = 0; f < type->n_fields; f++) {
        const struct stk_field *field = &type->field[f];
        const struct stk_column *c = &to->column[f];
        if (!c->span)
            continue;
        const struct stk_span *span = &c->span[to->row];
        bool is_good = field->flags & STK_FIELD_PACKED ? stk__blob_is_sound(field, *span)
                       : field->kind == STK_RAGGED     ? span->bytes % stk__blob_unit(field) == 0
                                                       : true;
        if (!is_good || (c->dims && !is_shape(field, c->dims + to->row * c->rank, span->bytes)))
            return false;
    }
    return !to->trace || to->trace->bytes % sizeof(struct stk__address) == 0;
}

/* The bytes of a record, wherever they are. */
struct record {
    struct stk__row_log *log;
    struct stk__log_entry entry;
    const uint8_t *plain; /* what was compressed, or NULL */
    uint64_t bytes;
};

static bool peek(const struct record *r, void *into, size_t bytes)
{
    if (bytes > r->bytes)
        return false;
    if (!r->plain)
        return stk__row_log_peek(r->log, &r->entry, into, bytes);
    memcpy(into, r->plain, bytes);
    return true;
}

static bool copy(const struct record *r, struct stk__copy *piece, int n)
{
    if (!r->plain)
        return stk__row_log_read(r->log, &r->entry, piece, n);
    const uint8_t *at = r->plain;
    for (int i = 0; i < n; at += piece[i++].bytes)
        memcpy(piece[i].dst, at, piece[i].bytes);
    return true;
}

static int read_good(const struct record *r, const struct stk_type *type,
                     const struct stk__row_place *to)
{
    uint8_t head[HEAD_BYTES], seen[HEAD_BYTES];
    struct stk__copy piece[STK__LOG_PIECES];
    size_t bytes = head_bytes(type);
    int n = 0;
    if (!peek(r, head, bytes))
        return STK_DATA;
    memcpy(seen, head, bytes);
    int rc = place_pieces(type, to, head, r->bytes, piece, &n);
    if (rc)
        return rc;
    if (!copy(r, piece, n) || memcmp(seen, head, bytes))
        return STK_DATA;
    set_front(to, head);
    set_dims(type, to, head);
    if (!is_sound(type, to))
        return STK_DATA;
    *to->mask = STK_LIVE;
    return STK_OK;
}

static int read_bad(const struct record *r, const struct stk__row_place *to)
{
    char text[sizeof(struct front) + sizeof(struct why) + STK_ERROR_TEXT + 256] = { 0 };
    struct why why;
    struct stk__copy piece = { (uint8_t *)text, NULL, r->bytes };
    if (r->bytes < sizeof(struct front) + sizeof why || r->bytes >= sizeof text ||
        !copy(r, &piece, 1))
        return STK_DATA;
    memcpy(&why, text + sizeof(struct front), sizeof why);
    char *name = text + sizeof(struct front) + sizeof why;
    if (why.op_bytes > r->bytes - sizeof(struct front) - sizeof why)
        return STK_DATA;
    char op_name[256] = { 0 };
    memcpy(op_name, name, why.op_bytes < 255 ? why.op_bytes : 255);
    const struct stk__op *op = stk__op_find(op_name);
    set_front(to, (const uint8_t *)text);
    *to->mask = STK_BAD;
    stk__fault_add(to->faults, to->row, why.code, op ? op->decl.name : NULL, name + why.op_bytes);
    return STK_OK;
}

/* More than so many bytes do not come out of so many: a block has 4 at least, and gives 128 KB. */
static bool can_unpack_to(uint64_t packed, uint64_t bytes)
{
    return bytes / ZSTD_BLOCKSIZE_MAX <= packed / 4;
}

/* Reads and unpacks a compressed record. Returns new. */
static int unpack(struct record *r, uint8_t **out)
{
    uint64_t bytes = 0;
    uint8_t *packed = malloc(r->entry.bytes + 1), *plain = NULL;
    struct stk__copy piece[] = { { (uint8_t *)&bytes, NULL, sizeof bytes },
                                 { packed, NULL, r->entry.bytes - sizeof bytes } };
    int rc = packed ? STK_OK : STK_MEMORY;
    if (!rc && (r->entry.bytes < sizeof bytes || !stk__row_log_read(r->log, &r->entry, piece, 2)))
        rc = STK_DATA;
    if (!rc && !can_unpack_to(piece[1].bytes, bytes))
        rc = STK_DATA;
    if (!rc && !(plain = malloc(bytes + 1)))
        rc = STK_MEMORY;
    if (!rc && ZSTD_decompress(plain, bytes, packed, piece[1].bytes) != bytes)
        rc = STK_DATA;
    free(packed);
    if (rc)
        free(plain);
    else
        r->plain = *out = plain;
    r->bytes = bytes;
    return rc;
}

int stk__row_image_read(struct stk__row_log *log, uint64_t number, const struct stk_type *type,
                        const struct stk__row_place *to)
{
    struct record r = { .log = log };
    uint8_t *plain = NULL;
    if (!stk__row_log_find(log, number, &r.entry))
        return STK_DATA;
    r.bytes = r.entry.bytes;
    int rc = r.entry.flags & STK__IMAGE_PACKED ? unpack(&r, &plain) : STK_OK;
    if (!rc)
        rc = r.entry.flags & STK__IMAGE_BAD ? read_bad(&r, to)
             : r.bytes < head_bytes(type)   ? STK_DATA
                                            : read_good(&r, type, to);
    free(plain);
    if (rc == STK_DATA)
        stk__row_log_lose(log, number);
    return rc;
}
