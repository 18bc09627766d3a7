/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c: the lines of text files, as a stream.
 *
 * Files are read in blocks; rows are spans that hold a reference to their block. What a block ends
 * in is copied to the front of the next one:
 *
 *     block  |one\ntwo\nthr|           next  |three\nfour\n…
 *                      ^row ^filled          ^row  (copied)
 */
#define _GNU_SOURCE
#include "base/buffer.h"
#include "base/error.h"
#include "io/glob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 256 << 10, LEAST_READ = 16 << 10, MAX_LINE = 16 << 20 };

struct lines {
    struct stk_texts file;
};

/* first: the ordinal of each file's first line once a run has come so far, else -1; only for
 * messages. */
struct text_files {
    struct stk__paths paths;
    atomic_llong *first; /* pairs with itself: relaxed, a memo */
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(lines, file, 1, INT32_MAX, STK_REQUIRED,
                  "a path or a pattern, or a list of them"),
    STK_ROWS_END,
};

static int check_file(const char *path, struct stk_error *err)
{
    struct stat st;
    if (stat(path, &st) || access(path, R_OK))
        return stk_fail(err, STK_IO, "cannot read '%s': %s", path, strerror(errno));
    return STK_OK;
}

/* The files of one argument, behind those of the arguments before it; a pattern's are sorted. */
static int add_files(const char *pattern, struct stk__paths *paths, struct stk_error *err)
{
    struct stk__paths found = { 0 };
    int code = stk__glob(pattern, &found, err);
    if (!code && stk__paths_sort(&found))
        code = stk__out_of_memory(err);
    for (size_t i = 0; i < found.n && !code; i++) {
        const char *path = stk__paths_at(&found, i);
        code = check_file(path, err);
        if (!code && stk__paths_add(paths, path, strlen(path)))
            code = stk__out_of_memory(err);
    }
    stk__paths_free(&found);
    return code;
}

static void close_lines(void *state)
{
    struct text_files *files = state;
    if (!files)
        return;
    stk__paths_free(&files->paths);
    free(files->first);
    free(files);
}

