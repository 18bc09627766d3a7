/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_guard.c: a plug-in that breaks the contract of op.h is an error, where that can be seen. */
#include "graph/plugin_guard.h"

#include "base/rows/blob.h"
#include "lang/lexer.h"
#include "op/declaration.h"

#include <string.h>

enum { MARGIN = 64, MARK = 0xa5 };

static uint8_t unset; /* its address is in spans that an op did not set */

/* ---- infer ---- */

static bool is_field(const struct stk_field *field)
{
    if (!field->name || !stk__is_name(field->name, strlen(field->name)) ||
        field->kind > STK_RAGGED || !stk_dtype_bytes(field->dtype) || field->rank > STK_MAX_RANK)
        return false;
    if (field->kind == STK_BYTES)
        return field->dtype == STK_U8 && (!field->rank || field->flags & STK_FIELD_PACKED) &&
               (field->rank < 2 || stk__texts_of(field) >= 0);
    if (field->kind == STK_RAGGED && (!field->rank || field->shape[0] != -1))
        return false;
    size_t bytes = stk_dtype_bytes(field->dtype);
    for (int d = field->kind == STK_RAGGED; d < field->rank; d++) {
        bool may_differ = field->kind == STK_SHAPED && field->shape[d] == -1;
        if (!may_differ && (field->shape[d] < 0 ||
                            __builtin_mul_overflow(bytes, (size_t)field->shape[d], &bytes) ||
                            bytes > PTRDIFF_MAX / 4096))
            return false;
    }
    return true;
}

