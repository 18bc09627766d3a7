/* SPDX-License-Identifier: Apache-2.0 */
/* function_ops.c: map_function and filter_function: elements through a function of the calling program.
 *
 * The function is entered once for all rows of a run, because that is where a caller takes its
 * lock. Both ops are of one lock group, so the executor gives such work to one worker at a time. */
#include "base/error.h"
#include "base/memory/gauge.h"
#include "base/rows/blob.h"
#include "lang/objects.h"
#include "lang/value.h"
#include "op/caller.h"

#include <string.h>

struct function {
    const struct stk_value *function;
};

static const struct stk_param params[] = {
    STK__VALUE_ROW(function, function, STK_REQUIRED,
                   "`@name` of a function that the calling program has bound"),
    STK_ROWS_END,
};

/* What infer makes of the function and of what comes in. */
struct known {
    const struct stk_function *function;
    int n_in;
    struct stk_field_info in[STK_MAX_FIELDS];
};

static int open_function(const void *given, struct stk_arena *arena, void **state,
                         struct stk_error *err)
{
    const struct stk_value *value = ((const struct function *)given)->function;
    (void)arena, (void)state;
    if (value->kind != STK__OBJECT || value->object.bound->kind != STK__FUNCTION)
        return stk__fail_at(err, STK_TYPE, value->at, value->len,
                            "wants a function of the calling program, as in map_function(@name)");
    return STK_OK;
}

/* What the function is told of one field. */
static int tell_field(const struct stk_field *field, struct stk_field_info *out,
                      struct stk_error *err)
{
    *out = (struct stk_field_info){ field->name, field->kind, field->dtype, field->rank, { 0 } };
    memcpy(out->shape, field->shape, sizeof out->shape);
    if (!(field->flags & STK_FIELD_PACKED))
        return STK_OK;
    if (field->kind == STK_RAGGED || field->flags & STK_FIELD_LISTS)
        return stk_fail(err, STK_TYPE,
                        "the lists of the field '%s' are those of a whole batch, which a function "
                        "cannot take; put it before batch, or leave them out with select",
                        field->name);
    if (!field->rank) { /* a list of any number */
        out->rank = 1;
        out->shape[0] = -1;
    }
    return STK_OK;
}

static int know(struct stk_infer *inf, struct known **out, struct stk_error *err)
{
    struct known *known = stk_arena_alloc(inf->arena, sizeof *known);
    int rc = known ? STK_OK : stk__out_of_memory(err);
    if (known) {
        const struct function *p = inf->params;
        known->function = &p->function->object.bound->function;
        known->n_in = inf->in[0]->n_fields;
    }
    for (int f = 0; !rc && f < known->n_in; f++)
        rc = tell_field(&inf->in[0]->field[f], &known->in[f], err);
    *out = known;
    return rc;
}

/* How the function is called. */
static void state_how(struct known *known, struct stk_infer *inf)
{
    const struct stk_function *function = known->function;
    inf->inside->is_heavy = function->is_heavy;
    inf->inside->n_waiting = function->n_waiting;
    inf->inside->wants_keys = function->seed != NULL;
    inf->inside->is_random = function->seed && function->is_random;
    inf->state = known;
}

static int infer_map(struct stk_infer *inf, struct stk_error *err)
{
    struct known *known;
    int rc = know(inf, &known, err);
    if (rc)
        return rc;
    if (!known->function->n_fields)
        return stk_fail(err, STK_TYPE, "the function is a condition: it makes no fields");
    stk__caller_fields(known->function->n_fields, known->function->field, inf);
    state_how(known, inf);
    return STK_OK;
}

static int infer_filter(struct stk_infer *inf, struct stk_error *err)
{
    struct known *known;
    int rc = know(inf, &known, err);
    if (rc)
        return rc;
    if (known->function->n_fields)
        return stk_fail(err, STK_TYPE, "the function makes fields: it is no condition");
    stk_infer_pass(inf);
    inf->count = STK_UNKNOWN_COUNT;
    state_how(known, inf);
    return STK_OK;
}

/* ---- what goes in ---- */

static void show_row(const struct stk_rows *rows, int row, struct stk_cell *cell)
{
    for (int f = 0; f < rows->in_type->n_fields; f++) {
        const struct stk_field *field = &rows->in_type->field[f];
        const struct stk_column *column = &rows->in[f];
        cell[f] = (struct stk_cell){ 0 };
        memcpy(cell[f].shape, field->shape, sizeof cell[f].shape);
        if (!column->span) {
            cell[f].data = column->data + (size_t)row * column->stride;
            cell[f].bytes = column->stride;
            continue;
        }
        cell[f].data = column->span[row].data;
        cell[f].bytes = column->span[row].bytes;
        for (int d = 0; column->dims && d < column->rank; d++)
            cell[f].shape[d] = column->dims[row * column->rank + d];
        if (field->kind == STK_RAGGED) {
            size_t unit = stk__blob_unit(field);
            cell[f].shape[0] = unit ? (int64_t)(cell[f].bytes / unit) : 0;
        } else if (field->flags & STK_FIELD_PACKED) {
            struct stk__blob blob = stk__blob_open(column->span[row].data);
            cell[f] = (struct stk_cell){ .data = blob.data,
                                         .bytes = (size_t)blob.splits[blob.n],
                                         .shape = { blob.n },
                                         .splits = blob.splits };
            if (field->rank > 1)
                memcpy(cell[f].shape, field->shape, sizeof cell[f].shape);
        }
    }
}

