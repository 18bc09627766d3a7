/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c: the lines of text files, at random or as a stream. */
#define _GNU_SOURCE
#include "op/table/lines.h"
#include "base/error.h"
#include "base/hash.h"
#include "io/file_window.h"
#include "op/source/stream_run.h"
#include "op/table/row_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 16 << 20 };

struct lines {
    struct stk_texts file;
    int compression;
    const char *index;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(lines, file, 1, INT32_MAX, STK_REQUIRED | STK__TAKES_FIELD,
                  "a path or a pattern, or a list of them; '-' is standard input"),
    STK_CHOICE_ROW(lines, compression, stk__compression_words, STK__COMPRESSION_AUTO, 0,
                   "how the files are compressed; auto: as their first bytes say"),
    STK_TEXT_ROW(lines, index, "auto", STK_TUNABLE | STK_TAKES_NONE, STK__INDEX_HELP),
    STK_ROWS_END,
};

/* From this row of a file on: blank lines before it, which are no rows. Only for messages. */
struct blanks {
    uint64_t row, n;
};

struct blank_list {
    struct blanks *item;
    size_t n, cap;
};

struct line_source {
    struct stk__block_files *list;
    struct stk__row_groups found; /* of files that are read at random */
    bool skips_blank;             /* there: lines of nothing but spaces are no rows */
    struct blank_list *blank;     /* [files] if so */
};

bool stk__is_blank_line(const uint8_t *text, size_t bytes)
{
    while (bytes && (*text == ' ' || *text == '\t' || *text == '\r')) {
        text++;
        bytes--;
    }
    return bytes == 0;
}

/* ---- lines in memory ---- */

struct piece {
    const uint8_t *data;
    size_t bytes, at;
    bool skips_blank, is_last; /* is_last: a line ends where the piece does */
    uint64_t n_blank;          /* skipped so far */
};

struct found {
    size_t start, bytes; /* in the piece, without its end */
    bool has_end;
};

/* The next row of a piece; false when there is none. */
static bool next_line(struct piece *p, struct found *out)
{
    while (p->at < p->bytes) {
        const uint8_t *line = p->data + p->at, *newline = memchr(line, '\n', p->bytes - p->at);
        *out = (struct found){ p->at, newline ? (size_t)(newline - line) : p->bytes - p->at,
                               newline != NULL };
        p->at += out->bytes + out->has_end;
        bool is_whole = out->has_end || p->is_last;
        if (p->skips_blank && is_whole && stk__is_blank_line(line, out->bytes)) {
            p->n_blank++;
            continue;
        }
        out->bytes -= out->has_end && out->bytes && line[out->bytes - 1] == '\r';
        return true;
    }
    return false;
}

/* ---- where lines are ---- */

/* What a scan of a file has found so far. */
struct scan {
    int group_rows;
    uint64_t n_rows;
    struct piece piece;
    struct blank_list *blank; /* or NULL */
    struct stk__record_index *index;
};

/* Before row `row` there are so many blank lines. */
static bool note_blanks(struct blank_list *list, uint64_t row, uint64_t n)
{
    if (n == (list->n ? list->item[list->n - 1].n : 0))
        return true;
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 16;
        struct blanks *item = realloc(list->item, cap * sizeof *item);
        if (!item)
            return false;
        list->item = item;
        list->cap = cap;
    }
    list->item[list->n++] = (struct blanks){ row, n };
    return true;
}

static bool note_line(struct scan *s, uint64_t offset)
{
    if (s->blank && !note_blanks(s->blank, s->n_rows, s->piece.n_blank))
        return false;
    bool begins_group = s->n_rows++ % (uint64_t)s->group_rows == 0;
    return !begins_group || !stk__record_index_add(s->index, offset);
}

