/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_array.c: which way a dataset of an HDF5 file is read.
 *
 *     small                                   held: read at once
 *     in one piece                            plain: where it lies
 *     in chunks, filters that we can undo     chunked, if its index can be read, else asked
 *     in chunks, other filters or types       lent: whole chunks by libhdf5, one thread at a time
 *     anything else                           foreign: elements by libhdf5, likewise
 *
 * The library would keep chunks, too, as many as it likes of each file: it is told to keep none.
 * Only what is foreign needs that, for as many bytes as are charged to the dataset.
 */
#define _GNU_SOURCE
#include "op/array/hdf5_array.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHUNKS = 1 << 26, TEXTS_AT_ONCE = 4096 };

struct making {
    const struct stk__array_source *source;
    const struct stk__hdf5_part *part;
    struct stk__hdf5_info info;
    struct stk__array *out;
};

/* Bytes of all values; UINT64_MAX if that is too many. */
static uint64_t all_bytes(const struct stk__grid *grid)
{
    uint64_t bytes = grid->item_bytes;
    for (int a = 0; a < grid->rank; a++)
        if (__builtin_mul_overflow(bytes, (uint64_t)grid->dims[a], &bytes))
            return UINT64_MAX;
    return bytes;
}

/* ---- held ---- */

static struct stk__chunk_box whole_box(const struct stk__grid *grid)
{
    struct stk__chunk_box box = { 0 };
    memcpy(box.size, grid->dims, sizeof box.size);
    return box;
}

/* What cannot be read is not held; then only the elements that are damaged are bad. */
static int hold(struct making *m, bool *is_held, struct stk_error *err)
{
    struct stk__grid *grid = &m->out->grid;
    uint64_t bytes = all_bytes(grid);
    struct stk__chunk_box box = whole_box(grid);
    struct stk_error ignored;
    *is_held = false;
    if (bytes > m->part->hold_bytes || !grid->rank)
        return STK_OK;
    uint8_t *held = malloc((size_t)bytes + 1);
    if (!held)
        return stk__out_of_memory(err);
    if (bytes && stk__hdf5_read(m->out->dataset, &m->info, &box, NULL, held, &ignored)) {
        free(held);
        return STK_OK;
    }
    m->out->way = STK__ARRAY_HELD;
    m->out->held = held;
    for (int a = 0; a < grid->rank; a++)
        grid->chunk[a] = grid->dims[a] ? grid->dims[a] : 1;
    *is_held = true;
    return STK_OK;
}

struct texts {
    uint8_t *data;
    uint64_t *start;
    size_t n, bytes, room, most;
};

static int add_text(void *ctx, const char *text, size_t len)
{
    struct texts *t = ctx;
    if (t->bytes + len > t->most)
        return STK_END;
    if (t->bytes + len > t->room) {
        size_t room = 2 * (t->bytes + len) + 4096;
        uint8_t *data = realloc(t->data, room);
        if (!data)
            return STK_MEMORY;
        t->data = data;
        t->room = room;
    }
    if (len)
        memcpy(t->data + t->bytes, text, len);
    t->bytes += len;
    t->start[++t->n] = t->bytes;
    return STK_OK;
}

/* Texts that each have their own length, if they are few; else they are asked for one by one. */
static int hold_texts(struct making *m, bool *is_held, struct stk_error *err)
{
    int64_t n = m->out->grid.dims[0], at = 0;
    struct texts t = { .most = (size_t)m->part->hold_bytes };
    *is_held = false;
    if (m->out->grid.rank != 1 || (uint64_t)n * sizeof *t.start > m->part->hold_bytes)
        return STK_OK;
    t.start = calloc((size_t)n + 1, sizeof *t.start);
    t.data = malloc(1);
    int code = t.start && t.data ? STK_OK : stk__out_of_memory(err);
    for (; at < n && !code; at += TEXTS_AT_ONCE) {
        int64_t more = n - at < TEXTS_AT_ONCE ? n - at : TEXTS_AT_ONCE;
        code = stk__hdf5_read_texts(m->out->dataset, at, more, add_text, &t, err);
    }
    if (code) {
        free(t.start);
        free(t.data);
        return code == STK_MEMORY ? stk__out_of_memory(err) : STK_OK;
    }
    m->out->way = STK__ARRAY_HELD;
    m->out->held = t.data;
    m->out->text_start = t.start;
    *is_held = true;
    return STK_OK;
}

/* ---- plain and chunked ---- */

static int take_plain(struct making *m, struct stk_error *err)
{
    uint64_t file_bytes = m->source->files->item[m->part->file].bytes;
    uint64_t bytes = all_bytes(&m->out->grid);
    if (m->info.offset > file_bytes || bytes > file_bytes - m->info.offset)
        return stk_fail(err, STK_DATA,
                        "the file was cut off: its values take %" PRIu64 " bytes at byte %" PRIu64
                        ", and the file has %" PRIu64,
                        bytes, m->info.offset, file_bytes);
    m->out->way = STK__ARRAY_PLAIN;
    m->out->offset = m->info.offset;
    return STK_OK;
}

