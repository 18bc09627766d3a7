/* SPDX-License-Identifier: Apache-2.0 */
/* rename.c: other names for fields. */
#include "op/order/order.h"

#include <string.h>

struct rename {
    struct stk_pairs names;
};

static const struct stk_param params[] = {
    STK_PAIRS_ROW(rename, names, STK_REQUIRED | STK__RENAMES, "old names and their new names"),
    STK_ROWS_END,
};

static bool is_any(const struct stk_field *field)
{
    (void)field;
    return true;
}

static int check_unique(const struct stk_type *type, struct stk_error *err)
{
    for (int f = 0; f < type->n_fields; f++)
        if (stk_type_find(type, type->field[f].name) != f)
            return stk_fail(err, STK_NAME, "two fields would be called '%s'", type->field[f].name);
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct rename *p = inf->params;
    stk_infer_pass(inf);
    inf->reads = 0;
    inf->never_fails = true;
    for (int i = 0; i < p->names.n; i++) {
        int f = stk_infer_pick(inf, p->names.name[i], is_any, "a field", err);
        if (f < 0)
            return STK_NAME;
        if (!*p->names.value[i])
            return stk_fail(err, STK_VALUE, "the new name of '%s' is empty", p->names.name[i]);
        inf->out->field[f].name = p->names.value[i];
    }
    return check_unique(inf->out, err);
}

const struct stk__op stk__op_rename = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "rename", 1, "Give fields other names.",
              "A map from old names to new ones. All take effect at once, so two names can be "
              "swapped. Fields keep their places; fields that are not mentioned keep their "
              "names.\n"
              "\n"
              "    range(5).rename({x: label})\n"
              "    values({a: [1], b: [2]}).rename({a: b, b: a})",
              params, sizeof(struct rename) },
    .infer = infer,
    .row = { .run = stk__rows_untouched },
};
