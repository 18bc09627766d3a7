/* SPDX-License-Identifier: Apache-2.0 */
/* csv_learn.c: categories that are not listed: the texts of all rows, sorted by their bytes. */
#include "base/error.h"
#include "op/table/csv_table.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20, MAX_CATEGORIES = 1 << 20 };

/* The texts of one column so far. Items are in `arena`, which all sets share. */
struct set {
    int target;
    struct stk__csv_names names;
    struct stk__csv_text *item; /* [cap] */
    int cap;
};

struct learner {
    struct stk__csv_table *table;
    struct set *set; /* by column */
    int n_sets;
    struct stk_arena *arena;  /* the dataset's */
    struct stk_arena scratch; /* of a piece */
    uint8_t *piece;
    size_t piece_bytes;
    struct stk_error *err;
};

static bool is_learned(const struct stk__csv_type *type)
{
    return type->kind == STK__CSV_CATEGORY && !type->names;
}

static bool grow(struct set *set, struct stk_arena *arena)
{
    /* as many as fill half of the slots, of which there are eight for none */
    int cap = set->cap ? 2 * set->cap : 4;
    struct stk__csv_text *item = stk_arena_alloc(arena, (size_t)cap * sizeof *item);
    if (!item)
        return false;
    if (set->cap)
        memcpy(item, set->item, (size_t)set->cap * sizeof *item);
    set->item = item;
    set->names.item = item;
    set->cap = cap;
    return !stk__csv_names_make(&set->names, arena);
}

static bool add_text(struct set *set, const struct stk__csv_cell *cell, struct stk_arena *arena)
{
    if (set->cap && stk__csv_names_find(&set->names, cell->at, cell->len) >= 0)
        return true;
    if (set->names.n == set->cap && !grow(set, arena))
        return false;
    char *text = stk__arena_text_n(arena, (const char *)cell->at, cell->len);
    if (!text)
        return false;
    set->item[set->names.n] = (struct stk__csv_text){ text, cell->len };
    stk__csv_names_add(&set->names, set->names.n++);
    return true;
}

static int add_row(struct learner *l, const struct stk__csv_cell *cell)
{
    for (int k = 0; k < l->n_sets; k++) {
        const struct stk__csv_cell *own = &cell[l->table->target[l->set[k].target].wanted];
        if (stk__csv_is_missing(&l->table->missing, own->at, own->len))
            continue;
        if (!add_text(&l->set[k], own, l->arena))
            return stk__out_of_memory(l->err);
        if (l->set[k].names.n > MAX_CATEGORIES)
            return stk_fail(l->err, STK_DATA,
                            "column '%s' has more than %d texts, which is too "
                            "many for a category without a list",
                            l->table->name[l->table->target[l->set[k].target].column].text,
                            MAX_CATEGORIES);
    }
    return STK_OK;
}

/* All rows of a piece; bad ones are left out, and found again when they are read. */
static int add_piece(struct learner *l, size_t bytes)
{
    struct stk__csv_work work;
    int n, code = STK_OK;
    stk__arena_reset(&l->scratch);
    if (!stk__csv_work_begin(&work, l->table, stk__csv_take, &l->scratch))
        return stk__out_of_memory(l->err);
    stk__csv_scan_data(&work.scan, l->piece, bytes);
    while (!code && (n = stk__csv_split_rows(&work.scan, &work.split, work.block, work.cell,
                                             work.result)) > 0)
        for (int i = 0; i < n && !code; i++)
            code = work.result[i].status
                       ? STK_OK
                       : add_row(l, work.cell + (ptrdiff_t)i * l->table->n_wanted);
    return code || n == 0 ? code : stk__out_of_memory(l->err);
}

/* Reads a piece of whole groups. */
static int read_piece(struct learner *l, struct stk__file_place place)
{
    struct stk__data_files *files = l->table->found.groups->files;
    if (place.bytes > l->piece_bytes) {
        free(l->piece);
        l->piece_bytes = place.bytes;
        if (!(l->piece = malloc(place.bytes + STK__CSV_TAIL)))
            return stk__out_of_memory(l->err);
    }
    memset(l->piece + place.bytes, 0, STK__CSV_TAIL);
    int code = stk__data_file_read(files, place, l->piece, l->err);
    if (code)
        stk__error_prefix(l->err, "'%s': ", files->item[place.file].path);
    return code ? code : add_piece(l, place.bytes);
}

static int read_file(struct learner *l, size_t file)
{
    const struct stk__record_index *index = l->table->found.groups->index[file];
    uint64_t n = stk__record_index_count(index);
    int code = STK_OK;
    for (uint64_t g = 0; g < n && !code;) {
        struct stk__file_place all = { .file = (uint32_t)file }, next = all;
        stk__record_index_at(index, g++, &all);
        for (; g < n && all.bytes < PIECE; g++) {
            stk__record_index_at(index, g, &next);
            all.bytes += next.bytes;
        }
        code = read_piece(l, all);
    }
    return code;
}

static int by_bytes(const void *a, const void *b)
{
    const struct stk__csv_text *x = a, *y = b;
    int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

static int keep_names(struct learner *l)
{
    for (int k = 0; k < l->n_sets; k++) {
        struct set *set = &l->set[k];
        struct stk__csv_names *names = stk_arena_alloc(l->arena, sizeof *names);
        if (!names)
            return stk__out_of_memory(l->err);
        if (set->names.n)
            qsort(set->item, (size_t)set->names.n, sizeof *set->item, by_bytes);
        *names = (struct stk__csv_names){ .item = set->item, .n = set->names.n };
        if (stk__csv_names_make(names, l->arena))
            return stk__out_of_memory(l->err);
        l->table->target[set->target].type.names = names;
    }
    return STK_OK;
}

int stk__csv_learn(struct stk__csv_table *table, struct stk_arena *arena, struct stk_error *err)
{
    struct learner l = { .table = table, .arena = arena, .err = err };
    int code = STK_OK;
    for (int t = 0; t < table->n_targets; t++)
        l.n_sets += is_learned(&table->target[t].type);
    if (l.n_sets == 0)
        return STK_OK;
    if (!table->found.groups)
        return stk_fail(err, STK_VALUE,
                        "a category of a stream wants its texts listed, as in "
                        "category(['a', 'b'])");
    l.set = stk_arena_alloc(arena, (size_t)l.n_sets * sizeof *l.set);
    if (!l.set)
        return stk__out_of_memory(err);
    for (int t = 0, k = 0; t < table->n_targets; t++)
        if (is_learned(&table->target[t].type))
            l.set[k++].target = t;
    stk__arena_init(&l.scratch, 1 << 16);
    for (size_t i = 0; i < table->found.groups->files->n && !code; i++)
        code = read_file(&l, i);
    if (!code)
        code = keep_names(&l);
    stk__arena_free(&l.scratch);
    free(l.piece);
    return code;
}
