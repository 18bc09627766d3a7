/* SPDX-License-Identifier: Apache-2.0 */
/* csv_rows.c: rows to columns: a block of rows is split, then converted column by column. */
#include "kernel/kernel.h"
#include "op/declaration.h"
#include "op/table/csv_table.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK_CELLS = 2048, MARKS = 2048, SHOWN = 40 };
static const char no_text[64]; /* and what may be read behind it */

void *stk__csv_take(void *arena, size_t bytes)
{
    return stk__arena_take(arena, bytes);
}

bool stk__csv_work_begin(struct stk__csv_work *work, const struct stk__csv_table *table,
                         void *(*alloc)(void *ctx, size_t bytes), void *ctx)
{
    int room = MARKS + table->n_columns, n = table->n_wanted ? table->n_wanted : 1;
    uint32_t *mark = alloc(ctx, (size_t)room * sizeof *mark);
    *work = (struct stk__csv_work){ .split = { .n_columns = table->n_columns,
                                               .n_wanted = table->n_wanted,
                                               .wanted = table->wanted,
                                               .alloc = alloc,
                                               .ctx = ctx } };
    work->block = BLOCK_CELLS / n < STK__CSV_BLOCK_ROWS ? BLOCK_CELLS / n : STK__CSV_BLOCK_ROWS;
    work->block = work->block ? work->block : 1;
    work->cell = alloc(ctx, (size_t)work->block * (size_t)n * sizeof *work->cell);
    work->result = alloc(ctx, (size_t)work->block * sizeof *work->result);
    work->origin = alloc(ctx, (size_t)work->block * sizeof *work->origin);
    work->read_digits = stk__kernels()->csv_digits;
    stk__csv_scan_begin(&work->scan, &table->format.dialect, true, mark, room);
    return mark && work->cell && work->result && work->origin;
}

int stk__csv_work_split(struct stk__csv_work *work, int n, const struct stk__csv_origin *origin)
{
    int room = work->block - work->n;
    int got = stk__csv_split_rows(&work->scan, &work->split, n < room ? n : room,
                                  work->cell + (ptrdiff_t)work->n * work->split.n_wanted,
                                  work->result + work->n);
    for (int i = 0; i < got; i++)
        work->origin[work->n++] = *origin;
    return got;
}

/* ---- columns ---- */

static void put_texts(const struct stk__csv_convert *c, const struct stk__csv_work *work,
                      struct stk_span *span)
{
    const struct stk__csv_type *type = &c->target->type;
    const struct stk__csv_cell *cell = c->cell;
    for (int i = 0; i < c->n; i++, cell += c->n_wanted) {
        if (work->result[i].status)
            continue;
        if (type->has_default && stk__csv_is_missing(c->missing, cell->at, cell->len))
            span[i] = (struct stk_span){ (uint8_t *)(uintptr_t)type->fill_text.text,
                                         type->fill_text.len, NULL };
        else
            span[i] = (struct stk_span){ (uint8_t *)(uintptr_t)cell->at, cell->len,
                                         cell->is_copy ? NULL : work->origin[i].owner };
    }
}

/* A text that was put out before its row turned out to be bad is taken back. */
static void clear_bad(const struct stk__csv_table *table, const struct stk__csv_work *work,
                      struct stk_column *out, int at)
{
    for (int i = 0; i < work->n; i++) {
        int status = work->result[i].status;
        for (int f = 0; f < table->n_fields && status && status != STK__CSV_LEFT; f++)
            if (table->field[f].kind == STK_BYTES)
                out[f].span[at + i] = (struct stk_span){ 0 };
    }
}

void stk__csv_put_rows(const struct stk__csv_table *table, const struct stk__csv_work *work,
                       struct stk_column *out, int at)
{
    for (int t = 0; t < table->n_targets; t++) {
        const struct stk__csv_target *target = &table->target[t];
        struct stk_column *column = &out[target->field];
        const struct stk__csv_convert convert = { .target = target,
                                                  .missing = &table->missing,
                                                  .cell = work->cell + target->wanted,
                                                  .n_wanted = table->n_wanted,
                                                  .n = work->n,
                                                  .number = t,
                                                  .read_digits = work->read_digits };
        if (target->type.kind == STK__CSV_TEXT)
            put_texts(&convert, work, column->span + at);
        else
            stk__csv_convert_fixed(&convert,
                                   column->data + (size_t)at * column->stride + target->offset,
                                   column->stride, work->result);
    }
    clear_bad(table, work, out, at);
}

/* ---- messages ---- */

static const char *type_name(const struct stk__csv_type *type)
{
    if (type->kind == STK__CSV_CATEGORY)
        return "listed category";
    return type->kind == STK__CSV_TIMESTAMP ? "timestamp" : stk_dtype_name(type->dtype);
}

static void explain_stray(const struct stk__csv_table *table, int column, char *text, size_t size)
{
    int n = column < table->n_columns
                ? snprintf(text, size, "column '%s'", table->name[column].text)
                : snprintf(text, size, "field %d", column + 1);
    if (n >= 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n,
                 ": a quote inside a value, or text behind a closing quote; a quote in a value is "
                 "written twice, all in quotes; quotes=lenient takes it for text");
}

