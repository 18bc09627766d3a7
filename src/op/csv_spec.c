/* SPDX-License-Identifier: Apache-2.0 */
/* csv_spec.c: the map of columns: which are wanted, as what, in which fields.
 *
 *     {x: columns(['a', 'b'], float32), label: category(['no', 'yes']), when: timestamp('ms')}
 *
 * Types are calls, bound by declarations as ops are. In place of a call there may be a word or a
 * string that holds either, which is what other languages have at hand.
 */
#include "base/error.h"
#include "base/text.h"
#include "lang/lang.h"
#include "op/csv_table.h"
#include "op/dtype_value.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct number_args {
    double fill;
};
struct text_args {
    const char *fill;
};
struct category_args {
    struct stk_texts values;
    int64_t fill;
};
struct timestamp_args {
    const char *unit;
    int64_t fill;
};
struct columns_args {
    const struct stk_value *names, *type;
};

#define FILL_HELP "in place of a missing value"

/* `default` is no name for a member, so these rows are written out. */
static const struct stk_param number_rows[] = {
    { .name = "default",
      .offset = offsetof(struct number_args, fill),
      .type = STK_ROW_REAL,
      .flags = STK_TAKES_NONE,
      .def.r = NAN,
      .lo.r = -DBL_MAX,
      .hi.r = DBL_MAX,
      .help = FILL_HELP },
    STK_ROWS_END,
};
static const struct stk_param text_rows[] = {
    { .name = "default",
      .offset = offsetof(struct text_args, fill),
      .type = STK_ROW_TEXT,
      .help = FILL_HELP },
    STK_ROWS_END,
};
static const struct stk_param category_rows[] = {
    STK_TEXTS_ROW(category_args, values, 1, INT32_MAX, STK_TAKES_NONE,
                  "the texts, counted from 0; none: those of all rows, sorted"),
    { .name = "default",
      .offset = offsetof(struct category_args, fill),
      .type = STK_ROW_INT,
      .flags = STK_TAKES_NONE,
      .def.i = STK_NONE,
      .lo.i = -1,
      .hi.i = INT64_MAX,
      .help = "in place of a missing value, or one that is not listed" },
    STK_ROWS_END,
};
static const struct stk_param timestamp_rows[] = {
    STK_TEXT_ROW(timestamp_args, unit, "s", 0, "s, ms, us or ns"),
    { .name = "default",
      .offset = offsetof(struct timestamp_args, fill),
      .type = STK_ROW_INT,
      .flags = STK_TAKES_NONE,
      .def.i = STK_NONE,
      .lo.i = STK_AUTO + 1,
      .hi.i = INT64_MAX,
      .help = FILL_HELP },
    STK_ROWS_END,
};
#define NUMBER_DECL(name, text, bytes, kind)                                                       \
    { text, 1, "Numbers.", "", number_rows, sizeof(struct number_args) },
static const struct stk_decl number_decl[STK_N_DTYPES] = { STK_DTYPE_LIST(NUMBER_DECL) };
#undef NUMBER_DECL
static const struct stk_decl text_decl = { "text", 1,         "Bytes.",
                                           "",     text_rows, sizeof(struct text_args) };
static const struct stk_decl category_decl = { "category",          1,
                                               "Numbers of texts.", "",
                                               category_rows,       sizeof(struct category_args) };
static const struct stk_decl timestamp_decl = {
    "timestamp", 1, "Numbers of times.", "", timestamp_rows, sizeof(struct timestamp_args)
};

/* `columns` stands first, and is no type of a column. */
#define NUMBER_POINTER(name, text, bytes, kind) &number_decl[STK_##name],
static const struct stk_decl columns_decl;
static const struct stk_decl *const decls[] = { &columns_decl, &text_decl, &category_decl,
                                                &timestamp_decl, STK_DTYPE_LIST(NUMBER_POINTER) };
#undef NUMBER_POINTER
enum { N_DECLS = sizeof decls / sizeof *decls };
static const struct stk__namespace column_types = { "column", decls + 1, N_DECLS - 1 };
const struct stk__namespace stk__csv_types = { "column", decls, N_DECLS };

