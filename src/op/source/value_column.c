/* SPDX-License-Identifier: Apache-2.0 */
/* value_column.c: finds type and shape of a nested list in one pass, packs its numbers in a
 * second. */
#include "op/source/value_column.h"

#include "base/error.h"
#include "lang/objects.h"
#include "op/field_map.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { HAS_INT = 1, HAS_REAL = 2, HAS_STRING = 4, HAS_BOOL = 8 };
enum { MAX_DEPTH = STK_MAX_RANK + 1 };
enum level { LEVEL_UNSEEN, LEVEL_LIST, LEVEL_LEAF };

/* What the lists at each depth have in common. Depth 0 is the list of rows. */
struct survey {
    const char *name;
    enum level level[MAX_DEPTH + 1];
    int64_t len[MAX_DEPTH];
    bool is_ragged; /* lists at depth 1 differ in length */
    int depth;      /* of the deepest list, plus 1 */
    unsigned has;
    struct stk_error *err;
};

static bool is_word(const struct stk_value *value, const char *word)
{
    return value->kind == STK__WORD && !strcmp(value->text, word);
}

static unsigned leaf_kind(const struct stk_value *value)
{
    switch (value->kind) {
    case STK__INT:
        return HAS_INT;
    case STK__REAL:
        return HAS_REAL;
    case STK__STRING:
        return HAS_STRING;
    default:
        return is_word(value, "true") || is_word(value, "false") ? HAS_BOOL : 0;
    }
}

static int fail_value(const struct survey *s, const struct stk_value *value, const char *problem)
{
    return stk__fail_at(s->err, STK_VALUE, value->at, value->len, "the field '%s' %s", s->name,
                        problem);
}

static int see_level(struct survey *s, const struct stk_value *value, int depth, enum level level)
{
    if (depth > MAX_DEPTH || (level == LEVEL_LIST && depth == MAX_DEPTH))
        return fail_value(s, value, "is nested too deeply");
    if (s->level[depth] != LEVEL_UNSEEN && s->level[depth] != level)
        return fail_value(s, value, "mixes lists and single values at the same level");
    return STK_OK;
}

static int survey_list(struct survey *s, const struct stk_value *list, int depth);

static int survey_value(struct survey *s, const struct stk_value *value, int depth)
{
    if (value->kind == STK__LIST)
        return survey_list(s, value, depth);
    unsigned kind = leaf_kind(value);
    if (!kind)
        return fail_value(s, value,
                          "holds something that is no number, string, true, false or list "
                          "(strings need quotes)");
    int code = see_level(s, value, depth, LEVEL_LEAF);
    if (code)
        return code;
    s->level[depth] = LEVEL_LEAF;
    s->has |= kind;
    return STK_OK;
}

static int survey_list(struct survey *s, const struct stk_value *list, int depth)
{
    int code = see_level(s, list, depth, LEVEL_LIST);
    if (code)
        return code;
    if (s->level[depth] == LEVEL_UNSEEN)
        s->len[depth] = list->n_items;
    else if (s->len[depth] != list->n_items && depth > 1)
        return fail_value(s, list,
                          "has lists of different lengths inside its elements; only the "
                          "elements themselves may differ in length");
    else if (s->len[depth] != list->n_items)
        s->is_ragged = true;
    s->level[depth] = LEVEL_LIST;
    if (s->depth < depth + 1)
        s->depth = depth + 1;
    for (int i = 0; i < list->n_items && !code; i++)
        code = survey_value(s, list->item[i], depth + 1);
    return code;
}

static int pick_dtype(const struct survey *s, const struct stk_value *list, struct stk_field *field)
{
    switch (s->has) {
    case HAS_INT:
        field->dtype = STK_I64;
        return STK_OK;
    case 0:
    case HAS_REAL:
    case HAS_REAL | HAS_INT:
        field->dtype = STK_F32;
        return STK_OK;
    case HAS_BOOL:
        field->dtype = STK_BOOL;
        return STK_OK;
    case HAS_STRING:
        field->dtype = STK_U8;
        field->kind = STK_BYTES;
        field->flags = (uint8_t)(STK_FIELD_TEXT | (s->depth > 1 ? STK_FIELD_PACKED : 0));
        return s->depth <= 2 ? STK_OK
                             : fail_value(s, list,
                                          "has strings in lists of lists; an element holds one "
                                          "string or a list of them");
    default:
        return fail_value(s, list, "mixes numbers, strings and truth values");
    }
}

