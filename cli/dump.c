/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c: batches as JSON, for tests and for people. */
#include "dump.h"

#include "value_text.h"

#include <inttypes.h>
#include <string.h>

/* What lies below dimension `dim` at p. */
static void print_block(FILE *file, const struct stk_view *view, int dim, const char *p)
{
    if (dim == view->rank) {
        cli_value_print(file, view->dtype, p);
        return;
    }
    putc('[', file);
    for (int64_t i = 0; i < view->shape[dim]; i++) {
        if (i)
            putc(',', file);
        print_block(file, view, dim + 1, p + i * view->strides[dim]);
    }
    putc(']', file);
}

static void print_list(FILE *file, const struct stk_view *view, int64_t entry)
{
    putc('[', file);
    for (int64_t i = view->splits[entry]; i < view->splits[entry + 1]; i++) {
        if (i > view->splits[entry])
            putc(',', file);
        print_block(file, view, 1, (const char *)view->data + i * view->strides[0]);
    }
    putc(']', file);
}

static void print_string(FILE *file, const struct stk_view *view, int64_t i)
{
    cli_text_print(file, (const char *)view->data + view->splits[i],
                   (size_t)(view->splits[i + 1] - view->splits[i]));
}

/* Strings of an array from one on, from dimension `dim` inwards; returns the one behind them. */
static int64_t print_array(FILE *file, const struct stk_view *view, int dim, int64_t i)
{
    if (dim == view->row_rank) {
        print_string(file, view, i);
        return i + 1;
    }
    putc('[', file);
    for (int64_t k = 0; k < view->row_shape[dim]; k++) {
        if (k)
            putc(',', file);
        i = print_array(file, view, dim + 1, i);
    }
    putc(']', file);
    return i;
}

/* Strings or lists of numbers from one up to another. */
static void print_entries(FILE *file, const struct stk_view *view, int64_t first, int64_t end)
{
    if (view->row_rank) {
        print_array(file, view, 0, first);
        return;
    }
    putc('[', file);
    for (int64_t i = first; i < end; i++) {
        if (i > first)
            putc(',', file);
        if (view->kind == STK_BYTES)
            print_string(file, view, i);
        else
            print_list(file, view, i);
    }
    putc(']', file);
}

static void print_rows(FILE *file, const struct stk_view *view)
{
    if (!view->row_splits) {
        print_entries(file, view, 0, view->n_splits - 1);
        return;
    }
    putc('[', file);
    for (int64_t row = 0; row + 1 < view->n_row_splits; row++) {
        if (row)
            putc(',', file);
        print_entries(file, view, view->row_splits[row], view->row_splits[row + 1]);
    }
    putc(']', file);
}

void cli_dump_view(FILE *file, const struct stk_view *view)
{
    if (view->kind == STK_BYTES && !view->rank)
        print_string(file, view, 0);
    else if (view->kind == STK_BYTES || view->kind == STK_RAGGED)
        print_rows(file, view);
    else
        print_block(file, view, 0, view->data);
}

static void print_origins(FILE *file, const struct stk_batch *batch)
{
    int64_t n_rows = stk_batch_n_rows(batch);
    for (int64_t row = 0; row < n_rows; row++) {
        char *origin = stk_batch_origin(batch, row);
        if (row)
            putc(',', file);
        if (origin)
            cli_text_print(file, origin, strlen(origin));
        else
            fputs("null", file);
        stk_text_free(origin);
    }
}

void cli_dump_batch(FILE *file, const struct stk_batch *batch)
{
    struct stk_position position;
    stk_batch_position(batch, &position);
    fprintf(file, "{\"epoch\":%" PRIu64 ",\"batch\":%" PRIu64 ",\"rows\":%" PRId64 ",\"fields\":{",
            position.epoch, position.batch, stk_batch_n_rows(batch));
    for (int i = 0; i < stk_batch_n_fields(batch); i++) {
        struct stk_view view;
        if (stk_batch_view_at(batch, i, &view))
            continue;
        if (i)
            putc(',', file);
        cli_text_print(file, view.name, strlen(view.name));
        putc(':', file);
        cli_dump_view(file, &view);
    }
    fputs("},\"origin\":[", file);
    print_origins(file, batch);
    fputs("]}\n", file);
}
