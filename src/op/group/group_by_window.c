/* SPDX-License-Identifier: Apache-2.0 */
/* group_by_window.c: elements of equal value as batches. The executor carries it out. */
#include "op/group/grouping.h"
#include "op/implied.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct group_by_window {
    const char *key;
    int64_t window_size;
    bool drop_remainder;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(group_by_window, key, NULL, STK_REQUIRED,
                 "a field of whole numbers, or an expression such as 'x % 10'"),
    STK_INT_ROW(group_by_window, window_size, 0, 1, INT32_MAX, STK_REQUIRED,
                "elements of one value that come out together"),
    STK_BOOL_ROW(group_by_window, drop_remainder, false, 0, "leave out windows that are not full"),
    STK_ROWS_END,
};

static const char computed[] = "__key"; /* a key that is no field, behind all others */

static bool is_name(const char *text)
{
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return !*text;
}

/* Asks for the key to be computed. */
static int want_key(struct stk_infer *inf, const char *expression, struct stk_error *err)
{
    size_t bytes = strlen(computed) + strlen(expression) + 4;
    char *text = stk_arena_alloc(inf->arena, bytes);
    if (!text)
        return stk_fail(err, STK_MEMORY, "out of memory");
    snprintf(text, bytes, "%s = %s", computed, expression);
    return stk__imply_map(inf, text, err);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct group_by_window *p = inf->params;
    const struct stk_type *in = inf->in[0];
    bool is_field = is_name(p->key) || stk_type_find(in, p->key) >= 0;
    if (!is_field && stk_type_find(in, computed) < 0)
        return want_key(inf, p->key, err);
    struct stk__grouping *g = stk__grouping_new(inf, p->window_size, p->drop_remainder, err);
    if (!g)
        return STK_MEMORY;
    int code = stk__grouping_by_value(inf, is_field ? p->key : computed, g, err);
    if (code)
        return code;
    const struct stk_field *field = &in->field[g->field];
    if (field->kind != STK_FIXED)
        return stk_fail(err, STK_TYPE, "the field '%s' is text, and a whole number is wanted",
                        field->name);
    g->ends_in_order = true;
    inf->count = inf->in_count[0] > 0 ? STK_UNKNOWN_COUNT : inf->in_count[0];
    code = stk__grouping_infer(inf, g, stk__grouping_rows(inf, g), err);
    inf->out->n_fields -= !is_field;
    return code;
}

const struct stk__op stk__op_group_by_window = {
    .subject = STK__ABOUT_BATCHES,
    .decl = { "group_by_window", 1, "Put elements with equal keys together as batches.",
              "Elements wait until `window_size` of them have the same key, and come out as one "
              "element with a new first dimension, as `batch` makes it. At the end come those that "
              "are left, by ascending key, unless drop_remainder is true. The key is a field, or "
              "an "
              "expression in the language of `map`, whose values are whole numbers.\n"
              "\n"
              "    range(10).group_by_window('x % 2', 5)\n"
              "    values({k: [3, 1, 3, 1, 2]}).group_by_window('k', window_size=2)\n"
              "\n"
              "As tf.data's group_by_window with a reduce_func that batches the window. The rows "
              "that wait count in the memory budget.",
              params, sizeof(struct group_by_window) },
    .flags = STK__OP_BATCH | STK__OP_GROUPS,
    .infer = infer,
};
