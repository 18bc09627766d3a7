/* SPDX-License-Identifier: Apache-2.0 */
/* stream_run.h: the run of a source whose rows are cut out of blocks. A run begins with a
 * stk__stream_run, and these are entries of its source table. */
#pragma once
#include "io/block_reader.h"
#include "op/declaration.h"

/* Does one thing: opens a file, reads more of it, appends rows, or ends it. What fails leaves the run
 * where it was, so that it fails again when tried again. */
typedef int (*stk__advance_fn)(void *run, struct stk__chunk *out, struct stk_error *err);

struct stk__stream_run {
    struct stk__block_reader blocks;
    stk__advance_fn advance;
};

/* A run of this many bytes, zero behind its beginning. Borrows the files; returns new. */
int stk__stream_begin(struct stk__pool *pool, struct stk__block_files *files,
                      stk__advance_fn advance, size_t bytes, void **run, struct stk_error *err);
int stk__stream_rewind(void *run, struct stk_error *err);
int stk__stream_next(void *run, struct stk__chunk *out, struct stk_error *err);
void stk__stream_end(void *run);

/* One field of bytes, `record`: what sources of records infer. */
int stk__record_infer(struct stk_infer *inf, struct stk_error *err);

/* clang-format off */
#define STK__STREAM_RUN                                                                            \
    .rewind = stk__stream_rewind, .next = stk__stream_next, .end = stk__stream_end
/* clang-format on */
