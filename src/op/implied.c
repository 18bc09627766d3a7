/* SPDX-License-Identifier: Apache-2.0 */
/* implied.c: calls of implied ops, as if they were written. */
#include "op/implied.h"

#include "base/error.h"
#include "lang/value.h"

#include <string.h>

extern const struct stk__op stk__op_read, stk__op_map, stk__op_ensure_shape;

static struct stk_value text_value(enum stk__value_kind kind, const char *text)
{
    return (struct stk_value){ .kind = kind, .text = text, .text_len = strlen(text) };
}

/* Room for the arguments of a call and their values; NULL when out of memory. */
static struct stk_value *imply(struct stk_infer *inf, const struct stk__op *op, int input,
                               const char *const *name, int n_args)
{
    struct stk__arg *arg = stk_arena_alloc(inf->arena, sizeof *arg * (size_t)n_args);
    struct stk_value *value = stk_arena_alloc(inf->arena, sizeof *value * (size_t)n_args);
    if (!arg || !value)
        return NULL;
    for (int i = 0; i < n_args; i++)
        arg[i] = (struct stk__arg){ .name = name[i], .value = &value[i] };
    inf->inside->implied =
        (struct stk__implied){ .op = op, .input = input, .arg = arg, .n_args = n_args };
    return value;
}

/* With one parameter, a text. */
static int imply_text(struct stk_infer *inf, const struct stk__op *op, const char *name,
                      const char *text, struct stk_error *err)
{
    struct stk_value *value = imply(inf, op, 0, &name, 1);
    if (!value)
        return stk__out_of_memory(err);
    *value = text_value(STK__STRING, text);
    return STK_OK;
}

int stk_infer_read(struct stk_infer *inf, int field, struct stk_error *err)
{
    return imply_text(inf, &stk__op_read, "field", inf->in[0]->field[field].name, err);
}

int stk__imply_map(struct stk_infer *inf, const char *expression, struct stk_error *err)
{
    return imply_text(inf, &stk__op_map, "expression", expression, err);
}

/* A shape as it would be written; false when out of memory. */
static bool put_shape(const struct stk_field *field, struct stk_arena *arena, struct stk_value *out)
{
    struct stk_value *dim = stk_arena_alloc(arena, sizeof *dim * (1 + (size_t)field->rank));
    const struct stk_value **item =
        stk_arena_alloc(arena, sizeof *item * (1 + (size_t)field->rank));
    if (!dim || !item)
        return false;
    for (int d = 0; d < field->rank; d++) {
        dim[d] = field->shape[d] < 0
                     ? text_value(STK__WORD, "none")
                     : (struct stk_value){ .kind = STK__INT, .integer = field->shape[d] };
        item[d] = &dim[d];
    }
    *out = (struct stk_value){ .kind = STK__LIST, .n_items = field->rank, .item = item };
    return true;
}

int stk__imply_shape(struct stk_infer *inf, int input, const struct stk_field *field,
                     struct stk_error *err)
{
    static const char *const names[] = { "shape", "field", "ragged" };
    struct stk_value *value = imply(inf, &stk__op_ensure_shape, input, names, 3);
    if (!value || !put_shape(field, inf->arena, &value[0]))
        return stk__out_of_memory(err);
    value[1] = text_value(STK__STRING, field->name);
    value[2] = text_value(STK__WORD, field->kind == STK_RAGGED ? "true" : "false");
    return STK_OK;
}
