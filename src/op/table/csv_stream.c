/* SPDX-License-Identifier: Apache-2.0 */
/* csv_stream.c: rows out of a stream of bytes: compressed files, pipes, standard input.
 *
 * Whole rows of a block are found first, then split and converted as those of files are. Texts hold
 * a reference to their block, or to the buffer of copies that came with it.
 */
#include "op/table/csv_stream.h"

#include "base/error.h"
#include "base/memory/buffer.h"
#include "base/rows/chunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct stk__stream_run stream;
    const struct stk__csv_table *table;
    struct stk_arena arena; /* of work */
    struct stk__csv_work work;
    struct stk_buffer *copies;
    size_t copied; /* bytes of copies */
    uint64_t line; /* line ends before the next row */
    bool is_begun; /* the file's header was passed */
};

/* Copies of one run of rows take less than the rows themselves. */
static void *copy_room(void *run, size_t bytes)
{
    struct run *r = run;
    const struct stk__block_reader *blocks = &r->stream.blocks;
    if (!r->copies && !(r->copies = stk__buffer_new(blocks->pool, stk__block_reader_left(blocks))))
        return NULL;
    void *room = r->copies->data + r->copied;
    r->copied += bytes;
    return room;
}

static void drop_copies(struct run *r)
{
    stk__buffer_unref(r->copies);
    r->copies = NULL;
    r->copied = 0;
}

void stk__csv_stream_end(void *run)
{
    struct run *r = run;
    drop_copies(r);
    stk__arena_free(&r->arena);
    stk__stream_end(r);
}

/* ---- bytes ---- */

static void pass(struct run *r, size_t bytes)
{
    struct stk__block_reader *blocks = &r->stream.blocks;
    bool has_more = bytes < stk__block_reader_left(blocks);
    r->line += stk__count_line_ends(stk__block_reader_data(blocks), bytes, has_more);
    blocks->row += bytes;
}

/* Passes the header, which must be that of the first file; reads on if it is not all there. */
static int begin_file(struct run *r, struct stk_error *err)
{
    struct stk__block_reader *blocks = &r->stream.blocks;
    const struct stk__csv_table *table = r->table;
    struct stk__csv_head head = { .bytes = stk__block_reader_data(blocks),
                                  .n = stk__block_reader_left(blocks),
                                  .is_all = blocks->is_ended };
    if (!head.bytes || !stk__csv_head_find(&table->format, &head))
        return stk__block_reader_fill(blocks, err);
    int code = stk__csv_check_header(table, blocks->file, &head, err);
    if (code)
        return code;
    pass(r, head.begin);
    r->is_begun = true;
    return STK_OK;
}

/* Bytes of whole rows, up to n, whose number is set; where there is none, of empty lines and comments
 * before the first. The last byte is kept for a \n that may follow. */
static size_t find_rows(const struct run *r, int n, int *n_rows)
{
    uint32_t mark[STK__CSV_LEAST_ROOM];
    struct stk__csv_scan scan;
    struct stk__csv_row row;
    const struct stk__block_reader *blocks = &r->stream.blocks;
    size_t bytes = stk__block_reader_left(blocks), end = 0;
    stk__csv_scan_begin(&scan, &r->table->format.dialect, false, mark, STK__CSV_LEAST_ROOM);
    stk__csv_scan_data(&scan, stk__block_reader_data(blocks), bytes);
    for (*n_rows = 0; *n_rows < n && stk__csv_next_row(&scan, &row); ++*n_rows) {
        bool is_whole = row.is_ended && scan.at < bytes;
        if (!is_whole && !blocks->is_ended)
            return *n_rows ? end : row.start;
        end = scan.at;
    }
    if (*n_rows)
        return end;
    return scan.at < bytes ? scan.at : bytes - (bytes > 0);
}

/* ---- rows ---- */

/* A text gets an owner: its block, the copies, or a buffer of its own where it is a default. */
static bool own_text(struct run *r, struct stk_span *span)
{
    const uint8_t *copies = r->copies ? r->copies->data : NULL;
    bool is_copy = copies && span->data >= copies && span->data <= copies + r->copied;
    struct stk_buffer *owner = span->owner ? span->owner : is_copy ? r->copies : NULL;
    if (owner) {
        span->owner = stk__buffer_ref(owner);
        return true;
    }
    owner = stk__buffer_new(r->stream.blocks.pool, span->bytes);
    if (owner)
        memcpy(owner->data, span->data, span->bytes);
    *span = (struct stk_span){ owner ? owner->data : NULL, owner ? span->bytes : 0, owner };
    return owner != NULL;
}

static bool own_texts(struct run *r, struct stk__chunk *out, int n)
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

