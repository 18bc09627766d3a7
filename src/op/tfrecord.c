/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord.c: the records of TFRecord files. */
#include "codec/tfrecord.h"
#include "base/error.h"
#include "op/tfrecord_scan.h"
#include "op/tfrecord_stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tfrecord {
    struct stk_texts file;
    int compression;
    bool verify;
    const char *index;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(tfrecord, file, 1, INT32_MAX, STK_REQUIRED,
                  "a path or a pattern, or a list of them; '-' is standard input"),
    STK_CHOICE_ROW(tfrecord, compression, stk__compression_words, STK__COMPRESSION_AUTO, 0,
                   "of the files; auto: by their first bytes"),
    STK_BOOL_ROW(tfrecord, verify, true, 0, "check every record's checksum, not only its length's"),
    STK_TEXT_ROW(tfrecord, index, "auto", STK_TUNABLE | STK_TAKES_NONE, STK__INDEX_HELP),
    STK_ROWS_END,
};

/* Files that are read at random, or else a pipe. */
struct record_source {
    struct stk__paths paths;
    struct stk__record_files *records;
    struct stk__record_pipe pipe;
};

static void close_tfrecord(void *state)
{
    struct record_source *source = state;
    if (!source)
        return;
    stk__record_files_free(source->records);
    stk__paths_free(&source->paths);
    free(source->pipe.first);
    free(source);
}

/* Sets *is_stream if a file is compressed, or no file on storage at all. */
static int sniff(const char *path, bool *is_stream, struct stk_error *err)
{
    struct stat st;
    uint8_t head[STK__SNIFF_BYTES];
    struct stk__byte_stream *stream;
    size_t n = 0, got;
    *is_stream = stk__is_standard_input(path) || (!stat(path, &st) && !S_ISREG(st.st_mode));
    if (*is_stream)
        return STK_OK;
    const struct stk__byte_stream_options options = { .path = path,
                                                      .compression = STK__COMPRESSION_NONE };
    int code = stk__byte_stream_open(&options, &stream, err);
    if (code)
        return code;
    while (n < sizeof head &&
           !(code = stk__byte_stream_read(stream, head + n, sizeof head - n, &got, err)))
        n += got;
    stk__byte_stream_close(stream);
    enum stk__compression kind = STK__COMPRESSION_NONE;
    if (code && code != STK_END)
        return code;
    code = stk__is_tfrecord_head(head, n) ? STK_OK : stk__compression_sniff(head, n, &kind, err);
    *is_stream = kind > STK__COMPRESSION_NONE;
    return code;
}

static int decide(const struct tfrecord *p, const struct stk__paths *paths, bool *is_stream,
                  struct stk_error *err)
{
    *is_stream = p->compression > STK__COMPRESSION_NONE;
    int code = STK_OK;
    for (size_t i = 0; i < paths->n && !*is_stream && !code; i++)
        code = p->compression == STK__COMPRESSION_AUTO
                   ? sniff(stk__paths_at(paths, i), is_stream, err)
                   : STK_OK;
    return code;
}

static int open_pipe(const struct tfrecord *p, struct record_source *source, struct stk_error *err)
{
    source->pipe = (struct stk__record_pipe){ .paths = &source->paths,
                                              .compression = (enum stk__compression)p->compression,
                                              .verifies = p->verify,
                                              .first = malloc((source->paths.n + 1) *
                                                              sizeof *source->pipe.first) };
    if (!source->pipe.first)
        return stk__out_of_memory(err);
    for (size_t i = 0; i < source->paths.n; i++)
        atomic_init(&source->pipe.first[i], -1);
    return STK_OK;
}

