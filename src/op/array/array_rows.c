/* SPDX-License-Identifier: Apache-2.0 */
/* array_rows.c: elements of arrays, from the chunks that were read for them.
 *
 * Each slot of a field keeps the chunk it has unpacked last for the rows that follow, and a cache
 * keeps the last ones of all threads. */
#include "op/array/array_source.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

/* The chunk that a slot has unpacked last. */
struct unpacked {
    const struct stk__array *array;
    uint64_t number;
    struct stk_buffer *chunk; /* NULL: none yet */
};

/* Where a text of libhdf5 goes. */
struct kept {
    struct stk_rows *rows;
    struct stk_span *out;
};

/* One field of one row. */
struct work {
    struct stk_rows *rows;
    const struct stk__array_source *source;
    const struct stk__array *array;
    int row, field;
    struct stk__chunk_box box;
    const struct stk_span *fetched; /* of the field's slots */
    struct unpacked *unpacked;      /* likewise */
    struct unpacked *asked;         /* of the field, where libhdf5 finds the chunks */
    uint8_t **spare;                /* for unpacking, of the call */
    size_t *spare_bytes;
};

static int fail_chunk(const struct work *w, const struct stk__hdf5_chunk *stored, const char *cause)
{
    stk_rows_fail(w->rows, w->row, STK_DATA, "dataset '%s', chunk at byte %" PRIu64 ": %s",
                  w->array->name, stored->offset, cause);
    return STK_DATA;
}

static int fail_array(const struct work *w, const struct stk_error *err)
{
    if (err->code == STK_MEMORY)
        return STK_MEMORY;
    stk_rows_fail(w->rows, w->row, err->code, "dataset '%s': %s", w->array->name, err->text);
    return STK_DATA;
}

static uint8_t *spare_for(const struct work *w, size_t bytes)
{
    if (*w->spare_bytes < bytes) {
        *w->spare = stk_rows_alloc(w->rows, bytes);
        *w->spare_bytes = *w->spare ? bytes : 0;
    }
    return *w->spare;
}

/* True if the element is one whole chunk, so that it can be unpacked where it belongs. */
static bool is_whole(const struct work *w)
{
    const struct stk__grid *grid = &w->array->grid;
    for (int a = 0; a < grid->rank; a++)
        if (w->box.size[a] != grid->chunk[a] || w->box.start[a] % grid->chunk[a])
            return false;
    return true;
}

/* A chunk as it is stored. */
struct packed {
    const int64_t *chunk;
    struct stk__hdf5_chunk stored;
    const uint8_t *data;
};

/* Undoes the filters of a chunk into dst, which has room for it. */
static int unpack(const struct work *w, const struct packed *packed, uint8_t *dst)
{
    const struct stk__array *array = w->array;
    const uint8_t *at;
    size_t bytes = stk__grid_chunk_bytes(&array->grid);
    uint8_t *spare = spare_for(w, stk__hdf5_spare_bytes(&array->filters, bytes));
    if (!spare && array->filters.n)
        return STK_MEMORY;
    const struct stk__hdf5_stored job = { packed->data, packed->stored.bytes,
                                          packed->stored.left_out, bytes };
    const char *cause = stk__hdf5_unfilter(&array->filters, &job, dst, spare, &at);
    if (cause)
        return fail_chunk(w, &packed->stored, cause);
    if (at != dst)
        memcpy(dst, at, bytes);
    return STK_OK;
}

/* True if the slot has the chunk, or the cache had it. */
static bool has_unpacked(const struct work *w, struct unpacked *u, uint64_t number)
{
    if (u->chunk && u->array == w->array && u->number == number)
        return true;
    stk__buffer_unref(u->chunk);
    *u = (struct unpacked){ w->array, number, NULL };
    u->chunk = stk__chunk_cache_find(w->source->cache, w->array, number);
    return u->chunk != NULL;
}

/* Unpacks a chunk for this row and others. */
static int unpack_shared(const struct work *w, struct unpacked *u, const struct packed *packed)
{
    struct stk__chunk_cache *cache = w->source->cache;
    struct stk_buffer *chunk = stk__chunk_cache_room(cache, stk__grid_chunk_bytes(&w->array->grid));
    if (!chunk)
        return STK_MEMORY;
    int code = unpack(w, packed, chunk->data);
    if (code) {
        stk__buffer_unref(chunk);
        return code;
    }
    stk__chunk_cache_add(cache, w->array, u->number, chunk);
    u->chunk = chunk;
    return STK_OK;
}

/* The chunk through libhdf5. data NULL: it was never written. */
static int ask_for(const struct work *w, const int64_t *chunk, struct packed *out)
{
    struct stk_error err;
    struct stk__hdf5_raw raw = { .room = stk__array_most_stored(w->array) };
    raw.data = stk_rows_alloc(w->rows, raw.room);
    if (!raw.data)
        return STK_MEMORY;
    if (stk__hdf5_read_chunk(w->array->dataset, &w->array->grid, chunk, &raw, &err))
        return fail_array(w, &err);
    *out = (struct packed){ chunk,
                            { 0, (uint32_t)raw.bytes, raw.left_out },
                            raw.bytes ? raw.data : NULL };
    return STK_OK;
}

