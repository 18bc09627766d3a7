/* SPDX-License-Identifier: Apache-2.0 */
/* vocabulary.c: reads terms, and finds them in an open table of hashes. */
#include "op/field/vocabulary.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "codec/text/decimal.h"
#include "codec/text/json.h"
#include "io/byte_stream.h"
#include "op/text/text_op.h"

#include <limits.h>
#include <stdio.h>

struct stk__vocabulary_slot {
    uint32_t hash, number; /* number + 1; 0: free */
};

struct reader {
    struct stk__vocabulary *out;
    struct stk_arena *arena;
    const struct stk_value *given;
    const struct stk_field *field;
    struct stk_error *err;
    int64_t *integer; /* room for those of all terms */
};

static int fail(const struct reader *r, const char *what)
{
    return stk__fail_at(r->err, STK_VALUE, r->given->at, r->given->len, "%s", what);
}

/* ---- the table ---- */

static uint32_t hash_of(const struct stk__vocabulary *v, const void *data, size_t bytes)
{
    uint64_t value;
    if (!v->has_integers)
        return (uint32_t)stk__hash_bytes(0, data, bytes);
    memcpy(&value, data, sizeof value);
    return (uint32_t)stk__hash_mix(0, value);
}

/* The slot of a term, or the free one where it would be. */
static struct stk__vocabulary_slot *slot_of(const struct stk__vocabulary *v, const void *data,
                                            size_t bytes, uint32_t hash)
{
    for (size_t at = hash;; at++) {
        struct stk__vocabulary_slot *slot = &v->slot[at & (v->n_slots - 1)];
        if (!slot->number)
            return slot;
        const struct stk_span *term = &v->term[slot->number - 1];
        if (slot->hash == hash && term->bytes == bytes &&
            (!bytes || !memcmp(term->data, data, bytes)))
            return slot;
    }
}

int64_t stk__vocabulary_find(const struct stk__vocabulary *v, const void *data, size_t bytes)
{
    return (int64_t)slot_of(v, data, bytes, hash_of(v, data, bytes))->number - 1;
}

/* Room for n terms. */
static int begin(struct reader *r, size_t n)
{
    struct stk__vocabulary *v = r->out;
    if (n > INT_MAX / 2)
        return fail(r, "has more terms than there can be numbers for");
    for (v->n_slots = 16; v->n_slots < 2 * n;)
        v->n_slots *= 2;
    v->slot = stk_arena_alloc(r->arena, v->n_slots * sizeof *v->slot);
    v->term = stk_arena_alloc(r->arena, (n + 1) * sizeof *v->term);
    r->integer = stk_arena_alloc(r->arena, (v->has_integers ? n + 1 : 1) * sizeof *r->integer);
    return v->slot && v->term && r->integer ? STK_OK : stk__out_of_memory(r->err);
}

/* The bytes stay where they are; `shown` is the term for people. */
static int add_term(const struct reader *r, struct stk_span term, struct stk_span shown)
{
    struct stk__vocabulary *v = r->out;
    uint32_t hash = hash_of(v, term.data, term.bytes);
    struct stk__vocabulary_slot *slot = slot_of(v, term.data, term.bytes, hash);
    if (slot->number)
        return stk__fail_at(r->err, STK_VALUE, r->given->at, r->given->len,
                            "has the term '%.*s%s' twice, as %u and as %zu", STK__TEXT_SHOW(shown),
                            slot->number - 1, v->n);
    v->term[v->n] = term;
    *slot = (struct stk__vocabulary_slot){ hash, (uint32_t)++v->n };
    return STK_OK;
}

static int add_integer(const struct reader *r, int64_t value)
{
    char digits[24];
    int64_t *kept = &r->integer[r->out->n];
    *kept = value;
    int n = snprintf(digits, sizeof digits, "%lld", (long long)value);
    return add_term(r, (struct stk_span){ (uint8_t *)kept, sizeof *kept, NULL },
                    (struct stk_span){ (uint8_t *)digits, (size_t)n, NULL });
}

static int add_text(const struct reader *r, const void *text, size_t len)
{
    const struct stk_span term = { (uint8_t *)(uintptr_t)text, len, NULL };
    return add_term(r, term, term);
}

/* ---- a list ---- */

static int read_list(struct reader *r)
{
    int code = begin(r, (size_t)r->given->n_items);
    for (int i = 0; i < r->given->n_items && !code; i++) {
        const struct stk_value *item = r->given->item[i];
        bool is_text = item->kind == STK__STRING || item->kind == STK__WORD;
        if (r->out->has_integers ? item->kind != STK__INT : !is_text)
            return stk__fail_at(r->err, STK_TYPE, item->at, item->len,
                                "the terms for the field '%s' are %s", r->field->name,
                                r->out->has_integers ? "whole numbers" : "texts");
        code = is_text ? add_text(r, item->text, item->text_len) : add_integer(r, item->integer);
    }
    return code;
}

/* ---- a file ---- */