static int open_tfrecord(const void *given, struct stk_arena *arena, void **state,
                         struct stk_error *err)
{
    const struct tfrecord *p = given;
    const struct stk__record_scan scan = { .scan = stk__tfrecord_scan,
                                           .format = "tfrecord",
                                           .home = p->index };
    struct record_source *source = calloc(1, sizeof *source);
    bool is_stream = false;
    (void)arena;
    if (!source)
        return stk__out_of_memory(err);
    int code = stk__record_paths(&p->file, &source->paths, err);
    if (!code)
        code = decide(p, &source->paths, &is_stream, err);
    if (!code)
        code = is_stream ? open_pipe(p, source, err)
                         : stk__record_files_open(&source->paths, &scan, &source->records, err);
    if (code)
        close_tfrecord(source);
    else
        *state = source;
    return code;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    inf->out->n_fields = 1;
    inf->out->field[0] = (struct stk_field){ .name = "record", .kind = STK_BYTES, .dtype = STK_U8 };
    inf->from[0] = -1;
    return STK_OK;
}

static bool is_stream(const void *state)
{
    return !((const struct record_source *)state)->records;
}

static int64_t count(const void *state)
{
    const struct record_source *source = state;
    return source->records ? (int64_t)stk__record_files_count(source->records) : STK_UNKNOWN_COUNT;
}

static int n_places(const void *state)
{
    (void)state;
    return 1;
}

static void locate(const void *state, int n, const uint64_t *index, struct stk_place *out)
{
    stk__record_files_locate(((const struct record_source *)state)->records, n, index, out);
}

static struct stk__data_files *files(const void *state)
{
    return ((const struct record_source *)state)->records->files;
}

static int begin(const void *given, const void *state, void **run, struct stk_error *err)
{
    (void)given;
    return stk__record_pipe_begin(&((const struct record_source *)state)->pipe, run, err);
}

static int rows(struct stk_rows *r, const uint64_t *index)
{
    const struct tfrecord *p = r->params;
    (void)index;
    for (int i = 0; i < r->n; i++) {
        const struct stk_span *frame = &r->fetched[i];
        struct stk_error err;
        uint64_t length;
        if (r->mask[i] != STK_LIVE)
            continue;
        int code = stk__tfrecord_open(frame->data, frame->bytes, p->verify, &length, &err);
        if (code)
            stk_rows_fail(r, i, code, "%s", err.text);
        else
            r->out[0].span[i] = (struct stk_span){ frame->data + STK__TFRECORD_HEADER,
                                                   (size_t)length, frame->owner };
    }
    return STK_OK;
}

static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    const struct record_source *source = state;
    if (source->records)
        stk__record_files_describe(source->records, index, "record", text, size);
    else
        stk__record_pipe_describe(&source->pipe, index, text, size);
}

const struct stk_op stk__op_tfrecord = {
    .decl = { "tfrecord", 1, "The records of TFRecord files.",
              "One field `record` (bytes) for every record, in the order of the files given; those "
              "of a pattern are sorted. parse_example takes them apart. Any record can be reached, "
              "so len, shuffle() and shard work on the whole; to know where records lie, the "
              "headers of all files are read once, and remembered for large files (index). "
              "Compressed files, pipes and standard input ('-') are a stream: there shuffle needs "
              "a buffer size.\n"
              "\n"
              "    tfrecord('train-*.tfrecord').shuffle().batch(256)\n"
              "    tfrecord('train-*.tfrecord', index=none).take(1000)\n"
              "\n"
              "Checksums are verified. A record that is damaged is a bad element with file, number "
              "and byte; behind a damaged header the next good one is looked for, so on_error=skip "
              "loses nothing else.",
              params, sizeof(struct tfrecord) },
    .flags = STK_OP_ROOT | STK_OP_BLOCKS,
    .open = open_tfrecord,
    .close = close_tfrecord,
    .infer = infer,
    .source = { .count = count,
                .is_stream = is_stream,
                .n_places = n_places,
                .locate = locate,
                .files = files,
                .rows = rows,
                .begin = begin,
                .rewind = stk__record_pipe_rewind,
                .next = stk__record_pipe_next,
                .end = stk__record_pipe_end,
                .describe = describe },
};
