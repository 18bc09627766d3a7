/* SPDX-License-Identifier: Apache-2.0 */
/* csv_types.c: the types of columns. They are calls, bound by declarations as ops are; in place of a
 * call there may be a word or a string that holds either, which is what other languages have at hand.
 */
#include "base/error.h"
#include "lang/lang.h"
#include "op/dtype_value.h"
#include "op/table/csv_table.h"

#include <float.h>
#include <math.h>
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
    STK__VALUE_ROW(stk__csv_columns, names, STK_REQUIRED, "a list of columns, or rest"),
    STK__CALLS_ROW(stk__csv_columns, type, &column_types, STK_REQUIRED, "of all of them"),
    STK_ROWS_END,
};
static const struct stk_decl columns_decl = {
    "columns", 1, "One field of several columns.", "", columns_rows, sizeof(struct stk__csv_columns)
};

struct reader {
    struct stk_arena *arena;
    struct stk_error *err;
};

static int fail_type(const struct reader *r, const struct stk_value *value)
{
    return stk__fail_at(r->err, STK_VALUE, value->at, value->len,
                        "a column is of a type: bool, int8 to int64, uint8 to uint64, float16 to "
                        "float64, text, category or timestamp; columns(['a', 'b'], float32) "
                        "makes one field of several");
}

bool stk__csv_call_of(const struct stk_value *value, struct stk_arena *arena,
                      struct stk__call *call, struct stk_error *err)
{
    const struct stk_value *parsed = value;
    bool is_text = value->kind == STK__STRING || value->kind == STK__WORD;
    if (is_text && !strchr(value->text, '(')) {
        *call = (struct stk__call){ .name = value->text, .at = value->at, .len = value->len };
        return true;
    }
    if (is_text && stk__parse(value->text, NULL, arena, &parsed, err))
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
    int code = stk__call_bind(call, &number_decl[dtype], r->arena, &args, r->err);
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
    int code = stk__call_bind(call, &text_decl, r->arena, &args, r->err);
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
    int code = stk__call_bind(call, &timestamp_decl, r->arena, &args, r->err), unit = 0;
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
    int code = stk__call_bind(call, &category_decl, r->arena, &args, r->err);
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

int stk__csv_type_read(const struct stk_value *value, struct stk_arena *arena,
                       struct stk__csv_type *type, struct stk_error *err)
{
    const struct reader reader = { arena, err }, *r = &reader;
    struct stk__call call;
    int code;
    if (!stk__csv_call_of(value, arena, &call, err))
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

int stk__csv_columns_bind(const struct stk__call *call, struct stk_arena *arena,
                          struct stk__csv_columns *out, struct stk_error *err)
{
    return stk__call_bind(call, &columns_decl, arena, out, err);
}
