/* SPDX-License-Identifier: Apache-2.0 */
/* record_pipe.c: records out of a stream of bytes.
 *
 * Rows are spans that hold a reference to the block they were read into; what a block ends in is
 * copied to the front of the next one. Bytes that are damaged are passed over; those in a row that
 * were lost are one bad row.
 */
#define _GNU_SOURCE
#include "op/record_pipe.h"

#include "base/buffer.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BLOCK_BYTES = 1 << 20, LEAST_READ = 64 << 10, MAX_RECORD = 1 << 30 };

struct reader {
    const struct stk__record_pipe *pipe;
    struct stk__pool *pool;
    struct stk__byte_stream *stream; /* NULL: none is open */
    size_t file;                     /* that is open or comes next */
    struct stk_buffer *block;
    size_t at, filled; /* in the block: the next record, and the end of the data */
    uint64_t offset;   /* of the next record in the file, unpacked */
    uint64_t lost;     /* bytes before it that are no record */
    uint64_t ordinal;
    bool is_ended; /* the file has no more bytes */
};

/* ---- which files ---- */

static int sniff(const char *path, bool (*is_plain)(const uint8_t *head, size_t n), bool *is_stream,
                 struct stk_error *err)
{
    struct stat st;
    uint8_t head[STK__SNIFF_BYTES];
    struct stk__byte_stream *stream;
    size_t n = 0, got;
    *is_stream = stk__is_standard_input(path) || (!stat(path, &st) && !S_ISREG(st.st_mode));
    if (*is_stream)
        return STK_OK;
    const struct stk__byte_stream_options options = { .path = path,
                                                      .compression = STK__COMPRESSION_NONE };
    int code = stk__byte_stream_open(&options, &stream, err);
    if (code)
        return code;
    for (; n < sizeof head && !code; n += code ? 0 : got)
        code = stk__byte_stream_read(stream, head + n, sizeof head - n, &got, err);
    stk__byte_stream_close(stream);
    enum stk__compression kind = STK__COMPRESSION_NONE;
    if (code && code != STK_END)
        return code;
    code = is_plain && is_plain(head, n) ? STK_OK : stk__compression_sniff(head, n, &kind, err);
    *is_stream = kind > STK__COMPRESSION_NONE;
    return code;
}

int stk__needs_pipe(const struct stk__paths *paths, enum stk__compression compression,
                    bool (*is_plain)(const uint8_t *head, size_t n), bool *is_stream,
                    struct stk_error *err)
{
    int code = STK_OK;
    *is_stream = compression > STK__COMPRESSION_NONE;
    for (size_t i = 0; i < paths->n && !*is_stream && !code; i++)
        code = compression == STK__COMPRESSION_AUTO
                   ? sniff(stk__paths_at(paths, i), is_plain, is_stream, err)
                   : STK_OK;
    return code;
}

/* ---- birth and death ---- */

int stk__record_pipe_open(struct stk__record_pipe *pipe, struct stk_error *err)
{
    pipe->first = malloc((pipe->paths->n + 1) * sizeof *pipe->first);
    if (!pipe->first)
        return stk__out_of_memory(err);
    for (size_t i = 0; i < pipe->paths->n; i++)
        atomic_init(&pipe->first[i], -1);
    return STK_OK;
}

int stk__record_pipe_rewind(void *run, struct stk_error *err)
{
    struct reader *r = run;
    (void)err;
    stk__byte_stream_close(r->stream);
    stk__buffer_unref(r->block);
    *r = (struct reader){ .pipe = r->pipe, .pool = r->pool };
    return STK_OK;
}

int stk__record_pipe_begin(const struct stk__record_pipe *pipe, void **run, struct stk_error *err)
{
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return stk__out_of_memory(err);
    r->pipe = pipe;
    r->pool = stk__pool_new();
    if (!r->pool) {
        free(r);
        return stk__out_of_memory(err);
    }
    *run = r;
    return STK_OK;
}

void stk__record_pipe_end(void *run)
{
    struct reader *r = run;
    stk__record_pipe_rewind(r, NULL);
    stk__pool_unref(r->pool);
    free(r);
}

/* ---- bytes ---- */

static int open_next(struct reader *r, struct stk_error *err)
{
    const struct stk__byte_stream_options options = { .path =
                                                          stk__paths_at(r->pipe->paths, r->file),
                                                      .compression = r->pipe->compression,
                                                      .is_plain = r->pipe->cutter->is_plain };
    r->offset = r->lost = 0;
    r->at = r->filled; /* rows may point to what is before */
    r->is_ended = false;
    atomic_store_explicit(&r->pipe->first[r->file], (long long)r->ordinal, memory_order_relaxed);
    return stk__byte_stream_open(&options, &r->stream, err);
}