/* The chunk as it was read for the row. data NULL: it was never written. */
static int find_packed(const struct work *w, int slot, const int64_t *chunk, struct packed *out)
{
    if (w->array->way == STK__ARRAY_ASKED)
        return ask_for(w, chunk, out);
    *out = (struct packed){ chunk, stk__array_stored(w->array, chunk), w->fetched[slot].data };
    if (out->stored.offset == STK__HDF5_ABSENT)
        out->data = NULL;
    else if (!out->stored.bytes)
        return fail_chunk(w, &out->stored, "it is said to have a size or a place it cannot have");
    return STK_OK;
}

static int read_values(const struct work *w, const struct stk__chunk_box *box, const int64_t *room,
                       uint8_t *dst)
{
    struct stk_error err;
    bool is_bad = stk__hdf5_read(w->array->dataset, w->array->info, box, room, dst, &err);
    return is_bad ? fail_array(w, &err) : STK_OK;
}

/* Has libhdf5 read a chunk for this row and others. What reaches over the edge of the array is
 * left as it is. */
static int borrow_chunk(const struct work *w, struct unpacked *u, const int64_t *chunk)
{
    const struct stk__grid *grid = &w->array->grid;
    struct stk__chunk_cache *cache = w->source->cache;
    struct stk_buffer *values = stk__chunk_cache_room(cache, stk__grid_chunk_bytes(grid));
    struct stk__chunk_box box;
    if (!values)
        return STK_MEMORY;
    for (int a = 0; a < grid->rank; a++) {
        box.start[a] = chunk[a] * grid->chunk[a];
        int64_t left = grid->dims[a] - box.start[a];
        box.size[a] = left < grid->chunk[a] ? left : grid->chunk[a];
    }
    int code = read_values(w, &box, grid->chunk, values->data);
    if (code) {
        stk__buffer_unref(values);
        return code;
    }
    stk__chunk_cache_add(cache, w->array, u->number, values);
    u->chunk = values;
    return STK_OK;
}

/* Who waits for its turn with libhdf5 mostly finds that the one before has read the same chunk. */
static int paste_lent(const struct work *w, const int64_t *chunk, uint8_t *dst)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    const struct stk__grid *grid = &w->array->grid;
    uint64_t number = stk__grid_number(grid, chunk);
    struct unpacked *u = w->asked;
    int code = STK_OK;
    if (is_whole(w))
        return read_values(w, &w->box, NULL, dst);
    if (!has_unpacked(w, u, number)) {
        pthread_mutex_lock(&turn);
        if (!has_unpacked(w, u, number))
            code = borrow_chunk(w, u, chunk);
        pthread_mutex_unlock(&turn);
    }
    if (!code)
        stk__grid_paste(grid, &w->box, chunk, (struct stk__grid_bytes){ .data = u->chunk->data },
                        dst);
    return code;
}

/* A part of a chunk that has filters, or that libhdf5 finds. */
static int paste_unpacked(const struct work *w, int slot, const int64_t *chunk, uint8_t *dst)
{
    const struct stk__array *array = w->array;
    struct unpacked *u = array->way == STK__ARRAY_ASKED ? w->asked : &w->unpacked[slot];
    bool is_shared = !is_whole(w);
    struct stk__grid_bytes src = { .fill = array->fill };
    if (!is_shared || !has_unpacked(w, u, stk__grid_number(&array->grid, chunk))) {
        struct packed packed;
        int code = find_packed(w, slot, chunk, &packed);
        if (!code && packed.data)
            code = is_shared ? unpack_shared(w, u, &packed) : unpack(w, &packed, dst);
        if (code || (packed.data && !is_shared))
            return code;
    }
    src.data = u->chunk && is_shared ? u->chunk->data : NULL;
    stk__grid_paste(&array->grid, &w->box, chunk, src, dst);
    return STK_OK;
}

/* Puts what the element has of one chunk into dst. */
static int paste_chunk(const struct work *w, int slot, const int64_t *chunk, uint8_t *dst)
{
    const struct stk__array *array = w->array;
    struct stk__grid_bytes src = { .fill = array->fill };
    struct packed packed;
    size_t bytes;
    if (array->way == STK__ARRAY_LENT)
        return paste_lent(w, chunk, dst);
    if (array->filters.n || array->way == STK__ARRAY_ASKED)
        return paste_unpacked(w, slot, chunk, dst);
    int code = find_packed(w, slot, chunk, &packed);
    if (code)
        return code;
    src.data = packed.data;
    if (packed.data)
        stk__grid_range(&array->grid, &w->box, chunk, &src.first, &bytes);
    stk__grid_paste(&array->grid, &w->box, chunk, src, dst);
    return STK_OK;
}