/* Adds the lines of the window; piece.at is where to go on. */
static int add_lines(const struct stk__file_window *w, struct scan *s)
{
    struct found line;
    s->piece.data = w->data;
    s->piece.bytes = w->filled;
    s->piece.at = 0;
    s->piece.is_last = w->is_last;
    while (next_line(&s->piece, &line)) {
        if (line.bytes > MAX_LINE)
            return stk_fail(w->err, STK_DATA, "'%s': the line at byte %llu is longer than %d MiB",
                            w->files->item[w->file].path,
                            (unsigned long long)(w->offset + line.start), MAX_LINE >> 20);
        if (!line.has_end && !w->is_last) {
            s->piece.at = line.start;
            return STK_OK;
        }
        if (!note_line(s, w->offset + line.start))
            return stk__out_of_memory(w->err);
    }
    return STK_OK;
}

/* Rows of a group, told by the first line. */
static int choose_group(struct stk__data_files *files, size_t file, int *group_rows,
                        struct stk_error *err)
{
    uint8_t head[STK__LARGE_ROW];
    uint64_t all = files->item[file].bytes;
    const struct stk__file_place place = { 0, all < sizeof head ? all : sizeof head,
                                           (uint32_t)file };
    int code = stk__data_file_read(files, place, head, err);
    if (code)
        stk__error_prefix(err, "'%s': ", files->item[file].path);
    bool is_large = !code && all > sizeof head && !memchr(head, '\n', sizeof head);
    *group_rows = is_large ? 1 : STK__GROUP_ROWS;
    return code;
}

static int scan_file(const void *context, struct stk__data_files *files, size_t file,
                     struct stk__record_index *out, struct stk_error *err)
{
    const struct line_source *source = context;
    struct scan s = { .piece = { .skips_blank = source->skips_blank },
                      .blank = source->skips_blank ? &source->blank[file] : NULL,
                      .index = out };
    struct stk__file_window w;
    int code = choose_group(files, file, &s.group_rows, err);
    if (code)
        return code;
    code = stk__file_window_open(&w, files, file, 0, err);
    while (!code) {
        code = add_lines(&w, &s);
        if (code || w.is_last)
            break;
        code = stk__file_window_move(&w, s.piece.at);
    }
    stk__file_window_close(&w);
    if (!code && stk__record_index_close(out, files->item[file].bytes))
        code = stk__out_of_memory(err);
    if (s.blank && s.blank->n)
        stk__record_index_keep_private(out);
    return code;
}

static uint64_t count_lines(const void *context, const uint8_t *data, size_t bytes)
{
    const struct line_source *source = context;
    struct piece piece = { data, bytes, 0, source->skips_blank, true, 0 };
    struct found line;
    uint64_t n = 0;
    while (next_line(&piece, &line))
        n++;
    return n;
}

static int find_lines(struct line_source *source, const char *home, struct stk_error *err)
{
    const uint8_t rules[] = { source->skips_blank, STK__GROUP_ROWS, STK__LARGE_ROW / 256 };
    const struct stk__record_scan scan = { .scan = scan_file,
                                           .context = source,
                                           .format = "lines",
                                           .parameters = stk__hash_bytes(0, rules, sizeof rules),
                                           .home = home };
    int code = stk__row_groups_open(&source->found, &source->list->paths, &scan, err);
    for (size_t i = 0; !code && i < source->list->paths.n; i++) {
        int group_rows;
        code = choose_group(source->found.groups->files, i, &group_rows, err);
        if (!code)
            code = stk__row_groups_count(&source->found, i, group_rows, count_lines, source, err);
    }
    return code;
}

/* ---- opening ---- */

static void close_lines(void *state)
{
    struct line_source *source = state;
    if (!source)
        return;
    stk__row_groups_free(&source->found);
    for (size_t i = 0; source->blank && i < source->list->paths.n; i++)
        free(source->blank[i].item);
    free(source->blank);
    stk__block_files_free(source->list);
    free(source);
}

static int open_source(const struct lines *p, struct line_source *source, struct stk_error *err)
{
    const struct stk__block_options options = { .noun = "line",
                                                .origin = 1,
                                                .compression =
                                                    (enum stk__compression)p->compression,
                                                .most_bytes = MAX_LINE };
    bool is_stream = false;
    int code = stk__block_files_open(&p->file, &options, &source->list, err);
    if (!code)
        code = stk__block_files_are_stream(source->list, &is_stream, err);
    if (code || is_stream || p->file.is_word)
        return code;
    if (source->skips_blank &&
        !(source->blank = calloc(source->list->paths.n + 1, sizeof *source->blank)))
        return stk__out_of_memory(err);
    return find_lines(source, p->index, err);
}

