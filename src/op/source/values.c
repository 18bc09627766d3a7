/* SPDX-License-Identifier: Apache-2.0 */
/* values.c: elements written out in the chain, or arrays of the caller. */
#include "base/error.h"
#include "op/order/order.h"
#include "op/source/value_column.h"

#include <stdio.h>
#include <string.h>

struct values {
    const struct stk_value *fields;
};

struct table {
    int n_columns;
    int64_t n_rows;
    struct stk__value_column column[STK_MAX_FIELDS];
};

static const struct stk_param params[] = {
    STK__VALUE_ROW(values, fields, STK_REQUIRED, "a map from field names to lists of equal length"),
    STK_ROWS_END,
};

static int read_column(struct table *table, const struct stk_value *key,
                       const struct stk_value *list, struct stk_arena *arena, struct stk_error *err)
{
    struct stk__value_column *column = &table->column[table->n_columns];
    if (!key->text_len || strlen(key->text) != key->text_len)
        return stk__fail_at(err, STK_VALUE, key->at, key->len,
                            "a field needs a name without NUL bytes");
    for (int i = 0; i < table->n_columns; i++)
        if (!strcmp(table->column[i].field.name, key->text))
            return stk__fail_at(err, STK_NAME, key->at, key->len, "the field '%s' is given twice",
                                key->text);
    column->field.name = key->text;
    int code = stk__value_column_read(list, arena, column, err);
    if (code)
        return code;
    if (table->n_columns && column->n_rows != table->n_rows)
        return stk__fail_at(err, STK_VALUE, list->at, list->len,
                            "the field '%s' has %lld values, but '%s' has %lld", key->text,
                            (long long)column->n_rows, table->column[0].field.name,
                            (long long)table->n_rows);
    table->n_rows = column->n_rows;
    table->n_columns++;
    return STK_OK;
}

static int open_values(const void *given, struct stk_arena *arena, void **state,
                       struct stk_error *err)
{
    const struct stk_value *map = ((const struct values *)given)->fields;
    if (map->kind != STK__MAP || map->n_items == 0)
        return stk__fail_at(err, STK_VALUE, map->at, map->len,
                            "wants a map of fields, as in values({x: [1, 2, 3]})");
    if (map->n_items > STK_MAX_FIELDS)
        return stk__fail_at(err, STK_VALUE, map->at, map->len,
                            "has %d fields; at most %d are possible", map->n_items, STK_MAX_FIELDS);
    struct table *table = stk_arena_alloc(arena, sizeof *table);
    if (!table)
        return stk__out_of_memory(err);
    int code = STK_OK;
    for (int i = 0; i < map->n_items && !code; i++)
        code = read_column(table, map->key[i], map->item[i], arena, err);
    *state = table;
    return code;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct table *table = inf->state;
    (void)err;
    inf->out->n_fields = table->n_columns;
    for (int f = 0; f < table->n_columns; f++) {
        inf->out->field[f] = table->column[f].field;
        inf->from[f] = -1;
    }
    inf->count = table->n_rows;
    return STK_OK;
}

static int64_t count(const void *state)
{
    return ((const struct table *)state)->n_rows;
}

static int fill(struct stk_rows *rows, const uint64_t *index)
{
    const struct table *table = rows->state;
    for (int f = 0; f < table->n_columns; f++)
        stk__value_column_rows(&table->column[f], rows->n, index, &rows->out[f]);
    return STK_OK;
}

static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    (void)state;
    snprintf(text, size, "values, element %llu", (unsigned long long)index);
}

const struct stk__op stk__op_values = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "values", 1, "Elements written out in the chain.",
              "A map from field names to lists, one item per element; all lists have the same "
              "length. Whole numbers are int64; if one number of a list is real (`1.5`, `2.0`, "
              "`1e3`) all are float32; strings are bytes; true and false are bool. Lists in a "
              "list are arrays if they have equal lengths, else a ragged field (at one level). "
              "`@name` stands for an array of the calling program: its first dimension counts "
              "the elements, and it is not copied.\n"
              "\n"
              "    values({x: [1, 2, 3], name: ['a', 'b', 'c']})\n"
              "    values({point: [[0.5, 1.0], [2.0, 3.5]], ok: [true, false]})\n"
              "    values({words: [[1, 2, 3], [4], []]})",
              params, sizeof(struct values) },
    .flags = STK__OP_ROOT,
    .open = open_values,
    .infer = infer,
    .source = { .count = count, .rows = fill, .describe = describe },
};