/* The element's values as the file has them. */
static int gather(const struct work *w, uint8_t *dst)
{
    const struct stk__array *array = w->array;
    int64_t chunk[STK__GRID_MAX_RANK] = { 0 };
    int code = STK_OK;
    if (array->way == STK__ARRAY_HELD) {
        stk__grid_paste(&array->grid, &w->box, chunk,
                        (struct stk__grid_bytes){ .data = array->held }, dst);
        return STK_OK;
    }
    if (array->way == STK__ARRAY_FOREIGN)
        return read_values(w, &w->box, NULL, dst);
    for (int k = 0; !code && stk__grid_touched(&array->grid, &w->box, k, chunk); k++)
        code = paste_chunk(w, k, chunk, dst);
    return code;
}

/* Copies a text out of libhdf5's memory. */
static int keep_text(void *ctx, const char *text, size_t len)
{
    struct kept *kept = ctx;
    uint8_t *copy = stk_rows_alloc(kept->rows, len + 1);
    if (!copy)
        return STK_MEMORY;
    memcpy(copy, text, len);
    *kept->out = (struct stk_span){ copy, len, NULL };
    return STK_OK;
}

static int ask_text(const struct work *w, struct stk_span *out)
{
    struct stk_error err = { .code = STK_MEMORY };
    struct kept kept = { w->rows, out };
    bool is_bad =
        stk__hdf5_read_texts(w->array->dataset, w->box.start[0], 1, keep_text, &kept, &err);
    return is_bad ? fail_array(w, &err) : STK_OK;
}

/* A text that is held is not copied. */
static int put_text(const struct work *w, struct stk_span *out)
{
    const struct stk__array *array = w->array;
    uint64_t element = (uint64_t)w->box.start[0];
    if (array->text_start) {
        uint64_t start = array->text_start[element], end = array->text_start[element + 1];
        *out = (struct stk_span){ array->held + start, (size_t)(end - start), NULL };
        return STK_OK;
    }
    if (array->info && array->info->is_text_list)
        return ask_text(w, out);
    size_t room = stk__raw_text_room(&array->raw), len = 0;
    uint8_t *item = stk_rows_alloc(w->rows, 2 * room + 1);
    if (!item)
        return STK_MEMORY;
    int code = room ? gather(w, item) : STK_OK;
    if (code)
        return code;
    const uint8_t *text = stk__raw_text(&array->raw, item, item + room, &len);
    if (!text) {
        stk_rows_fail(w->rows, w->row, STK_DATA, "the text has a character that does not exist");
        return STK_DATA;
    }
    *out = (struct stk_span){ (uint8_t *)(uintptr_t)text, len, NULL };
    return STK_OK;
}

static int put_element(const struct work *w)
{
    const struct stk_column *column = &w->rows->out[w->field];
    if (w->array->raw.kind != STK__RAW_NUMBERS)
        return put_text(w, &column->span[w->row]);
    uint8_t *dst = column->data + (size_t)w->row * column->stride;
    size_t bytes = (size_t)stk__array_element_bytes(w->source, w->array);
    int code = bytes ? gather(w, dst) : STK_OK;
    if (!code)
        stk__raw_settle(&w->array->raw, dst, bytes / w->array->grid.item_bytes);
    return code;
}

static int put_row(struct work *w, uint64_t index, struct unpacked *unpacked)
{
    const struct stk__array_source *source = w->source;
    size_t file = stk__array_file(source, &index), row = (size_t)w->row;
    for (int f = 0; f < source->n_fields; f++) {
        size_t slot = (size_t)source->first_slot[f];
        w->field = f;
        w->array = stk__array_at(source, file, f);
        w->fetched = NULL; /* where all of it is held */
        if (source->n_places)
            w->fetched = w->rows->inside->fetched + row * (size_t)source->n_places + slot;
        w->unpacked = unpacked + slot;
        w->asked = unpacked + source->n_places + f;
        stk__array_box(source, w->array, index, &w->box);
        int code = put_element(w);
        if (code)
            return code == STK_MEMORY ? STK_MEMORY : STK_OK;
    }
    return STK_OK;
}

int stk__array_source_rows(struct stk_rows *rows, const uint64_t *index)
{
    const struct stk__array_source *source = rows->state;
    uint8_t *spare = NULL;
    size_t spare_bytes = 0;
    size_t slots = (size_t)(source->n_places + source->n_fields) * sizeof(struct unpacked);
    struct work work = { .rows = rows, .source = source };
    work.spare = &spare;
    work.spare_bytes = &spare_bytes;
    struct unpacked *unpacked = stk_rows_alloc(rows, slots);
    if (!unpacked)
        return STK_MEMORY;
    memset(unpacked, 0, slots);
    int code = STK_OK;
    for (int i = 0; i < rows->n && !code; i++) {
        work.row = i;
        if (rows->mask[i] == STK_LIVE)
            code = put_row(&work, index[i], unpacked);
    }
    for (int i = 0; i < source->n_places + source->n_fields; i++)
        stk__buffer_unref(unpacked[i].chunk);
    return code;
}

struct stk__chunk_cache *stk__array_source_chunks(const struct stk__op *op, const void *state)
{
    const struct stk__array_source *source = state;
    return op->source.rows == stk__array_source_rows ? source->cache : NULL;
}