static int open_lines(const void *given, struct stk_arena *arena, void **state,
                      struct stk_error *err)
{
    const struct lines *p = given;
    struct text_files *files = calloc(1, sizeof *files);
    (void)arena;
    if (!files)
        return stk__out_of_memory(err);
    int code = STK_OK;
    for (int i = 0; i < p->file.n && !code; i++)
        code = add_files(p->file.item[i], &files->paths, err);
    if (!code && !(files->first = malloc(files->paths.n * sizeof *files->first)))
        code = stk__out_of_memory(err);
    if (code) {
        close_lines(files);
        return code;
    }
    for (size_t i = 0; i < files->paths.n; i++)
        atomic_init(&files->first[i], -1);
    *state = files;
    return STK_OK;
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

struct reader {
    const struct text_files *files;
    struct stk__pool *pool;
    struct stk_buffer *block;
    /* In the block: start of the next row, no newline before, end of data. */
    size_t row, scanned, filled;
    size_t file;           /* number of the file that is open or comes next */
    int fd;                /* -1: none is open */
    uint64_t offset;       /* in the file, of the end of the data */
    uint64_t total;        /* bytes read since begin or rewind */
    int64_t line, ordinal; /* lines before the next row: in the file, in all */
};

static int rewind_lines(void *run, struct stk_error *err)
{
    struct reader *r = run;
    (void)err;
    if (r->fd >= 0)
        close(r->fd);
    stk__buffer_unref(r->block);
    *r = (struct reader){ .files = r->files, .pool = r->pool, .fd = -1 };
    return STK_OK;
}

static int begin(const void *given, const void *state, void **run, struct stk_error *err)
{
    struct reader *r = calloc(1, sizeof *r);
    (void)given;
    if (!r)
        return stk__out_of_memory(err);
    r->files = state;
    r->fd = -1;
    r->pool = stk__pool_new();
    if (!r->pool) {
        free(r);
        return stk__out_of_memory(err);
    }
    *run = r;
    return STK_OK;
}

static void end(void *run)
{
    struct reader *r = run;
    rewind_lines(r, NULL);
    stk__pool_unref(r->pool);
    free(r);
}

static const char *file_name(const struct reader *r)
{
    return stk__paths_at(&r->files->paths, r->file);
}

static int open_next(struct reader *r, struct stk_error *err)
{
    r->fd = open(file_name(r), O_RDONLY | O_CLOEXEC);
    if (r->fd < 0)
        return stk_fail(err, STK_IO, "cannot open '%s': %s", file_name(r), strerror(errno));
    posix_fadvise(r->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    r->offset = 0;
    r->line = 0;
    atomic_store_explicit(&r->files->first[r->file], r->ordinal, memory_order_relaxed);
    return STK_OK;
}

/* Checks the length of the row at hand, newline not counted. */
static int check_length(const struct reader *r, size_t len, struct stk_error *err)
{
    if (len <= MAX_LINE)
        return STK_OK;
    return stk_fail(err, STK_DATA, "'%s', line %lld (at byte %llu) is longer than %d MiB",
                    file_name(r), (long long)r->line + 1,
                    (unsigned long long)(r->offset - (r->filled - r->row)), MAX_LINE >> 20);
}

/* Makes room to read into: a new block with the unfinished row in front, twice the row's size if
 * need be. */
static int make_room(struct reader *r, struct stk_error *err)
{
    size_t kept = r->filled - r->row;
    if (r->block && r->block->capacity - r->filled >= LEAST_READ)
        return STK_OK;
    int code = check_length(r, kept, err);
    if (code)
        return code;
    struct stk_buffer *block =
        stk__buffer_new(r->pool, kept * 2 > BLOCK_BYTES ? kept * 2 : BLOCK_BYTES);
    if (!block)
        return stk__out_of_memory(err);
    if (kept)
        memcpy(block->data, r->block->data + r->row, kept);
    stk__buffer_unref(r->block);
    r->block = block;
    r->scanned -= r->row;
    r->filled = kept;
    r->row = 0;
    return STK_OK;
}

/* Reads more of the file. *is_end: there was no more. */
static int read_more(struct reader *r, bool *is_end, struct stk_error *err)
{
    int code = make_room(r, err);
    if (code)
        return code;
    ssize_t got;
    do
        got = read(r->fd, r->block->data + r->filled, r->block->capacity - r->filled);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return stk_fail(err, STK_IO, "cannot read '%s' at byte %llu: %s", file_name(r),
                        (unsigned long long)r->offset, strerror(errno));
    *is_end = got == 0;
    r->filled += (size_t)got;
    r->offset += (uint64_t)got;
    r->total += (uint64_t)got;
    return STK_OK;
}

/* Appends the row that ends at `stop`; the caller takes the reference to the block. */
static void add_row(struct reader *r, size_t stop, struct stk_chunk *out)
{
    size_t len = stop - r->row;
    const uint8_t *row = r->block->data + r->row;
    if (len && row[len - 1] == '\r' && stop < r->filled)
        len--;
    out->column[0].span[out->n++] = (struct stk_span){ r->block->data + r->row, len, r->block };
    r->line++;
    r->ordinal++;
}

/* Appends the rows that are complete in the block. */
static int add_rows(struct reader *r, struct stk_chunk *out, struct stk_error *err)
{
    int before = out->n, code = STK_OK;
    while (out->n < out->cap && r->scanned < r->filled) {
        const uint8_t *data = r->block->data;
        const uint8_t *newline = memchr(data + r->scanned, '\n', r->filled - r->scanned);
        size_t stop = newline ? (size_t)(newline - data) : r->filled;
        if (newline && (code = check_length(r, stop - r->row, err)))
            break;
        r->scanned = stop + (newline != NULL);
        if (newline) {
            add_row(r, stop, out);
            r->row = r->scanned;
        }
    }
    if (out->n > before)
        atomic_fetch_add_explicit(&r->block->refs, out->n - before, memory_order_relaxed);
    return code;
}

/* What is left when a file ends is its last line. */
static int finish_file(struct reader *r, struct stk_chunk *out, struct stk_error *err)
{
    int code = check_length(r, r->filled - r->row, err);
    if (code)
        return code;
    if (r->row < r->filled) {
        add_row(r, r->filled, out);
        stk__buffer_ref(r->block);
    }
    r->row = r->scanned = r->filled;
    close(r->fd);
    r->fd = -1;
    r->file++;
    return STK_OK;
}

/* Does one thing: opens the next file, appends rows, or reads and ends a file. */
static int advance(struct reader *r, struct stk_chunk *out, struct stk_error *err)
{
    bool is_end = false;
    if (r->fd < 0)
        return r->file < r->files->paths.n ? open_next(r, err) : STK_END;
    if (r->scanned < r->filled)
        return add_rows(r, out, err);
    int code = read_more(r, &is_end, err);
    return !code && is_end ? finish_file(r, out, err) : code;
}

/* Stops after about one block, so that long lines do not pile up in a chunk. What goes wrong
 * behind rows that were appended goes wrong again in the next call, which reports it. */
static int next(void *run, struct stk_chunk *out, struct stk_error *err)
{
    struct reader *r = run;
    int before = out->n, code = STK_OK;
    uint64_t start = r->total;
    while (!code && out->n < out->cap && (out->n == before || r->total - start < BLOCK_BYTES))
        code = advance(r, out, err);
    return out->n > before ? STK_OK : code;
}

/* Later files are described once their first line has been read; until then by the file before. */
static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    const struct text_files *files = state;
    long long line = (long long)index;
    for (size_t i = files->paths.n; i-- > 0;) {
        long long first = i ? atomic_load_explicit(&files->first[i], memory_order_relaxed) : 0;
        if (first < 0 || first > line)
            continue;
        snprintf(text, size, "%s, line %lld", stk__paths_at(&files->paths, i), line - first + 1);
        return;
    }
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
              "A missing file is an error when the dataset is made. A line above 16 MiB and a "
              "failing read end the stream with an error that names file, line and byte. "
              "tf.data's TextLineDataset differs: it removes every `\\r`, not only the one "
              "before `\\n`.",
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
