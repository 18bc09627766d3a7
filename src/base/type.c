/* SPDX-License-Identifier: Apache-2.0 */
/* type.c: dtypes, fields and element types. */
#include "base/type.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
    char kind;
} dtypes[STK_N_DTYPES] = {
#define ROW(id, text, size, letter) [STK_##id] = { text, size, letter },
    STK_DTYPE_LIST(ROW)
#undef ROW
};

const char *const stk__dtype_names[STK_N_DTYPES + 1] = {
#define NAME(id, text, size, letter) [STK_##id] = text,
    STK_DTYPE_LIST(NAME)
#undef NAME
};

const char *stk_dtype_name(int dtype)
{
    return dtype >= 0 && dtype < STK_N_DTYPES ? dtypes[dtype].name : NULL;
}

size_t stk_dtype_bytes(int dtype)
{
    return dtype >= 0 && dtype < STK_N_DTYPES ? dtypes[dtype].bytes : 0;
}

char stk__dtype_kind(int dtype)
{
    return dtypes[dtype].kind;
}

size_t stk_field_bytes(const struct stk_field *field)
{
    size_t bytes = dtypes[field->dtype].bytes;
    for (int d = 0; d < field->rank; d++)
        bytes *= (size_t)field->shape[d];
    return bytes;
}

int stk_type_find(const struct stk_type *type, const char *name)
{
    for (int f = 0; f < type->n_fields; f++)
        if (!strcmp(type->field[f].name, name))
            return f;
    return -1;
}

void stk__field_text(const struct stk_field *field, struct stk__text *out)
{
    bool is_array = field->kind != STK_BYTES || field->rank; /* many that are equally long */
    if (field->flags & STK_FIELD_LISTS)
        stk__text_add(out, "list of ");
    if (field->flags & STK_FIELD_PACKED && !(field->kind == STK_BYTES && field->rank))
        stk__text_add(out, "list of ");
    if (field->kind == STK_BYTES)
        stk__text_add(out, field->flags & STK_FIELD_PATH   ? "path"
                           : field->flags & STK_FIELD_TEXT ? "text"
                                                           : "bytes");
    else
        stk__text_add(out, "%s%s", field->kind == STK_RAGGED ? "ragged " : "",
                      dtypes[field->dtype].name);
    if (!is_array)
        return;
    stk__text_add(out, "[");
    for (int d = 0; d < field->rank; d++) {
        if (field->shape[d] < 0)
            stk__text_add(out, "%s?", d ? ", " : "");
        else
            stk__text_add(out, "%s%lld", d ? ", " : "", (long long)field->shape[d]);
    }
    stk__text_add(out, "]");
}

void stk__type_text(const struct stk_type *type, struct stk__text *out)
{
    stk__text_add(out, "{");
    for (int f = 0; f < type->n_fields; f++) {
        stk__text_add(out, "%s%s: ", f ? ", " : "", type->field[f].name);
        stk__field_text(&type->field[f], out);
    }
    stk__text_add(out, "}");
}
