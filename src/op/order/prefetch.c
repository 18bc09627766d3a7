/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.c: how far to run ahead of the consumer. The executor carries it out. */
#include "op/order/order.h"

struct prefetch {
    int64_t buffer_size;
};

static const struct stk_param params[] = {
    STK_INT_ROW(prefetch, buffer_size, STK_AUTO, -1, INT32_MAX, STK_TAKES_AUTO | STK_TUNABLE,
                "elements (batches, behind batch) to have ready; auto or -1 leaves it to stoker"),
    STK_ROWS_END,
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    stk_infer_pass(inf);
    inf->count = inf->in_count[0];
    return STK_OK;
}

const struct stk__op stk__op_prefetch = {
    .subject = STK__ABOUT_RUNNING,
    .decl = { "prefetch", 1, "Prepare elements before they are asked for.",
              "Says how many elements (batches, when it follows batch) may be ready before the "
              "consumer wants them. It changes speed and memory, never what is delivered. Chains "
              "run ahead without it too: it is there to fix the number, and so that chains from "
              "tf.data read the same. Only one at the end of a chain has an effect.\n"
              "\n"
              "    image_folder('train').decode().resize(224, 224).batch(32).prefetch()\n"
              "    range(1000).batch(10).prefetch(4)",
              params, sizeof(struct prefetch) },
    .flags = STK__OP_PREFETCH,
    .infer = infer,
};
