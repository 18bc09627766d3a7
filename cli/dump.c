/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c: batches as JSON, for tests and for people. */
#include "dump.h"

#include "values.h"

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

static void print_ragged(FILE *file, const struct stk_view *view)
{
    putc('[', file);
    for (int64_t row = 0; row + 1 < view->n_splits; row++) {
        fputs(row ? ",[" : "[", file);
        for (int64_t i = view->splits[row]; i < view->splits[row + 1]; i++) {
            if (i > view->splits[row])
                putc(',', file);
            print_block(file, view, 1, (const char *)view->data + i * view->strides[0]);
        }
        putc(']', file);
    }
    putc(']', file);
}

static void print_string(FILE *file, const struct stk_view *view, int64_t i)
{
    cli_text_print(file, (const char *)view->data + view->splits[i],
                   (size_t)(view->splits[i + 1] - view->splits[i]));
}

/* Strings are an array of the view's shape; *next is the first that is not printed yet. */
static void print_strings(FILE *file, const struct stk_view *view, int dim, int64_t *next)
{
    if (dim == view->rank) {
        print_string(file, view, (*next)++);
        return;
    }
    putc('[', file);
    for (int64_t i = 0; i < view->shape[dim]; i++) {
        if (i)
            putc(',', file);
        print_strings(file, view, dim + 1, next);
    }
    putc(']', file);
}

static void print_bytes(FILE *file, const struct stk_view *view)
{
    struct stk_view strings = *view;
    int64_t n_strings = 1, next = 0;
    for (int d = 0; d < view->rank; d++)
        n_strings *= view->shape[d];
    if (n_strings + 1 != view->n_splits) {
        strings.rank = 1;
        strings.shape[0] = view->n_splits - 1;
    }
    print_strings(file, &strings, 0, &next);
}

void cli_dump_view(FILE *file, const struct stk_view *view)
{
    if (view->kind == STK_BYTES)
        print_bytes(file, view);
    else if (view->kind == STK_RAGGED)
        print_ragged(file, view);
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
