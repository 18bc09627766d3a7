/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c: batches as JSON, for tests and for people. */
#include "dump.h"

#include "json_print.h"
#include "value_text.h"

/* What lies below dimension `dim` at p. */
static void add_block(struct cli_json_file *out, const char *name, const struct stk_view *view,
                      int dim, const char *p)
{
    if (dim == view->rank) {
        cli_value_json(&out->text, name, view->dtype, p);
        return;
    }
    stk__json_open(&out->text, name, '[');
    for (int64_t i = 0; i < view->shape[dim]; i++)
        add_block(out, NULL, view, dim + 1, p + i * view->strides[dim]);
    stk__json_close(&out->text, ']');
    cli_json_drain(out);
}

static void add_list(struct cli_json_file *out, const struct stk_view *view, int64_t entry)
{
    stk__json_open(&out->text, NULL, '[');
    for (int64_t i = view->splits[entry]; i < view->splits[entry + 1]; i++)
        add_block(out, NULL, view, 1, (const char *)view->data + i * view->strides[0]);
    stk__json_close(&out->text, ']');
}

static void add_string(struct cli_json_file *out, const char *name, const struct stk_view *view,
                       int64_t i)
{
    stk__json_bytes(&out->text, name, (const char *)view->data + view->splits[i],
                    (size_t)(view->splits[i + 1] - view->splits[i]));
    cli_json_drain(out);
}

/* Strings of an array from one on, from dimension `dim` inwards; returns the one behind them. */
static int64_t add_array(struct cli_json_file *out, const char *name, const struct stk_view *view,
                         int dim, int64_t i)
{
    if (dim == view->row_rank) {
        add_string(out, name, view, i);
        return i + 1;
    }
    stk__json_open(&out->text, name, '[');
    for (int64_t k = 0; k < view->row_shape[dim]; k++)
        i = add_array(out, NULL, view, dim + 1, i);
    stk__json_close(&out->text, ']');
    return i;
}

/* Strings or lists of numbers from one up to another. */
static void add_entries(struct cli_json_file *out, const char *name, const struct stk_view *view,
                        int64_t first, int64_t end)
{
    if (view->row_rank) {
        add_array(out, name, view, 0, first);
        return;
    }
    stk__json_open(&out->text, name, '[');
    for (int64_t i = first; i < end; i++) {
        if (view->kind == STK_BYTES)
            add_string(out, NULL, view, i);
        else
            add_list(out, view, i);
    }
    stk__json_close(&out->text, ']');
}

static void add_rows(struct cli_json_file *out, const char *name, const struct stk_view *view)
{
    if (!view->row_splits) {
        add_entries(out, name, view, 0, view->n_splits - 1);
        return;
    }
    stk__json_open(&out->text, name, '[');
    for (int64_t row = 0; row + 1 < view->n_row_splits; row++)
        add_entries(out, NULL, view, view->row_splits[row], view->row_splits[row + 1]);
    stk__json_close(&out->text, ']');
}

void cli_dump_view(struct cli_json_file *out, const char *name, const struct stk_view *view)
{
    if (view->kind == STK_BYTES && !view->rank)
        add_string(out, name, view, 0);
    else if (view->kind == STK_BYTES || view->kind == STK_RAGGED)
        add_rows(out, name, view);
    else
        add_block(out, name, view, 0, view->data);
}

void cli_dump_origins(struct cli_json_file *out, const struct stk_batch *batch)
{
    int64_t n_rows = stk_batch_n_rows(batch);
    stk__json_open(&out->text, "origin", '[');
    for (int64_t row = 0; row < n_rows; row++) {
        char *origin = stk_batch_origin(batch, row);
        stk__json_string(&out->text, NULL, origin);
        stk_text_free(origin);
    }
    stk__json_close(&out->text, ']');
}

void cli_dump_batch(FILE *file, const struct stk_batch *batch)
{
    struct stk_position position;
    struct cli_json_file out = cli_json_to(file);
    stk_batch_position(batch, &position);
    stk__json_open(&out.text, NULL, '{');
    stk__json_count(&out.text, "epoch", position.epoch);
    stk__json_count(&out.text, "batch", position.batch);
    stk__json_whole(&out.text, "rows", stk_batch_n_rows(batch));
    stk__json_open(&out.text, "fields", '{');
    for (int i = 0; i < stk_batch_n_fields(batch); i++) {
        struct stk_view view;
        if (!stk_batch_view_at(batch, i, &view))
            cli_dump_view(&out, view.name, &view);
    }
    stk__json_close(&out.text, '}');
    cli_dump_origins(&out, batch);
    stk__json_close(&out.text, '}');
    cli_json_finish(&out);
}
