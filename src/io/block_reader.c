/* SPDX-License-Identifier: Apache-2.0 */
/* block_reader.c: files in blocks, and the list of the files. */
#define _GNU_SOURCE
#include "io/block_reader.h"

#include "base/error.h"
#include "io/glob.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEAST_READ = 16 << 10 };

/* ---- the list ---- */

static int add_file(struct stk__paths *paths, const char *path, struct stk_error *err)
{
    struct stat st;
    if (!stk__is_standard_input(path) && (stat(path, &st) || access(path, R_OK)))
        return stk_fail(err, STK_IO, "cannot read '%s': %s", path, strerror(errno));
    return stk__paths_add(paths, path, strlen(path)) ? stk__out_of_memory(err) : STK_OK;
}

/* The files of one argument, behind those of the arguments before it. */
static int add_files(struct stk__paths *paths, const char *pattern, struct stk_error *err)
{
    struct stk__paths found = { 0 };
    if (stk__is_standard_input(pattern))
        return add_file(paths, pattern, err);
    int code = stk__glob(pattern, &found, err);
    if (!code && stk__paths_sort(&found))
        code = stk__out_of_memory(err);
    for (size_t i = 0; i < found.n && !code; i++)
        code = add_file(paths, stk__paths_at(&found, i), err);
    stk__paths_free(&found);
    return code;
}

int stk__block_files_open(const struct stk_texts *patterns, enum stk__compression compression,
                          struct stk__block_files **out, struct stk_error *err)
{
    struct stk__block_files *files = calloc(1, sizeof *files);
    if (!files)
        return stk__out_of_memory(err);
    int code = STK_OK;
    files->compression = compression;
    for (int i = 0; i < patterns->n && !code; i++)
        code = add_files(&files->paths, patterns->item[i], err);
    if (!code && !(files->first = malloc(files->paths.n * sizeof *files->first)))
        code = stk__out_of_memory(err);
    if (code) {
        stk__block_files_free(files);
        return code;
    }
    for (size_t i = 0; i < files->paths.n; i++)
        atomic_init(&files->first[i], -1);
    *out = files;
    return STK_OK;
}

void stk__block_files_free(struct stk__block_files *files)
{
    if (!files)
        return;
    stk__paths_free(&files->paths);
    free(files->first);
    free(files);
}

void stk__block_files_describe(const struct stk__block_files *files, uint64_t row, const char *noun,
                               int origin, char *text, size_t size)
{
    long long number = (long long)row;
    for (size_t i = files->paths.n; i-- > 0;) {
        long long first = i ? atomic_load_explicit(&files->first[i], memory_order_relaxed) : 0;
        if (first < 0 || first > number)
            continue;
        const char *path = stk__paths_at(&files->paths, i);
        snprintf(text, size, "%s, %s %lld", stk__is_standard_input(path) ? "standard input" : path,
                 noun, number - first + origin);
        return;
    }
}

/* ---- the reader ---- */

int stk__block_reader_begin(struct stk__block_reader *reader, struct stk__block_files *files,
                            struct stk_error *err)
{
    *reader = (struct stk__block_reader){ .files = files, .pool = stk__pool_new() };
    return reader->pool ? STK_OK : stk__out_of_memory(err);
}

void stk__block_reader_rewind(struct stk__block_reader *reader)
{
    stk__byte_stream_close(reader->stream);
    stk__buffer_unref(reader->block);
    *reader = (struct stk__block_reader){ .files = reader->files, .pool = reader->pool };
}

void stk__block_reader_end(struct stk__block_reader *reader)
{
    stk__block_reader_rewind(reader);
    stk__pool_unref(reader->pool);
}

int stk__block_reader_open(struct stk__block_reader *reader, struct stk_error *err)
{
    struct stk__block_files *files = reader->files;
    if (reader->file == files->paths.n)
        return STK_END;
    struct stk__byte_stream_options options = { .path = stk__block_reader_path(reader),
                                                .compression = files->compression };
    if (stk__is_standard_input(options.path) && atomic_exchange(&files->is_input_taken, true))
        return stk_fail(err, STK_STATE, "standard input can be read only once");
    int code = stk__byte_stream_open(&options, &reader->stream, err);
    if (code)
        return code;
    reader->file_row = 0;
    atomic_store_explicit(&files->first[reader->file], reader->ordinal, memory_order_relaxed);
    return STK_OK;
}

void stk__block_reader_close(struct stk__block_reader *reader)
{
    stk__byte_stream_close(reader->stream);
    reader->stream = NULL;
    reader->row = reader->filled;
    reader->file++;
}

/* A block with room to read into: a new one with the unfinished row in front, twice the row's size
 * if need be. */
static int make_room(struct stk__block_reader *reader, struct stk_error *err)
{
    size_t kept = reader->filled - reader->row;
    if (reader->block && reader->block->capacity - reader->filled >= LEAST_READ)
        return STK_OK;
    size_t bytes = 2 * kept > STK__BLOCK_BYTES ? 2 * kept : STK__BLOCK_BYTES;
    struct stk_buffer *block = stk__buffer_new(reader->pool, bytes);
    if (!block)
        return stk__out_of_memory(err);
    if (kept)
        memcpy(block->data, reader->block->data + reader->row, kept);
    stk__buffer_unref(reader->block);
    reader->block = block;
    reader->filled = kept;
    reader->row = 0;
    return STK_OK;
}

int stk__block_reader_fill(struct stk__block_reader *reader, bool *is_end, struct stk_error *err)
{
    size_t got = 0;
    int code = make_room(reader, err);
    if (code)
        return code;
    struct stk_buffer *block = reader->block;
    code = stk__byte_stream_read(reader->stream, block->data + reader->filled,
                                 block->capacity - reader->filled, &got, err);
    *is_end = code == STK_END;
    reader->filled += got;
    reader->total += got;
    return *is_end ? STK_OK : code;
}

bool stk__block_reader_may_wait(const struct stk__block_reader *reader)
{
    return reader->stream && stk__byte_stream_may_wait(reader->stream);
}

uint64_t stk__block_reader_offset(const struct stk__block_reader *reader)
{
    return stk__byte_stream_offset(reader->stream) - (reader->filled - reader->row);
}

const char *stk__block_reader_path(const struct stk__block_reader *reader)
{
    return stk__paths_at(&reader->files->paths, reader->file);
}