/* A place to write the next number to. */
struct packer {
    uint8_t *at;
    int dtype;
    const struct survey *survey;
};

static int pack_number(struct packer *p, const struct stk_value *value)
{
    if (p->dtype == STK_I64) {
        memcpy(p->at, &value->integer, sizeof value->integer);
    } else if (p->dtype == STK_BOOL) {
        *p->at = is_word(value, "true");
    } else {
        double number = value->kind == STK__INT ? (double)value->integer : value->real;
        if (fabs(number) > FLT_MAX && !isinf(number))
            return fail_value(p->survey, value, "holds a number too large for float32");
        float real = (float)number;
        memcpy(p->at, &real, sizeof real);
    }
    p->at += stk_dtype_bytes(p->dtype);
    return STK_OK;
}

static int pack(struct packer *p, const struct stk_value *value)
{
    int code = STK_OK;
    if (value->kind != STK__LIST)
        return pack_number(p, value);
    for (int i = 0; i < value->n_items && !code; i++)
        code = pack(p, value->item[i]);
    return code;
}

static int64_t count_leaves(const struct stk_value *value)
{
    int64_t n = 0;
    if (value->kind != STK__LIST)
        return 1;
    for (int i = 0; i < value->n_items; i++)
        n += count_leaves(value->item[i]);
    return n;
}

static int pack_column(const struct survey *s, const struct stk_value *list,
                       struct stk_arena *arena, struct stk__value_column *column)
{
    size_t bytes = (size_t)count_leaves(list) * stk_dtype_bytes(column->field.dtype);
    struct packer p = { stk_arena_alloc(arena, bytes), column->field.dtype, s };
    size_t *start = stk_arena_alloc(arena, ((size_t)list->n_items + 1) * sizeof *start);
    if (!p.at || !start)
        return stk__out_of_memory(s->err);
    column->data = p.at;
    column->start = start;
    int code = STK_OK;
    for (int i = 0; i < list->n_items && !code; i++) {
        code = pack(&p, list->item[i]);
        start[i + 1] = (size_t)(p.at - column->data);
    }
    return code;
}

/* Each row is a list of texts of its own. */
static int read_texts(const struct survey *s, const struct stk_value *list, struct stk_arena *arena,
                      struct stk__value_column *column)
{
    struct stk_span *row = stk_arena_alloc(arena, ((size_t)list->n_items + 1) * sizeof *row);
    int code = row ? STK_OK : stk__out_of_memory(s->err);
    for (int i = 0; i < list->n_items && !code; i++) {
        const void *texts = NULL;
        code = stk__text_list_read(list->item[i], arena, &texts, &row[i].bytes, s->err);
        row[i].data = (uint8_t *)(uintptr_t)texts;
        row[i].owner = NULL;
    }
    column->row = row;
    if (!s->is_ragged) {
        column->field.rank = 1;
        column->field.shape[0] = s->len[1];
    }
    return code;
}

static int read_list(const struct stk_value *list, struct stk_arena *arena,
                     struct stk__value_column *column, struct stk_error *err)
{
    struct survey s = { .name = column->field.name, .err = err };
    int code = survey_list(&s, list, 0);
    if (!code)
        code = pick_dtype(&s, list, &column->field);
    if (code)
        return code;
    column->n_rows = list->n_items;
    column->text = list->item;
    if (column->field.flags & STK_FIELD_PACKED)
        return read_texts(&s, list, arena, column);
    if (column->field.kind == STK_BYTES)
        return STK_OK;
    column->field.rank = (uint8_t)(s.depth - 1);
    for (int d = 1; d < s.depth; d++)
        column->field.shape[d - 1] = s.len[d];
    if (s.is_ragged || (s.depth > 1 && s.has == 0)) {
        column->field.kind = STK_RAGGED;
        column->field.shape[0] = -1;
    }
    return pack_column(&s, list, arena, column);
}

