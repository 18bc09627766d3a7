/* SPDX-License-Identifier: Apache-2.0 */
/* cut_records.h: for fuzzers of records: a file in memory, and the cutter of a source. */
#pragma once
#include "base/memory/arena.h"
#include "op/registry.h"
#include "op/source/record_source.h"

#include <stdlib.h>
#include <string.h>

static inline void must(bool is_so)
{
    if (!is_so)
        abort();
}

/* The only file there is; the linker sends reads here. */
static struct {
    const uint8_t *data;
    size_t bytes;
} memory_file;

int __wrap_stk__data_file_read(struct stk__data_files *files, struct stk__file_place place,
                               uint8_t *dst, struct stk_error *err);

int __wrap_stk__data_file_read(struct stk__data_files *files, struct stk__file_place place,
                               uint8_t *dst, struct stk_error *err)
{
    (void)files, (void)err;
    must(place.offset <= memory_file.bytes && place.bytes <= memory_file.bytes - place.offset);
    memcpy(dst, memory_file.data + place.offset, place.bytes);
    return STK_OK;
}

/* Where the records of these bytes are, or NULL if there is none. */
static inline struct stk__record_index *scan_memory(stk__scan_fn scan, const uint8_t *data,
                                                    size_t bytes)
{
    struct stk__data_file file = { .path = (char *)(uintptr_t) "memory", .bytes = bytes };
    struct stk__data_files files = { .item = &file, .n = 1 };
    struct stk__record_index *index = stk__record_index_new();
    struct stk_error err;
    must(index != NULL);
    memory_file.data = data;
    memory_file.bytes = bytes;
    int code = scan(NULL, &files, 0, index, &err);
    must(!code || code == STK_DATA);
    if (!code)
        return index;
    stk__record_index_free(index);
    return NULL;
}

/* How a source cuts records, and what it is told of itself then. */
struct cutting {
    const struct stk__cutter *cutter;
    const void *context;
};

/* Of a source that is no file on storage, so that it cuts. Stays for ever. */
static inline struct cutting open_cutting(const char *call)
{
    static struct stk_arena arena;
    const struct stk_value *value;
    void *state;
    stk__arena_init(&arena, 1 << 12);
    must(!stk__parse(call, NULL, &arena, &value, NULL));
    const struct stk__op *op = stk__op_find(value->call[0].name);
    void *params = stk_arena_alloc(&arena, op->decl.params_size);
    must(params && !stk__call_bind(&value->call[0], &op->decl, &arena, params, NULL));
    must(!op->open(params, &arena, &state, NULL));
    must(stk__record_source_is_stream(state));
    return (struct cutting){ ((struct stk__record_source *)state)->cutter, state };
}

/* Cuts what comes in steps of so many bytes, and calls `take` for every record. True if all of it
 * was records, or bytes of none. The bytes at hand end where their memory does. */
static inline bool cut_all(const struct cutting *how, struct stk_span data, size_t step,
                           void (*take)(void *ctx, size_t at, size_t bytes), void *ctx)
{
    bool is_clean = true;
    for (size_t at = 0, end = 0; at < data.bytes;) {
        end = data.bytes - end > step ? end + step : data.bytes;
        uint8_t *have = malloc(end - at);
        must(have != NULL);
        memcpy(have, data.data + at, end - at);
        size_t used = 0, bytes = 0;
        enum stk__cut kind = STK__CUT_RECORD;
        while (used < end - at && kind != STK__CUT_MORE && kind != STK__CUT_END) {
            kind = how->cutter->cut(how->context, have + used, end - at - used, end == data.bytes,
                                    &bytes);
            must(kind == STK__CUT_MORE || kind == STK__CUT_END ||
                 (bytes && bytes <= end - at - used));
            is_clean &= kind != STK__CUT_LOST;
            if (kind == STK__CUT_RECORD)
                take(ctx, at + used, bytes);
            used += kind == STK__CUT_MORE || kind == STK__CUT_END ? 0 : bytes;
        }
        free(have);
        if (kind == STK__CUT_END)
            return is_clean;
        at += used;
        if (kind == STK__CUT_MORE && end == data.bytes)
            return false; /* truncated */
        must(at == end || kind == STK__CUT_MORE);
    }
    return is_clean;
}
