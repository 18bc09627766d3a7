/* SPDX-License-Identifier: Apache-2.0 */
/* record_source.c: records at random or through a pipe. */
#include "op/source/record_source.h"

int stk__record_source_open(struct stk__record_source *source, const struct stk_texts *patterns,
                            const struct stk__record_reader *format, struct stk_error *err)
{
    const struct stk__block_options options = { .noun = format->cutter->noun,
                                                .compression = format->compression,
                                                .most_bytes = STK__MOST_RECORD_BYTES,
                                                .is_plain = format->cutter->is_plain };
    bool is_stream;
    source->cutter = format->cutter;
    int code = stk__block_files_open(patterns, &options, &source->list, err);
    if (!code)
        code = stk__block_files_are_stream(source->list, &is_stream, err);
    if (code || is_stream || patterns->is_word)
        return code;
    return stk__record_files_open(&source->list->paths, format->scan, &source->records, err);
}

void stk__record_source_close(struct stk__record_source *source)
{
    stk__record_files_free(source->records);
    stk__block_files_free(source->list);
}

size_t stk__record_source_bytes(const void *state)
{
    const struct stk__record_source *source = state;
    return stk__block_files_bytes(source->list) +
           (source->records ? stk__record_files_bytes(source->records) : 0);
}

int64_t stk__record_source_count(const void *state)
{
    const struct stk__record_source *source = state;
    return source->records ? (int64_t)stk__record_files_count(source->records) : STK_UNKNOWN_COUNT;
}

bool stk__record_source_is_stream(const void *state)
{
    return !((const struct stk__record_source *)state)->records;
}

bool stk__record_source_is_lasting(const void *state)
{
    return stk__block_files_are_lasting(((const struct stk__record_source *)state)->list);
}

int stk__record_source_n_places(const void *state)
{
    (void)state;
    return 1;
}

void stk__record_source_locate(const void *state, int n, const uint64_t *index,
                               struct stk__file_place *out)
{
    stk__record_files_locate(((const struct stk__record_source *)state)->records, n, index, out);
}

struct stk__data_files *stk__record_source_files(const void *state)
{
    return ((const struct stk__record_source *)state)->records->files;
}

const uint64_t *stk__record_source_first_rows(const void *state, size_t *n_files)
{
    const struct stk__record_files *records = ((const struct stk__record_source *)state)->records;
    *n_files = records->files->n;
    return records->first;
}

int stk__record_source_begin(const struct stk__source_start *b, void **run, struct stk_error *err)
{
    const struct stk__record_source *source = b->state;
    return stk__record_pipe_begin(b->pool, source->list, source->cutter, source, run, err);
}

void stk__record_source_describe(const void *state, uint64_t index, char *text, size_t size)
{
    const struct stk__record_source *source = state;
    if (source->records)
        stk__record_files_describe(source->records, index, source->cutter->noun, text, size);
    else
        stk__block_files_describe(source->list, index, text, size);
}