static const struct stk_param columns_rows[] = {
    STK_VALUE_ROW(columns_args, names, STK_REQUIRED, "a list of columns, or rest"),
    STK_CALLS_ROW(columns_args, type, &column_types, STK_REQUIRED, "of all of them"),
    STK_ROWS_END,
};
static const struct stk_decl columns_decl = {
    "columns", 1, "One field of several columns.", "", columns_rows, sizeof(struct columns_args)
};

struct reader {
    struct stk__csv_table *table;
    struct stk_arena *arena;
    struct stk_error *err;
    bool *is_named; /* [n_columns]: by a field of its own or by a list */
    int cap;        /* targets there is room for */
};

/* ---- types ---- */

static int fail_type(const struct reader *r, const struct stk_value *value)
{
    return stk__fail_at(r->err, STK_VALUE, value->at, value->len,
                        "a column is of a type: bool, int8 to int64, uint8 to uint64, float16 to "
                        "float64, text, category or timestamp; columns(['a', 'b'], float32) "
                        "makes one field of several");
}

/* The call that a value stands for; false if it stands for none. A string that cannot be parsed
 * leaves its message in err. */
static bool call_of(const struct reader *r, const struct stk_value *value, struct stk__call *call)
{
    const struct stk_value *parsed = value;
    bool is_text = value->kind == STK__STRING || value->kind == STK__WORD;
    if (is_text && !strchr(value->text, '(')) {
        *call = (struct stk__call){ .name = value->text, .at = value->at, .len = value->len };
        return true;
    }
    if (is_text && stk__parse(value->text, NULL, r->arena, &parsed, r->err))
        return false;
    if (parsed->kind != STK__CHAIN || parsed->n_calls != 1)
        return false;
    *call = parsed->call[0];
    return true;
}

static int dtype_of(const char *name)
{
    int dtype = 0;
    while (dtype < STK_N_DTYPES && strcmp(name, stk_dtype_name(dtype)))
        dtype++;
    return dtype;
}

static int read_number(const struct reader *r, const struct stk__call *call, int dtype,
                       struct stk__csv_type *type)
{
    struct number_args args;
    int code = stk__bind(call, &number_decl[dtype], r->arena, &args, r->err);
    if (code)
        return code;
    *type = (struct stk__csv_type){ .kind = STK__CSV_NUMBER, .dtype = (uint8_t)dtype };
    type->has_default = !isnan(args.fill);
    if (type->has_default && !stk__dtype_has(dtype, args.fill))
        return stk__fail_at(r->err, STK_VALUE, call->at, call->len, "default %g is no %s",
                            args.fill, call->name);
    if (type->has_default)
        stk__dtype_put(dtype, args.fill, type->fill);
    return STK_OK;
}

static int read_text(const struct reader *r, const struct stk__call *call,
                     struct stk__csv_type *type)
{
    struct text_args args;
    int code = stk__bind(call, &text_decl, r->arena, &args, r->err);
    *type = (struct stk__csv_type){ .kind = STK__CSV_TEXT, .dtype = STK_U8 };
    type->has_default = !code && args.fill;
    if (type->has_default)
        type->fill_text = (struct stk__csv_text){ args.fill, (uint32_t)strlen(args.fill) };
    return code;
}

static void set_integer_default(struct stk__csv_type *type, int64_t fill)
{
    type->has_default = fill != STK_NONE;
    memcpy(type->fill, &fill, sizeof fill);
}

static int read_timestamp(const struct reader *r, const struct stk__call *call,
                          struct stk__csv_type *type)
{
    static const char *const units[] = { "s", "ms", "us", "ns" };
    struct timestamp_args args;
    int code = stk__bind(call, &timestamp_decl, r->arena, &args, r->err), unit = 0;
    if (code)
        return code;
    while (unit < 4 && (!args.unit || strcmp(args.unit, units[unit])))
        unit++;
    if (unit == 4)
        return stk__fail_at(r->err, STK_VALUE, call->at, call->len,
                            "the unit of a timestamp is s, ms, us or ns");
    *type = (struct stk__csv_type){ .kind = STK__CSV_TIMESTAMP,
                                    .dtype = STK_I64,
                                    .unit = (enum stk__time_unit)unit };
    set_integer_default(type, args.fill);
    return STK_OK;
}

