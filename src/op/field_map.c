/* SPDX-License-Identifier: Apache-2.0 */
/* field_map.c: checks of maps of fields, and what becomes of them. */
#include "op/field_map.h"

#include "base/error.h"
#include "base/rows/blob.h"

#include <math.h>
#include <string.h>

enum { MOST_VALUES = 1 << 28 };

int stk__field_map_check(const struct stk_value *map, const char *wants, struct stk_error *err)
{
    if (map->kind != STK__MAP || !map->n_items)
        return stk__fail_at(err, STK_VALUE, map->at, map->len, "%s", wants);
    if (map->n_items > STK_MAX_FIELDS)
        return stk__fail_at(err, STK_VALUE, map->at, map->len,
                            "has %d fields; at most %d are possible", map->n_items, STK_MAX_FIELDS);
    for (int i = 0; i < map->n_items; i++) {
        const struct stk_value *name = map->key[i];
        if (!name->text_len || strlen(name->text) != name->text_len)
            return stk__fail_at(err, STK_VALUE, name->at, name->len,
                                "a field needs a name without NUL bytes");
        for (int k = 0; k < i; k++)
            if (!strcmp(name->text, map->key[k]->text))
                return stk__fail_at(err, STK_NAME, name->at, name->len,
                                    "the field '%s' is given twice", name->text);
    }
    return STK_OK;
}

int stk__field_map_shape(const struct stk_value *value, const struct stk_numbers *shape,
                         struct stk_field *field, size_t *n_values, struct stk_error *err)
{
    *n_values = 1;
    for (int d = 0; d < shape->n; d++) {
        double dim = shape->item[d];
        if (!(dim >= 1 && dim <= MOST_VALUES) || dim != floor(dim))
            return stk__fail_at(err, STK_VALUE, value->at, value->len,
                                "the dimensions of a shape are whole numbers from 1");
        field->shape[field->rank++] = (int64_t)dim;
        if ((*n_values *= (size_t)dim) > MOST_VALUES)
            return stk__fail_at(err, STK_VALUE, value->at, value->len,
                                "the shape has more than 2^28 values");
    }
    return STK_OK;
}

int stk__text_list_read(const struct stk_value *list, struct stk_arena *arena, const void **row,
                        size_t *bytes, struct stk_error *err)
{
    bool is_list = list->kind == STK__LIST;
    size_t n_bytes = 0;
    for (int i = 0; is_list && i < list->n_items; i++) {
        is_list = list->item[i]->kind == STK__STRING;
        n_bytes += list->item[i]->text_len;
    }
    if (!is_list)
        return stk__fail_at(err, STK_VALUE, list->at, list->len, "wants a list of strings");
    *bytes = stk__blob_room(list->n_items, n_bytes);
    uint8_t *memory = stk_arena_alloc(arena, *bytes);
    if (!memory)
        return stk__out_of_memory(err);
    *row = memory;
    struct stk__blob texts = stk__blob_begin(memory, list->n_items);
    size_t used = 0;
    for (int i = 0; i < list->n_items; i++) {
        texts.splits[i] = (int64_t)used;
        memcpy(texts.data + used, list->item[i]->text, list->item[i]->text_len);
        used += list->item[i]->text_len;
    }
    texts.splits[list->n_items] = (int64_t)used;
    return STK_OK;
}

int stk__field_add(struct stk_infer *inf, const struct stk_field *field, int from,
                   struct stk_error *err)
{
    struct stk_type *out = inf->out;
    if (stk_type_find(out, field->name) >= 0)
        return stk_fail(err, STK_NAME, "there would be two fields '%s'; name one of them otherwise",
                        field->name);
    if (out->n_fields == STK_MAX_FIELDS)
        return stk_fail(err, STK_VALUE, "there would be more than %d fields", STK_MAX_FIELDS);
    inf->from[out->n_fields] = from;
    out->field[out->n_fields++] = *field;
    return STK_OK;
}
