/* SPDX-License-Identifier: Apache-2.0 */
/* select.c: some of the fields. */
#include "op/order/order.h"

struct select {
    struct stk_texts fields;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(select, fields, 1, STK_MAX_FIELDS, STK_REQUIRED | STK_VARIADIC | STK__MAKES,
                  "names of the fields to keep, in their new order"),
    STK_ROWS_END,
};

static bool is_any(const struct stk_field *field)
{
    (void)field;
    return true;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct select *p = inf->params;
    inf->reads = 0;
    inf->never_fails = true;
    inf->out->n_fields = 0;
    for (int i = 0; i < p->fields.n; i++) {
        int f = stk_infer_pick(inf, p->fields.item[i], is_any, "a field", err);
        if (f < 0)
            return STK_NAME;
        if (stk_type_find(inf->out, p->fields.item[i]) >= 0)
            return stk_fail(err, STK_NAME, "the field '%s' is listed twice", p->fields.item[i]);
        inf->from[i] = f;
        inf->out->field[i] = inf->in[0]->field[f];
        inf->out->n_fields++;
    }
    return STK_OK;
}

const struct stk__op stk__op_select = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "select", 1, "Keep the fields that are named.",
              "The other fields are dropped, which costs nothing. What only they need is not read, "
              "decoded or parsed: see docs/rewrites.md. "
              "The order of the names is the new order of the fields.\n"
              "\n"
              "    image_folder('train').select(path)\n"
              "    values({a: [1, 2], b: [3, 4], c: [5, 6]}).select(c, a)",
              params, sizeof(struct select) },
    .infer = infer,
    .row = { .run = stk__rows_untouched },
};
