/* SPDX-License-Identifier: Apache-2.0 */
/* repeat.c: the input several times, or for ever. */
#include "op/order/order.h"

struct repeat {
    int64_t count;
};

static const struct stk_param params[] = {
    STK_INT_ROW(repeat, count, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "passes over the input; none or -1 for ever"),
    STK_ROWS_END,
};

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct repeat *p = inf->params;
    int64_t in = inf->in_count[0];
    if (in == 0 || p->count == 0)
        *out = 0;
    else if (p->count < 0)
        *out = STK_INFINITE_COUNT;
    else if (in < 0)
        *out = in;
    else if (p->count > STK__MAX_COUNT / in)
        return stk_fail(
            err, STK_VALUE,
            "%lld passes over %lld elements are too many to number; repeat() is endless",
            (long long)p->count, (long long)in);
    else
        *out = in * p->count;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    return stk__infer_order(inf, count, err);
}

/* Positions come in runs that lie in one pass under one path: divide and mix once for each run. */
static void at(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input)
{
    uint64_t pass_rows = (uint64_t)run->in_count[0];
    (void)input;
    for (int i = 0; i < n;) {
        uint64_t above = path[i], pass = position[i] / pass_rows;
        uint64_t first = pass * pass_rows, below = stk__hash_mix(above, pass);
        for (; i < n && path[i] == above && position[i] - first < pass_rows; i++) {
            position[i] -= first;
            path[i] = below;
        }
    }
}

const struct stk__op stk__op_repeat = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "repeat", 1, "Run through the input several times.",
              "Yields the input `count` times, or for ever without a count (or with a negative "
              "one). Every pass is an epoch of its own for what lies before it: a shuffle there "
              "gives each pass another order, a random op other numbers. Repeating an empty "
              "input gives an empty one.\n"
              "\n"
              "    range(3).repeat(2)\n"
              "    image_folder('train').shuffle().repeat().decode().resize(224, 224).batch(32)\n"
              "\n"
              "`shuffle().repeat()` keeps the passes apart; `repeat(2).shuffle()` mixes both "
              "passes. A batch behind repeat may hold the end of one pass and the start of the "
              "next.",
              params, sizeof(struct repeat) },
    .flags = STK__OP_REPEAT,
    .infer = infer,
    .order = { .count = count, .at = at },
};
