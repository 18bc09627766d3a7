/* SPDX-License-Identifier: Apache-2.0 */
/* json_specs.c: which values of a JSON text are wanted, as it is written in a chain. */
#include "base/error.h"
#include "op/field_map.h"
#include "op/parse/json_fields.h"

#include <string.h>

enum { TYPE_TEXT, TYPE_BOOL, TYPE_INT64, TYPE_FLOAT32, TYPE_FLOAT64, N_TYPES };
static const char *const type_names[] = { "text", "bool", "int64", "float32", "float64", NULL };
static const uint8_t type_dtypes[] = { STK_U8, STK_BOOL, STK_I64, STK_F32, STK_F64 };

/* ---- the calls ---- */

struct wanted {
    const char *path;
    int dtype;
    struct stk_numbers shape;
    const struct stk_value *default_value;
};

#define PATH_ROW STK_TEXT_ROW(wanted, path, NULL, STK_REQUIRED, "where it is in the text")
#define DEFAULT_ROW                                                                                \
    STK__VALUE_ROW(wanted, default_value, STK_TAKES_NONE,                                          \
                   "for texts that lack it or have null; none: they are bad")

static const struct stk_param value_rows[] = {
    PATH_ROW,
    STK_CHOICE_ROW(wanted, dtype, type_names, TYPE_TEXT, 0, "what it is"),
    DEFAULT_ROW,
    STK_ROWS_END,
};

static const struct stk_param list_rows[] = {
    PATH_ROW,
    STK_CHOICE_ROW(wanted, dtype, type_names, 0, STK_REQUIRED, "type of the values"),
    STK_NUMBERS_ROW(wanted, shape, NULL, 0, STK_MAX_RANK - 2, STK_TAKES_NONE,
                    "dimensions of one item; none: single values, as texts are"),
    DEFAULT_ROW,
    STK_ROWS_END,
};

static const struct stk_param array_rows[] = {
    PATH_ROW,
    STK_CHOICE_ROW(wanted, dtype, type_names, 0, STK_REQUIRED, "type of the values"),
    STK_NUMBERS_ROW(wanted, shape, NULL, 1, STK_MAX_RANK - 1, STK_REQUIRED,
                    "dimensions; a list within a list for each; texts have one"),
    DEFAULT_ROW,
    STK_ROWS_END,
};

enum { ARRAY, LIST, VALUE, N_CALLS };

static const struct stk_decl decls[N_CALLS] = {
    [ARRAY] = { "array", 1, "Lists within lists that always have the same lengths.",
                "Another length makes the text bad.\n"
                "\n"
                "    array('embedding', float32, [768])\n"
                "    array('names', text, [2])",
                array_rows, sizeof(struct wanted) },
    [LIST] = { "list", 1, "A list of any length: a ragged field, or a list of texts.",
               "With a shape every item is an array of that shape.\n"
               "\n"
               "    list('ids', int64)\n"
               "    list('tags', text, default_value=[])\n"
               "    list('boxes', float32, shape=[4], default_value=[])",
               list_rows, sizeof(struct wanted) },
    [VALUE] = { "value", 1, "A string, a number, or true or false.",
                "`text` is the characters that a string stands for, in UTF-8. `int64` is written "
                "without point and exponent. `float32` and `float64` are rounded once; `NaN`, "
                "`Infinity` and `-Infinity` are numbers, as Python writes them.\n"
                "\n"
                "    value('user.name')\n"
                "    value('labels[0]', int64, default_value=-1)",
                value_rows, sizeof(struct wanted) },
};
static const struct stk_decl *const calls[N_CALLS] = { &decls[0], &decls[1], &decls[2] };
const struct stk__namespace stk__json_calls = { "JSON field", calls, N_CALLS };

/* ---- one field ---- */

/* What any way of writing it comes to. */
struct wish {
    const struct stk_value *value; /* for messages */
    const char *path;              /* NULL: the name of the field */
    int type;
    bool is_list;
    struct stk_numbers shape;
    const struct stk_value *fallback;
};

static int refuse(const struct wish *wish, const char *why, struct stk_error *err)
{
    return stk__fail_at(err, STK_VALUE, wish->value->at, wish->value->len, "%s", why);
}