static bool is_same(const struct stk_field *a, const struct stk_field *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

static int check_field(const struct stk_infer *inf, int f, struct stk_error *err)
{
    const struct stk_field *field = &inf->out->field[f];
    const struct stk_type *in = inf->in[0];
    if (!is_field(field))
        return stk_fail(err, STK_TYPE,
                        "infer of the plug-in states field %d ('%.64s') as nothing "
                        "that a field can be",
                        f, field->name ? field->name : "");
    for (int k = 0; k < f; k++)
        if (!strcmp(inf->out->field[k].name, field->name))
            return stk_fail(err, STK_TYPE, "infer of the plug-in states two fields named '%s'",
                            field->name);
    int from = inf->from[f];
    if (from < -1 || from >= in->n_fields)
        return stk_fail(err, STK_TYPE, "infer of the plug-in takes '%s' from field %d of %d",
                        field->name, from, in->n_fields);
    if (from < 0 && field->flags & (STK_FIELD_PACKED | STK_FIELD_LISTS))
        return stk_fail(err, STK_TYPE,
                        "infer of the plug-in states that it writes '%s' with many texts or lists "
                        "in one, which only the library does",
                        field->name);
    if (from >= 0 && !is_same(field, &in->field[from]))
        return stk_fail(err, STK_TYPE,
                        "infer of the plug-in states another type for '%s', which "
                        "it leaves untouched",
                        field->name);
    return STK_OK;
}

int stk__guard_infer(const struct stk_infer *inf, bool is_filter, struct stk_error *err)
{
    int n = inf->out->n_fields, rc = STK_OK;
    if (n < 1 || n > STK_MAX_FIELDS)
        return stk_fail(err, STK_TYPE,
                        "infer of the plug-in states %d fields; 1 to %d are possible", n,
                        STK_MAX_FIELDS);
    for (int f = 0; f < n && !rc; f++)
        rc = check_field(inf, f, err);
    if (!rc && !is_filter && inf->count != inf->in_count[0])
        rc = stk_fail(err, STK_TYPE,
                      "infer of the plug-in states another number of elements, but "
                      "it has no flag STK_OP_FILTER");
    return rc;
}

/* ---- run ---- */

bool stk__guard_begin(struct stk__guard *guard, struct stk_rows *rows)
{
    size_t n = (size_t)rows->n;
    uint8_t *block = stk_rows_alloc(rows, n + 2 * MARGIN);
    guard->before = stk_rows_alloc(rows, n + 1);
    if (!block || !guard->before)
        return false;
    memset(block, MARK, n + 2 * MARGIN);
    memcpy(block + MARGIN, rows->mask, n);
    memcpy(guard->before, rows->mask, n);
    guard->given = rows->mask;
    rows->mask = block + MARGIN;
    for (int f = 0; f < rows->out_type->n_fields; f++)
        for (int i = 0; guard->from[f] < 0 && rows->out[f].span && i < rows->n; i++)
            rows->out[f].span[i] = (struct stk_span){ .data = &unset };
    return true;
}

static bool has_margins(const struct stk_rows *rows)
{
    const uint8_t *ahead = rows->mask - MARGIN, *behind = rows->mask + rows->n;
    for (int i = 0; i < MARGIN; i++)
        if (ahead[i] != MARK || behind[i] != MARK)
            return false;
    return true;
}

/* A span may have the owner of an input span of its row, and no other. */
static bool is_known_owner(const struct stk_rows *rows, int row, const struct stk_buffer *owner)
{
    bool is_known = !owner;
    for (int f = 0; f < rows->in_type->n_fields && !is_known; f++)
        is_known = rows->in[f].span && rows->in[f].span[row].owner == owner;
    return is_known;
}

/* What is wrong with one row of a field that has a span per row, or NULL. */
static const char *span_fault(const struct stk_rows *rows, int f, int row)
{
    const struct stk_field *field = &rows->out_type->field[f];
    const struct stk_column *column = &rows->out[f];
    const struct stk_span *span = &column->span[row];
    if (span->data == &unset)
        return "was left unset";
    if (span->bytes && !span->data)
        return "has bytes, but no data";
    if (!is_known_owner(rows, row, span->owner))
        return "has an owner that is none of its element's";
    size_t bytes = stk_dtype_bytes(field->dtype);
    for (int d = field->kind == STK_RAGGED; field->kind != STK_BYTES && d < field->rank; d++) {
        int64_t dim = column->dims ? column->dims[row * column->rank + d] : field->shape[d];
        if (dim < 0 || (field->shape[d] >= 0 && dim != field->shape[d]))
            return "has another shape than infer stated";
        bytes *= (size_t)dim;
    }
    bool is_whole = field->kind == STK_BYTES ||
                    (field->kind == STK_SHAPED && span->bytes == bytes) ||
                    (field->kind == STK_RAGGED && bytes && span->bytes % bytes == 0);
    return is_whole ? NULL : "has another number of bytes than its shape takes";
}

static void check_live(const struct stk__guard *guard, struct stk_rows *rows, int row)
{
    for (int f = 0; f < rows->out_type->n_fields; f++) {
        if (guard->from[f] >= 0 || !rows->out[f].span)
            continue;
        const char *fault = span_fault(rows, f, row);
        if (fault)
            stk_rows_fail(rows, row, STK_STATE, "the plug-in is wrong: the field '%s' %s",
                          rows->out_type->field[f].name, fault);
    }
}

/* One row of the mask: how it may change. */
static void check_mark(const struct stk__guard *guard, struct stk_rows *rows, int row)
{
    uint8_t before = guard->before[row], after = rows->mask[row];
    const char *fault = NULL;
    if (before != STK_LIVE) {
        rows->mask[row] = before;
        return;
    }
    if (after != STK_LIVE && after != STK_DEAD && after != STK_BAD)
        fault = "it marked an element with a number that is no mark";
    else if (after == STK_DEAD && !guard->is_filter)
        fault = "it dropped an element, but has no flag STK_OP_FILTER";
    else if (after == STK_BAD && !stk__fault_find(*rows->inside->faults, row))
        fault = "it marked an element bad without stk_rows_fail";
    if (fault) {
        rows->mask[row] = STK_LIVE;
        stk_rows_fail(rows, row, STK_STATE, "the plug-in is wrong: %s", fault);
    }
    if (rows->mask[row] == STK_LIVE)
        check_live(guard, rows, row);
}

static void fail_all(struct stk_rows *rows, const char *fault, int number)
{
    for (int i = 0; i < rows->n; i++)
        if (rows->mask[i] != STK_BAD) {
            rows->mask[i] = STK_LIVE;
            stk_rows_fail(rows, i, STK_STATE, "the plug-in is wrong: %s (%d)", fault, number);
        }
}

static void clear_unset(const struct stk__guard *guard, struct stk_rows *rows)
{
    for (int f = 0; f < rows->out_type->n_fields; f++)
        for (int i = 0; guard->from[f] < 0 && rows->out[f].span && i < rows->n; i++)
            if (rows->mask[i] != STK_LIVE)
                rows->out[f].span[i] = (struct stk_span){ 0 };
}

void stk__guard_end(struct stk__guard *guard, struct stk_rows *rows, int rc)
{
    bool is_inside = has_margins(rows);
    for (int i = 0; i < rows->n; i++)
        check_mark(guard, rows, i);
    if (!is_inside)
        fail_all(rows, "it marked elements outside of its rows", rows->n);
    if (rows->inside->n_outside)
        fail_all(rows, "it failed elements outside of its rows", rows->n);
    if (rc && rc != STK_MEMORY)
        fail_all(rows, "run returned neither 0 nor STK_MEMORY", rc);
    clear_unset(guard, rows);
    memcpy(guard->given, rows->mask, (size_t)rows->n);
    rows->mask = guard->given;
}
