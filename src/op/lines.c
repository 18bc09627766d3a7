/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c: the lines of text files, as a stream. */
#define _GNU_SOURCE
#include "base/error.h"
#include "io/block_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 16 << 20 };

struct lines {
    struct stk_texts file;
    int compression;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(lines, file, 1, INT32_MAX, STK_REQUIRED,
                  "a path or a pattern, or a list of them; '-' is standard input"),
    STK_CHOICE_ROW(lines, compression, stk__compression_words, STK__COMPRESSION_AUTO, 0,
                   "how the files are compressed; auto: as their first bytes say"),
    STK_ROWS_END,
};

static int open_lines(const void *given, struct stk_arena *arena, void **state,
                      struct stk_error *err)
{
    const struct lines *p = given;
    struct stk__block_files *files;
    (void)arena;
    int code = stk__block_files_open(&p->file, (enum stk__compression)p->compression, &files, err);
    if (!code)
        *state = files;
    return code;
}

static void close_lines(void *state)
{
    stk__block_files_free(state);
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
    struct stk__block_reader blocks;
    size_t scanned; /* behind the start of the next row; no newline before */
};

static int begin(const void *given, const void *state, void **run, struct stk_error *err)
{
    struct run *r = calloc(1, sizeof *r);
    (void)given;
    if (!r)
        return stk__out_of_memory(err);
    int code = stk__block_reader_begin(&r->blocks, (void *)(uintptr_t)state, err);
    if (code)
        free(r);
    else
        *run = r;
    return code;
}

static void end(void *run)
{
    stk__block_reader_end(&((struct run *)run)->blocks);
    free(run);
}

static int rewind_lines(void *run, struct stk_error *err)
{
    struct run *r = run;
    (void)err;
    stk__block_reader_rewind(&r->blocks);
    r->scanned = 0;
    return STK_OK;
}

/* Checks the length of the row at hand, newline not counted. */
static int check_length(const struct run *r, size_t len, struct stk_error *err)
{
    char name[400];
    const struct stk__block_reader *blocks = &r->blocks;
    if (len <= MAX_LINE)
        return STK_OK;
    return stk_fail(err, STK_DATA, "%s, line %lld (at byte %llu) is longer than %d MiB",
                    stk__byte_stream_name(stk__block_reader_path(blocks), name, sizeof name),
                    (long long)blocks->file_row + 1,
                    (unsigned long long)stk__block_reader_offset(blocks), MAX_LINE >> 20);
}

/* Appends the row that is `len` bytes long, before `n_ends` bytes of newline; the caller takes the
 * reference to the block. */
static void add_row(struct run *r, size_t len, size_t n_ends, struct stk_chunk *out)
{
    const uint8_t *row = r->blocks.block->data + r->blocks.row;
    bool has_return = n_ends && len && row[len - 1] == '\r';
    out->column[0].span[out->n++] =
        stk__block_reader_cut(&r->blocks, len - has_return, len + n_ends);
    r->scanned = 0;
}

/* Appends the rows that are complete in the block. */
static int add_rows(struct run *r, struct stk_chunk *out, struct stk_error *err)
{
    const struct stk__block_reader *blocks = &r->blocks;
    int before = out->n, code = STK_OK;
    while (out->n < out->cap && !code) {
        const uint8_t *row = blocks->block->data + blocks->row;
        size_t left = blocks->filled - blocks->row;
        const uint8_t *newline = memchr(row + r->scanned, '\n', left - r->scanned);
        r->scanned = left;
        if (!newline)
            break;
        size_t len = (size_t)(newline - row);
        if (!(code = check_length(r, len, err)))
            add_row(r, len, 1, out);
        else
            r->scanned = len;
    }
    if (out->n > before)
        atomic_fetch_add_explicit(&blocks->block->refs, out->n - before, memory_order_relaxed);
    return code;
}

/* What is left when a file ends is its last line. */
static int finish_file(struct run *r, struct stk_chunk *out, struct stk_error *err)
{
    size_t left = r->blocks.filled - r->blocks.row;
    int code = check_length(r, left, err);
    if (code)
        return code;
    if (left) {
        add_row(r, left, 0, out);
        stk__buffer_ref(r->blocks.block);
    }
    r->scanned = 0;
    stk__block_reader_close(&r->blocks);
    return STK_OK;
}

/* Does one thing: opens the next file, appends rows, or reads and ends a file. */
static int advance(struct run *r, struct stk_chunk *out, struct stk_error *err)
{
    struct stk__block_reader *blocks = &r->blocks;
    bool is_end = false;
    if (!blocks->stream)
        return stk__block_reader_open(blocks, err);
    size_t left = blocks->filled - blocks->row;
    if (r->scanned < left)
        return add_rows(r, out, err);
    int code = check_length(r, left, err);
    if (!code)
        code = stk__block_reader_fill(blocks, &is_end, err);
    return !code && is_end ? finish_file(r, out, err) : code;
}

/* Stops after about one block, so that long lines do not pile up in a chunk, and before it has to
 * wait for more. What goes wrong behind rows that were appended goes wrong again in the next call,
 * which reports it. */
static int next(void *run, struct stk_chunk *out, struct stk_error *err)
{
    struct run *r = run;
    int before = out->n, code = STK_OK;
    uint64_t start = r->blocks.total;
    while (!code && out->n < out->cap) {
        bool has_rows = out->n > before;
        if (has_rows &&
            (r->blocks.total - start >= STK__BLOCK_BYTES || stk__block_reader_may_wait(&r->blocks)))
            break;
        code = advance(r, out, err);
    }
    return out->n > before || code == STK_AGAIN ? STK_OK : code;
}

static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    stk__block_files_describe(state, index, "line", 1, text, size);
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
    .infer = infer,
    .source = { .begin = begin,
                .rewind = rewind_lines,
                .next = next,
                .end = end,
                .describe = describe },
};
