/* SPDX-License-Identifier: Apache-2.0 */
/* record_pipe.h: records that can only be read from front to back, out of files that are compressed
 * and pipes; a format says where they end and what they hold. */
#pragma once
#include "base/chunk.h"
#include "io/byte_stream.h"
#include "io/paths.h"

#include <stdatomic.h>

/* What the bytes at hand are. */
enum stk__cut {
    STK__CUT_MORE,   /* cannot be told yet; at the end of a file: a record that is truncated */
    STK__CUT_RECORD, /* `bytes` of them are one */
    STK__CUT_LOST,   /* `bytes` of them are damaged */
    STK__CUT_NONE,   /* `bytes` of them belong to no record */
};

/* How a format is cut. */
struct stk__cutter {
    const char *op, *noun; /* as messages name them: "tfrecord", "record" */
    enum stk__cut (*cut)(const void *context, const uint8_t *data, size_t have, bool is_ended,
                         size_t *bytes);
    /* Writes one record to row out->n. Spans take references to the owner. STK_OK, STK_MEMORY or
     * STK_DATA with the cause. */
    int (*write)(const void *context, struct stk_span record, struct stk_chunk *out,
                 struct stk_error *err);
    bool (*is_plain)(const uint8_t *head, size_t n); /* as in stk__byte_stream_options */
};

struct stk__record_pipe {
    const struct stk__cutter *cutter;
    const void *context;
    const struct stk__paths *paths; /* borrowed */
    enum stk__compression compression;
    atomic_llong *first; /* of each file, once its first record is read, else -1; for messages */
};

/* Fills in `first`; free it when done. */
int stk__record_pipe_open(struct stk__record_pipe *pipe, struct stk_error *err);

/* A run; these are the entries of a source. */
int stk__record_pipe_begin(const struct stk__record_pipe *pipe, void **run, struct stk_error *err);
int stk__record_pipe_rewind(void *run, struct stk_error *err);
int stk__record_pipe_next(void *run, struct stk_chunk *out, struct stk_error *err);
void stk__record_pipe_end(void *run);

void stk__record_pipe_describe(const struct stk__record_pipe *pipe, uint64_t index, char *text,
                               size_t size);

/* Sets *is_stream if one of the files is compressed, or none on storage, so that it can only be read
 * from front to back. */
int stk__needs_pipe(const struct stk__paths *paths, enum stk__compression compression,
                    bool (*is_plain)(const uint8_t *head, size_t n), bool *is_stream,
                    struct stk_error *err);
