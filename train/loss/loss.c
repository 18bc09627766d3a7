/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c: reading a loss, its batches, and whether it fits what a model puts out.
 *
 * Losses of classes take logits. A softmax or sigmoid that is the last layer and belongs to the loss is
 * undone: the loss is computed from what goes into it. Anywhere else it would be applied a second time, and
 * training would go on with flat gradients and without a word; that is refused.
 */
#include "train/loss/loss.h"

#include "base/error.h"
#include "train/model/declared.h"
#include "train/model/node_kind.h"

int stk__loss_read(const struct stk_value *value, struct stk_arena *arena, struct stk__loss *out,
                   struct stk_error *err)
{
    struct stk__declared said;
    int rc = stk__declared_bound(value, &stk__losses, "a loss is", arena, &said, err);
    if (rc)
        return rc;
    *out = (struct stk__loss){ .type = (const void *)said.decl, .params = said.params };
    return out->type->read ? out->type->read(said.call, out, err) : STK_OK;
}

/* ---- batches ---- */

int stk__loss_begin(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                    double *divisor, struct stk_error *err)
{
    const struct stk__targets *targets = &batch->targets;
    const char *name = loss->type->decl.name;
    if (targets->is_sparse && !loss->type->has_classes)
        return stk_fail(err, STK_TYPE,
                        "%s: wants a target for each of the %lld outputs, not labels", name,
                        (long long)targets->outputs);
    if (loss->n_classes && loss->n_classes != targets->outputs)
        return stk_fail(err, STK_VALUE, "%s: there are %d class weights and %lld classes", name,
                        loss->n_classes, (long long)targets->outputs);
    int rc = stk__targets_check(targets, name, err);
    *divisor = 0;
    if (!rc)
        *divisor = loss->type->divisor ? loss->type->divisor(loss, targets)
                                       : (double)targets->rows * (double)targets->outputs;
    return rc;
}

double stk__loss_rows(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                      int64_t first, int64_t n, double factor)
{
    return loss->type->rows(loss, batch, first, n, factor);
}

/* ---- models ---- */

static const struct stk__model_node *last_of(const struct stk__model *model)
{
    return &model->node[model->n_nodes - 1];
}

static enum stk__probability own_probability(const struct stk__loss *loss)
{
    return loss->type->activation == STK__SOFTMAX ? STK__PROBABILITY_SOFTMAX
                                                  : STK__PROBABILITY_SIGMOID;
}

static const char *own_name(const struct stk__loss *loss)
{
    return loss->type->activation == STK__SOFTMAX ? "softmax" : "sigmoid";
}

bool stk__loss_merges_last(const struct stk__loss *loss, const struct stk__model *model)
{
    const struct stk__model_node *last = last_of(model);
    return loss->type->activation != STK__LINEAR && last->kind == &stk__node_activation &&
           last->input[0] != 0 && last->activation.kind == loss->type->activation;
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
                        loss->type->decl.name, own_name(loss), last->name);
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
        loss->type->decl.name, name, last->name, name);
}

int stk__loss_check_model(const struct stk__loss *loss, const struct stk__model *model,
                          struct stk_error *err)
{
    enum stk__probability end = stk__model_output_probability(model);
    const struct stk__model_node *last = last_of(model);
    int rc = loss->type->check_model ? loss->type->check_model(model, err) : STK_OK;
    if (rc || loss->type->activation == STK__LINEAR || end == STK__PROBABILITY_NONE ||
        stk__loss_merges_last(loss, model))
        return rc;
    return end == STK__PROBABILITY_PARTS ? fail_parts(loss, model, err)
           : end == own_probability(loss)
               ? fail_misplaced(loss, model, err)
               : stk__fail_at(err, STK_VALUE, last->at, last->len, "%s", loss->type->foreign);
}
