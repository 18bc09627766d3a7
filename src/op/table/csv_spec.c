/* SPDX-License-Identifier: Apache-2.0 */
/* csv_spec.c: the map of columns: which are wanted, as what, in which fields.
 *
 *     {x: columns(['a', 'b'], float32), label: category(['no', 'yes']), when: timestamp('ms')}
 */
#include "base/error.h"
#include "base/text.h"
#include "lang/lang.h"
#include "op/field_map.h"
#include "op/table/csv_table.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    struct stk__csv_table *table;
    struct stk_arena *arena;
    struct stk_error *err;
    bool *is_named; /* [n_columns]: by a field of its own or by a list */
    int cap;        /* targets there is room for */
};

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
    const char *near = names ? stk__nearest_name(name, names) : NULL;
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
    struct stk__csv_columns args;
    struct stk__csv_type type;
    int n = 0;
    int code = stk__csv_columns_bind(call, r->arena, &args, r->err);
    if (code || is_rest(args.names) != is_second)
        return code;
    if (!is_second && args.names->kind != STK__LIST)
        return stk__fail_at(r->err, STK_VALUE, value->at, value->len,
                            "columns takes a list of names, or rest, and a type");
    code = stk__csv_type_read(args.type, r->arena, &type, r->err);
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
    if (stk__csv_call_of(value, r->arena, &call, r->err) && !strcmp(call.name, "columns")) {
        code = read_columns(r, &call, value, field, is_second);
    } else if (!is_second) {
        int column = find_column(r, key->text, key);
        if (column < 0)
            return STK_NAME;
        r->is_named[column] = true;
        code = stk__csv_type_read(value, r->arena, &type, r->err);
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

static int read_map(struct reader *r, const struct stk_value *map)
{
    if (map->kind == STK__MAP && map->n_items > STK_MAX_FIELDS)
        return stk__fail_at(r->err, STK_VALUE, map->at, map->len,
                            "has %d fields; at most %d are possible, and columns([…], float32) "
                            "makes one field of several columns",
                            map->n_items, STK_MAX_FIELDS);
    int code =
        stk__field_map_check(map, "wants a map of columns, as in {age: int64, name: text}", r->err);
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

int stk__csv_narrow(const void *state, uint32_t fields, struct stk_arena *arena, void **new_state)
{
    const struct stk__csv_table *all = state;
    size_t n_targets = (size_t)all->n_targets;
    struct stk__csv_table *table = stk_arena_alloc(arena, sizeof *table);
    struct stk__csv_target *target = stk_arena_alloc(arena, n_targets * sizeof *target + 1);
    int new_field[STK_MAX_FIELDS];
    if (!table || !target)
        return STK_MEMORY;
    *table = *all;
    table->target = target;
    table->n_fields = table->n_targets = table->n_wanted = 0;
    for (int f = 0; f < all->n_fields; f++) {
        new_field[f] = fields >> f & 1 ? table->n_fields++ : -1;
        if (new_field[f] >= 0)
            table->field[new_field[f]] = all->field[f];
    }
    for (int t = 0; t < all->n_targets; t++) {
        int field = new_field[all->target[t].field];
        if (field < 0)
            continue;
        target[table->n_targets] = all->target[t];
        target[table->n_targets++].field = field;
    }
    *new_state = table;
    return order_targets(table, arena);
}
