/* SPDX-License-Identifier: Apache-2.0 */
/* csv_stream.c: rows out of a stream of bytes: compressed files, pipes, standard input.
 *
 * Whole rows of a block are found first, then split and converted as those of files are. What a
 * block ends in is copied to the front of the next one. Texts hold a reference to their block, or
 * to the buffer of copies that came with it.
 */
#define _GNU_SOURCE
#include "op/csv_stream.h"

#include "base/buffer.h"
#include "base/chunk.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20, LEAST_READ = 64 << 10 };

struct reader {
    const struct stk__csv_table *table;
    struct stk__pool *pool;
    struct stk_arena arena; /* of work */
    struct stk__csv_work work;
    struct stk__byte_stream *stream; /* NULL: none is open */
    size_t file;                     /* that is open or comes next */
    struct stk_buffer *block, *copies;
    size_t copied;     /* bytes of copies */
    size_t at, filled; /* in the block: the next row, and the end of the data */
    uint64_t line;     /* line ends before `at` */
    uint64_t ordinal;
    bool is_ended, is_begun; /* the file has no more bytes; its header was passed */
};

static void *take(void *arena, size_t bytes)
{
    return stk__arena_take(arena, bytes);
}

/* Copies of one run of rows take less than the rows themselves. */
static void *copy_room(void *run, size_t bytes)
{
    struct reader *r = run;
    if (!r->copies && !(r->copies = stk__buffer_new(r->pool, r->filled - r->at)))
        return NULL;
    void *room = r->copies->data + r->copied;
    r->copied += bytes;
    return room;
}

int stk__csv_stream_rewind(void *run, struct stk_error *err)
{
    struct reader *r = run;
    (void)err;
    stk__byte_stream_close(r->stream);
    stk__buffer_unref(r->block);
    stk__buffer_unref(r->copies);
    r->stream = NULL;
    r->block = r->copies = NULL;
    r->file = r->at = r->filled = 0;
    r->ordinal = 0;
    r->copied = 0;
    return STK_OK;
}

void stk__csv_stream_end(void *run)
{
    struct reader *r = run;
    stk__csv_stream_rewind(r, NULL);
    if (r->pool)
        stk__pool_unref(r->pool);
    stk__arena_free(&r->arena);
    free(r);
}

int stk__csv_stream_begin(const void *given, const void *state, void **run, struct stk_error *err)
{
    struct reader *r = calloc(1, sizeof *r);
    (void)given;
    if (!r)
        return stk__out_of_memory(err);
    r->table = state;
    r->pool = stk__pool_new();
    stk__arena_init(&r->arena, 1 << 14);
    if (!r->pool || !stk__csv_work_begin(&r->work, r->table, take, &r->arena)) {
        stk__csv_stream_end(r);
        return stk__out_of_memory(err);
    }
    r->work.split.alloc = copy_room;
    r->work.split.ctx = r;
    *run = r;
    return STK_OK;
}

/* ---- bytes ---- */

static int open_next(struct reader *r, struct stk_error *err)
{
    const struct stk__byte_stream_options options = { .path =
                                                          stk__paths_at(&r->table->paths, r->file),
                                                      .compression = r->table->compression };
    r->at = r->filled; /* rows may point to what is before */
    r->line = 0;
    r->is_ended = r->is_begun = false;
    atomic_store_explicit(&r->table->first[r->file], (long long)r->ordinal, memory_order_relaxed);
    return stk__byte_stream_open(&options, &r->stream, err);
}

static int make_room(struct reader *r, struct stk_error *err)
{
    size_t kept = r->filled - r->at;
    char name[300];
    if (r->block && r->block->capacity - r->filled >= LEAST_READ)
        return STK_OK;
    if (kept > 2 * STK__CSV_MAX_ROW)
        return stk_fail(
            err, STK_DATA, "%s: the row at line %llu is longer than %d MiB",
            stk__byte_stream_name(stk__paths_at(&r->table->paths, r->file), name, sizeof name),
            (unsigned long long)r->line + 1, STK__CSV_MAX_ROW >> 20);
    struct stk_buffer *block =
        stk__buffer_new(r->pool, 2 * kept > BLOCK_BYTES ? 2 * kept : BLOCK_BYTES);
    if (!block)
        return stk__out_of_memory(err);
    if (kept)
        memcpy(block->data, r->block->data + r->at, kept);
    stk__buffer_unref(r->block);
    r->block = block;
    r->filled = kept;
    r->at = 0;
    return STK_OK;
}