static void mark_bad(struct run *r, struct stk__chunk *out, int i)
{
    char text[STK_ERROR_TEXT], cause[STK_ERROR_TEXT - 64];
    uint32_t start = r->work.result[i].start;
    const uint8_t *rows = stk__block_reader_data(&r->stream.blocks);
    uint64_t line = r->line + stk__count_line_ends(rows, start, true) + 1;
    stk__csv_explain(r->table, &r->work, i, cause, sizeof cause);
    snprintf(text, sizeof text, "line %llu: %s", (unsigned long long)line, cause);
    stk__chunk_fault(out, out->n + i, STK_DATA, "csv", text);
}

/* Converts the rows that were split, and appends them. */
static int finish_block(struct run *r, struct stk__chunk *out, struct stk_error *err)
{
    struct stk__csv_work *work = &r->work;
    int n = work->n;
    stk__csv_put_rows(r->table, work, out->column, out->n);
    work->n = 0;
    if (!own_texts(r, out, n)) {
        stk__chunk_drop(out, out->n, n);
        return stk__out_of_memory(err);
    }
    for (int i = 0; i < n; i++)
        if (work->result[i].status)
            mark_bad(r, out, i);
    out->n += n;
    r->stream.blocks.file_row += n;
    r->stream.blocks.ordinal += n;
    return STK_OK;
}

/* Splits and converts the rows in the next bytes, and passes those that were appended. */
static int add_rows(struct run *r, size_t bytes, int n_rows, struct stk__chunk *out,
                    struct stk_error *err)
{
    const struct stk__block_reader *blocks = &r->stream.blocks;
    const struct stk__csv_origin origin = { .owner = blocks->block };
    size_t done_bytes = 0;
    int code = STK_OK;
    r->work.n = 0;
    stk__csv_scan_data(&r->work.scan, stk__block_reader_data(blocks), bytes);
    for (int done = 0, n; done < n_rows && !code; done += n) {
        n = stk__csv_work_split(&r->work, n_rows - done, &origin);
        code = n > 0 ? finish_block(r, out, err) : stk__out_of_memory(err);
        done_bytes = code ? done_bytes : r->work.scan.at;
    }
    pass(r, done_bytes);
    drop_copies(r);
    return code;
}

static int advance(void *run, struct stk__chunk *out, struct stk_error *err)
{
    struct run *r = run;
    struct stk__block_reader *blocks = &r->stream.blocks;
    int n_rows = 0;
    if (!blocks->stream) {
        r->line = 0;
        r->is_begun = false;
        return stk__block_reader_open(blocks, err);
    }
    if (!r->is_begun)
        return begin_file(r, err);
    size_t bytes = find_rows(r, out->cap - out->n, &n_rows);
    if (n_rows)
        return add_rows(r, bytes, n_rows, out, err);
    if (!blocks->is_ended) {
        pass(r, bytes);
        return stk__block_reader_fill(blocks, err);
    }
    stk__block_reader_close(blocks);
    return STK_OK;
}

int stk__csv_stream_begin(const struct stk__source_start *b, void **run, struct stk_error *err)
{
    const struct stk__csv_table *table = b->state;
    int code = stk__stream_begin(b->pool, table->list, advance, sizeof(struct run), run, err);
    if (code)
        return code;
    struct run *r = *run;
    r->table = table;
    stk__arena_init(&r->arena, 1 << 14);
    if (!stk__csv_work_begin(&r->work, table, stk__csv_take, &r->arena)) {
        stk__csv_stream_end(r);
        *run = NULL;
        return stk__out_of_memory(err);
    }
    r->work.split.alloc = copy_room;
    r->work.split.ctx = r;
    return STK_OK;
}

/* ---- the beginning of a file that is a stream ---- */

static int fill_head(const struct stk__csv_table *table, struct stk__block_reader *blocks,
                     size_t least, struct stk__csv_head *out, struct stk_error *err)
{
    int code = stk__block_reader_open(blocks, err);
    for (bool is_found = false; !code && !is_found;) {
        code = stk__block_reader_fill(blocks, err);
        *out = (struct stk__csv_head){ .bytes = stk__block_reader_data(blocks),
                                       .n = stk__block_reader_left(blocks),
                                       .is_all = blocks->is_ended };
        is_found = (out->is_all || out->n >= least) && stk__csv_head_find(&table->format, out);
    }
    return code;
}

int stk__csv_stream_head(const struct stk__csv_table *table, size_t least,
                         struct stk__csv_head *out, struct stk_error *err)
{
    struct stk__block_reader blocks;
    struct stk__pool *pool = stk__pool_new();
    if (!pool)
        return stk__out_of_memory(err);
    stk__block_reader_begin(&blocks, table->list, pool);
    stk__pool_unref(pool);
    int code = fill_head(table, &blocks, least, out, err);
    uint8_t *own = code ? NULL : calloc(out->n + STK__CSV_TAIL, 1);
    if (own)
        memcpy(own, out->bytes, out->n);
    else if (!code)
        code = stk__out_of_memory(err);
    out->bytes = own;
    stk__block_reader_end(&blocks);
    return code;
}
