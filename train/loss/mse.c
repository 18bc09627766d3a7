/* SPDX-License-Identifier: Apache-2.0 */
/* mse.c: the mean of squared differences. */
#include "train/loss/loss.h"

struct squares {
    char none;
};

static const struct stk_param squares_rows[] = { STK_ROWS_END };

static double rows_of(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                      int64_t first, int64_t n, double factor)
{
    double sum = 0;
    int64_t outputs = batch->targets.outputs;
    (void)loss;
    for (int64_t i = first * outputs; i < (first + n) * outputs; i++) {
        float distance = batch->logits[i] - stk__target_value(&batch->targets, i);
        sum += (double)distance * distance;
        batch->gradient[i] = (float)(2 * factor) * distance;
    }
    return sum;
}

const struct stk__loss_type stk__loss_type_mse = {
    .decl = { "mse", 1, "The mean of squared differences.",
              "Over all outputs, as Keras' MeanSquaredError and PyTorch's MSELoss.\n"
              "\n"
              "    mse()",
              squares_rows, sizeof(struct squares) },
    .activation = STK__LINEAR,
    .rows = rows_of,
};
