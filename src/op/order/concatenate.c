/* SPDX-License-Identifier: Apache-2.0 */
/* concatenate.c: inputs one after the other. */
#include "op/order/order.h"

struct concatenate {
    struct stk__chains inputs;
};

static const struct stk_param params[] = {
    STK__CHAINS_ROW(concatenate, inputs, STK_VARIADIC, "chains that follow, with the same fields"),
    STK_ROWS_END,
};

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    return stk__sum_counts(inf, 0, out, err);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    if (inf->n_inputs == 0)
        return stk_fail(err, STK_VALUE,
                        "nothing to concatenate; give chains, as in "
                        "concatenate(range(3), range(5))");
    int code = stk__infer_same(inf, 0, err);
    return code ? code : count(inf, &inf->count, err);
}

static void at(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input)
{
    (void)path;
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (k < run->n_inputs - 1 && run->in_count[k] >= 0 &&
               position[i] >= (uint64_t)run->in_count[k])
            position[i] -= (uint64_t)run->in_count[k++];
        input[i] = (uint8_t)k;
    }
}

const struct stk__op stk__op_concatenate = {
    .subject = STK__ABOUT_SEVERAL_INPUTS,
    .decl = { "concatenate", 1, "Put inputs one after the other.",
              "Yields all elements of the first input, then all of the second, and so on. Written "
              "after a chain, that chain is the first input. The inputs must have the same "
              "fields, in the same order, of the same types; nothing is converted. Where their "
              "shapes differ, as many dimensions, that dimension is unknown behind it: elements "
              "keep their sizes, and `padded_batch` makes batches of them.\n"
              "\n"
              "    range(3).concatenate(range(10, 13))\n"
              "    concatenate(files('a/*.jpg'), files('b/*.jpg')).shuffle().decode()",
              params, sizeof(struct concatenate) },
    .flags = STK__OP_MULTI,
    .infer = infer,
    .order = { .count = count, .at = at },
};
