/* SPDX-License-Identifier: Apache-2.0 */
/* array_field.c: rows of array fields, places for results, copies of boxes. */
#include "op/field/array_field.h"

#include "op/field_map.h"

#include <stdio.h>
#include <string.h>

bool stk__is_array(const struct stk_field *field)
{
    return field->kind != STK_BYTES && !(field->flags & STK_FIELD_PACKED);
}

int stk__result_put(struct stk_infer *inf, int from, const char *into, struct stk_field made,
                    int *to, struct stk_error *err)
{
    *to = from;
    if (into) {
        if (!*into)
            return stk_fail(err, STK_VALUE, "the name of the new field is empty");
        made.name = into;
        *to = stk_type_find(inf->out, into);
    }
    if (*to < 0) {
        *to = inf->out->n_fields;
        return stk__field_add(inf, &made, -1, err);
    }
    inf->out->field[*to] = made;
    inf->from[*to] = -1;
    return STK_OK;
}

int stk__array_check_size(const struct stk_field *field, struct stk_error *err)
{
    int64_t n_values = 1;
    for (int d = 0; d < field->rank; d++) {
        if (field->shape[d] <= 0)
            continue;
        if (field->shape[d] > INT32_MAX / n_values)
            return stk_fail(err, STK_VALUE, "an element would have 2^31 values or more");
        n_values *= field->shape[d];
    }
    return STK_OK;
}

/* ---- rows ---- */

struct stk__array_value stk__array_get(const struct stk_rows *rows, int field, int row)
{
    const struct stk_field *type = &rows->in_type->field[field];
    const struct stk_column *column = &rows->in[field];
    struct stk__array_value array = { .rank = type->rank };
    memcpy(array.dim, type->shape, sizeof array.dim);
    if (type->kind == STK_FIXED) {
        array.data = column->data + (size_t)row * column->stride;
        return array;
    }
    array.data = column->span[row].data;
    for (int d = 0; type->kind == STK_SHAPED && d < type->rank; d++)
        array.dim[d] = column->dims[(size_t)row * type->rank + (size_t)d];
    if (type->kind == STK_SHAPED)
        return array;
    size_t entry_bytes = stk_dtype_bytes(type->dtype);
    for (int d = 1; d < type->rank; d++)
        entry_bytes *= (size_t)type->shape[d];
    array.rank = type->kind == STK_BYTES ? 1 : type->rank;
    array.dim[0] = (int64_t)(column->span[row].bytes / entry_bytes);
    return array;
}

size_t stk__array_values(const struct stk__array_value *array)
{
    size_t n = 1;
    for (int d = 0; d < array->rank; d++)
        n *= (size_t)array->dim[d];
    return n;
}

uint8_t *stk__array_put(struct stk_rows *rows, int field, int row, const int64_t *dim)
{
    const struct stk_field *type = &rows->out_type->field[field];
    struct stk_column *column = &rows->out[field];
    if (type->kind == STK_FIXED)
        return column->data + (size_t)row * column->stride;
    size_t bytes = stk_dtype_bytes(type->dtype);
    int rank = type->kind == STK_BYTES ? 1 : type->rank;
    for (int d = 0; d < rank; d++) {
        bytes *= (size_t)dim[d];
        if (type->kind == STK_SHAPED)
            column->dims[(size_t)row * type->rank + (size_t)d] = (int32_t)dim[d];
    }
    uint8_t *data = stk_rows_alloc(rows, bytes + !bytes);
    column->span[row] = (struct stk_span){ .data = data, .bytes = data ? bytes : 0 };
    return data;
}

const char *stk__dims_text(const int64_t *dim, int rank, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int d = 0; d < rank && used < size; d++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%lld", d ? ", " : "", (long long)dim[d]);
    if (used < size)
        snprintf(text + used, size - used, "]");
    return text;
}

/* ---- boxes ---- */

struct stk__box stk__box_make(int rank, size_t value_bytes, const int64_t *dim,
                              const int64_t *src_dim, const int64_t *dst_dim)
{
    struct stk__box box = { .rank = rank, .value_bytes = value_bytes };
    int64_t src_step = (int64_t)value_bytes, dst_step = (int64_t)value_bytes;
    for (int d = rank - 1; d >= 0; d--) {
        box.dim[d] = dim[d];
        box.src_step[d] = src_step;
        box.dst_step[d] = dst_step;
        src_step *= src_dim[d];
        dst_step *= dst_dim[d];
    }
    return box;
}

static void copy_values(const struct stk__box *box, int axis, uint8_t *dst, const uint8_t *src)
{
    if (axis == box->rank) {
        memcpy(dst, src, box->value_bytes);
        return;
    }
    for (int64_t i = 0; i < box->dim[axis]; i++)
        copy_values(box, axis + 1, dst + i * box->dst_step[axis], src + i * box->src_step[axis]);
}

/* Takes inner dimensions that lie close together in both arrays as one value. */
static void merge_inner(struct stk__box *box)
{
    while (box->rank && box->src_step[box->rank - 1] == (int64_t)box->value_bytes &&
           box->dst_step[box->rank - 1] == (int64_t)box->value_bytes)
        box->value_bytes *= (size_t)box->dim[--box->rank];
}

static bool is_empty(const struct stk__box *box)
{
    for (int d = 0; d < box->rank; d++)
        if (!box->dim[d])
            return true;
    return false;
}

void stk__box_copy(struct stk__box box, uint8_t *dst, const uint8_t *src)
{
    if (is_empty(&box))
        return;
    merge_inner(&box);
    copy_values(&box, 0, dst, src);
}

void stk__box_copy_rows(struct stk_rows *rows, struct stk__box box, struct stk__box_place from,
                        struct stk__box_place to)
{
    const struct stk_column *in = &rows->in[from.field], *out = &rows->out[to.field];
    const uint8_t *src = in->data + from.at;
    uint8_t *dst = out->data + to.at;
    merge_inner(&box);
    /* Single numbers, which many rows have, are worth a loop that knows their size. */
    bool is_word = !box.rank && box.value_bytes == sizeof(uint64_t);
    bool is_half = !box.rank && box.value_bytes == sizeof(uint32_t);
    for (int i = 0; i < rows->n; i++, src += in->stride, dst += out->stride) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        if (is_word)
            memcpy(dst, src, sizeof(uint64_t));
        else if (is_half)
            memcpy(dst, src, sizeof(uint32_t));
        else
            copy_values(&box, 0, dst, src);
    }
}

void stk__fill_values(uint8_t *dst, const void *value, size_t value_bytes, size_t n)
{
    static const uint64_t zero;
    size_t bytes = n * value_bytes, filled = value_bytes;
    if (!n || !memcmp(value, &zero, value_bytes)) {
        memset(dst, 0, bytes);
        return;
    }
    memcpy(dst, value, value_bytes);
    for (size_t more; filled < bytes; filled += more) {
        more = filled < bytes - filled ? filled : bytes - filled;
        memcpy(dst + filled, dst, more);
    }
}
