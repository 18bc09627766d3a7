/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c: the lines of text files, as a stream. */
#define _GNU_SOURCE
#include "base/error.h"
#include "op/stream_run.h"

#include <string.h>

enum { MAX_LINE = 16 << 20 };

struct lines {
    struct stk_texts file;
    int compression;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(lines, file, 1, INT32_MAX, STK_REQUIRED | STK_TAKES_FIELD,
                  "a path or a pattern, or a list of them; '-' is standard input"),
    STK_CHOICE_ROW(lines, compression, stk__compression_words, STK__COMPRESSION_AUTO, 0,
                   "how the files are compressed; auto: as their first bytes say"),
    STK_ROWS_END,
};

static int open_lines(const void *given, struct stk_arena *arena, void **state,
                      struct stk_error *err)
{
    const struct lines *p = given;
    const struct stk__block_options options = { .noun = "line",
                                                .origin = 1,
                                                .compression =
                                                    (enum stk__compression)p->compression,
                                                .most_bytes = MAX_LINE };
    struct stk__block_files *files;
    (void)arena;
    int code = stk__block_files_open(&p->file, &options, &files, err);
    if (!code)
        *state = files;
    return code;
}

static void close_lines(void *state)
{
    stk__block_files_free(state);
}

static size_t held_bytes(const void *opened)
{
    return stk__block_files_bytes(opened);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    inf->out->n_fields = 1;
    inf->out->field[0] = (struct stk_field){
        .name = "text", .kind = STK_BYTES, .dtype = STK_U8, .flags = STK_FIELD_TEXT
    };
    inf->from[0] = -1;
    inf->count = STK_UNKNOWN_COUNT;
    return STK_OK;
}

struct run {
    struct stk__stream_run stream;
    size_t scanned; /* behind the start of the next row; no newline before */
};

/* Appends the row that is `len` bytes long, before `n_ends` bytes of newline; the caller takes the
 * reference to the block. */
static void add_row(struct run *r, size_t len, size_t n_ends, struct stk_chunk *out)
{
    struct stk__block_reader *blocks = &r->stream.blocks;
    bool has_return = n_ends && len && stk__block_reader_data(blocks)[len - 1] == '\r';
    out->column[0].span[out->n++] = stk__block_reader_cut(blocks, len - has_return, len + n_ends);
    r->scanned = 0;
}

/* Appends the rows that are complete in the block. */
static void add_rows(struct run *r, struct stk_chunk *out)
{
    const struct stk__block_reader *blocks = &r->stream.blocks;
    int before = out->n;
    while (out->n < out->cap) {
        const uint8_t *row = stk__block_reader_data(blocks);
        size_t left = stk__block_reader_left(blocks);
        const uint8_t *newline = memchr(row + r->scanned, '\n', left - r->scanned);
        r->scanned = left;
        if (!newline)
            break;
        add_row(r, (size_t)(newline - row), 1, out);
    }
    if (out->n > before)
        atomic_fetch_add_explicit(&blocks->block->refs, out->n - before, memory_order_relaxed);
}

/* What is left when a file ends is its last line. */
static void finish_file(struct run *r, struct stk_chunk *out)
{
    size_t left = stk__block_reader_left(&r->stream.blocks);
    if (left) {
        add_row(r, left, 0, out);
        stk__buffer_ref(r->stream.blocks.block);
    }
    stk__block_reader_close(&r->stream.blocks);
}

static int advance(void *run, struct stk_chunk *out, struct stk_error *err)
{
    struct run *r = run;
    struct stk__block_reader *blocks = &r->stream.blocks;
    if (!blocks->stream) {
        r->scanned = 0;
        return stk__block_reader_open(blocks, err);
    }
    if (r->scanned < stk__block_reader_left(blocks)) {
        add_rows(r, out);
        return STK_OK;
    }
    int code = stk__block_reader_fill(blocks, err);
    if (!code && blocks->is_ended)
        finish_file(r, out);
    return code;
}

static int begin(const struct stk_source_begin *b, void **run, struct stk_error *err)
{
    return stk__stream_begin(b->pool, (void *)(uintptr_t)b->state, advance, sizeof(struct run), run,
                             err);
}

static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    stk__block_files_describe(state, index, text, size);
}

static bool is_lasting(const void *state)
{
    return stk__block_files_are_lasting(state);
}

const struct stk_op stk__op_lines = {
    .decl = { "lines", 1, "The lines of text files.",
              "One field `text` for every line, without its end (`\\n` or `\\r\\n`). A last line "
              "without an end counts; an empty line is an empty text. Files are read one after "
              "the other in the order given, those of a pattern in sorted order. Lines are a "
              "stream: they come in order and have to be read from the start, so shuffle needs a "
              "buffer size here.\n"
              "\n"
              "    lines('words.txt')\n"
              "    lines(['a.txt', 'b.txt']).shuffle(1000).batch(32)\n"
              "\n"
              "Files that gzip, zlib or zstd have compressed are read too; what they are is seen "
              "by their first bytes. `'-'` is standard input, and a path may be that of a named "
              "pipe: lines are handed on as they come, and the data may never end. Standard input "
              "can be read once.\n"
              "\n"
              "A missing file is an error when the dataset is made. A line above 16 MiB, a "
              "failing read and damaged or truncated compressed data end the stream with an error "
              "that names file and place. tf.data's TextLineDataset differs: it removes every "
              "`\\r`, not only the one before `\\n`, and takes a truncated gzip file for a whole "
              "one.",
              params, sizeof(struct lines) },
    .flags = STK_OP_ROOT,
    .open = open_lines,
    .close = close_lines,
    .held_bytes = held_bytes,
    .infer = infer,
    .source = { STK__STREAM_RUN, .begin = begin, .is_lasting = is_lasting, .describe = describe },
};