/* All bytes of a file, in the arena. */
static int read_file(const struct reader *r, const char *path, struct stk__json_piece *out)
{
    enum { BLOCK = 1 << 16 };
    struct stk__byte_stream *stream;
    struct stk__text text = { 0 };
    if (!stk__is_on_storage(path))
        return fail(r, "wants a file on storage");
    int code =
        stk__byte_stream_open(&(struct stk__byte_stream_options){ .path = path }, &stream, r->err);
    if (code)
        return code;
    uint8_t *block = stk_arena_alloc(r->arena, BLOCK);
    size_t got;
    code = block ? STK_OK : stk__out_of_memory(r->err);
    while (!code && !(code = stk__byte_stream_read(stream, block, BLOCK, &got, r->err)))
        stk__text_add_n(&text, (const char *)block, got);
    stk__byte_stream_close(stream);
    if (code == STK_END) {
        out->bytes = text.len;
        out->data = (uint8_t *)stk__arena_text_n(r->arena, text.data ? text.data : "", text.len);
        code = text.failed || !out->data ? stk__out_of_memory(r->err) : STK_OK;
    }
    stk__text_free(&text);
    return code;
}

static int add_line(const struct reader *r, const char *line, size_t len)
{
    int64_t value;
    uint8_t number[64 + 64] = { 0 };
    if (len && line[len - 1] == '\r')
        len--;
    if (!r->out->has_integers)
        return add_text(r, line, len);
    memcpy(number, line, len < 64 ? len : 64);
    if (len > 64 || !stk__decimal_i64(number, len, &value))
        return stk__fail_at(r->err, STK_DATA, r->given->at, r->given->len,
                            "'%.200s', line %zu: '%.*s' is no whole number", r->given->text,
                            r->out->n + 1, (int)(len < 40 ? len : 40), line);
    return add_integer(r, value);
}

static int read_lines(struct reader *r, struct stk__json_piece text)
{
    const uint8_t *at = text.data, *end = at + text.bytes;
    size_t n = 1;
    for (const uint8_t *byte = at; byte < end; byte++)
        n += *byte == '\n';
    int code = begin(r, n);
    while (at < end && !code) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        code = add_line(r, (const char *)at, (size_t)(stop - at));
        at = stop + 1;
    }
    return code;
}

/* ---- what stats wrote ---- */

static int fail_json(const struct reader *r, const char *what)
{
    return stk__fail_at(r->err, STK_DATA, r->given->at, r->given->len, "'%.200s': %s",
                        r->given->text, what);
}

/* The list of the field's texts or classes. */
static int find_items(const struct reader *r, struct stk__json_piece text,
                      struct stk__json_piece *items)
{
    struct stk__json_tree tree = { .root.want = -1 };
    struct stk__json_fault fault;
    char path[512];
    snprintf(path, sizeof path, "fields['%s'].%s", r->field->name,
             r->out->has_integers ? "classes" : "vocabulary");
    if (stk__json_tree_add(&tree, path, r->arena, r->err) < 0)
        return r->err->code;
    if (!stk__json_scan(&tree, text, items, &fault))
        return fail_json(r, fault.what);
    if (!items->data || stk__json_kind(*items) != STK__JSON_ARRAY)
        return stk__fail_at(r->err, STK_DATA, r->given->at, r->given->len,
                            "'%.200s' is not what stats says of a field '%s' of %s", r->given->text,
                            r->field->name, r->out->has_integers ? "integers" : "texts");
    return STK_OK;
}

/* Texts are unescaped to *room, which has as many bytes as the file. */
static int add_item(const struct reader *r, struct stk__json_piece value, uint8_t **room)
{
    struct stk__json_fault fault;
    int64_t number;
    size_t bytes;
    if (r->out->has_integers) {
        if (!value.data || !stk__json_i64(value, value.data + value.bytes, &number))
            return fail_json(r, "a class is no whole number");
        return add_integer(r, number);
    }
    if (!value.data || stk__json_kind(value) != STK__JSON_STRING)
        return fail_json(r, "a term of a vocabulary is no text");
    if (!stk__json_unescape(value, *room, &bytes, &fault))
        return fail_json(r, fault.what);
    *room += bytes;
    return add_text(r, *room - bytes, bytes);
}

static int read_json(struct reader *r, struct stk__json_piece text)
{
    struct stk__json_piece items, item, value;
    struct stk__json_tree tree = { .root.want = -1 };
    struct stk__json_fault fault;
    uint8_t *room = stk_arena_alloc(r->arena, text.bytes + 1);
    size_t n = 0;
    if (!room)
        return stk__out_of_memory(r->err);
    if (stk__json_tree_add(&tree, "value", r->arena, r->err) < 0)
        return r->err->code;
    int code = find_items(r, text, &items);
    if (code)
        return code;
    for (struct stk__json_piece at = items; stk__json_next(&at, &item);)
        n++;
    code = begin(r, n);
    while (!code && stk__json_next(&items, &item)) {
        if (!stk__json_scan(&tree, item, &value, &fault))
            return fail_json(r, fault.what);
        code = add_item(r, value, &room);
    }
    return code;
}

/* ---- any ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && !strcmp(text + n - k, end);
}

int stk__vocabulary_read(const struct stk_value *given, const struct stk_field *field,
                         struct stk_arena *arena, struct stk__vocabulary *out,
                         struct stk_error *err)
{
    struct reader r = { .out = out, .arena = arena, .given = given, .field = field, .err = err };
    struct stk__json_piece text;
    *out = (struct stk__vocabulary){ .has_integers = field->kind != STK_BYTES };
    if (given->kind == STK__LIST)
        return read_list(&r);
    if (given->kind != STK__STRING && given->kind != STK__WORD)
        return fail(&r, "a vocabulary is a list of terms, or the name of a file");
    int code = read_file(&r, given->text, &text);
    if (code)
        return code;
    return ends_with(given->text, ".json") ? read_json(&r, text) : read_lines(&r, text);
}
