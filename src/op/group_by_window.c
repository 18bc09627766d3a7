/* SPDX-License-Identifier: Apache-2.0 */
/* group_by_window.c: elements of equal value as batches. The executor carries it out. */
#include "op/grouping.h"

struct group_by_window {
    const char *key;
    int64_t window_size;
    bool drop_remainder;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(group_by_window, key, NULL, STK_REQUIRED,
                 "a field of whole numbers: elements with equal ones come together"),
    STK_INT_ROW(group_by_window, window_size, 0, 1, INT32_MAX, STK_REQUIRED,
                "elements of one value that come out together"),
    STK_BOOL_ROW(group_by_window, drop_remainder, false, 0, "leave out windows that are not full"),
    STK_ROWS_END,
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct group_by_window *p = inf->params;
    struct stk__grouping *g = stk__grouping_new(inf, p->window_size, p->drop_remainder, err);
    if (!g)
        return STK_MEMORY;
    int code = stk__grouping_by_value(inf, p->key, g, err);
    if (code)
        return code;
    const struct stk_field *field = &inf->in[0]->field[g->field];
    if (field->kind != STK_FIXED)
        return stk_fail(err, STK_TYPE, "the field '%s' is text, and a whole number is wanted",
                        field->name);
    g->ends_in_order = true;
    inf->count = inf->in_count[0] > 0 ? STK_UNKNOWN_COUNT : inf->in_count[0];
    return stk__grouping_infer(inf, g, stk__grouping_rows(inf, g), err);
}

const struct stk_op stk__op_group_by_window = {
    .decl = { "group_by_window", 1, "Put elements with equal keys together as batches.",
              "Elements wait until `window_size` of them have the same key, and come out as one "
              "element with a new first dimension, as `batch` makes it. At the end come those that "
              "are left, by ascending key, unless drop_remainder is true. The key is a field of "
              "whole numbers, which `map` can compute.\n"
              "\n"
              "    range(10).map('odd = x % 2').group_by_window(odd, 5)\n"
              "    values({k: [3, 1, 3, 1, 2]}).group_by_window('k', window_size=2)\n"
              "\n"
              "As tf.data's group_by_window with a reduce_func that batches the window. The rows "
              "that wait count in the memory budget.",
              params, sizeof(struct group_by_window) },
    .flags = STK_OP_BATCH | STK_OP_GROUPS,
    .infer = infer,
};