static int read_more(struct reader *r, struct stk_error *err)
{
    size_t got = 0;
    int code = make_room(r, err);
    if (code)
        return code;
    code = stk__byte_stream_read(r->stream, r->block->data + r->filled,
                                 r->block->capacity - r->filled, &got, err);
    r->filled += got;
    r->is_ended = code == STK_END;
    return code == STK_END ? STK_OK : code;
}

static void pass(struct reader *r, size_t bytes)
{
    bool has_more = r->at + bytes < r->filled;
    r->line += stk__count_line_ends(r->block->data + r->at, bytes, has_more);
    r->at += bytes;
}

/* ---- rows ---- */

/* Passes the header, which must be that of the first file; reads on if it is not all there. */
static int begin_file(struct reader *r, struct stk_error *err)
{
    const struct stk__csv_table *table = r->table;
    struct stk__csv_head head = { .bytes = r->block ? r->block->data + r->at : NULL,
                                  .n = r->filled - r->at,
                                  .is_all = r->is_ended };
    if (!r->block || !stk__csv_head_find(&table->format, &head))
        return read_more(r, err);
    size_t len = head.header.stop - head.header.start;
    const char *path = stk__paths_at(&table->paths, r->file);
    if (table->format.has_header && !head.has_names)
        return stk_fail(err, STK_DATA, "'%s' has no header (header=false says so)", path);
    if (table->format.has_header &&
        (len != table->header.len ||
         memcmp(head.bytes + head.header.start, table->header.text, len)))
        return stk_fail(err, STK_DATA, "the header of '%s' is not that of '%s'", path,
                        stk__paths_at(&table->paths, 0));
    pass(r, head.begin);
    r->is_begun = true;
    return STK_OK;
}

/* Bytes of whole rows from `at` on, up to n rows, whose number is set. */
static size_t find_rows(const struct reader *r, int n, int *n_rows)
{
    uint32_t mark[STK__CSV_LEAST_ROOM];
    struct stk__csv_scan scan;
    struct stk__csv_row row;
    size_t bytes = r->filled - r->at, end = 0;
    stk__csv_scan_begin(&scan, &r->table->format.dialect, false, mark, STK__CSV_LEAST_ROOM);
    stk__csv_scan_data(&scan, r->block->data + r->at, bytes);
    for (*n_rows = 0; *n_rows < n && stk__csv_next_row(&scan, &row); ++*n_rows) {
        /* A row may go on behind the block, and a \r at its end may be followed by \n. */
        bool is_whole = row.is_ended && scan.at < bytes;
        if (!is_whole && !r->is_ended)
            return end;
        end = scan.at;
    }
    return end;
}

/* A text gets an owner: its block, the copies, or a buffer of its own where it is a default. */
static bool own_text(struct reader *r, struct stk_span *span)
{
    const uint8_t *copies = r->copies ? r->copies->data : NULL;
    bool is_copy = copies && span->data >= copies && span->data <= copies + r->copied;
    struct stk_buffer *owner = span->owner ? span->owner : is_copy ? r->copies : NULL;
    if (owner) {
        span->owner = stk__buffer_ref(owner);
        return true;
    }
    owner = stk__buffer_new(r->pool, span->bytes);
    if (owner)
        memcpy(owner->data, span->data, span->bytes);
    *span = (struct stk_span){ owner ? owner->data : NULL, owner ? span->bytes : 0, owner };
    return owner != NULL;
}

static bool own_texts(struct reader *r, struct stk_chunk *out, int n)
{
    bool is_owned = true;
    for (int f = 0; f < r->table->n_fields; f++) {
        if (r->table->field[f].kind != STK_BYTES)
            continue;
        struct stk_span *span = out->column[f].span + out->n;
        for (int i = 0; i < n; i++) {
            if (r->work.result[i].status)
                span[i] = (struct stk_span){ 0 };
            else
                is_owned &= own_text(r, &span[i]);
        }
    }
    return is_owned;
}

static void mark_bad(struct reader *r, struct stk_chunk *out, int i)
{
    char text[STK_ERROR_TEXT], cause[STK_ERROR_TEXT - 64];
    uint32_t start = r->work.result[i].start;
    uint64_t line = r->line + stk__count_line_ends(r->block->data + r->at, start, true) + 1;
    stk__csv_explain(r->table, &r->work, i, cause, sizeof cause);
    snprintf(text, sizeof text, "line %llu: %s", (unsigned long long)line, cause);
    out->mask[out->n + i] = STK_BAD;
    out->n_bad++;
    stk__fault_add(&out->faults, out->n + i, STK_DATA, "csv", text);
}

