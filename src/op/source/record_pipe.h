/* SPDX-License-Identifier: Apache-2.0 */
/* record_pipe.h: records that can only be read from front to back, out of files that are compressed
 * and pipes; a format says where they end and what they hold. */
#pragma once
#include "base/rows/chunk.h"
#include "op/source/stream_run.h"

enum { STK__MOST_RECORD_BYTES = 1 << 30 }; /* whose end could not be looked for in a stream */

/* What the bytes at hand are. */
enum stk__cut {
    STK__CUT_MORE,   /* cannot be told yet; at the end of a file: a record that is truncated */
    STK__CUT_RECORD, /* `bytes` of them are one */
    STK__CUT_LOST,   /* `bytes` of them are damaged */
    STK__CUT_NONE,   /* `bytes` of them belong to no record */
    STK__CUT_END,    /* neither they nor what follows them does */
};

/* How a format is cut. */
struct stk__cutter {
    const char *op, *noun; /* as messages name them: "tfrecord", "record" */
    enum stk__cut (*cut)(const void *context, const uint8_t *data, size_t have, bool is_ended,
                         size_t *bytes);
    /* Writes one record to row out->n. Spans take references to the owner. STK_OK, STK_MEMORY or
     * STK_DATA with the cause. */
    int (*write)(const void *context, struct stk_span record, struct stk__chunk *out,
                 struct stk_error *err);
    bool (*is_plain)(const uint8_t *head, size_t n); /* as in stk__byte_stream_options */
};

/* Begins a run (op/source/stream_run.h). Borrows all; `context` is what the cutter is given. */
int stk__record_pipe_begin(struct stk__pool *pool, struct stk__block_files *files,
                           const struct stk__cutter *cutter, const void *context, void **run,
                           struct stk_error *err);
