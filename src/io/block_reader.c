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

static int check_files(const struct stk__paths *paths, struct stk_error *err)
{
    for (size_t i = 0; i < paths->n; i++) {
        const char *path = stk__paths_at(paths, i);
        struct stat st;
        if (!stk__is_standard_input(path) && (stat(path, &st) || access(path, R_OK)))
            return stk_fail(err, STK_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    return STK_OK;
}

int stk__block_files_open(const struct stk_texts *patterns,
                          const struct stk__block_options *options, struct stk__block_files **out,
                          struct stk_error *err)
{
    struct stk__block_files *files = calloc(1, sizeof *files);
    if (!files)
        return stk__out_of_memory(err);
    files->options = *options;
    int code = stk__glob_all(patterns, &files->paths, err);
    stk__paths_fit(&files->paths);
    if (!code)
        code = check_files(&files->paths, err);
    if (!code && !(files->first = malloc((files->paths.n + 1) * sizeof *files->first)))
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

static int open_stream(const struct stk__block_files *files, size_t i,
                       struct stk__byte_stream **out, struct stk_error *err)
{
    const struct stk__byte_stream_options options = { .path = stk__paths_at(&files->paths, i),
                                                      .compression = files->options.compression,
                                                      .is_plain = files->options.is_plain };
    return stk__byte_stream_open(&options, out, err);
}

/* What is wrong behind the first bytes is for the run to find. */
static int sniff(const struct stk__block_files *files, size_t i, bool *is_stream,
                 struct stk_error *err)
{
    struct stk__byte_stream *stream;
    uint8_t byte;
    size_t got;
    int code = open_stream(files, i, &stream, err);
    if (code)
        return code;
    code = stk__byte_stream_read(stream, &byte, 1, &got, err);
    enum stk__compression found = stk__byte_stream_compression(stream);
    stk__byte_stream_close(stream);
    *is_stream = found > STK__COMPRESSION_NONE;
    return found == STK__COMPRESSION_AUTO ? code : STK_OK;
}

size_t stk__block_files_bytes(const struct stk__block_files *files)
{
    return stk__paths_bytes(&files->paths) + files->paths.n * sizeof *files->first;
}

int stk__block_files_are_stream(const struct stk__block_files *files, bool *is_stream,
                                struct stk_error *err)
{
    enum stk__compression compression = files->options.compression;
    int code = STK_OK;
    *is_stream = compression > STK__COMPRESSION_NONE;
    for (size_t i = 0; i < files->paths.n && !*is_stream && !code; i++) {
        *is_stream = !stk__is_on_storage(stk__paths_at(&files->paths, i));
        if (!*is_stream && compression == STK__COMPRESSION_AUTO)
            code = sniff(files, i, is_stream, err);
    }
    return code;
}

bool stk__block_files_are_lasting(const struct stk__block_files *files)
{
    bool are_lasting = true;
    for (size_t i = 0; i < files->paths.n && are_lasting; i++)
        are_lasting = stk__is_on_storage(stk__paths_at(&files->paths, i));
    return are_lasting;
}

void stk__block_files_describe(const struct stk__block_files *files, uint64_t row, char *text,
                               size_t size)
{
    long long number = (long long)row;
    for (size_t i = files->paths.n; i-- > 0;) {
        long long first = i ? atomic_load_explicit(&files->first[i], memory_order_relaxed) : 0;
        if (first < 0 || first > number)
            continue;
        const char *path = stk__paths_at(&files->paths, i);
        snprintf(text, size, "%s, %s %lld", stk__is_standard_input(path) ? "standard input" : path,
                 files->options.noun, number - first + files->options.origin);
        return;
    }
}

/* ---- the reader ---- */

void stk__block_reader_begin(struct stk__block_reader *reader, struct stk__block_files *files,
                             struct stk__pool *pool)
{
    *reader = (struct stk__block_reader){ .files = files, .pool = stk__pool_ref(pool) };
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
    if (stk__is_standard_input(stk__block_reader_path(reader)) &&
        atomic_exchange(&files->is_input_taken, true))
        return stk_fail(err, STK_STATE, "standard input can be read only once");
    int code = open_stream(files, reader->file, &reader->stream, err);
    if (code)
        return code;
    reader->file_row = 0;
    reader->is_ended = false;
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

static int refuse_row(const struct stk__block_reader *reader, struct stk_error *err)
{
    char name[400];
    const struct stk__block_options *options = &reader->files->options;
    return stk_fail(err, STK_DATA, "%s, %s %lld (at byte %llu) is longer than %zu MiB",
                    stk__byte_stream_name(stk__block_reader_path(reader), name, sizeof name),
                    options->noun, (long long)reader->file_row + options->origin,
                    (unsigned long long)stk__block_reader_offset(reader),
                    options->most_bytes >> 20);
}

/* Beside it there is the block that it is copied to. */
static int refuse_by_budget(const struct stk__block_reader *reader, struct stk_error *err)
{
    char name[400];
    const struct stk__block_options *options = &reader->files->options;
    return stk_fail(
        err, STK_BUDGET,
        "%s, %s %lld (at byte %llu, unpacked) is longer than %zu bytes, which can never "
        "fit into the memory budget; memory= gives it more",
        stk__byte_stream_name(stk__block_reader_path(reader), name, sizeof name), options->noun,
        (long long)reader->file_row + options->origin,
        (unsigned long long)stk__block_reader_offset(reader), stk__pool_most(reader->pool));
}

static size_t block_bytes(const struct stk__block_reader *reader, size_t kept)
{
    size_t most = stk__pool_most(reader->pool), bytes = 2 * kept < most ? 2 * kept : most;
    return bytes > STK__BLOCK_BYTES ? bytes : STK__BLOCK_BYTES;
}

/* A block with room to read into: a new one with the unfinished row in front, twice the row's size
 * if need be. */
static int make_room(struct stk__block_reader *reader, struct stk_error *err)
{
    size_t kept = stk__block_reader_left(reader);
    if (reader->block && reader->block->capacity - reader->filled >= LEAST_READ)
        return STK_OK;
    size_t bytes = block_bytes(reader, kept);
    if (bytes < kept + LEAST_READ)
        return refuse_by_budget(reader, err);
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

/* Of a row only one byte too many is ever read, so no row that is found is too long. */
int stk__block_reader_fill(struct stk__block_reader *reader, struct stk_error *err)
{
    size_t got = 0, kept = stk__block_reader_left(reader);
    size_t most = reader->files->options.most_bytes;
    if (kept > most)
        return refuse_row(reader, err);
    int code = make_room(reader, err);
    if (code)
        return code;
    size_t room = reader->block->capacity - reader->filled;
    code = stk__byte_stream_read(reader->stream, reader->block->data + reader->filled,
                                 room < most - kept + 1 ? room : most - kept + 1, &got, err);
    reader->is_ended = code == STK_END;
    reader->filled += got;
    reader->total += got;
    return reader->is_ended ? STK_OK : code;
}

bool stk__block_reader_may_wait(const struct stk__block_reader *reader)
{
    return reader->stream && stk__byte_stream_may_wait(reader->stream);
}

uint64_t stk__block_reader_offset(const struct stk__block_reader *reader)
{
    return stk__byte_stream_offset(reader->stream) - stk__block_reader_left(reader);
}

const char *stk__block_reader_path(const struct stk__block_reader *reader)
{
    return stk__paths_at(&reader->files->paths, reader->file);
}
