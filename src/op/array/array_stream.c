/* SPDX-License-Identifier: Apache-2.0 */
/* array_stream.c: elements of arrays from front to back, where chains are opened for elements as they
 * come. A run has the file open while it lasts: as many are as chains take turns, however many files
 * there are. */
#include "base/error.h"
#include "base/memory/arena.h"
#include "base/rows/chunk.h"
#include "op/array/array_source.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 256, MOST_READ = 1 << 20 }; /* at a time; one element may be larger */

struct run {
    const char *op;                   /* for messages */
    struct stk__array_source *source; /* its own */
    struct stk__pool *pool;           /* the run's */
    struct stk_arena scratch;         /* of one call of next */
    uint64_t next;
};

struct stk_texts stk__array_source_paths(const void *state)
{
    const struct stk__array_source *source = state;
    return (struct stk_texts){ source->path, (int)source->files->n, false };
}

static uint64_t count_of(const struct stk__array_source *source)
{
    return source->first[source->files->n];
}

static bool is_same_array(const struct stk__array *a, const struct stk__array *b)
{
    return a->raw.kind == b->raw.kind && a->raw.dtype == b->raw.dtype &&
           a->grid.rank == b->grid.rank &&
           !memcmp(a->grid.dims, b->grid.dims, sizeof *a->grid.dims * (size_t)a->grid.rank);
}

/* What was told of the files must still be so: the columns were made for it. */
static int check_told(const struct stk__array_source *source, const struct stk__array_source *told,
                      struct stk_error *err)
{
    bool is_same = source->n_fields == told->n_fields && source->files->n == told->files->n;
    for (size_t i = 0; is_same && i < source->files->n; i++)
        for (int f = 0; is_same && f < source->n_fields; f++)
            is_same = is_same_array(stk__array_at(source, i, f), stk__array_at(told, i, f));
    return is_same ? STK_OK
                   : stk_fail(err, STK_DATA, "'%s' has changed since it was opened first",
                              source->files->item[0].path);
}

int stk__array_stream_begin(const struct stk__source_start *begin, const char *op,
                            stk__open_arrays_fn open, const void *params, void **run,
                            struct stk_error *err)
{
    struct run *r = calloc(1, sizeof *r);
    if (!r)
        return stk__out_of_memory(err);
    void *state = NULL;
    r->op = op;
    r->pool = begin->pool;
    stk__arena_init(&r->scratch, 1 << 12);
    int code = open(params, &r->scratch, &state, err);
    r->source = state;
    if (!code)
        code = check_told(r->source, begin->state, err);
    if (code)
        stk__array_stream_end(r);
    else
        *run = r;
    return code;
}

int stk__array_stream_rewind(void *run, struct stk_error *err)
{
    (void)err;
    ((struct run *)run)->next = 0;
    return STK_OK;
}

void stk__array_stream_end(void *run)
{
    struct run *r = run;
    stk__array_source_free(r->source);
    stk__arena_free(&r->scratch);
    free(r);
}

/* ---- reading ---- */

/* Some rows from `next` on, and what is read for them: one place after the other for each row. */
struct block {
    int n;
    uint64_t index[MOST_ROWS];
    uint8_t mask[MOST_ROWS];
    struct stk__file_place *place;
    struct stk_span *fetched;
    struct stk_buffer *bytes; /* that were read */
    struct stk__fault *faults;
};

static bool is_same_place(const struct stk__file_place *a, const struct stk__file_place *b)
{
    return a->file == b->file && a->offset == b->offset && a->bytes == b->bytes;
}

/* As many rows as are read at a time. */
static bool plan_block(struct run *r, int most, struct block *b)
{
    const size_t n_places = (size_t)r->source->n_places;
    uint64_t left = count_of(r->source) - r->next, bytes = 0;
    most = most < MOST_ROWS ? most : MOST_ROWS;
    most = left < (uint64_t)most ? (int)left : most;
    size_t n = (size_t)most * n_places;
    memset(b->mask, STK_LIVE, sizeof b->mask);
    b->place = stk__arena_take(&r->scratch, n * sizeof *b->place + 1);
    b->fetched = stk__arena_take(&r->scratch, n * sizeof *b->fetched + 1);
    if (!b->place || !b->fetched)
        return false;
    for (int i = 0; i < most; i++)
        b->index[i] = r->next + (uint64_t)i;
    if (n_places)
        stk__array_source_locate(r->source, most, b->index, b->place);
    for (b->n = 0; b->n < most && (!b->n || bytes < MOST_READ); b->n++)
        for (size_t k = 0; k < n_places; k++) {
            const struct stk__file_place *place = &b->place[(size_t)b->n * n_places + k];
            bool is_shared = b->n && is_same_place(place, place - n_places);
            bytes += is_shared ? 0 : place->bytes;
        }
    return true;
}