static int read_category(const struct reader *r, const struct stk__call *call,
                         struct stk__csv_type *type)
{
    struct category_args args;
    int code = stk__bind(call, &category_decl, r->arena, &args, r->err);
    if (code)
        return code;
    *type = (struct stk__csv_type){ .kind = STK__CSV_CATEGORY, .dtype = STK_I64 };
    set_integer_default(type, args.fill);
    if (args.values.n == 0)
        return STK_OK; /* learned when all rows are known */
    struct stk__csv_names *names = stk_arena_alloc(r->arena, sizeof *names);
    struct stk__csv_text *item = stk_arena_alloc(r->arena, (size_t)args.values.n * sizeof *item);
    if (!names || !item)
        return stk__out_of_memory(r->err);
    for (int i = 0; i < args.values.n; i++)
        item[i] =
            (struct stk__csv_text){ args.values.item[i], (uint32_t)strlen(args.values.item[i]) };
    *names = (struct stk__csv_names){ .item = item, .n = args.values.n };
    if (stk__csv_names_make(names, r->arena))
        return stk__out_of_memory(r->err);
    for (int i = 0; i < names->n; i++)
        if (stk__csv_names_find(names, (const uint8_t *)item[i].text, item[i].len) != i)
            return stk__fail_at(r->err, STK_VALUE, call->at, call->len,
                                "the category '%s' is listed twice", item[i].text);
    type->names = names;
    return STK_OK;
}

static int read_type(const struct reader *r, const struct stk_value *value,
                     struct stk__csv_type *type)
{
    struct stk__call call;
    int code;
    if (!call_of(r, value, &call))
        return fail_type(r, value);
    int dtype = dtype_of(call.name);
    if (dtype < STK_N_DTYPES)
        code = read_number(r, &call, dtype, type);
    else if (!strcmp(call.name, "text"))
        code = read_text(r, &call, type);
    else if (!strcmp(call.name, "category"))
        code = read_category(r, &call, type);
    else if (!strcmp(call.name, "timestamp"))
        code = read_timestamp(r, &call, type);
    else
        return fail_type(r, value);
    if (code && r->err) {
        r->err->at = value->at; /* what was in a string has no place in the chain */
        r->err->len = value->len;
    }
    return code;
}

/* ---- fields ---- */

enum { MOST_LISTED = 200 }; /* bytes of names in a message */

/* Says which columns there are, and which of them may be meant. */
static void fail_column(const struct reader *r, const char *name, const struct stk_value *value)
{
    const struct stk__csv_table *table = r->table;
    struct stk__text list = { 0 };
    const char **names = stk_arena_alloc(r->arena, ((size_t)table->n_columns + 1) * sizeof *names);
    int n = 0;
    for (int i = 0; names && i < table->n_columns; i++)
        names[i] = table->name[i].text;
    for (; n < table->n_columns && list.len + table->name[n].len < MOST_LISTED; n++)
        stk__text_add(&list, "%s'%s'", n ? ", " : "", table->name[n].text);
    if (n < table->n_columns)
        stk__text_add(&list, "%s… (%d in all)", n ? ", " : "", table->n_columns);
    const char *near = names ? stk__nearest(name, names) : NULL;
    stk__fail_at(r->err, STK_NAME, value->at, value->len,
                 "there is no column '%s'; there are %s%s%s%s", name,
                 list.data ? list.data : "none", near ? "; did you mean '" : "", near ? near : "",
                 near ? "'?" : "");
    stk__text_free(&list);
}

static int find_column(const struct reader *r, const char *name, const struct stk_value *value)
{
    const struct stk__csv_table *table = r->table;
    size_t len = strlen(name);
    for (int i = 0; i < table->n_columns; i++)
        if (table->name[i].len == len && !memcmp(table->name[i].text, name, len))
            return i;
    fail_column(r, name, value);
    return -1;
}