/* Rows that differ in length; the shape of one value is that of the field so far. */
static void borrow_splits(const struct stk_array *array, struct stk__value_column *column)
{
    struct stk_field *field = &column->field;
    column->splits = array->splits;
    column->value_bytes = stk_field_bytes(field);
    field->kind = (uint8_t)array->kind;
    if (array->kind == STK_BYTES) {
        field->flags = STK_FIELD_TEXT;
        return;
    }
    field->rank = (uint8_t)array->rank;
    field->shape[0] = -1;
    for (int d = 1; d < array->rank; d++)
        field->shape[d] = array->shape[d];
}

static int borrow_array(const struct stk_value *value, struct stk__value_column *column,
                        struct stk_error *err)
{
    const struct stk__object *object = value->object.bound;
    const struct stk_array *array = &object->array;
    struct survey s = { .name = column->field.name, .err = err };
    if (object->kind != STK__ARRAY)
        return fail_value(&s, value,
                          object->kind == STK__FUNCTION
                              ? "is a function, not an array; map_function(@name) calls it"
                              : "is a stream, not an array; generator(@name) reads it");
    if (array->rank < 1)
        return fail_value(&s, value,
                          "is an array without dimensions; the first one counts elements");
    column->field.dtype = (uint8_t)array->dtype;
    column->field.rank = (uint8_t)(array->rank - 1);
    for (int d = 1; d < array->rank; d++) {
        if (array->shape[d] < 1)
            return fail_value(&s, value, "is an array with an empty dimension");
        column->field.shape[d - 1] = array->shape[d];
    }
    column->n_rows = array->shape[0];
    column->data = array->data;
    if (array->kind != STK_FIXED)
        borrow_splits(array, column);
    return STK_OK;
}

int stk__value_column_read(const struct stk_value *value, struct stk_arena *arena,
                           struct stk__value_column *column, struct stk_error *err)
{
    column->field.kind = STK_FIXED;
    if (value->kind == STK__OBJECT)
        return borrow_array(value, column, err);
    if (value->kind == STK__LIST)
        return read_list(value, arena, column, err);
    return stk__fail_at(err, STK_VALUE, value->at, value->len,
                        "the field '%s' wants a list, as in {%s: [1, 2, 3]}", column->field.name,
                        column->field.name);
}

static void copy_fixed(const struct stk__value_column *column, int n, const uint64_t *index,
                       struct stk_column *out)
{
    size_t bytes = stk_field_bytes(&column->field);
    uint8_t *to = out->data;
    if (bytes == sizeof(uint64_t))
        for (int i = 0; i < n; i++, to += out->stride)
            memcpy(to, column->data + index[i] * sizeof(uint64_t), sizeof(uint64_t));
    else
        for (int i = 0; i < n; i++, to += out->stride)
            memcpy(to, column->data + index[i] * bytes, bytes);
}

void stk__value_column_rows(const struct stk__value_column *column, int n, const uint64_t *index,
                            struct stk_column *out)
{
    if (column->field.kind == STK_FIXED) {
        copy_fixed(column, n, index, out);
        return;
    }
    for (int i = 0; i < n; i++) {
        uint64_t row = index[i];
        struct stk_span *span = &out->span[i];
        *span = (struct stk_span){ 0 };
        if (column->splits) {
            size_t from = (size_t)column->splits[row],
                   n_values = (size_t)column->splits[row + 1] - from;
            span->data = (uint8_t *)(uintptr_t)(column->data + from * column->value_bytes);
            span->bytes = n_values * column->value_bytes;
        } else if (column->row) {
            *span = column->row[row];
        } else if (column->field.kind == STK_BYTES) {
            span->data = (uint8_t *)(uintptr_t)column->text[row]->text;
            span->bytes = column->text[row]->text_len;
        } else {
            span->data = (uint8_t *)(uintptr_t)(column->data + column->start[row]);
            span->bytes = column->start[row + 1] - column->start[row];
        }
    }
}