/* Converts the rows that were split, and appends them. */
static int finish_block(struct reader *r, struct stk_chunk *out, struct stk_error *err)
{
    struct stk__csv_work *work = &r->work;
    int n = work->n;
    stk__csv_put_rows(r->table, work, out->column, out->n);
    bool is_owned = own_texts(r, out, n);
    for (int i = 0; i < n; i++)
        if (work->result[i].status)
            mark_bad(r, out, i);
    out->n += n;
    r->ordinal += (uint64_t)n;
    work->n = 0;
    return is_owned ? STK_OK : stk__out_of_memory(err);
}

/* Splits and converts the rows in the next bytes. */
static int add_rows(struct reader *r, size_t bytes, int n_rows, struct stk_chunk *out,
                    struct stk_error *err)
{
    const struct stk__csv_origin origin = { .owner = r->block };
    int code = STK_OK;
    r->work.n = 0;
    stk__csv_scan_data(&r->work.scan, r->block->data + r->at, bytes);
    for (int done = 0, n; done < n_rows && !code; done += n) {
        n = stk__csv_work_split(&r->work, n_rows - done, &origin);
        if (n <= 0)
            return stk__out_of_memory(err);
        code = finish_block(r, out, err);
    }
    if (code)
        return code;
    pass(r, bytes);
    stk__buffer_unref(r->copies);
    r->copies = NULL;
    r->copied = 0;
    return STK_OK;
}

/* Does one thing: opens a file, passes its header, appends rows, reads on, or ends it. */
static int advance(struct reader *r, struct stk_chunk *out, struct stk_error *err)
{
    int n_rows = 0;
    if (!r->stream)
        return r->file < r->table->paths.n ? open_next(r, err) : STK_END;
    if (!r->is_begun)
        return begin_file(r, err);
    size_t bytes = find_rows(r, out->cap - out->n, &n_rows);
    if (n_rows)
        return add_rows(r, bytes, n_rows, out, err);
    if (!r->is_ended)
        return read_more(r, err);
    stk__byte_stream_close(r->stream);
    r->stream = NULL;
    r->file++;
    return STK_OK;
}

/* What goes wrong behind rows that were appended goes wrong again in the next call, which reports
 * it. */
int stk__csv_stream_next(void *run, struct stk_chunk *out, struct stk_error *err)
{
    struct reader *r = run;
    int before = out->n, code = STK_OK;
    while (!code && out->n == before)
        code = advance(r, out, err);
    if (code == STK_AGAIN)
        return STK_OK;
    return out->n > before ? STK_OK : code;
}

void stk__csv_stream_describe(const struct stk__csv_table *table, uint64_t index, char *text,
                              size_t size)
{
    long long row = (long long)index;
    for (size_t i = table->paths.n; i-- > 0;) {
        long long first = i ? atomic_load_explicit(&table->first[i], memory_order_relaxed) : 0;
        if (first < 0 || first > row)
            continue;
        snprintf(text, size, "%s, row %lld", stk__paths_at(&table->paths, i), row - first);
        return;
    }
}

/* ---- the beginning of a file that is a stream ---- */

int stk__csv_stream_head(const struct stk__csv_table *table, const char *path, size_t least,
                         struct stk__csv_head *out, struct stk_error *err)
{
    const struct stk__byte_stream_options options = { .path = path,
                                                      .compression = table->compression };
    struct stk__byte_stream *stream;
    size_t room = BLOCK_BYTES, got;
    *out = (struct stk__csv_head){ .bytes = malloc(room + 64) };
    int code = out->bytes ? stk__byte_stream_open(&options, &stream, err) : STK_MEMORY;
    if (!out->bytes)
        return stk__out_of_memory(err);
    if (code) {
        stk__csv_head_free(out);
        return code;
    }
    while (!code && room <= 4 * STK__CSV_MAX_ROW) {
        code = stk__byte_stream_read(stream, out->bytes + out->n, room - out->n, &got, err);
        out->n += got;
        out->is_all = code == STK_END;
        memset(out->bytes + out->n, 0, 64);
        if ((out->is_all || out->n >= least) && stk__csv_head_find(&table->format, out))
            break;
        if (out->n == room) {
            uint8_t *more = realloc(out->bytes, (room *= 2) + 64);
            code = more ? STK_OK : stk__out_of_memory(err);
            out->bytes = more ? more : out->bytes;
        }
    }
    stk__byte_stream_close(stream);
    if (!code && room > 4 * STK__CSV_MAX_ROW)
        code = stk_fail(err, STK_DATA, "'%s' has no header within its first %d MiB", path,
                        2 * STK__CSV_MAX_ROW >> 20);
    if (code && code != STK_END)
        stk__csv_head_free(out);
    return code == STK_END ? STK_OK : code;
}
