/* SPDX-License-Identifier: Apache-2.0 */
/* csv_stream.h: csv from compressed files, pipes and standard input. */
#pragma once
#include "op/declaration.h"
#include "op/source/stream_run.h"
#include "op/table/csv_table.h"

/* At least `least` bytes of the first file, unpacked, if it has so many, and all of its header. Not
 * for pipes, which would lose them. */
int stk__csv_stream_head(const struct stk__csv_table *table, size_t least,
                         struct stk__csv_head *out, struct stk_error *err);

/* The entries of a stream source. */
int stk__csv_stream_begin(const struct stk__source_start *begin, void **run, struct stk_error *err);
void stk__csv_stream_end(void *run);

/* clang-format off */
#define STK__CSV_STREAM                                                                            \
    .begin = stk__csv_stream_begin, .rewind = stk__stream_rewind, .next = stk__stream_next,        \
    .end = stk__csv_stream_end
/* clang-format on */