static int open_files(const struct lines *p, bool skips_blank, void **state, struct stk_error *err)
{
    struct line_source *source = calloc(1, sizeof *source);
    if (!source)
        return stk__out_of_memory(err);
    source->skips_blank = skips_blank;
    int code = open_source(p, source, err);
    if (code)
        close_lines(source);
    else
        *state = source;
    return code;
}

static int open_lines(const void *given, struct stk_arena *arena, void **state,
                      struct stk_error *err)
{
    (void)arena;
    return open_files(given, false, state, err);
}

static int open_filled_lines(const void *given, struct stk_arena *arena, void **state,
                             struct stk_error *err)
{
    (void)arena;
    return open_files(given, true, state, err);
}

static size_t held_bytes(const void *opened)
{
    const struct line_source *source = opened;
    size_t bytes = stk__block_files_bytes(source->list) + stk__row_groups_bytes(&source->found);
    for (size_t i = 0; source->blank && i < source->list->paths.n; i++)
        bytes += sizeof *source->blank + source->blank[i].cap * sizeof *source->blank[i].item;
    return bytes;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    inf->out->n_fields = 1;
    inf->out->field[0] = (struct stk_field){
        .name = "text", .kind = STK_BYTES, .dtype = STK_U8, .flags = STK_FIELD_TEXT
    };
    inf->from[0] = -1;
    return STK_OK;
}

/* ---- as a stream ---- */

struct run {
    struct stk__stream_run stream;
    size_t scanned; /* behind the start of the next row; no newline before */
};

/* Appends the row that is `len` bytes long, before `n_ends` bytes of newline; the caller takes the
 * reference to the block. */
static void add_row(struct run *r, size_t len, size_t n_ends, struct stk__chunk *out)
{
    struct stk__block_reader *blocks = &r->stream.blocks;
    bool has_return = n_ends && len && stk__block_reader_data(blocks)[len - 1] == '\r';
    out->column[0].span[out->n++] = stk__block_reader_cut(blocks, len - has_return, len + n_ends);
    r->scanned = 0;
}

/* Appends the rows that are complete in the block. */
static void add_rows(struct run *r, struct stk__chunk *out)
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
static void finish_file(struct run *r, struct stk__chunk *out)
{
    size_t left = stk__block_reader_left(&r->stream.blocks);
    if (left) {
        add_row(r, left, 0, out);
        stk__buffer_ref(r->stream.blocks.block);
    }
    stk__block_reader_close(&r->stream.blocks);
}

static int advance(void *run, struct stk__chunk *out, struct stk_error *err)
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

static int begin(const struct stk__source_start *b, void **run, struct stk_error *err)
{
    const struct line_source *source = b->state;
    return stk__stream_begin(b->pool, source->list, advance, sizeof(struct run), run, err);
}

/* ---- at random ---- */

static int64_t count(const void *state)
{
    return stk__row_groups_total(&((const struct line_source *)state)->found);
}

static bool is_stream(const void *state)
{
    return !((const struct line_source *)state)->found.groups;
}

static bool is_lasting(const void *state)
{
    return stk__block_files_are_lasting(((const struct line_source *)state)->list);
}

static int n_places(const void *state)
{
    (void)state;
    return 1;
}

static void locate(const void *state, int n, const uint64_t *index, struct stk__file_place *out)
{
    stk__row_groups_locate(&((const struct line_source *)state)->found, n, index, out);
}

static struct stk__data_files *files(const void *state)
{
    return ((const struct line_source *)state)->found.groups->files;
}

static const uint64_t *first_rows(const void *state, size_t *n_files)
{
    const struct line_source *source = state;
    *n_files = source->found.groups->files->n;
    return source->found.first_row;
}

