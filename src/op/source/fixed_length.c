/* SPDX-License-Identifier: Apache-2.0 */
/* fixed_length.c: records of one length, one behind the other between a header and a footer.
 *
 *     |header|record 0|record 1|…|record n-1|footer|
 *
 * Where a record lies follows from its number, so there is no index. Compressed files and pipes are
 * a stream: there a record is one as soon as there is as much behind it as a footer takes.
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "io/data_file.h"
#include "op/declaration.h"
#include "op/source/stream_run.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 1 << 30 };

struct fixed_length {
    struct stk_texts file;
    int64_t record_bytes, header, footer;
    int compression;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(fixed_length, file, 1, INT32_MAX, STK_REQUIRED | STK__TAKES_FIELD,
                  "a path or a pattern, or a list of them; '-' is standard input"),
    STK_INT_ROW(fixed_length, record_bytes, 1, 1, MOST_BYTES, STK_REQUIRED,
                "bytes of every record"),
    STK_INT_ROW(fixed_length, header, 0, 0, INT64_MAX / 4, 0,
                "bytes before the first record of each file"),
    STK_INT_ROW(fixed_length, footer, 0, 0, MOST_BYTES, 0,
                "bytes behind the last record of each file"),
    STK_CHOICE_ROW(fixed_length, compression, stk__compression_words, STK__COMPRESSION_NONE, 0,
                   "how the files are compressed; auto: as their first bytes say"),
    STK_ROWS_END,
};

struct source {
    const struct fixed_length *params;
    struct stk__block_files *list;
    struct stk__data_files *files; /* NULL: a stream */
    uint64_t *first;               /* [files->n + 1]: record of each file; then the count of all */
};

/* ---- opening ---- */

static void close_source(void *state)
{
    struct source *source = state;
    if (!source)
        return;
    stk__block_files_free(source->list);
    stk__data_files_free(source->files);
    free(source->first);
    free(source);
}

static size_t held_bytes(const void *opened)
{
    const struct source *source = opened;
    size_t first = source->files ? (source->files->n + 1) * sizeof *source->first : 0;
    return stk__block_files_bytes(source->list) + first +
           (source->files ? stk__data_files_bytes(source->files) : 0);
}

/* Says what a file of this size has that is no whole record. */
static int refuse_size(const struct fixed_length *p, const char *path, uint64_t bytes,
                       struct stk_error *err)
{
    char text[400];
    const char *name = stk__byte_stream_name(path, text, sizeof text);
    uint64_t around = (uint64_t)p->header + (uint64_t)p->footer, record = (uint64_t)p->record_bytes;
    if (bytes < around)
        return stk_fail(err, STK_DATA, "%s has %llu bytes, fewer than header and footer together",
                        name, (unsigned long long)bytes);
    return stk_fail(err, STK_DATA,
                    "%s has %llu bytes: %llu records of %llu bytes and a remainder of %llu", name,
                    (unsigned long long)bytes, (unsigned long long)((bytes - around) / record),
                    (unsigned long long)record, (unsigned long long)((bytes - around) % record));
}

static int add_file(struct source *source, const char *path, struct stk_error *err)
{
    const struct fixed_length *p = source->params;
    size_t file = source->files->n;
    int code = stk__data_files_add(source->files, path, err);
    if (code)
        return code;
    uint64_t bytes = source->files->item[file].bytes;
    uint64_t around = (uint64_t)p->header + (uint64_t)p->footer, record = (uint64_t)p->record_bytes;
    if (bytes < around || (bytes - around) % record)
        return refuse_size(p, path, bytes, err);
    source->first[file + 1] = source->first[file] + (bytes - around) / record;
    return STK_OK;
}

static int open_files(struct source *source, struct stk_error *err)
{
    const struct stk__paths *paths = &source->list->paths;
    int code = STK_OK;
    source->files = stk__data_files_new();
    source->first = calloc(paths->n + 1, sizeof *source->first);
    if (!source->files || !source->first)
        return stk__out_of_memory(err);
    for (size_t i = 0; i < paths->n && !code; i++)
        code = add_file(source, stk__paths_at(paths, i), err);
    return code;
}

static int open_source(const void *given, struct stk_arena *arena, void **state,
                       struct stk_error *err)
{
    const struct fixed_length *p = given;
    const struct stk__block_options options = { .noun = "record",
                                                .compression =
                                                    (enum stk__compression)p->compression,
                                                .most_bytes = 2 * (size_t)MOST_BYTES };
    struct source *source = calloc(1, sizeof *source);
    bool is_stream = false;
    (void)arena;
    if (!source)
        return stk__out_of_memory(err);
    source->params = p;
    int code = stk__block_files_open(&p->file, &options, &source->list, err);
    if (!code)
        code = stk__block_files_are_stream(source->list, &is_stream, err);
    is_stream |= p->file.is_word;
    if (!code && !is_stream)
        code = open_files(source, err);
    if (code)
        close_source(source);
    else
        *state = source;
    return code;
}

/* ---- at random ---- */

static int64_t count(const void *state)
{
    const struct source *source = state;
    return source->files ? (int64_t)source->first[source->files->n] : STK_UNKNOWN_COUNT;
}

static bool is_stream(const void *state)
{
    return !((const struct source *)state)->files;
}

static bool is_lasting(const void *state)
{
    return stk__block_files_are_lasting(((const struct source *)state)->list);
}

