/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c: losses and gradients, row by row.
 *
 * Cross entropy of every kind is one kernel: the targets of a row are written where its gradient will
 * be, smoothed and weighted, and the kernel turns them into it while the row is in cache.
 */
#include "train/loss/loss.h"

#include "base/error.h"
#include "train/kernel/train_kernel.h"

#include <math.h>

static double weight_of(const struct stk__loss *loss, int64_t label)
{
    return loss->n_classes ? loss->class_weight[label] : 1;
}

/* Of labels PyTorch divides by their weights; of values, and in Keras always, rows are counted. */
static double entropy_divisor(const struct stk__loss *loss, const struct stk__targets *targets)
{
    double sum = 0;
    if (!loss->is_pytorch || !targets->is_sparse || !loss->n_classes)
        return (double)targets->rows;
    for (int64_t row = 0; row < targets->rows; row++)
        sum += weight_of(loss, stk__target_label(targets, row));
    return sum;
}

int stk__loss_begin(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                    double *divisor, struct stk_error *err)
{
    const struct stk__targets *targets = &batch->targets;
    bool has_classes = loss->kind == STK__LOSS_CROSS_ENTROPY;
    if (targets->is_sparse && !has_classes)
        return stk_fail(err, STK_TYPE,
                        "%s: wants a target for each of the %lld outputs, not labels", loss->name,
                        (long long)targets->outputs);
    if (loss->n_classes && loss->n_classes != targets->outputs)
        return stk_fail(err, STK_VALUE, "%s: there are %d class weights and %lld classes",
                        loss->name, loss->n_classes, (long long)targets->outputs);
    int rc = stk__targets_check(targets, loss->name, err);
    *divisor = 0;
    if (!rc)
        *divisor = has_classes ? entropy_divisor(loss, targets)
                               : (double)targets->rows * (double)targets->outputs;
    return rc;
}

/* ---- cross entropy ---- */

static void put_targets(const struct stk__loss *loss, const struct stk__targets *targets,
                        int64_t row, float *out)
{
    int64_t n = targets->outputs;
    float spread = (float)(loss->label_smoothing / (double)n);
    float kept = (float)(1 - loss->label_smoothing);
    for (int64_t i = 0; i < n; i++)
        out[i] =
            targets->is_sparse ? spread : kept * stk__target_value(targets, row * n + i) + spread;
    if (targets->is_sparse)
        out[stk__target_label(targets, row)] += kept;
    for (int64_t i = 0; i < n && loss->is_pytorch && loss->n_classes; i++)
        out[i] *= (float)loss->class_weight[i];
}

static double entropy_rows(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                           int64_t first, int64_t n, double factor)
{
    const struct stk__loss_kernels *kernels = &stk__train_kernels()->loss;
    const struct stk__targets *targets = &batch->targets;
    bool weighs_rows = loss->n_classes && !loss->is_pytorch;
    double sum = 0;
    for (int64_t row = first; row < first + n; row++) {
        float *gradient = batch->gradient + row * targets->outputs;
        double weight = weighs_rows ? weight_of(loss, stk__target_label(targets, row)) : 1;
        put_targets(loss, targets, row, gradient);
        sum += weight * kernels->cross_entropy(batch->logits + row * targets->outputs,
                                               (size_t)targets->outputs, (float)(factor * weight),
                                               gradient);
    }
    return sum;
}

/* ---- losses of outputs by themselves ---- */

static double binary_loss(float logit, float target, float *gradient)
{
    float small = expf(-fabsf(logit)); /* never overflows */
    float sigmoid = logit >= 0 ? 1 / (1 + small) : small / (1 + small);
    *gradient = sigmoid - target;
    return fmaxf(logit, 0) - logit * target + log1pf(small);
}

static double binary_values(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                            int64_t first, int64_t n, double factor)
{
    double sum = 0;
    float kept = (float)(1 - loss->label_smoothing), more = (float)(loss->label_smoothing / 2);
    for (int64_t i = first; i < first + n; i++) {
        float gradient, target = kept * stk__target_value(&batch->targets, i) + more;
        sum += binary_loss(batch->logits[i], target, &gradient);
        batch->gradient[i] = (float)factor * gradient;
    }
    return sum;
}

static double square_values(const struct stk__loss_batch *batch, int64_t first, int64_t n,
                            double factor)
{
    double sum = 0;
    for (int64_t i = first; i < first + n; i++) {
        float distance = batch->logits[i] - stk__target_value(&batch->targets, i);
        sum += (double)distance * distance;
        batch->gradient[i] = (float)(2 * factor) * distance;
    }
    return sum;
}

double stk__loss_rows(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                      int64_t first, int64_t n, double factor)
{
    int64_t outputs = batch->targets.outputs;
    switch (loss->kind) {
    case STK__LOSS_CROSS_ENTROPY:
        return entropy_rows(loss, batch, first, n, factor);
    case STK__LOSS_BINARY:
        return binary_values(loss, batch, first * outputs, n * outputs, factor);
    default:
        return square_values(batch, first * outputs, n * outputs, factor);
    }
}
