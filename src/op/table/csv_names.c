/* SPDX-License-Identifier: Apache-2.0 */
/* csv_names.c: the names of columns, and what their first values look like. */
#include "base/error.h"
#include "op/table/csv_table.h"

#include <string.h>

static int *count_up(struct stk_arena *arena, int n)
{
    int *number = stk_arena_alloc(arena, ((size_t)n + 1) * sizeof *number);
    for (int i = 0; number && i < n; i++)
        number[i] = i;
    return number;
}

/* Begins to split the rows of a head from `from` on, all columns. */
static bool begin_rows(const struct stk__csv_table *table, const struct stk__csv_head *head,
                       size_t from, struct stk_arena *arena, struct stk__csv_work *work)
{
    struct stk__csv_table all = *table;
    all.n_wanted = table->n_columns;
    all.wanted = count_up(arena, all.n_columns);
    if (!all.wanted || !stk__csv_work_begin(work, &all, stk__csv_take, arena))
        return false;
    stk__csv_scan_data(&work->scan, head->bytes + from, head->n - from);
    return true;
}

/* Cells of the row at `from`, as many as it has, in *work; 0: there is no row; -1: no memory. */
static int split_first(struct stk__csv_table *table, const struct stk__csv_head *head, size_t from,
                       struct stk_arena *arena, struct stk__csv_work *work)
{
    int n;
    table->n_columns = 1;
    for (int pass = 0; pass < 2; pass++) {
        if (!begin_rows(table, head, from, arena, work) ||
            (n = stk__csv_split_rows(&work->scan, &work->split, 1, work->cell, work->result)) < 0)
            return -1;
        if (n == 0)
            return 0;
        table->n_columns = work->result->n_found;
        if (table->n_columns > STK__CSV_MAX_COLUMNS)
            break;
    }
    return table->n_columns;
}

/* ---- names ---- */

static bool is_taken(const struct stk__csv_table *table, int n, const struct stk__csv_text *name)
{
    for (int i = 0; i < n; i++)
        if (table->name[i].len == name->len && !memcmp(table->name[i].text, name->text, name->len))
            return true;
    return false;
}

/* The name of column i: as given, or made so that no two are the same. */
static int set_name(struct stk__csv_table *table, int i, const char *text, size_t len,
                    struct stk_arena *arena)
{
    char *own = len ? stk__arena_text_n(arena, text, len) : stk__arena_printf(arena, "c%d", i);
    for (int k = 1; own; k++) {
        const struct stk__csv_text name = { own, (uint32_t)strlen(own) };
        table->name[i] = name;
        if (!is_taken(table, i, &name))
            return STK_OK;
        own = stk__arena_printf(arena, "%.*s.%d", (int)len, len ? text : "c", k);
    }
    return STK_MEMORY;
}

static int name_by_list(struct stk__csv_table *table, const struct stk_value *given,
                        struct stk_arena *arena, struct stk_error *err)
{
    table->n_columns = given->n_items;
    table->name = stk_arena_alloc(arena, ((size_t)given->n_items + 1) * sizeof *table->name);
    int code = table->name ? STK_OK : STK_MEMORY;
    for (int i = 0; i < given->n_items && !code; i++) {
        const struct stk_value *item = given->item[i];
        if (item->kind != STK__STRING && item->kind != STK__WORD)
            return stk__fail_at(err, STK_VALUE, item->at, item->len, "header lists names");
        code = set_name(table, i, item->text, strlen(item->text), arena);
    }
    return code ? stk__out_of_memory(err) : STK_OK;
}

static int name_by_row(struct stk__csv_table *table, const struct stk__csv_head *head,
                       struct stk_arena *arena, struct stk_error *err)
{
    struct stk__csv_work work;
    size_t from = head->has_names ? head->header.start : head->begin;
    int n = split_first(table, head, from, arena, &work), code = STK_OK;
    if (n < 0)
        return stk__out_of_memory(err);
    if (n == 0)
        return stk_fail(err, STK_DATA,
                        "there is no row that tells how many columns there are; "
                        "header=['a', 'b'] names them");
    if (n > STK__CSV_MAX_COLUMNS)
        return stk_fail(err, STK_DATA, "there are %d columns; at most %d are possible", n,
                        STK__CSV_MAX_COLUMNS);
    if (work.result->status == STK__CSV_OPEN)
        return stk_fail(err, STK_DATA, "the first row has a quote that does not end");
    if (work.result->status == STK__CSV_STRAY)
        return stk_fail(err, STK_DATA,
                        "the first row has a quote in column %d where none may be; "
                        "quotes=lenient takes such quotes for text",
                        work.result->target + 1);
    table->name = stk_arena_alloc(arena, (size_t)n * sizeof *table->name);
    for (int i = 0; i < n && !code; i++) {
        const struct stk__csv_cell *cell = &work.cell[i];
        size_t len = head->has_names ? cell->len : 0;
        if (len && memchr(cell->at, 0, len))
            return stk_fail(err, STK_DATA, "the name of column %d has a NUL byte", i + 1);
        code = table->name ? set_name(table, i, (const char *)cell->at, len, arena) : STK_MEMORY;
    }
    return code ? stk__out_of_memory(err) : STK_OK;
}

int stk__csv_name_columns(struct stk__csv_table *table, const struct stk_value *given,
                          const struct stk__csv_head *head, struct stk_arena *arena,
                          struct stk_error *err)
{
    if (given)
        return name_by_list(table, given, arena, err);
    int code = name_by_row(table, head, arena, err);
    if (code)
        stk__error_prefix(err, "'%s': ", stk__paths_at(&table->list->paths, 0));
    return code;
}

/* ---- types ---- */

/* Looks at every whole row that is there. */
static bool see_rows(const struct stk__csv_table *table, const struct stk__csv_head *head,
                     struct stk_arena *arena, struct stk__csv_guess *guess)
{
    struct stk__csv_work work;
    int n;
    if (!begin_rows(table, head, head->begin, arena, &work))
        return false;
    while ((n = stk__csv_split_rows(&work.scan, &work.split, 1, work.cell, work.result)) > 0) {
        if (work.scan.at == work.scan.bytes && !head->is_all)
            break; /* it may go on */
        for (int c = 0; c < table->n_columns && !work.result->status; c++)
            stk__csv_guess_see(&guess[c], &table->missing, &work.cell[c]);
    }
    return n >= 0;
}

struct stk__csv_guess *stk__csv_guess_columns(const struct stk__csv_table *table,
                                              const struct stk__csv_head *head,
                                              struct stk_arena *arena)
{
    size_t n = (size_t)table->n_columns;
    struct stk__csv_guess *guess = stk_arena_alloc(arena, n * sizeof *guess);
    struct stk_arena scratch;
    if (!guess)
        return NULL;
    for (size_t c = 0; c < n; c++)
        stk__csv_guess_begin(&guess[c]);
    stk__arena_init(&scratch, 1 << 16);
    bool is_done = see_rows(table, head, &scratch, guess);
    stk__arena_free(&scratch);
    return is_done ? guess : NULL;
}
