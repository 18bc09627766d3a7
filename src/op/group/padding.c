/* SPDX-License-Identifier: Apache-2.0 */
/* padding.c: how large the boxes are that rows are padded to, and with what. */
#include "op/group/padding.h"

#include "base/error.h"
#include "base/type.h"
#include "op/dtype_value.h"

#include <string.h>

/* ---- which field ---- */

static int find_field(const struct stk_infer *inf, const struct stk_value *key,
                      const struct stk__grouping *g, struct stk_error *err)
{
    int f = stk_type_find(inf->in[0], key->text);
    if (f < 0)
        stk__fail_at(err, STK_NAME, key->at, key->len, "there is no field '%s'", key->text);
    else if (g->gather[f].kind != STK__PAD) {
        stk__fail_at(err, STK_TYPE, key->at, key->len,
                     "the field '%s' is text, which is not padded", key->text);
        f = -1;
    }
    return f;
}

/* The only field that is padded. */
static int only_field(const struct stk_infer *inf, const struct stk_value *value,
                      const struct stk__grouping *g, struct stk_error *err)
{
    int found = -1, n = 0;
    for (int f = 0; f < inf->in[0]->n_fields; f++) {
        found = g->gather[f].kind == STK__PAD ? f : found;
        n += g->gather[f].kind == STK__PAD;
    }
    if (n != 1)
        stk__fail_at(err, STK_TYPE, value->at, value->len,
                     "%d fields can be padded, so say which one is meant: {field: [...]}", n);
    return n == 1 ? found : -1;
}

/* ---- shapes ---- */

static bool is_open(const struct stk_value *item)
{
    bool is_none = item->kind == STK__WORD && !strcmp(item->text, "none");
    return is_none || (item->kind == STK__INT && item->integer == -1);
}

static int set_dim(struct stk__gather *g, int d, const struct stk_value *item,
                   struct stk_error *err)
{
    if (is_open(item))
        return STK_OK;
    if (item->kind != STK__INT || item->integer < 0 || item->integer > INT32_MAX)
        return stk__fail_at(err, STK_VALUE, item->at, item->len,
                            "a padded shape has whole numbers, and none for what the largest "
                            "element of a batch decides");
    if (d < g->field.rank && g->field.shape[d] > item->integer)
        return stk__fail_at(err, STK_VALUE, item->at, item->len,
                            "elements of field '%s' have %lld entries there, so they cannot be "
                            "padded to %lld",
                            g->field.name, (long long)g->field.shape[d], (long long)item->integer);
    g->box[d] = item->integer;
    return STK_OK;
}

static int set_shape(struct stk__gather *g, const struct stk_value *shape, struct stk_error *err)
{
    int code = STK_OK, rank = stk__gather_rank(g);
    if (shape->kind == STK__INT && rank == 1)
        return set_dim(g, 0, shape, err);
    if (shape->kind != STK__LIST || shape->n_items != rank)
        return stk__fail_at(err, STK_VALUE, shape->at, shape->len,
                            "the padded shape of field '%s' is a list of %d", g->field.name, rank);
    for (int d = 0; d < shape->n_items && !code; d++)
        code = set_dim(g, d, shape->item[d], err);
    return code;
}

static int set_shapes(const struct stk_infer *inf, const struct stk_value *shapes,
                      struct stk__grouping *g, struct stk_error *err)
{
    int code = STK_OK;
    if (shapes->kind == STK__LIST || shapes->kind == STK__INT) {
        int f = only_field(inf, shapes, g, err);
        return f < 0 ? STK_TYPE : set_shape(&g->gather[f], shapes, err);
    }
    if (shapes->kind != STK__MAP)
        return stk__fail_at(err, STK_TYPE, shapes->at, shapes->len,
                            "padded_shapes is {field: [...]}, or a list where there is one field");
    for (int i = 0; i < shapes->n_items && !code; i++) {
        int f = find_field(inf, shapes->key[i], g, err);
        code = f < 0 ? STK_NAME : set_shape(&g->gather[f], shapes->item[i], err);
    }
    return code;
}

/* ---- values ---- */

static int set_text(struct stk__gather *g, const struct stk_value *value, struct stk_error *err)
{
    if (value->kind != STK__STRING)
        return stk__fail_at(err, STK_TYPE, value->at, value->len,
                            "the padding value of field '%s' is a string", g->field.name);
    g->text = value->text;
    g->text_bytes = value->text_len;
    return STK_OK;
}

