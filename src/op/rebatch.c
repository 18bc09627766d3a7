/* SPDX-License-Identifier: Apache-2.0 */
/* rebatch.c: batches of another size: unbatch, which is put in before it, and batch. */
#include "op/batch.h"

const struct stk_op stk__op_rebatch = {
    .decl = { "rebatch", 1, "Put the rows of batches together in batches of another size.",
              "The same as `unbatch` and `batch`: rows keep their order, and no row is lost or "
              "doubled where batches begin and end elsewhere.\n"
              "\n"
              "    range(10).batch(4).rebatch(3)\n"
              "    range(12).batch(6).map('y = x * 2').rebatch(4, drop_remainder=true)\n"
              "\n"
              "With on_error=skip a batch is filled up with the rows that follow a bad one.",
              stk__batch_params, sizeof(struct stk__batch_words) },
    .flags = STK_OP_BATCH,
    .begins_with = "unbatch",
    .infer = stk__batch_infer,
    .order = { .count = stk__batch_count },
};
