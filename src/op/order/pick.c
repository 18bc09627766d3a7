/* SPDX-License-Identifier: Apache-2.0 */
/* pick.c: elements by their numbers, in any order. */
#include "base/error.h"
#include "op/order/order.h"
#include "op/source/value_column.h"

struct pick {
    const struct stk_value *indices;
};

/* What open makes of them. */
struct picked {
    struct stk__value_column column;
    int64_t largest;
};

static const struct stk_param params[] = {
    STK__VALUE_ROW(pick, indices, STK_REQUIRED,
                   "numbers of elements, from 0: a list, or `@name` of an array of int64"),
    STK_ROWS_END,
};

static const int64_t *numbers(const struct picked *picked)
{
    return (const int64_t *)(const void *)picked->column.data;
}

static int open_numbers(const void *given, struct stk_arena *arena, void **state,
                        struct stk_error *err)
{
    const struct stk_value *value = ((const struct pick *)given)->indices;
    struct picked *picked = stk_arena_alloc(arena, sizeof *picked);
    if (!picked)
        return stk__out_of_memory(err);
    picked->column.field.name = "indices";
    int code = stk__value_column_read(value, arena, &picked->column, err);
    const struct stk_field *field = &picked->column.field;
    if (!code && (field->kind != STK_FIXED || field->dtype != STK_I64 || field->rank))
        code = stk__fail_at(err, STK_TYPE, value->at, value->len,
                            "wants whole numbers, as in pick([3, 1, 2])");
    picked->largest = -1;
    for (int64_t i = 0; !code && i < picked->column.n_rows; i++) {
        int64_t number = numbers(picked)[i];
        if (number < 0)
            code = stk__fail_at(err, STK_VALUE, value->at, value->len,
                                "there is no element %lld: they count from 0", (long long)number);
        picked->largest = number > picked->largest ? number : picked->largest;
    }
    *state = picked;
    return code;
}

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct picked *picked = inf->state;
    int64_t n = inf->in_count[0];
    if (n >= 0 && picked->largest >= n)
        return stk_fail(err, STK_VALUE, "there are %lld elements, so there is no element %lld",
                        (long long)n, (long long)picked->largest);
    *out = picked->column.n_rows;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    return stk__infer_order(inf, count, err);
}

static enum stk__op_mode mode(const void *given)
{
    (void)given;
    return STK__MODE_ORDER;
}

static void at(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input)
{
    const int64_t *number = numbers(run->state);
    (void)path, (void)input;
    for (int i = 0; i < n; i++)
        position[i] = (uint64_t)number[position[i]];
}

const struct stk__op stk__op_pick = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "pick", 1, "Take the elements with these numbers, in this order.",
              "Yields element number indices[0] of its input, then indices[1] and so on; a number "
              "may be there several times. Nothing else is read. The input must be one whose "
              "elements can be asked for by number.\n"
              "\n"
              "    range(100).map('x * x').pick([7, 3, 3])\n"
              "    files('train/*/*.jpg').pick([2, 0]).decode()\n"
              "\n"
              "Behind a shuffle the numbers are places in its order, so that every epoch has other "
              "elements. In Python `ds[[7, 3, 3]]` is the same.",
              params, sizeof(struct pick) },
    .mode = mode,
    .open = open_numbers,
    .infer = infer,
    .order = { .count = count, .at = at },
};