static int bind_call(const struct stk__call *call, struct stk_arena *arena, struct wish *wish,
                     struct stk_error *err)
{
    const struct stk_decl *decl = stk__namespace_find(&stk__json_calls, call->name);
    struct wanted p = { 0 };
    if (!decl)
        return stk__unknown_call(&stk__json_calls, call, err);
    int code = stk__call_bind(call, decl, arena, &p, err);
    if (code)
        return code;
    wish->type = p.dtype;
    wish->path = p.path;
    wish->shape = p.shape;
    wish->is_list = decl == &decls[LIST];
    wish->fallback = p.default_value;
    return STK_OK;
}

/* A type alone, or the path of a text. */
static int bind_text(const struct stk_value *text, struct wish *wish, struct stk_error *err)
{
    for (int t = 0; t < N_TYPES; t++)
        if (!strcmp(text->text, type_names[t])) {
            wish->type = t;
            return STK_OK;
        }
    if (text->kind == STK__WORD)
        return stk__fail_at(err, STK_VALUE, text->at, text->len,
                            "a field is text, bool, int64, float32 or float64, a path in quotes, "
                            "or a call such as value('a.b', int64); not '%.64s'",
                            text->text);
    wish->type = TYPE_TEXT;
    wish->path = text->text;
    return STK_OK;
}

static int bind_wish(const struct stk_value *value, struct stk_arena *arena, struct wish *wish,
                     struct stk_error *err)
{
    *wish = (struct wish){ .value = value };
    if (value->kind == STK__WORD || value->kind == STK__STRING)
        return bind_text(value, wish, err);
    if (value->kind == STK__CHAIN && value->n_calls == 1)
        return bind_call(value->call, arena, wish, err);
    return refuse(wish, "a field is a type, a path in quotes, or a call such as list('a.b', int64)",
                  err);
}

/* ---- defaults ---- */

struct filler {
    const struct wish *wish;
    uint8_t *data; /* values of the type; NULL: they are only counted */
    size_t n;
};

static int put_number(struct filler *filler, const struct stk_value *value, struct stk_error *err)
{
    int type = filler->wish->type;
    bool is_real = type == TYPE_FLOAT32 || type == TYPE_FLOAT64;
    bool is_true = value->kind == STK__WORD && !strcmp(value->text, "true");
    bool is_bool = is_true || (value->kind == STK__WORD && !strcmp(value->text, "false"));
    bool is_number = value->kind == STK__INT || (is_real && value->kind == STK__REAL);
    if (type == TYPE_BOOL ? !is_bool : !is_number)
        return stk__fail_at(err, STK_VALUE, value->at, value->len,
                            "the default_value of %s is made of %s", type_names[type],
                            type == TYPE_BOOL ? "true and false"
                            : is_real         ? "numbers"
                                              : "whole numbers");
    size_t bytes = stk_dtype_bytes(type_dtypes[type]);
    double real = value->kind == STK__INT ? (double)value->integer : value->real;
    float single = value->kind == STK__INT ? (float)value->integer : (float)value->real;
    const void *src = type == TYPE_BOOL      ? (const void *)&is_true
                      : type == TYPE_INT64   ? (const void *)&value->integer
                      : type == TYPE_FLOAT32 ? (const void *)&single
                                             : (const void *)&real;
    if (filler->data)
        memcpy(filler->data + filler->n * bytes, src, bytes);
    filler->n++;
    return STK_OK;
}

static int put_values(struct filler *filler, const struct stk_value *value, struct stk_error *err)
{
    int code = STK_OK;
    if (value->kind != STK__LIST)
        return put_number(filler, value, err);
    for (int i = 0; i < value->n_items && !code; i++)
        code = put_values(filler, value->item[i], err);
    return code;
}

/* Values in one inner shape, or in all of a fixed one. */
static size_t shape_values(const struct stk_field *field)
{
    size_t n = 1;
    for (int d = field->kind == STK_RAGGED; d < field->rank; d++)
        n *= (size_t)field->shape[d];
    return n;
}