static struct stk_field field_of(const char *name, const struct stk__csv_type *type, int n)
{
    struct stk_field field = { .name = name, .kind = STK_FIXED, .dtype = type->dtype };
    if (type->kind == STK__CSV_TEXT) {
        field.kind = STK_BYTES;
        field.flags = STK_FIELD_TEXT;
    }
    field.rank = n > 0;
    field.shape[0] = n;
    return field;
}

static int add_target(struct reader *r, int column, int field, int place,
                      const struct stk__csv_type *type)
{
    struct stk__csv_table *table = r->table;
    if (table->n_targets == r->cap) {
        int cap = r->cap ? 2 * r->cap : 32;
        struct stk__csv_target *target = stk_arena_alloc(r->arena, (size_t)cap * sizeof *target);
        if (!target)
            return stk__out_of_memory(r->err);
        if (r->cap)
            memcpy(target, table->target, (size_t)r->cap * sizeof *target);
        table->target = target;
        r->cap = cap;
    }
    table->target[table->n_targets++] =
        (struct stk__csv_target){ .type = *type,
                                  .column = column,
                                  .field = field,
                                  .offset =
                                      (uint32_t)place * (uint32_t)stk_dtype_bytes(type->dtype) };
    return STK_OK;
}

/* columns(rest, type): those that nothing else names. */
static int add_rest(struct reader *r, int field, const struct stk__csv_type *type, int *n)
{
    int code = STK_OK;
    for (int c = 0; c < r->table->n_columns && !code; c++)
        if (!r->is_named[c])
            code = add_target(r, c, field, (*n)++, type);
    return code;
}

static int add_listed(struct reader *r, int field, const struct stk__csv_type *type,
                      const struct stk_value *names, int *n)
{
    int code = STK_OK;
    for (; *n < names->n_items && !code; ++*n) {
        const struct stk_value *name = names->item[*n];
        if (name->kind != STK__STRING && name->kind != STK__WORD)
            return stk__fail_at(r->err, STK_VALUE, name->at, name->len,
                                "columns lists names, or is the word rest");
        int column = find_column(r, name->text, name);
        if (column < 0)
            return STK_NAME;
        r->is_named[column] = true;
        code = add_target(r, column, field, *n, type);
    }
    return code;
}

static bool is_rest(const struct stk_value *names)
{
    bool is_text = names->kind == STK__WORD || names->kind == STK__STRING;
    return is_text && !strcmp(names->text, "rest");
}

/* One field of several columns. In the first pass the lists, in the second what they leave. */
static int read_columns(struct reader *r, const struct stk__call *call,
                        const struct stk_value *value, int field, bool is_second)
{
    struct columns_args args;
    struct stk__csv_type type;
    int n = 0;
    int code = stk__bind(call, &columns_decl, r->arena, &args, r->err);
    if (code || is_rest(args.names) != is_second)
        return code;
    if (!is_second && args.names->kind != STK__LIST)
        return stk__fail_at(r->err, STK_VALUE, value->at, value->len,
                            "columns takes a list of names, or rest, and a type");
    code = read_type(r, args.type, &type);
    if (!code && type.kind == STK__CSV_TEXT)
        return stk__fail_at(r->err, STK_VALUE, value->at, value->len,
                            "columns are numbers in one field; text is a field by itself");
    if (!code)
        code =
            is_second ? add_rest(r, field, &type, &n) : add_listed(r, field, &type, args.names, &n);
    if (!code && n == 0)
        return stk__fail_at(r->err, STK_VALUE, value->at, value->len, "no column is left");
    r->table->field[field] = field_of(NULL, &type, n);
    return code;
}