/* The places of one slot, for rows that follow each other in the file, are one read. Returns how many
 * rows that are. */
static int find_neighbours(const struct block *b, size_t n_places, size_t slot, int first,
                           struct stk__file_place *out)
{
    int i = first;
    *out = b->place[(size_t)first * n_places + slot];
    for (i++; i < b->n; i++) {
        const struct stk__file_place *place = &b->place[(size_t)i * n_places + slot];
        if (!stk__place_follows(place - n_places, place))
            break;
        out->bytes = place->offset + place->bytes - out->offset;
    }
    return i - first;
}

static void fail_row(const struct run *r, struct block *b, int row, const struct stk_error *err)
{
    if (b->mask[row] == STK_LIVE)
        stk__fault_add(&b->faults, row, err->code, r->op, err->text);
    b->mask[row] = STK_BAD;
}

/* Where one read of several rows fails, it is tried for each. */
static void read_rows(struct run *r, struct block *b, size_t slot, int first, int n,
                      struct stk__file_place whole, uint8_t *dst)
{
    const size_t n_places = (size_t)r->source->n_places;
    struct stk_error err;
    bool is_read = !stk__data_file_read(r->source->files, whole, dst, &err);
    for (int i = first; i < first + n; i++) {
        size_t at = (size_t)i * n_places + slot;
        const struct stk__file_place *place = &b->place[at];
        uint8_t *data = dst + (place->offset - whole.offset);
        bool is_row_read =
            is_read || (n > 1 && !stk__data_file_read(r->source->files, *place, data, &err));
        if (!is_row_read)
            fail_row(r, b, i, &err);
        b->fetched[at] = (struct stk_span){ data, (size_t)place->bytes, NULL };
    }
}

/* Room for one read; what lies outside of the file is not read, however large it is said to be. */
static size_t room_for(const struct run *r, struct stk__file_place whole)
{
    uint64_t most = r->source->files->item[whole.file].bytes;
    return (size_t)((whole.bytes < most ? whole.bytes : most) + 127) & ~(size_t)63;
}

/* Returns how much room all reads take; where there is a buffer of that size they are made. */
static size_t read_all(struct run *r, struct block *b)
{
    const size_t n_places = (size_t)r->source->n_places;
    size_t used = 0;
    for (size_t slot = 0; slot < n_places; slot++) {
        for (int i = 0, n; i < b->n; i += n) {
            struct stk__file_place whole;
            n = find_neighbours(b, n_places, slot, i, &whole);
            if (b->bytes)
                read_rows(r, b, slot, i, n, whole, b->bytes->data + used);
            used += room_for(r, whole);
        }
    }
    return used;
}

static bool fetch(struct run *r, struct block *b)
{
    size_t bytes = read_all(r, b);
    if (bytes && !(b->bytes = stk__buffer_new(r->pool, bytes)))
        return false;
    read_all(r, b);
    return true;
}

/* ---- rows ---- */

static int put_rows(struct run *r, struct block *b, struct stk__chunk *out)
{
    struct stk_column column[STK_MAX_FIELDS];
    const size_t n = (size_t)b->n;
    for (int f = 0; f < out->type->n_fields; f++) {
        column[f] = stk__column_slice(&out->column[f], out->n);
        if (column[f].span)
            memset(column[f].span, 0, n * sizeof *column[f].span);
    }
    struct stk__rows_inside inside = {
        .name = r->op, .fetched = b->fetched, .scratch = &r->scratch, .faults = &b->faults
    };
    struct stk_rows rows = { .state = r->source,
                             .n = b->n,
                             .out_type = out->type,
                             .out = column,
                             .mask = b->mask,
                             .inside = &inside };
    int code = stk__array_source_rows(&rows, b->index);
    return code || stk__chunk_own(out, out->n, b->n, NULL, r->pool) ? code : STK_MEMORY;
}

int stk__array_stream_next(void *run, struct stk__chunk *out, struct stk_error *err)
{
    struct run *r = run;
    struct block b = { 0 };
    if (r->next == count_of(r->source))
        return STK_END;
    stk__arena_reset(&r->scratch);
    int code = plan_block(r, out->cap - out->n, &b) && fetch(r, &b) ? STK_OK : STK_MEMORY;
    if (!code)
        code = put_rows(r, &b, out);
    if (!code) {
        for (int i = 0; i < b.n; i++) {
            const struct stk__fault *fault = b.mask[i] ? stk__fault_find(b.faults, i) : NULL;
            if (b.mask[i] == STK_BAD)
                stk__chunk_fault(out, out->n + i, fault ? fault->code : STK_MEMORY, r->op,
                                 fault ? fault->text : "out of memory");
        }
        out->n += b.n;
        r->next += (uint64_t)b.n;
    }
    stk__buffer_unref(b.bytes);
    stk__faults_free(b.faults);
    return code ? stk__out_of_memory(err) : STK_OK;
}
