/* SPDX-License-Identifier: Apache-2.0 */
/* concatenate.c: inputs one after the other. */
#include "base/type.h"
#include "op/order.h"

#include <string.h>

struct concatenate {
    struct stk_chains inputs;
};

static const struct stk_param params[] = {
    STK_CHAINS_ROW(concatenate, inputs, STK_VARIADIC, "chains that follow, with the same fields"),
    STK_ROWS_END,
};

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    bool is_infinite = false, is_unknown = false;
    uint64_t sum = 0;
    for (int i = 0; i < inf->n_inputs; i++) {
        is_infinite |= inf->in_count[i] == STK_INFINITE_COUNT;
        is_unknown |= inf->in_count[i] == STK_UNKNOWN_COUNT;
        sum += (uint64_t)(inf->in_count[i] > 0 ? inf->in_count[i] : 0);
    }
    *out = is_infinite ? STK_INFINITE_COUNT : is_unknown ? STK_UNKNOWN_COUNT : (int64_t)sum;
    return *out < 0 ? STK_OK : stk__check_count(sum, err);
}

static bool is_same_type(const struct stk_type *a, const struct stk_type *b)
{
    if (a->n_fields != b->n_fields)
        return false;
    for (int f = 0; f < a->n_fields; f++) {
        const struct stk_field *x = &a->field[f], *y = &b->field[f];
        if (strcmp(x->name, y->name) || x->kind != y->kind || x->dtype != y->dtype ||
            x->rank != y->rank || memcmp(x->shape, y->shape, x->rank * sizeof *x->shape))
            return false;
    }
    return true;
}

static int fail_types(const struct stk_infer *inf, int i, struct stk_error *err)
{
    struct stk__text first = { 0 }, other = { 0 };
    stk__type_text(inf->in[0], &first);
    stk__type_text(inf->in[i], &other);
    int code = stk_fail(err, STK_TYPE,
                        "input %d has %s, but the first has %s; select, rename or cast "
                        "to make them the same",
                        i + 1, other.data ? other.data : "?", first.data ? first.data : "?");
    stk__text_free(&first);
    stk__text_free(&other);
    return code;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    if (inf->n_inputs == 0)
        return stk_fail(err, STK_VALUE,
                        "nothing to concatenate; give chains, as in "
                        "concatenate(range(3), range(5))");
    stk_infer_pass(inf);
    for (int i = 1; i < inf->n_inputs; i++) {
        if (!is_same_type(inf->in[0], inf->in[i]))
            return fail_types(inf, i, err);
        for (int f = 0; f < inf->out->n_fields; f++)
            inf->out->field[f].flags &= inf->in[i]->field[f].flags;
    }
    return count(inf, &inf->count, err);
}

static void at(const struct stk_order_run *run, int n, uint64_t *position, uint64_t *path,
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

const struct stk_op stk__op_concatenate = {
    .decl = { "concatenate", 1, "Put inputs one after the other.",
              "Yields all elements of the first input, then all of the second, and so on. Written "
              "after a chain, that chain is the first input. The inputs must have the same "
              "fields, in the same order, of the same types and shapes; nothing is converted.\n"
              "\n"
              "    range(3).concatenate(range(10, 13))\n"
              "    concatenate(files('a/*.jpg'), files('b/*.jpg')).shuffle().decode()",
              params, sizeof(struct concatenate) },
    .flags = STK_OP_MULTI,
    .infer = infer,
    .order = { .count = count, .at = at },
};
