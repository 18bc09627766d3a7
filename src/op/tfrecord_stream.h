/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_stream.h: TFRecords that can only be read from front to back: compressed, or from a
 * pipe. */
#pragma once
#include "io/byte_stream.h"
#include "io/paths.h"

#include <stdatomic.h>

struct stk__record_pipe {
    const struct stk__paths *paths; /* borrowed */
    enum stk__compression compression;
    bool verifies;
    atomic_llong *first; /* of each file, once its first record is read, else -1; for messages */
};

/* Returns new. */
int stk__record_pipe_begin(const struct stk__record_pipe *pipe, void **run, struct stk_error *err);
int stk__record_pipe_rewind(void *run, struct stk_error *err);
void stk__record_pipe_end(void *run);

/* Appends records, and bad rows for what is damaged. */
int stk__record_pipe_next(void *run, struct stk_chunk *out, struct stk_error *err);

void stk__record_pipe_describe(const struct stk__record_pipe *pipe, uint64_t index, char *text,
                               size_t size);

/* True if bytes that look compressed are the header of a TFRecord all the same. */
bool stk__is_tfrecord_head(const uint8_t *head, size_t n);