/* ---- what comes out ---- */

static bool write_cell(struct stk_rows *rows, int f, int row, const struct stk_cell *cell)
{
    struct stk_column *column = &rows->out[f];
    if (!column->span) {
        if (cell->bytes)
            memcpy(column->data + (size_t)row * column->stride, cell->data, cell->bytes);
        return true;
    }
    const struct stk_field *field = &rows->out_type->field[f];
    size_t bytes = stk__caller_bytes(field, cell);
    uint8_t *data = stk_rows_alloc(rows, bytes + 1);
    if (data)
        stk__caller_write(field, cell, data);
    column->span[row] = (struct stk_span){ data, bytes, NULL };
    for (int d = 0; column->dims && d < column->rank; d++)
        column->dims[row * column->rank + d] = (int32_t)cell->shape[d];
    return data != NULL;
}

static int write_row(struct stk_rows *rows, int row, const struct stk_cell *cell)
{
    const struct stk_function *function = ((const struct known *)rows->state)->function;
    struct stk_error err;
    for (int f = 0; f < function->n_fields; f++) {
        if (stk__caller_check(&function->field[f], &cell[f], &err)) {
            stk_rows_fail(rows, row, err.code, "%s", err.text);
            return STK_OK;
        }
        if (!write_cell(rows, f, row, &cell[f]))
            return STK_MEMORY;
    }
    return STK_OK;
}

/* ---- runs ---- */

static void seed_row(const struct stk_rows *rows, int row, void *entered)
{
    const struct stk_function *function = ((const struct known *)rows->state)->function;
    uint32_t word[8];
    if (!function->seed)
        return;
    stk_rows_random(rows, row, 0, 0, word);
    stk_rows_random(rows, row, 0, 1, word + 4);
    function->seed(entered, word);
}

static int call_row(struct stk_rows *rows, int row, void *entered)
{
    const struct stk_function *function = ((const struct known *)rows->state)->function;
    struct stk_cell in[STK_MAX_FIELDS], out[STK_MAX_FIELDS];
    struct stk_error err = { 0 };
    if (stk_rows_is_cancelled(rows)) {
        stk_rows_fail(rows, row, STK_CANCELLED, "cancelled");
        return STK_OK;
    }
    show_row(rows, row, in);
    seed_row(rows, row, entered);
    int code = function->call(entered, in, out, &err);
    if (code == STK_END && !function->n_fields)
        rows->mask[row] = STK_DEAD;
    else if (code)
        stk_rows_fail(rows, row, code, "%s", *err.text ? err.text : stk_status_text(code));
    else
        return write_row(rows, row, out);
    return STK_OK;
}

static void fail_all(struct stk_rows *rows, int code, const struct stk_error *err)
{
    for (int i = 0; i < rows->n; i++)
        if (rows->mask[i] == STK_LIVE)
            stk_rows_fail(rows, i, code, "%s", *err->text ? err->text : stk_status_text(code));
}

static int run(struct stk_rows *rows)
{
    const struct known *known = rows->state;
    const struct stk_function *function = known->function;
    void *entered = function->context;
    struct stk_error err = { 0 };
    struct stk__gauge *paused = stk__gauge_pause(); /* others may wait for the caller's lock */
    rows->inside->blamed = function->said;
    int rc = function->enter
                 ? function->enter(function->context, known->n_in, known->in, &entered, &err)
                 : STK_OK;
    if (rc) {
        stk__gauge_resume(paused);
        fail_all(rows, rc, &err);
        return STK_OK;
    }
    for (int i = 0; i < rows->n && !rc; i++)
        if (rows->mask[i] == STK_LIVE)
            rc = call_row(rows, i, entered);
    if (function->leave)
        function->leave(entered);
    stk__gauge_resume(paused);
    return rc;
}

const struct stk__op stk__op_map_function = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "map_function", 1, "Make elements by a function of the calling program.",
              "Calls a function that C binds with `stk_objects_add_function` and Python with "
              "`ds.map(function)`: what it returns are the fields of the new element. Behind batch "
              "it gets a whole batch at once. Order is kept, whoever calls it.\n"
              "\n"
              "    range(10).map_function(@twice).batch(4)\n"
              "\n"
              "A function that draws random numbers is given a seed for each element, so that a "
              "chain "
              "with it gives the same batches for any number of workers; in Python that is found "
              "out "
              "or said by `random`.\n"
              "\n"
              "An element for which it fails is a bad element: `on_error` decides. It is called on "
              "worker threads, by one at a time unless what comes before it is worth more of them "
              "(decoding, reading); then it must bear calls that overlap.",
              params, sizeof(struct function) },
    .exclusive = "function",
    .open = open_function,
    .infer = infer_map,
    .row = { .run = run },
};

const struct stk__op stk__op_filter_function = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "filter_function", 1, "Keep the elements that a function of the program wants.",
              "Calls a function that C binds with `stk_objects_add_function` and Python with "
              "`ds.filter(function)`; it says of each element, or batch, whether it stays. It is "
              "called as that of map_function is.\n"
              "\n"
              "    range(10).filter_function(@even).batch(4)",
              params, sizeof(struct function) },
    .flags = STK_OP_FILTER,
    .exclusive = "function",
    .open = open_function,
    .infer = infer_filter,
    .row = { .run = run },
};
