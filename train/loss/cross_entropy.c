/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy.c: the loss of one class out of several.
 *
 * Labels, one-hot and soft targets are one kernel: the targets of a row are written where its
 * gradient will be, smoothed and weighted, and the kernel turns them into it while the row is in
 * cache.
 */
#include "base/error.h"
#include "train/kernel/train_kernel.h"
#include "train/loss/loss.h"
#include "train/model/model.h"

static const char *const forms[] = { "keras", "pytorch", NULL };

struct entropy {
    double label_smoothing;
    struct stk_numbers class_weights;
    int form;
};

static const struct stk_param rows[] = {
    STK_REAL_ROW(entropy, label_smoothing, 0, 0, 1, 0,
                 "the part of each target that is spread over all classes"),
    STK_NUMBERS_ROW(entropy, class_weights, NULL, 0, INT32_MAX, 0,
                    "how much each class counts, in the order of labels; []: all the same"),
    STK_CHOICE_ROW(entropy, form, forms, 0, 0, "whose class weights"),
    STK_ROWS_END,
};

/* ---- rows ---- */

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

/* ---- calls and models ---- */

static int read(const struct stk__call *call, struct stk__loss *loss, struct stk_error *err)
{
    const struct entropy *p = loss->params;
    for (int i = 0; i < p->class_weights.n; i++)
        if (!(p->class_weights.item[i] >= 0))
            return stk__fail_at(err, STK_VALUE, call->at, call->len,
                                "cross_entropy: the weight of class %d is below 0", i);
    loss->label_smoothing = p->label_smoothing;
    loss->is_pytorch = p->form == 1;
    loss->n_classes = p->class_weights.n;
    loss->class_weight = p->class_weights.item;
    return STK_OK;
}

/* One row has one class: neither a map of them, nor one that is always right. */
static int check_model(const struct stk__model *model, struct stk_error *err)
{
    const struct stk__model_node *last = &model->node[model->n_nodes - 1];
    const struct stk__shape *out = &last->shape;
    char shape[STK__SHAPE_TEXT];
    if (out->height * out->width > 1)
        return stk__fail_at(
            err, STK_TYPE, last->at, last->len,
            "cross_entropy takes one class for each row, but the model's last layer, %s, puts "
            "out %s, a map; flatten() or global_avgpool(), and dense(classes) behind it. Maps "
            "have a loss for each value: binary_cross_entropy(), mse()",
            last->name, stk__shape_text(out, shape));
    if (out->channels == 1)
        return stk__fail_at(
            err, STK_VALUE, last->at, last->len,
            "cross_entropy takes an output for each class, but the model's last layer, %s, has "
            "one, whose loss is always 0; binary_cross_entropy() is for one output that is true "
            "or false, mse() for a number",
            last->name);
    return STK_OK;
}

const struct stk__loss_type stk__loss_type_cross_entropy = {
    .decl = { "cross_entropy", 1, "For one class out of several.",
              "The mean over the batch of the cross entropy of "
              "softmax(outputs) "
              "and the targets: labels, or a value for each class (one-hot, or "
              "soft as of mixup). A model whose last layer is softmax has "
              "the same loss and gradients. Refused are models that end in "
              "sigmoid, have one output, or put out a map of more than one "
              "pixel.\n"
              "\n"
              "Class weights multiply the losses of a class's rows. With "
              "form=keras the sum is divided by the number of rows, as by "
              "fit(class_weight=…); with form=pytorch by the sum of their "
              "weights, and smoothed or soft targets are weighted class by "
              "class, as by CrossEntropyLoss(weight=…).\n"
              "\n"
              "    cross_entropy()\n"
              "    cross_entropy(label_smoothing=0.1)\n"
              "    cross_entropy(class_weights=[1, 1, 5], form=pytorch)",
              rows, sizeof(struct entropy) },
    .has_classes = true,
    .activation = STK__SOFTMAX,
    .foreign = "cross_entropy applies softmax to outputs, but the model ends in sigmoid; for one "
               "class out "
               "of several it ends in softmax or in no activation, and outputs that are each true "
               "or false "
               "have loss=binary_cross_entropy()",
    .read = read,
    .check_model = check_model,
    .divisor = entropy_divisor,
    .rows = entropy_rows,
};
