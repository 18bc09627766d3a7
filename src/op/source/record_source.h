/* SPDX-License-Identifier: Apache-2.0 */
/* record_source.h: what sources of records have in common: files that are read at random where that
 * is possible, and else a pipe. A state that begins with a stk__record_source can be given to all of
 * these, which are entries of a source table. */
#pragma once
#include "io/record_files.h"
#include "op/declaration.h"
#include "op/source/record_pipe.h"

struct stk__record_source {
    struct stk__block_files *list;
    struct stk__record_files *records; /* NULL: a pipe */
    const struct stk__cutter *cutter;
};

/* How to find records, and how to cut them. */
struct stk__record_reader {
    const struct stk__record_scan *scan;
    const struct stk__cutter *cutter;
    enum stk__compression compression;
};

/* Finds the files and opens them; `source` is zero before. What it made is to be closed also after a
 * failure. */
int stk__record_source_open(struct stk__record_source *source, const struct stk_texts *patterns,
                            const struct stk__record_reader *format, struct stk_error *err);
void stk__record_source_close(struct stk__record_source *source);
size_t stk__record_source_bytes(const void *state);

int64_t stk__record_source_count(const void *state);
bool stk__record_source_is_stream(const void *state);
bool stk__record_source_is_lasting(const void *state);
int stk__record_source_n_places(const void *state);
void stk__record_source_locate(const void *state, int n, const uint64_t *index,
                               struct stk__file_place *out);
struct stk__data_files *stk__record_source_files(const void *state);
const uint64_t *stk__record_source_first_rows(const void *state, size_t *n_files);
int stk__record_source_begin(const struct stk__source_start *begin, void **run,
                             struct stk_error *err);
void stk__record_source_describe(const void *state, uint64_t index, char *text, size_t size);

/* clang-format off */
#define STK__RECORD_SOURCE                                                                         \
    .count = stk__record_source_count, .is_stream = stk__record_source_is_stream,                  \
    .n_places = stk__record_source_n_places, .locate = stk__record_source_locate,                  \
    .files = stk__record_source_files, .first_rows = stk__record_source_first_rows,                \
    .begin = stk__record_source_begin, .is_lasting = stk__record_source_is_lasting,                \
    .describe = stk__record_source_describe, STK__STREAM_RUN
/* clang-format on */
