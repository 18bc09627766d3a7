/* SPDX-License-Identifier: Apache-2.0 */
/* generator.c: elements that the calling program makes one after the other, as a stream. */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "base/memory/buffer.h"
#include "lang/objects.h"
#include "lang/value.h"
#include "op/caller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BURST = 1 << 16 };

struct generator {
    const struct stk_value *stream;
};

static const struct stk_param params[] = {
    STK__VALUE_ROW(generator, stream, STK_REQUIRED,
                   "`@name` of a stream that the calling program has bound"),
    STK_ROWS_END,
};

static int open_generator(const void *given, struct stk_arena *arena, void **state,
                          struct stk_error *err)
{
    const struct stk_value *value = ((const struct generator *)given)->stream;
    (void)arena;
    if (value->kind != STK__OBJECT || value->object.bound->kind != STK__STREAM_OF_CALLER)
        return stk__fail_at(err, STK_TYPE, value->at, value->len,
                            "wants a stream of the calling program, as in generator(@name)");
    *state = (void *)(uintptr_t)value;
    return STK_OK;
}

static const struct stk_stream *stream_of(const void *state)
{
    return &((const struct stk_value *)state)->object.bound->stream;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct stk_stream *stream = stream_of(inf->state);
    (void)err;
    stk__caller_fields(stream->n_fields, stream->field, inf);
    inf->count = STK_UNKNOWN_COUNT;
    return STK_OK;
}

struct run {
    const struct stk_stream *stream;
    struct stk__pool *pool;
    void *pass;
    bool is_open;
    uint64_t n_made; /* elements of this pass, for messages */
    int burst;       /* rows to make at once */
    int code;        /* how the pass ended, STK_OK while it goes on */
    struct stk_error error;
    struct stk_cell cell[STK_MAX_FIELDS];
};

static void close_pass(struct run *r)
{
    if (r->is_open)
        r->stream->close(r->pass);
    r->is_open = false;
}

static int begin(const struct stk__source_start *b, void **run, struct stk_error *err)
{
    struct run *r = calloc(1, sizeof *r);
    if (!r)
        return stk__out_of_memory(err);
    r->stream = stream_of(b->state);
    r->pool = stk__pool_ref(b->pool);
    *run = r;
    return STK_OK;
}

static void end(void *run)
{
    struct run *r = run;
    close_pass(r);
    stk__pool_unref(r->pool);
    free(r);
}

/* A stream that cannot be opened breaks in its first call of next. */
static int rewind_stream(void *run, struct stk_error *err)
{
    struct run *r = run;
    (void)err;
    close_pass(r);
    r->n_made = 0;
    r->burst = 1;
    r->error = (struct stk_error){ 0 };
    r->code = r->stream->open(r->stream->context, &r->pass, &r->error);
    r->is_open = r->code == STK_OK;
    return STK_OK;
}

static int copy_span(struct run *r, int f, struct stk__chunk *out, int row)
{
    const struct stk_cell *cell = &r->cell[f];
    const struct stk_field *field = &out->type->field[f];
    struct stk_column *column = &out->column[f];
    size_t bytes = stk__caller_bytes(field, cell);
    struct stk_buffer *buffer = stk__buffer_new(r->pool, bytes);
    if (!buffer)
        return stk__out_of_memory(&r->error);
    stk__caller_write(field, cell, buffer->data);
    column->span[row] = (struct stk_span){ buffer->data, bytes, buffer };
    for (int d = 0; column->dims && d < column->rank; d++)
        column->dims[row * column->rank + d] = (int32_t)cell->shape[d];
    return STK_OK;
}

/* One element into the row behind the last; a row that fails half-way leaves nothing behind. */
static int add_row(struct run *r, struct stk__chunk *out)
{
    int row = out->n, f = 0, code = STK_OK;
    for (; f < r->stream->n_fields && !code; f++) {
        struct stk_column *column = &out->column[f];
        code = stk__caller_check(&r->stream->field[f], &r->cell[f], &r->error);
        if (code)
            stk__error_prefix(&r->error, "element %llu: ", (unsigned long long)r->n_made);
        if (!code && column->span)
            code = copy_span(r, f, out, row);
        else if (!code && r->cell[f].bytes)
            memcpy(column->data + (size_t)row * column->stride, r->cell[f].data, r->cell[f].bytes);
    }
    if (code) {
        for (int k = 0; k < f - 1; k++) {
            struct stk_span *span = out->column[k].span ? &out->column[k].span[row] : NULL;
            stk__buffer_unref(span ? span->owner : NULL);
            if (span)
                *span = (struct stk_span){ 0 };
        }
        return code;
    }
    out->n++;
    r->n_made++;
    return STK_OK;
}

/* Hands rows on after a millisecond: whoever makes them slowly is not waited for until a chunk
 * is full. It begins with one row and doubles while they come quickly, so that a row is not kept
 * back by one behind it that somebody has to wait for. */
static int next(void *run, struct stk__chunk *out, struct stk_error *err)
{
    const uint64_t patience_ns = 1000000;
    struct run *r = run;
    int before = out->n, room = out->cap - out->n;
    int end = before + (r->burst < room ? r->burst : room);
    uint64_t start = stk__clock_ns();
    while (!r->code && out->n < end && stk__clock_ns() - start < patience_ns) {
        r->code = r->stream->next(r->pass, r->cell, &r->error);
        if (!r->code)
            r->code = add_row(r, out);
    }
    bool is_quick = stk__clock_ns() - start < patience_ns;
    r->burst = !is_quick ? 1 : r->burst < MAX_BURST ? 2 * r->burst : r->burst;
    if (out->n > before || !r->code)
        return STK_OK;
    if (r->code != STK_END && err)
        *err = r->error;
    return r->code;
}

static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    snprintf(text, size, "@%s, element %llu", ((const struct stk_value *)state)->object.name,
             (unsigned long long)index);
}

const struct stk__op stk__op_generator = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "generator", 1, "Elements that the calling program makes.",
              "Reads a stream that C binds with `stk_objects_add_stream` and Python with "
              "`stoker.from_generator(function, spec)`: its fields are the elements'. Each pass "
              "over the data opens the stream again. It is a stream: elements come in order, and "
              "shuffle needs a buffer size.\n"
              "\n"
              "    generator(@rows).shuffle(1000).batch(32)\n"
              "\n"
              "A failure in the program's function ends the run with its message.",
              params, sizeof(struct generator) },
    .flags = STK__OP_ROOT | STK__OP_BLOCKS,
    .open = open_generator,
    .infer = infer,
    .source = { .begin = begin,
                .rewind = rewind_stream,
                .next = next,
                .end = end,
                .describe = describe },
};