static int read_bytes(void *ctx, uint64_t offset, size_t bytes, uint8_t *dst)
{
    const struct making *m = ctx;
    struct stk_error ignored;
    struct stk__file_place place = { offset, bytes, (uint32_t)m->part->file };
    return stk__data_file_read(m->source->files, place, dst, &ignored);
}

/* Chunks that cannot be as they are said to be are refused when they are needed. */
static void check_table(const struct making *m, struct stk__hdf5_chunk *table, int64_t n)
{
    uint64_t file_bytes = m->source->files->item[m->part->file].bytes;
    size_t whole = stk__grid_chunk_bytes(&m->out->grid);
    size_t most = m->info.filters.n ? stk__array_most_stored(m->out) : whole;
    for (int64_t i = 0; i < n; i++) {
        struct stk__hdf5_chunk *c = &table[i];
        bool is_whole = m->info.filters.n || c->bytes == whole;
        if (c->offset != STK__HDF5_ABSENT &&
            (c->bytes > most || !is_whole || c->offset > file_bytes ||
             c->bytes > file_bytes - c->offset))
            c->bytes = 0;
    }
}

static int take_chunks(struct making *m, struct stk_error *err)
{
    struct stk__array *out = m->out;
    const struct stk__hdf5_bytes file = { read_bytes, m, m->info.base };
    int64_t n = stk__grid_chunks(&out->grid);
    out->filters = m->info.filters;
    out->way = STK__ARRAY_ASKED;
    out->fill = malloc(out->raw.item_bytes + 1);
    if (!out->fill)
        return stk__out_of_memory(err);
    int code = stk__hdf5_fill(out->dataset, &m->info, out->fill, err);
    if (code || n < 0 || n > MOST_CHUNKS)
        return code;
    out->chunk = malloc((size_t)n * sizeof *out->chunk + 1);
    if (!out->chunk)
        return stk__out_of_memory(err);
    if (stk__hdf5_index(&file, m->info.header, &out->grid, out->chunk)) {
        check_table(m, out->chunk, n);
        out->way = STK__ARRAY_CHUNKED;
    }
    return STK_OK;
}

/* ---- choosing ---- */

static bool can_unpack(const struct making *m)
{
    size_t bytes = stk__grid_chunk_bytes(&m->out->grid);
    struct stk__chunk_box box;
    stk__array_box(m->source, m->out, 0, &box);
    return bytes && bytes <= STK__ARRAY_MOST_BYTES &&
           stk__grid_most_touched(&m->out->grid, box.size) <= STK__ARRAY_MOST_PLACES;
}

/* Opens the dataset again, such that the library keeps chunks of it, or of those that it shows. */
static int let_library_cache(struct making *m, struct stk_error *err)
{
    const size_t most = 1 << 20, least = 1 << 16, of_all = 8 << 20;
    size_t n = m->info.n_sources ? (size_t)m->info.n_sources : 1, each = of_all / n;
    each = each > most ? most : each < least ? least : each;
    if (!m->info.is_chunked && !m->info.n_sources)
        return STK_OK;
    stk__hdf5_close(m->out->dataset);
    m->out->library_bytes = n * each;
    return stk__hdf5_open_dataset(m->part->library_file, m->part->name, each, &m->out->dataset,
                                  err);
}

static int choose(struct making *m, struct stk_error *err)
{
    bool is_held = false;
    if (m->info.is_empty || !m->out->grid.rank)
        return stk_fail(err, STK_TYPE, "it has %s, so it has no elements to count",
                        m->info.is_empty ? "no values" : "one value");
    int code = m->info.is_text_list ? hold_texts(m, &is_held, err) : hold(m, &is_held, err);
    if (code || is_held)
        return code;
    if (m->info.layout == STK__HDF5_CONTIGUOUS && can_unpack(m))
        return take_plain(m, err);
    if (m->info.layout == STK__HDF5_CHUNKED && can_unpack(m))
        return take_chunks(m, err);
    bool is_lent = m->info.is_chunked && !m->info.is_text_list && can_unpack(m);
    m->out->way = is_lent ? STK__ARRAY_LENT : STK__ARRAY_FOREIGN;
    return is_lent ? STK_OK : let_library_cache(m, err);
}

int stk__hdf5_array(const struct stk__array_source *source, const struct stk__hdf5_part *part,
                    struct stk__array *out, struct stk_error *err)
{
    struct making m = { .source = source, .part = part, .out = out };
    out->name = strdup(part->name);
    int code = out->name
                   ? stk__hdf5_open_dataset(part->library_file, part->name, 0, &out->dataset, err)
                   : stk__out_of_memory(err);
    if (!code)
        code = stk__hdf5_describe(out->dataset, &m.info, err);
    if (code)
        return code;
    out->raw = m.info.raw;
    out->grid = m.info.grid;
    code = choose(&m, err);
    if (code)
        return code;
    if (out->way < STK__ARRAY_ASKED) { /* the library is not needed again */
        stk__hdf5_close(out->dataset);
        out->dataset = 0;
        return STK_OK;
    }
    out->info = malloc(sizeof *out->info);
    if (!out->info)
        return stk__out_of_memory(err);
    *out->info = m.info;
    return STK_OK;
}