static int read_numbers(const struct wish *wish, struct stk_arena *arena,
                        struct stk__json_field *field, struct stk_error *err)
{
    const struct stk_value *value = wish->fallback;
    struct filler filler = { .wish = wish };
    size_t wanted = shape_values(&field->field);
    int code = put_values(&filler, value, err);
    if (code)
        return code;
    if (field->field.kind == STK_RAGGED ? value->kind != STK__LIST || filler.n % wanted
                                        : filler.n != wanted)
        return stk__fail_at(err, STK_VALUE, value->at, value->len,
                            "the default_value does not have the shape of the field: it has %zu "
                            "values",
                            filler.n);
    field->fallback_bytes = filler.n * stk_dtype_bytes(field->field.dtype);
    filler.data = stk_arena_alloc(arena, field->fallback_bytes + 1);
    if (!filler.data)
        return stk__out_of_memory(err);
    filler.n = 0;
    field->fallback = filler.data;
    return put_values(&filler, value, err);
}

static int read_texts(const struct wish *wish, struct stk_arena *arena,
                      struct stk__json_field *field, struct stk_error *err)
{
    const struct stk_value *value = wish->fallback;
    if (stk__text_list_read(value, arena, &field->fallback, &field->fallback_bytes, err))
        return err->code;
    if (!field->field.rank || value->n_items == field->field.shape[0])
        return STK_OK;
    return stk__fail_at(err, STK_VALUE, value->at, value->len,
                        "the default_value does not have the shape of the field: it has %d texts",
                        value->n_items);
}

static int read_default(const struct wish *wish, struct stk_arena *arena,
                        struct stk__json_field *field, struct stk_error *err)
{
    const struct stk_value *value = wish->fallback;
    if (wish->type != TYPE_TEXT)
        return read_numbers(wish, arena, field, err);
    if (field->field.flags & STK_FIELD_PACKED)
        return read_texts(wish, arena, field, err);
    if (value->kind != STK__STRING)
        return stk__fail_at(err, STK_VALUE, value->at, value->len,
                            "the default_value of text is a string");
    field->fallback = value->text;
    field->fallback_bytes = value->text_len;
    return STK_OK;
}

/* ---- all fields ---- */

static int add_field(const struct stk_value *name, const struct wish *wish, struct stk_arena *arena,
                     struct stk__json_fields *out, struct stk_error *err)
{
    struct stk__json_field *field = &out->field[out->n];
    bool is_text = wish->type == TYPE_TEXT;
    *field = (struct stk__json_field){ .path = wish->path ? wish->path : name->text };
    field->field = (struct stk_field){ .name = name->text,
                                       .kind = is_text         ? STK_BYTES
                                               : wish->is_list ? STK_RAGGED
                                                               : STK_FIXED,
                                       .dtype = type_dtypes[wish->type],
                                       .flags = is_text ? STK_FIELD_TEXT : 0 };
    size_t n_values;
    if (is_text && wish->shape.n > !wish->is_list)
        return refuse(wish, "texts are single items of a list, or of an array of one dimension",
                      err);
    if (is_text && (wish->is_list || wish->shape.n))
        field->field.flags |= STK_FIELD_PACKED;
    else if (wish->is_list)
        field->field.shape[field->field.rank++] = -1;
    int code = stk__field_map_shape(wish->value, &wish->shape, &field->field, &n_values, err);
    if (code)
        return code;
    field->want = stk__json_tree_add(&out->tree, field->path, arena, err);
    if (field->want < 0) {
        err->at = wish->value->at;
        err->len = wish->value->len;
        return err->code;
    }
    out->n++;
    return wish->fallback ? read_default(wish, arena, field, err) : STK_OK;
}

int stk__json_fields_read(const struct stk_value *map, struct stk_arena *arena,
                          struct stk__json_fields *out, struct stk_error *err)
{
    struct wish wish;
    int code = stk__field_map_check(
        map, "wants a map of fields, as in {label: int64, words: list('ids', int64)}", err);
    *out = (struct stk__json_fields){ .tree.root.want = -1 };
    for (int i = 0; i < map->n_items && !code; i++) {
        code = bind_wish(map->item[i], arena, &wish, err);
        if (!code)
            code = add_field(map->key[i], &wish, arena, out, err);
    }
    return code;
}
