/* SPDX-License-Identifier: Apache-2.0 */
/* caller.c: what the calling program says of its fields, and whether its cells agree. */
#include "op/caller.h"

#include "base/rows/blob.h"

#include <string.h>

void stk__caller_fields(int n, const struct stk_field_info *field, struct stk_infer *inf)
{
    inf->out->n_fields = n;
    for (int f = 0; f < n; f++) {
        const struct stk_field_info *from = &field[f];
        struct stk_field *to = &inf->out->field[f];
        bool is_bytes = from->kind == STK_BYTES;
        *to = (struct stk_field){ .name = from->name,
                                  .kind = (uint8_t)from->kind,
                                  .dtype = is_bytes ? STK_U8 : (uint8_t)from->dtype,
                                  .rank = (uint8_t)from->rank };
        if (is_bytes && from->rank)
            to->flags = STK_FIELD_PACKED;
        if (is_bytes && from->shape[0] < 0)
            to->rank = 0; /* a list of any number */
        memcpy(to->shape, from->shape, sizeof to->shape);
        if (from->kind == STK_RAGGED)
            to->shape[0] = -1;
        inf->from[f] = -1;
    }
}

static int fail_cell(const struct stk_field_info *field, const char *what, long long got,
                     long long want, struct stk_error *err)
{
    return stk_fail(err, STK_TYPE, "the field '%s' has %s %lld, not %lld", field->name, what, got,
                    want);
}

static int check_texts(const struct stk_field_info *field, const struct stk_cell *cell,
                       struct stk_error *err)
{
    int64_t n = cell->shape[0], bytes = (int64_t)cell->bytes;
    if (n < 0 || n > INT32_MAX || !cell->splits)
        return fail_cell(field, "a number of texts of", n, 0, err);
    if (field->shape[0] >= 0 && n != field->shape[0])
        return fail_cell(field, "a number of texts of", n, field->shape[0], err);
    if (cell->splits[0] != 0 || cell->splits[n] != bytes)
        return fail_cell(field, "bytes:", cell->splits[n], bytes, err);
    for (int64_t i = 0; i < n; i++)
        if (cell->splits[i] > cell->splits[i + 1])
            return fail_cell(field, "a text that ends at", cell->splits[i + 1], cell->splits[i],
                             err);
    return STK_OK;
}

int stk__caller_check(const struct stk_field_info *field, const struct stk_cell *cell,
                      struct stk_error *err)
{
    bool is_bytes = field->kind == STK_BYTES;
    size_t bytes = is_bytes ? cell->bytes : stk_dtype_bytes(field->dtype);
    for (int d = 0; !is_bytes && d < field->rank; d++) {
        bool may_differ = field->kind == STK_RAGGED ? d == 0 : field->shape[d] == -1;
        int64_t dim = field->kind == STK_FIXED ? field->shape[d] : cell->shape[d];
        if (!may_differ && dim != field->shape[d])
            return fail_cell(field, "a dimension of", dim, field->shape[d], err);
        if (dim < 0 || dim > INT32_MAX || __builtin_mul_overflow(bytes, (size_t)dim, &bytes))
            return fail_cell(field, "a dimension of", dim, 0, err);
    }
    if (bytes != cell->bytes || (bytes && !cell->data))
        return fail_cell(field, "bytes:", (long long)cell->bytes, (long long)bytes, err);
    return is_bytes && field->rank ? check_texts(field, cell, err) : STK_OK;
}

size_t stk__caller_bytes(const struct stk_field *field, const struct stk_cell *cell)
{
    bool is_list = field->flags & STK_FIELD_PACKED;
    return is_list ? stk__blob_room(cell->shape[0], cell->bytes) : cell->bytes;
}

void stk__caller_write(const struct stk_field *field, const struct stk_cell *cell, uint8_t *dst)
{
    if (field->flags & STK_FIELD_PACKED) {
        struct stk__blob list = stk__blob_begin(dst, cell->shape[0]);
        memcpy(list.splits, cell->splits, ((size_t)list.n + 1) * sizeof *list.splits);
        dst = list.data;
    }
    if (cell->bytes)
        memcpy(dst, cell->data, cell->bytes);
}