static int n_places(const void *state)
{
    (void)state;
    return 1;
}

static struct stk__file_place place_of(const struct source *source, uint64_t record, size_t file)
{
    const struct fixed_length *p = source->params;
    uint64_t bytes = (uint64_t)p->record_bytes, in_file = record - source->first[file];
    return (struct stk__file_place){ .file = (uint32_t)file,
                                     .offset = (uint64_t)p->header + in_file * bytes,
                                     .bytes = bytes };
}

static void locate(const void *state, int n, const uint64_t *index, struct stk__file_place *out)
{
    const struct source *source = state;
    size_t file = 0;
    for (int i = 0; i < n; i++) {
        file = stk__file_of(source->first, source->files->n, index[i], file);
        out[i] = place_of(source, index[i], file);
    }
}

static struct stk__data_files *files(const void *state)
{
    return ((const struct source *)state)->files;
}

static const uint64_t *first_rows(const void *state, size_t *n_files)
{
    const struct source *source = state;
    *n_files = source->files->n;
    return source->first;
}

static int rows(struct stk_rows *r, const uint64_t *index)
{
    (void)index;
    for (int i = 0; i < r->n; i++)
        if (r->mask[i] == STK_LIVE)
            r->out[0].span[i] = r->inside->fetched[i];
    return STK_OK;
}

static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    const struct source *source = state;
    if (!source->files) {
        stk__block_files_describe(source->list, index, text, size);
        return;
    }
    size_t file = stk__file_of(source->first, source->files->n, index, 0);
    snprintf(text, size, "%s, record %llu at byte %llu", source->files->item[file].path,
             (unsigned long long)(index - source->first[file]),
             (unsigned long long)place_of(source, index, file).offset);
}

/* ---- as a stream ---- */

struct run {
    struct stk__stream_run stream;
    const struct source *source;
    uint64_t header_left; /* of the open file, not passed over yet */
};

/* Appends the records that are whole in the block, a footer behind them. */
static void add_records(struct run *r, struct stk__chunk *out)
{
    const struct fixed_length *p = r->source->params;
    struct stk__block_reader *blocks = &r->stream.blocks;
    size_t record = (size_t)p->record_bytes, footer = (size_t)p->footer;
    for (; out->n < out->cap && stk__block_reader_left(blocks) >= record + footer; out->n++) {
        out->column[0].span[out->n] = stk__block_reader_cut(blocks, record, record);
        stk__buffer_ref(blocks->block);
    }
}

static int finish_file(struct run *r, struct stk_error *err)
{
    const struct fixed_length *p = r->source->params;
    struct stk__block_reader *blocks = &r->stream.blocks;
    if (r->header_left || stk__block_reader_left(blocks) != (size_t)p->footer)
        return refuse_size(p, stk__block_reader_path(blocks),
                           stk__byte_stream_offset(blocks->stream), err);
    stk__block_reader_close(blocks);
    return STK_OK;
}

static int advance(void *run, struct stk__chunk *out, struct stk_error *err)
{
    struct run *r = run;
    const struct fixed_length *p = r->source->params;
    struct stk__block_reader *blocks = &r->stream.blocks;
    if (!blocks->stream) {
        r->header_left = (uint64_t)p->header;
        return stk__block_reader_open(blocks, err);
    }
    size_t left = stk__block_reader_left(blocks);
    if (left && r->header_left) {
        size_t passed = left < r->header_left ? left : (size_t)r->header_left;
        blocks->row += passed;
        r->header_left -= passed;
        return STK_OK;
    }
    if (left >= (size_t)p->record_bytes + (size_t)p->footer) {
        add_records(r, out);
        return STK_OK;
    }
    int code = stk__block_reader_fill(blocks, err);
    return !code && blocks->is_ended ? finish_file(r, err) : code;
}

static int begin(const struct stk__source_start *b, void **run, struct stk_error *err)
{
    const struct source *source = b->state;
    int code = stk__stream_begin(b->pool, source->list, advance, sizeof(struct run), run, err);
    if (!code)
        ((struct run *)*run)->source = source;
    return code;
}

const struct stk__op stk__op_fixed_length = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "fixed_length", 1, "Records that all have the same number of bytes.",
              "One field `record` (bytes) for every record, in the order of the files given; those "
              "of a pattern are sorted. decode_raw makes arrays of them. Any record can be "
              "reached, so len, shuffle() and shard work on the whole. Files that are compressed "
              "(which has to be said: bytes could look like anything), pipes and standard input "
              "(`'-'`) are a stream.\n"
              "\n"
              "    fixed_length('data.bin', 4)\n"
              "    fixed_length('digits.idx', 16, header=16).decode_raw(uint8, shape=[4, 4])\n"
              "\n"
              "As tf.data's FixedLengthRecordDataset. A file whose size leaves a remainder is an "
              "error that names both, when the dataset is made; of a stream, behind its whole "
              "records.",
              params, sizeof(struct fixed_length) },
    .flags = STK__OP_ROOT,
    .open = open_source,
    .close = close_source,
    .held_bytes = held_bytes,
    .infer = stk__record_infer,
    .source = { .count = count,
                .is_stream = is_stream,
                .is_lasting = is_lasting,
                .n_places = n_places,
                .locate = locate,
                .files = files,
                .first_rows = first_rows,
                .rows = rows,
                .begin = begin,
                STK__STREAM_RUN,
                .describe = describe },
};
