/* SPDX-License-Identifier: Apache-2.0 */
/* zip.c: inputs side by side. */
#include "op/order/order.h"

struct zip {
    struct stk__chains inputs;
};

static const struct stk_param params[] = {
    STK__CHAINS_ROW(zip, inputs, STK_VARIADIC, "chains whose fields are put beside each other"),
    STK_ROWS_END,
};

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    (void)err;
    *out = STK_INFINITE_COUNT;
    for (int i = 0; i < inf->n_inputs; i++) {
        int64_t in = inf->in_count[i];
        if (in == STK_UNKNOWN_COUNT) {
            *out = in;
            return STK_OK;
        }
        if (in != STK_INFINITE_COUNT)
            *out = *out < 0 ? in : stk__min_count(in, *out);
    }
    return STK_OK;
}

static int add_field(struct stk_infer *inf, const struct stk_field *field, int number,
                     struct stk_error *err)
{
    struct stk_type *out = inf->out;
    if (stk_type_find(out, field->name) >= 0)
        return stk_fail(err, STK_NAME,
                        "two inputs have a field '%s'; rename one of them, as in "
                        "rename({%s: %s_2})",
                        field->name, field->name, field->name);
    if (out->n_fields == STK_MAX_FIELDS)
        return stk_fail(err, STK_VALUE, "more than %d fields; leave some out with select",
                        STK_MAX_FIELDS);
    inf->from[out->n_fields] = number;
    out->field[out->n_fields++] = *field;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    int number = 0, code = STK_OK;
    if (inf->n_inputs == 0)
        return stk_fail(err, STK_VALUE,
                        "nothing to zip; give chains, as in zip(range(3), range(3))");
    inf->out->n_fields = 0;
    for (int i = 0; i < inf->n_inputs; i++)
        for (int f = 0; f < inf->in[i]->n_fields && !code; f++)
            code = add_field(inf, &inf->in[i]->field[f], number++, err);
    return code ? code : count(inf, &inf->count, err);
}

const struct stk__op stk__op_zip = {
    .subject = STK__ABOUT_SEVERAL_INPUTS,
    .decl = { "zip", 1, "Put inputs side by side, element by element.",
              "The n-th element has all fields of the n-th element of every input. Written after a "
              "chain, that chain is the first input. It ends with the shortest. Fields keep their "
              "names, so a name may occur only once. An element is bad if one of its parts is.\n"
              "\n"
              "    zip(range(3), values({y: [10, 20, 30]}))\n"
              "    files('images/*.png').decode().zip(files('masks/*.png').decode().rename({image: "
              "mask}))",
              params, sizeof(struct zip) },
    .flags = STK__OP_MULTI,
    .infer = infer,
    .order = { .count = count },
};