/* Room behind the data for some more. */
static int make_room(struct reader *r, struct stk_error *err)
{
    size_t kept = r->filled - r->at;
    if (r->block && r->block->capacity - r->filled >= LEAST_READ)
        return STK_OK;
    if (kept > MAX_RECORD)
        return stk_fail(err, STK_DATA, "'%s' has a %s of more than %d MiB at byte %llu",
                        stk__paths_at(r->pipe->paths, r->file), r->pipe->cutter->noun,
                        MAX_RECORD >> 20, (unsigned long long)r->offset);
    size_t wanted = kept + LEAST_READ > BLOCK_BYTES ? 2 * kept + LEAST_READ : BLOCK_BYTES;
    struct stk_buffer *block = stk__buffer_new(r->pool, wanted);
    if (!block)
        return stk__out_of_memory(err);
    if (kept)
        memcpy(block->data, r->block->data + r->at, kept);
    stk__buffer_unref(r->block);
    r->block = block;
    r->filled = kept;
    r->at = 0;
    return STK_OK;
}

static int read_more(struct reader *r, struct stk_error *err)
{
    size_t got = 0;
    int code = make_room(r, err);
    if (code)
        return code;
    code = stk__byte_stream_read(r->stream, r->block->data + r->filled,
                                 r->block->capacity - r->filled, &got, err);
    r->filled += got;
    r->is_ended = code == STK_END;
    return code == STK_END ? STK_OK : code;
}

static void pass(struct reader *r, size_t bytes)
{
    r->at += bytes;
    r->offset += bytes;
}

/* ---- rows ---- */

static void add_bad(struct reader *r, struct stk_chunk *out, uint64_t offset, int code,
                    const char *cause)
{
    char text[STK_ERROR_TEXT];
    snprintf(text, sizeof text, "%.400s (at byte %llu, unpacked)", cause,
             (unsigned long long)offset);
    out->mask[out->n] = STK_BAD;
    out->n_bad++;
    stk__fault_add(&out->faults, out->n++, code, r->pipe->cutter->op, text);
    r->ordinal++;
}

/* One bad row for everything that was passed over. */
static void add_lost(struct reader *r, struct stk_chunk *out)
{
    char cause[160];
    snprintf(cause, sizeof cause, "damaged: %llu bytes are lost, up to the next good %s",
             (unsigned long long)r->lost, r->pipe->cutter->noun);
    add_bad(r, out, r->offset - r->lost, STK_DATA, cause);
    r->lost = 0;
}

static void add_record(struct reader *r, size_t bytes, struct stk_chunk *out)
{
    const struct stk_span record = { r->block->data + r->at, bytes, r->block };
    struct stk_error err = { 0 };
    int code = r->pipe->cutter->write(r->pipe->context, record, out, &err);
    if (code) {
        add_bad(r, out, r->offset, code, err.text);
    } else {
        out->n++;
        r->ordinal++;
    }
    pass(r, bytes);
}

static int finish_file(struct reader *r, struct stk_chunk *out)
{
    size_t left = r->filled - r->at;
    if (left && r->lost) {
        r->lost += left;
        pass(r, left);
    }
    if (r->lost)
        add_lost(r, out);
    else if (left)
        add_bad(r, out, r->offset, STK_DATA, "truncated: the file ends within it");
    stk__byte_stream_close(r->stream);
    r->stream = NULL;
    r->file++;
    return STK_OK;
}

/* Does one thing: opens a file, reads more of it, takes one record, or ends it. */
static int advance(struct reader *r, struct stk_chunk *out, struct stk_error *err)
{
    if (!r->stream)
        return r->file < r->pipe->paths->n ? open_next(r, err) : STK_END;
    size_t have = r->filled - r->at, bytes = 0;
    enum stk__cut what = STK__CUT_MORE;
    if (have)
        what = r->pipe->cutter->cut(r->pipe->context, r->block->data + r->at, have, r->is_ended,
                                    &bytes);
    if (what == STK__CUT_MORE)
        return r->is_ended ? finish_file(r, out) : read_more(r, err);
    if (what == STK__CUT_RECORD && !r->lost) {
        add_record(r, bytes, out);
    } else if (what == STK__CUT_RECORD) {
        add_lost(r, out);
    } else {
        r->lost += what == STK__CUT_LOST ? bytes : 0;
        pass(r, bytes);
    }
    return STK_OK;
}

/* Stops after about a block, so that large records do not pile up. What goes wrong behind rows that
 * were appended goes wrong again in the next call, which reports it. */
int stk__record_pipe_next(void *run, struct stk_chunk *out, struct stk_error *err)
{
    struct reader *r = run;
    int before = out->n, code = STK_OK;
    uint64_t start = r->offset;
    size_t file = r->file;
    while (!code && out->n < out->cap &&
           (out->n == before || (r->file == file && r->offset - start < BLOCK_BYTES)))
        code = advance(r, out, err);
    if (code == STK_AGAIN)
        return STK_OK;
    return out->n > before ? STK_OK : code;
}

void stk__record_pipe_describe(const struct stk__record_pipe *pipe, uint64_t index, char *text,
                               size_t size)
{
    long long record = (long long)index;
    for (size_t i = pipe->paths->n; i-- > 0;) {
        long long first = i ? atomic_load_explicit(&pipe->first[i], memory_order_relaxed) : 0;
        if (first < 0 || first > record)
            continue;
        snprintf(text, size, "%s, %s %lld", stk__paths_at(pipe->paths, i), pipe->cutter->noun,
                 record - first);
        return;
    }
}
