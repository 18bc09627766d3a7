/* SPDX-License-Identifier: Apache-2.0 */
/* enumerate.c: numbers the elements: the input beside a counter. */
#include "op/order/order.h"

struct enumerate {
    int64_t start;
};

static const struct stk_param params[] = {
    STK_INT_ROW(enumerate, start, 0, STK__INT_LO, STK__INT_HI, 0, "the first number"),
    STK_ROWS_END,
};

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    (void)err;
    *out = inf->in_count[0];
    return STK_OK;
}

/* The counter is the second input, so that an element comes from where its data comes from. */
static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct stk_type *in = inf->in[0];
    if (stk_type_find(in, "index") >= 0)
        return stk_fail(err, STK_NAME,
                        "there is a field 'index' already; rename it, as in rename({index: old})");
    if (in->n_fields == STK_MAX_FIELDS)
        return stk_fail(err, STK_VALUE, "more than %d fields; leave some out with select",
                        STK_MAX_FIELDS);
    stk_infer_pass(inf);
    struct stk_field *index = &inf->out->field[in->n_fields];
    *index = inf->in[1]->field[0];
    index->name = "index";
    inf->from[in->n_fields] = in->n_fields;
    inf->out->n_fields++;
    return count(inf, &inf->count, err);
}

extern const struct stk__op stk__op_counter;

const struct stk__op stk__op_enumerate = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "enumerate", 1, "Number the elements.",
              "Puts a field `index` (int64) behind the others: start, start + 1, and so on, from "
              "the beginning in every epoch. Where the input can be read at random the number of "
              "an element is its position, and behind a shuffle it is the place in the new "
              "order. A bad element has a number, too; under on_error=skip it is missing.\n"
              "\n"
              "    lines('words.txt').enumerate()\n"
              "    range(100).shuffle().enumerate(start=1).filter('index <= 10')",
              params, sizeof(struct enumerate) },
    .implies = { .op = &stk__op_counter, .input = 1, .shares_params = true },
    .infer = infer,
    .order = { .count = count },
};