static void put_run(struct stk_rows *r, const struct stk__row_run *run)
{
    const struct line_source *source = r->state;
    struct piece piece = { run->data, run->bytes, 0, source->skips_blank, true, 0 };
    struct found line;
    for (uint64_t i = 0; i < run->first && next_line(&piece, &line); i++)
        ;
    for (int i = run->from; i < run->from + run->n; i++) {
        if (next_line(&piece, &line))
            r->out[0].span[i] =
                (struct stk_span){ (uint8_t *)(uintptr_t)run->data + line.start, line.bytes,
                                   r->inside->fetched[run->from].owner };
        else
            stk_rows_fail(r, i, STK_DATA,
                          "the line is gone: the file was changed after it was opened");
    }
}

static int rows(struct stk_rows *r, const uint64_t *index)
{
    const struct line_source *source = r->state;
    for (int i = 0; i < r->n;) {
        if (r->mask[i] != STK_LIVE) {
            i++;
            continue;
        }
        struct stk__row_run run = stk__row_groups_run(&source->found, r, index, i);
        put_run(r, &run);
        i += run.n;
    }
    return STK_OK;
}

/* ---- messages ---- */

/* The line that a row of a file is, counted from 1. */
static uint64_t line_of(const struct line_source *source, size_t file, uint64_t row)
{
    const struct blank_list *list = source->blank ? &source->blank[file] : NULL;
    size_t low = 0, high = list ? list->n : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->item[middle].row <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return row + 1 + (low ? list->item[low - 1].n : 0);
}

static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    const struct line_source *source = state;
    const struct stk__row_groups *found = &source->found;
    if (!found->groups) {
        stk__block_files_describe(source->list, index, text, size);
        return;
    }
    size_t n = found->groups->files->n;
    if (index >= found->first_row[n]) {
        snprintf(text, size, "?");
        return;
    }
    size_t file = stk__file_of(found->first_row, n, index, 0);
    uint64_t line = line_of(source, file, index - found->first_row[file]);
    snprintf(text, size, "%s, line %llu", found->groups->files->item[file].path,
             (unsigned long long)line);
}

/* clang-format off */
#define LINE_SOURCE                                                                                \
    { .count = count, .is_stream = is_stream, .is_lasting = is_lasting, .n_places = n_places,      \
      .locate = locate, .files = files, .first_rows = first_rows, .rows = rows, STK__STREAM_RUN,   \
      .begin = begin, .describe = describe }
/* clang-format on */

const struct stk__op stk__filled_lines = {
    .decl = { "lines", 1, "The lines of text files that are not blank.", "", params,
              sizeof(struct lines) },
    .flags = STK__OP_ROOT,
    .open = open_filled_lines,
    .close = close_lines,
    .held_bytes = held_bytes,
    .infer = infer,
    .source = LINE_SOURCE,
};

const struct stk__op stk__op_lines = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "lines", 1, "The lines of text files.",
              "One field `text` for every line, without its end (`\\n` or `\\r\\n`). A last line "
              "without an end counts; an empty line is an empty text. Files are read one after "
              "the other in the order given, those of a pattern in sorted order. Any line can be "
              "reached, so len, shuffle() and shard work on the whole: when the dataset is made, "
              "files are read once to find where lines begin, and for large files that is "
              "remembered (index).\n"
              "\n"
              "    lines('words.txt').shuffle().batch(32)\n"
              "    lines(['a.txt', 'b.txt']).shuffle(1000).batch(32)\n"
              "\n"
              "Files that gzip, zlib or zstd have compressed are read too; what they are is seen "
              "by their first bytes. `'-'` is standard input, and a path may be that of a named "
              "pipe: lines are handed on as they come, and the data may never end. Standard input "
              "can be read once. All of these are streams: they come in order and have to be read "
              "from the start, so shuffle needs a buffer size there.\n"
              "\n"
              "A missing file and a line above 16 MiB are errors when the dataset is made. In a "
              "stream such a line, a failing read and damaged or truncated compressed data end it "
              "with an error that names file and place. tf.data's TextLineDataset differs: it "
              "removes every "
              "`\\r`, not only the one before `\\n`, and takes a truncated gzip file for a whole "
              "one.",
              params, sizeof(struct lines) },
    .flags = STK__OP_ROOT,
    .open = open_lines,
    .close = close_lines,
    .held_bytes = held_bytes,
    .infer = infer,
    .source = LINE_SOURCE,
};
