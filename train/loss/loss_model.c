/* SPDX-License-Identifier: Apache-2.0 */
/* loss_model.c: whether a loss fits what a model puts out.
 *
 * Losses of classes take logits. A softmax or sigmoid that is the last layer and belongs to the loss is
 * undone: the loss is computed from what goes into it. Anywhere else it would be applied a second time, and
 * training would go on with flat gradients and without a word; that is refused.
 */
#include "train/loss/loss.h"

#include "train/model/node_kind.h"

static const struct stk__model_node *last_of(const struct stk__model *model)
{
    return &model->node[model->n_nodes - 1];
}

/* The activation that the loss itself applies. */
static enum stk__activation_kind own_activation(const struct stk__loss *loss)
{
    return loss->kind == STK__LOSS_CROSS_ENTROPY ? STK__SOFTMAX
           : loss->kind == STK__LOSS_BINARY      ? STK__SIGMOID
                                                 : STK__LINEAR;
}

static enum stk__probability own_probability(const struct stk__loss *loss)
{
    return loss->kind == STK__LOSS_CROSS_ENTROPY ? STK__PROBABILITY_SOFTMAX
                                                 : STK__PROBABILITY_SIGMOID;
}

static const char *own_name(const struct stk__loss *loss)
{
    return loss->kind == STK__LOSS_CROSS_ENTROPY ? "softmax" : "sigmoid";
}

bool stk__loss_merges_last(const struct stk__loss *loss, const struct stk__model *model)
{
    const struct stk__model_node *last = last_of(model);
    return loss->kind != STK__LOSS_SQUARES && last->kind == &stk__node_activation &&
           last->input[0] != 0 && last->activation.kind == own_activation(loss);
}

/* One row has one class: neither a map of them, nor one that is always right. */
static int check_classes(const struct stk__model *model, struct stk_error *err)
{
    const struct stk__model_node *last = last_of(model);
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

static int fail_foreign(const struct stk__loss *loss, const struct stk__model *model,
                        struct stk_error *err)
{
    const struct stk__model_node *last = last_of(model);
    bool has_classes = loss->kind == STK__LOSS_CROSS_ENTROPY;
    return stk__fail_at(
        err, STK_VALUE, last->at, last->len,
        has_classes
            ? "cross_entropy applies softmax to outputs, but the model ends in sigmoid; for "
              "one class out of several it ends in softmax or in no activation, and outputs "
              "that are each true or false have loss=binary_cross_entropy()"
            : "binary_cross_entropy applies sigmoid to outputs, but the model ends in "
              "softmax; for outputs that are each true or false it ends in sigmoid or in no "
              "activation, and one class out of several has loss=cross_entropy()");
}

/* The activation is the loss's own, but something stands behind it, or nothing before it. */
static int fail_misplaced(const struct stk__loss *loss, const struct stk__model *model,
                          struct stk_error *err)
{
    const struct stk__model_node *last = last_of(model);
    return stk__fail_at(err, STK_VALUE, last->at, last->len,
                        "%s applies %s to outputs, but those of the model, whose last layer is %s, "
                        "have gone through it already; leave it out, or make it the last layer "
                        "behind others",
                        loss->name, own_name(loss), last->name);
}

/* Heads with an activation each: the loss has one for all of them. */
static int fail_parts(const struct stk__loss *loss, const struct stk__model *model,
                      struct stk_error *err)
{
    const struct stk__model_node *last = last_of(model);
    const char *name = own_name(loss);
    return stk__fail_at(
        err, STK_VALUE, last->at, last->len,
        "%s applies %s to outputs, but parts of those of the model, whose last layer "
        "is %s, have gone through softmax or sigmoid by themselves already; leave "
        "these activations out, and put activation(%s) behind all, or none",
        loss->name, name, last->name, name);
}

int stk__loss_check_model(const struct stk__loss *loss, const struct stk__model *model,
                          struct stk_error *err)
{
    enum stk__probability end = stk__model_output_probability(model);
    int rc = loss->kind == STK__LOSS_CROSS_ENTROPY ? check_classes(model, err) : STK_OK;
    if (rc || loss->kind == STK__LOSS_SQUARES || end == STK__PROBABILITY_NONE ||
        stk__loss_merges_last(loss, model))
        return rc;
    return end == STK__PROBABILITY_PARTS  ? fail_parts(loss, model, err)
           : end == own_probability(loss) ? fail_misplaced(loss, model, err)
                                          : fail_foreign(loss, model, err);
}
