/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_stream.c: records out of a stream of bytes.
 *
 * Rows are spans that hold a reference to the block they were read into; what a block ends in is
 * copied to the front of the next one. After a damaged header, bytes are dropped one by one until a
 * good one is found; the bytes that were lost are one bad row.
 */
#define _GNU_SOURCE
#include "op/tfrecord_stream.h"

#include "base/buffer.h"
#include "base/chunk.h"
#include "base/error.h"
#include "codec/tfrecord.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    uint64_t in_file, ordinal;
    bool is_ended; /* the file has no more bytes */
};

bool stk__is_tfrecord_head(const uint8_t *head, size_t n)
{
    uint64_t length;
    return n >= STK__TFRECORD_HEADER && stk__tfrecord_length(head, &length);
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

static int open_next(struct reader *r, struct stk_error *err)
{
    const struct stk__byte_stream_options options = { .path =
                                                          stk__paths_at(r->pipe->paths, r->file),
                                                      .compression = r->pipe->compression,
                                                      .is_plain = stk__is_tfrecord_head };
    r->offset = r->in_file = r->lost = 0;
    r->at = r->filled; /* rows may point to what is before */
    r->is_ended = false;
    atomic_store_explicit(&r->pipe->first[r->file], (long long)r->ordinal, memory_order_relaxed);
    return stk__byte_stream_open(&options, &r->stream, err);
}

/* Room behind the data for at least `more` bytes. */
static int make_room(struct reader *r, size_t more, struct stk_error *err)
{
    size_t kept = r->filled - r->at;
    if (r->block && r->block->capacity - r->filled >= more)
        return STK_OK;
    size_t wanted = kept + more > BLOCK_BYTES ? 2 * kept + more : BLOCK_BYTES;
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
    int code = make_room(r, LEAST_READ, err);
    if (code)
        return code;
    code = stk__byte_stream_read(r->stream, r->block->data + r->filled,
                                 r->block->capacity - r->filled, &got, err);
    r->filled += got;
    r->is_ended = code == STK_END;
    return code == STK_END ? STK_OK : code;
}

static void add_bad(struct reader *r, struct stk_chunk *out, uint64_t offset, const char *cause)
{
    char text[STK_ERROR_TEXT];
    snprintf(text, sizeof text, "%s (at byte %llu of the file, unpacked)", cause,
             (unsigned long long)offset);
    out->mask[out->n] = STK_BAD;
    out->n_bad++;
    stk__fault_add(&out->faults, out->n++, STK_DATA, "tfrecord", text);
    r->in_file++;
    r->ordinal++;
}

/* One bad row for everything that was passed over. */
static void add_lost(struct reader *r, struct stk_chunk *out)
{
    char cause[160];
    snprintf(cause, sizeof cause,
             "corrupted record: the checksum of its length is wrong (%llu bytes are lost, up to "
             "the next good header)",
             (unsigned long long)r->lost);
    add_bad(r, out, r->offset - r->lost, cause);
    r->lost = 0;
}

static void pass(struct reader *r, size_t bytes)
{
    r->at += bytes;
    r->offset += bytes;
}

static void add_record(struct reader *r, size_t frame, struct stk_chunk *out)
{
    const uint8_t *data = r->block->data + r->at;
    struct stk_error err;
    uint64_t length;
    if (stk__tfrecord_open(data, frame, r->pipe->verifies, &length, &err)) {
        add_bad(r, out, r->offset, err.text);
    } else {
        out->column[0].span[out->n++] =
            (struct stk_span){ r->block->data + r->at + STK__TFRECORD_HEADER, (size_t)length,
                               stk__buffer_ref(r->block) };
        r->in_file++;
        r->ordinal++;
    }
    pass(r, frame);
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
        add_bad(r, out, r->offset, "truncated record: the file ends within it");
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
    size_t have = r->filled - r->at;
    uint64_t length;
    if (have < STK__TFRECORD_HEADER)
        return r->is_ended ? finish_file(r, out) : read_more(r, err);
    if (!stk__tfrecord_length(r->block->data + r->at, &length) || length > MAX_RECORD) {
        r->lost++;
        pass(r, 1);
        return STK_OK;
    }
    if (r->lost) {
        add_lost(r, out);
        return STK_OK;
    }
    size_t frame = (size_t)length + STK__TFRECORD_FRAME;
    if (have >= frame) {
        add_record(r, frame, out);
        return STK_OK;
    }
    return r->is_ended ? finish_file(r, out) : read_more(r, err);
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
        snprintf(text, size, "%s, record %lld", stk__paths_at(pipe->paths, i), record - first);
        return;
    }
}
