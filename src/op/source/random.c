/* SPDX-License-Identifier: Apache-2.0 */
/* random.c: random numbers without an end. */
#include "op/order/order.h"

#include <stdio.h>

struct random {
    int64_t seed;
};

static const struct stk_param params[] = {
    STK_INT_ROW(random, seed, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "mixed with the run's seed; none is 0"),
    STK_ROWS_END,
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    inf->out->n_fields = 1;
    inf->out->field[0] = (struct stk_field){ .name = "x", .kind = STK_FIXED, .dtype = STK_I64 };
    inf->from[0] = -1;
    inf->count = STK_INFINITE_COUNT;
    return STK_OK;
}

static int64_t count(const void *state)
{
    (void)state;
    return STK_INFINITE_COUNT;
}

/* The key of a row is that of its position and pass, so any element can be made alone. */
static int fill(struct stk_rows *rows, const uint64_t *index)
{
    const struct random *p = rows->params;
    (void)index;
    for (int i = 0; i < rows->n; i++) {
        uint32_t words[4];
        stk_rows_random(rows, i, stk__user_seed(p->seed), 0, words);
        *(int64_t *)(void *)(rows->out[0].data + (size_t)i * rows->out[0].stride) = words[0];
    }
    return STK_OK;
}

static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    (void)state;
    snprintf(text, size, "random, element %llu", (unsigned long long)index);
}

const struct stk__op stk__op_random = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "random", 1, "Random numbers without an end.",
              "One field `x` (int64): whole numbers from 0 up to 2^32 - 1, each as likely as any "
              "other, as tf.data's random. An element is a function of the run's seed, `seed`, "
              "the place of the call in the chain, the epoch and its position, so any one can be "
              "made alone and every epoch has others.\n"
              "\n"
              "    random(seed=7).take(3)\n"
              "    random().map('x % 6 + 1').take(100)",
              params, sizeof(struct random) },
    .flags = STK__OP_ROOT | STK_OP_RANDOM,
    .infer = infer,
    .source = { .count = count, .rows = fill, .describe = describe },
};
