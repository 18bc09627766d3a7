/* SPDX-License-Identifier: Apache-2.0 */
/* binary_cross_entropy.c: the loss of outputs that are each true or false. */
#include "train/loss/loss.h"

#include <math.h>

struct binary {
    double label_smoothing;
};

static const struct stk_param binary_rows[] = {
    STK_REAL_ROW(binary, label_smoothing, 0, 0, 1, 0, "how far targets are moved towards 1/2"),
    STK_ROWS_END,
};

static double binary_loss(float logit, float target, float *gradient)
{
    float small = expf(-fabsf(logit)); /* never overflows */
    float sigmoid = logit >= 0 ? 1 / (1 + small) : small / (1 + small);
    *gradient = sigmoid - target;
    return fmaxf(logit, 0) - logit * target + log1pf(small);
}

static double rows_of(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                      int64_t first, int64_t n, double factor)
{
    double sum = 0;
    float kept = (float)(1 - loss->label_smoothing), more = (float)(loss->label_smoothing / 2);
    int64_t outputs = batch->targets.outputs;
    for (int64_t i = first * outputs; i < (first + n) * outputs; i++) {
        float gradient, target = kept * stk__target_value(&batch->targets, i) + more;
        sum += binary_loss(batch->logits[i], target, &gradient);
        batch->gradient[i] = (float)factor * gradient;
    }
    return sum;
}

static int read(const struct stk__call *call, struct stk__loss *loss, struct stk_error *err)
{
    (void)call;
    (void)err;
    loss->label_smoothing = ((const struct binary *)loss->params)->label_smoothing;
    return STK_OK;
}

const struct stk__loss_type stk__loss_type_binary_cross_entropy = {
    .decl = { "binary_cross_entropy", 1, "For outputs that are each true or false.",
              "The mean over all outputs, which are logits: as Keras' "
              "BinaryCrossentropy(from_logits=True) and PyTorch's "
              "BCEWithLogitsLoss. A model whose last layer is sigmoid has the same "
              "loss and gradients; one that ends in softmax is refused.\n"
              "\n"
              "    binary_cross_entropy(label_smoothing=0.1)",
              binary_rows, sizeof(struct binary) },
    .activation = STK__SIGMOID,
    .foreign =
        "binary_cross_entropy applies sigmoid to outputs, but the model ends in softmax; for "
        "outputs "
        "that are each true or false it ends in sigmoid or in no activation, and one class out of "
        "several has loss=cross_entropy()",
    .read = read,
    .rows = rows_of,
};