static int read_field(struct reader *r, const struct stk_value *key, const struct stk_value *value,
                      int field, bool is_second)
{
    struct stk__call call;
    struct stk__csv_type type;
    int code;
    if (call_of(r, value, &call) && !strcmp(call.name, "columns")) {
        code = read_columns(r, &call, value, field, is_second);
    } else if (!is_second) {
        int column = find_column(r, key->text, key);
        if (column < 0)
            return STK_NAME;
        r->is_named[column] = true;
        code = read_type(r, value, &type);
        if (!code)
            code = add_target(r, column, field, 0, &type);
        if (!code)
            r->table->field[field] = field_of(NULL, &type, 0);
    } else {
        return STK_OK;
    }
    r->table->field[field].name = key->text;
    return code;
}

static int check_keys(const struct reader *r, const struct stk_value *map)
{
    if (map->kind != STK__MAP || map->n_items == 0)
        return stk__fail_at(r->err, STK_VALUE, map->at, map->len,
                            "wants a map of columns, as in {age: int64, name: text}");
    if (map->n_items > STK_MAX_FIELDS)
        return stk__fail_at(r->err, STK_VALUE, map->at, map->len,
                            "has %d fields; at most %d are possible, and columns([…], float32) "
                            "makes one field of several columns",
                            map->n_items, STK_MAX_FIELDS);
    for (int i = 0; i < map->n_items; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(map->key[i]->text, map->key[k]->text))
                return stk__fail_at(r->err, STK_NAME, map->key[i]->at, map->key[i]->len,
                                    "the field '%s' is given twice", map->key[i]->text);
    return STK_OK;
}

static int read_map(struct reader *r, const struct stk_value *map)
{
    int code = check_keys(r, map);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; !code && i < map->n_items; i++)
            code = read_field(r, map->key[i], map->item[i], i, pass == 1);
    r->table->n_fields = code ? 0 : map->n_items;
    return code;
}

static int guess_fields(struct reader *r, const struct stk__csv_head *head)
{
    struct stk__csv_table *table = r->table;
    int code = STK_OK;
    if (table->n_columns > STK_MAX_FIELDS)
        return stk_fail(r->err, STK_VALUE,
                        "there are %d columns, and at most %d fields are possible: name those "
                        "that are wanted, or make one field of several with "
                        "{x: columns(rest, float32)}",
                        table->n_columns, STK_MAX_FIELDS);
    const struct stk__csv_guess *guess = stk__csv_guess_columns(table, head, r->arena);
    if (!guess)
        return stk__out_of_memory(r->err);
    for (int c = 0; c < table->n_columns && !code; c++) {
        struct stk__csv_type type = stk__csv_guess_type(&guess[c]);
        table->field[c] = field_of(table->name[c].text, &type, 0);
        code = add_target(r, c, c, 0, &type);
    }
    table->n_fields = table->n_columns;
    return code;
}

/* ---- in the order of the file ---- */

static int by_column(const void *a, const void *b)
{
    const struct stk__csv_target *x = a, *y = b;
    int order = (x->column > y->column) - (x->column < y->column);
    return order ? order : (x->field > y->field) - (x->field < y->field);
}

static int order_targets(struct stk__csv_table *table, struct stk_arena *arena)
{
    qsort(table->target, (size_t)table->n_targets, sizeof *table->target, by_column);
    table->wanted = stk_arena_alloc(arena, ((size_t)table->n_targets + 1) * sizeof *table->wanted);
    if (!table->wanted)
        return STK_MEMORY;
    for (int i = 0; i < table->n_targets; i++) {
        struct stk__csv_target *target = &table->target[i];
        if (i == 0 || target->column != target[-1].column)
            table->wanted[table->n_wanted++] = target->column;
        target->wanted = table->n_wanted - 1;
    }
    return STK_OK;
}

int stk__csv_spec_read(struct stk__csv_table *table, const struct stk_value *map,
                       const struct stk__csv_head *head, struct stk_arena *arena,
                       struct stk_error *err)
{
    struct reader r = { .table = table, .arena = arena, .err = err };
    r.is_named = stk_arena_alloc(arena, (size_t)table->n_columns + 1);
    if (!r.is_named)
        return stk__out_of_memory(err);
    int code = map ? read_map(&r, map) : guess_fields(&r, head);
    if (!code && order_targets(table, arena))
        code = stk__out_of_memory(err);
    return code;
}
