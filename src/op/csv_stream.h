/* SPDX-License-Identifier: Apache-2.0 */
/* csv_stream.h: csv from compressed files, pipes and standard input. */
#pragma once
#include "op/csv_table.h"

/* At least `least` bytes of a file, unpacked, if it has so many, and all of its header. Not for
 * pipes, which would lose them. */
int stk__csv_stream_head(const struct stk__csv_table *table, const char *path, size_t least,
                         struct stk__csv_head *out, struct stk_error *err);

/* The entries of a stream source. */
int stk__csv_stream_begin(const void *params, const void *state, void **run, struct stk_error *err);
int stk__csv_stream_rewind(void *run, struct stk_error *err);
int stk__csv_stream_next(void *run, struct stk_chunk *out, struct stk_error *err);
void stk__csv_stream_end(void *run);
void stk__csv_stream_describe(const struct stk__csv_table *table, uint64_t index, char *text,
                              size_t size);