static int set_value(struct stk__gather *g, const struct stk_value *value, struct stk_error *err)
{
    if (g->field.kind == STK_BYTES)
        return set_text(g, value, err);
    bool is_whole = value->kind == STK__INT;
    int dtype = g->field.dtype;
    double number = is_whole ? (double)value->integer : value->real;
    bool is_long = is_whole && stk_dtype_bytes(dtype) == 8 && stk__dtype_kind(dtype) != 'f';
    if (value->kind != STK__INT && value->kind != STK__REAL)
        return stk__fail_at(err, STK_TYPE, value->at, value->len,
                            "the padding value of field '%s' is a number", g->field.name);
    if (is_long ? dtype == STK_U64 && value->integer < 0 : !stk__dtype_has(dtype, number))
        return stk__fail_at(err, STK_VALUE, value->at, value->len,
                            "field '%s' is %s, which cannot hold this padding value", g->field.name,
                            stk_dtype_name(dtype));
    if (is_long)
        g->value = (uint64_t)value->integer; /* a double may not have it */
    else
        stk__dtype_put(dtype, number, &g->value);
    return STK_OK;
}

/* One value is for all fields of its kind, and there is one. */
static int set_one(const struct stk_infer *inf, const struct stk_value *value,
                   struct stk__grouping *g, struct stk_error *err)
{
    struct stk__gather *other = NULL;
    bool is_text = value->kind == STK__STRING, is_used = false;
    int code = STK_OK;
    for (int f = 0; f < inf->in[0]->n_fields && !code; f++) {
        struct stk__gather *gather = &g->gather[f];
        if (gather->kind != STK__PAD || !stk__gather_rank(gather))
            continue;
        if (is_text == (gather->field.kind == STK_BYTES)) {
            code = set_value(gather, value, err);
            is_used = true;
        } else {
            other = gather;
        }
    }
    return !is_used && other ? set_value(other, value, err) : code;
}

static int set_values(const struct stk_infer *inf, const struct stk_value *values,
                      struct stk__grouping *g, struct stk_error *err)
{
    int code = STK_OK;
    bool is_map = values->kind == STK__MAP;
    if (!is_map)
        return set_one(inf, values, g, err);
    for (int i = 0; is_map && i < values->n_items && !code; i++) {
        int f = find_field(inf, values->key[i], g, err);
        code = f < 0 ? STK_NAME : set_value(&g->gather[f], values->item[i], err);
    }
    return code;
}

/* ---- all ---- */

static bool is_given(const struct stk_value *value)
{
    return value && !(value->kind == STK__WORD && !strcmp(value->text, "none"));
}

/* Rows that have the size of their boxes need no boxes. */
static void stack_equal(struct stk__gather *g)
{
    size_t bytes = g->field.rank * sizeof *g->box;
    if (g->kind == STK__PAD && g->field.kind == STK_FIXED && !memcmp(g->box, g->field.shape, bytes))
        g->kind = STK__STACK;
}

int stk__padding_set(const struct stk_infer *inf, const struct stk_value *shapes,
                     const struct stk_value *values, struct stk__grouping *g, struct stk_error *err)
{
    int code = STK_OK;
    for (int f = 0; f < inf->in[0]->n_fields; f++) {
        struct stk__gather *gather = &g->gather[f];
        bool is_packed = gather->field.flags & STK_FIELD_PACKED;
        if (is_packed && gather->field.kind != STK_BYTES)
            return stk_fail(
                err, STK_TYPE,
                "the field '%s' has lists of lists, which are not padded; use batch, or "
                "leave it out with select",
                gather->field.name);
        if (is_packed != (gather->field.kind == STK_BYTES))
            continue; /* one text per element */
        gather->kind = STK__PAD;
        memcpy(gather->box, gather->field.shape, sizeof gather->box);
        if (is_packed && !gather->field.rank)
            gather->box[0] = -1;
    }
    if (is_given(shapes))
        code = set_shapes(inf, shapes, g, err);
    if (!code && is_given(values))
        code = set_values(inf, values, g, err);
    for (int f = 0; f < inf->in[0]->n_fields; f++)
        stack_equal(&g->gather[f]);
    return code ? err->code : STK_OK;
}
