/* SPDX-License-Identifier: Apache-2.0 */
/* record_source.c: records at random or through a pipe. */
#include "op/record_source.h"

#include <stdlib.h>

int stk__record_source_open(struct stk__record_source *source, const struct stk_texts *patterns,
                            const struct stk__record_format *format, struct stk_error *err)
{
    bool is_stream;
    source->noun = format->cutter->noun;
    int code = stk__record_paths(patterns, &source->paths, err);
    if (!code)
        code = stk__needs_pipe(&source->paths, format->compression, format->cutter->is_plain,
                               &is_stream, err);
    if (code)
        return code;
    if (!is_stream)
        return stk__record_files_open(&source->paths, format->scan, &source->records, err);
    source->pipe = (struct stk__record_pipe){ .cutter = format->cutter,
                                              .context = source,
                                              .paths = &source->paths,
                                              .compression = format->compression };
    return stk__record_pipe_open(&source->pipe, err);
}

void stk__record_source_close(struct stk__record_source *source)
{
    stk__record_files_free(source->records);
    stk__paths_free(&source->paths);
    free(source->pipe.first);
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

int stk__record_source_n_places(const void *state)
{
    (void)state;
    return 1;
}

void stk__record_source_locate(const void *state, int n, const uint64_t *index,
                               struct stk_place *out)
{
    stk__record_files_locate(((const struct stk__record_source *)state)->records, n, index, out);
}

struct stk__data_files *stk__record_source_files(const void *state)
{
    return ((const struct stk__record_source *)state)->records->files;
}

int stk__record_source_begin(const void *params, const void *state, void **run,
                             struct stk_error *err)
{
    (void)params;
    return stk__record_pipe_begin(&((const struct stk__record_source *)state)->pipe, run, err);
}

void stk__record_source_describe(const void *state, uint64_t index, char *text, size_t size)
{
    const struct stk__record_source *source = state;
    if (source->records)
        stk__record_files_describe(source->records, index, source->noun, text, size);
    else
        stk__record_pipe_describe(&source->pipe, index, text, size);
}