void stk__csv_explain(const struct stk__csv_table *table, const struct stk__csv_work *work, int row,
                      char *text, size_t size)
{
    const struct stk__csv_result *result = &work->result[row];
    if (result->status == STK__CSV_RAGGED) {
        snprintf(text, size, "there are %d fields, expected %d", result->n_found, table->n_columns);
        return;
    }
    if (result->status == STK__CSV_OPEN || result->status == STK__CSV_GONE) {
        snprintf(text, size, "%s",
                 result->status == STK__CSV_OPEN
                     ? "a quoted field does not end"
                     : "the row is gone: the file was changed after it was opened");
        return;
    }
    if (result->status == STK__CSV_STRAY) {
        explain_stray(table, result->target, text, size);
        return;
    }
    const struct stk__csv_target *target = &table->target[result->target];
    const struct stk__csv_cell *cell = &work->cell[row * table->n_wanted + target->wanted];
    const char *column = table->name[target->column].text, *type = type_name(&target->type);
    int shown = cell->len < SHOWN ? (int)cell->len : SHOWN;
    if (result->status == STK__CSV_MISSING)
        snprintf(text, size, "column '%s': the value is missing; %s(default=0) would fill it in",
                 column, target->type.kind == STK__CSV_CATEGORY ? "category" : type);
    else
        snprintf(text, size, "column '%s': '%.*s%s' is no %s", column, shown,
                 (const char *)cell->at, cell->len > SHOWN ? "…" : "", type);
}

/* ---- a located source ---- */

void stk__csv_locate(const void *state, int n, const uint64_t *index, struct stk__file_place *out)
{
    stk__row_groups_locate(&((const struct stk__csv_table *)state)->found, n, index, out);
}

/* Finds the rows of a run in its piece: passes over those before, and over those behind one that is
 * alone. */
static void find_run(const struct stk__csv_table *table, struct stk__row_run *run)
{
    uint32_t mark[STK__CSV_LEAST_ROOM];
    struct stk__csv_scan scan;
    struct stk__csv_row row;
    stk__csv_scan_begin(&scan, &table->format.dialect, false, mark, STK__CSV_LEAST_ROOM);
    stk__csv_scan_data(&scan, run->data, run->bytes);
    for (uint64_t i = 0; i < run->first && stk__csv_next_row(&scan, &row); i++)
        ;
    uint32_t begin = scan.at;
    if (run->n == 1 && stk__csv_next_row(&scan, &row))
        run->bytes = scan.at;
    run->data += begin;
    run->bytes -= begin;
    run->offset += begin;
}

/* Rows of the columns that a block is for. */
struct target_rows {
    struct stk_rows *rows;
    struct stk__csv_work work;
    int at; /* of the first row of the block */
};

/* Converts the block, and says of bad rows why. */
static void finish_block(struct target_rows *t)
{
    const struct stk__csv_table *table = t->rows->state;
    char text[STK_ERROR_TEXT - 64];
    stk__csv_put_rows(table, &t->work, t->rows->out, t->at);
    for (int i = 0; i < t->work.n; i++) {
        const struct stk__csv_origin *origin = &t->work.origin[i];
        const struct stk__csv_result *result = &t->work.result[i];
        if (result->status == STK__CSV_OK || result->status == STK__CSV_LEFT)
            continue;
        uint64_t line = stk__line_of(table->lines, origin->file, origin->offset + result->start);
        stk__csv_explain(table, &t->work, i, text, sizeof text);
        stk_rows_fail(t->rows, t->at + i, STK_DATA, "line %llu: %s", (unsigned long long)line,
                      text);
    }
    t->at += t->work.n;
    t->work.n = 0;
}

/* A row without cells. */
static void add_empty(struct target_rows *t, const struct stk__csv_origin *origin,
                      enum stk__csv_status status)
{
    struct stk__csv_work *work = &t->work;
    for (int k = 0; k < work->split.n_wanted; k++)
        work->cell[work->n * work->split.n_wanted + k] =
            (struct stk__csv_cell){ .at = (const uint8_t *)no_text };
    work->result[work->n] = (struct stk__csv_result){ .status = (uint8_t)status };
    work->origin[work->n++] = *origin;
    if (work->n == work->block)
        finish_block(t);
}

static int add_run(struct target_rows *t, struct stk__row_run *run)
{
    const struct stk__csv_table *table = t->rows->state;
    struct stk__csv_work *work = &t->work;
    if (run->first || run->n == 1)
        find_run(table, run);
    const struct stk__csv_origin origin = { t->rows->inside->fetched[run->from].owner, run->offset,
                                            run->file };
    stk__csv_scan_data(&work->scan, run->data, run->bytes);
    for (int done = 0, n; done < run->n; done += n) {
        n = stk__csv_work_split(work, run->n - done, &origin);
        if (n < 0)
            return STK_MEMORY;
        if (n == 0) {
            add_empty(t, &origin, STK__CSV_GONE);
            n = 1;
        } else if (work->n == work->block) {
            finish_block(t);
        }
    }
    return STK_OK;
}

static void *alloc_rows(void *rows, size_t bytes)
{
    return stk_rows_alloc(rows, bytes);
}

int stk__csv_rows(struct stk_rows *r, const uint64_t *index)
{
    static const struct stk__csv_origin nowhere;
    const struct stk__csv_table *table = r->state;
    struct target_rows t = { .rows = r };
    struct stk__row_run run;
    if (!stk__csv_work_begin(&t.work, r->state, alloc_rows, r))
        return STK_MEMORY;
    for (int i = 0; i < r->n; i += run.n) {
        run.n = 1;
        if (r->mask[i] != STK_LIVE) {
            add_empty(&t, &nowhere, STK__CSV_LEFT);
            continue;
        }
        run = stk__row_groups_run(&table->found, r, index, i);
        if (add_run(&t, &run))
            return STK_MEMORY;
    }
    finish_block(&t);
    return STK_OK;
}
