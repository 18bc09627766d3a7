/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h: losses on what a model puts out (logits), with their gradients.
 *
 *     cross_entropy(label_smoothing=0.1)   binary_cross_entropy()   mse()
 *
 * A batch:   stk__loss_begin   checks targets, and says what the sum is divided by
 *            stk__loss_rows    sums losses and writes gradients: of any rows, on any threads
 *
 * A new loss needs its file here with one declaration, and a case in tests/train/test_loss.c.
 */
#pragma once
#include "lang/lang.h"
#include "train/loss/target.h"
#include "train/model/activation.h"

struct stk__model;
struct stk__loss_type;

struct stk__loss {
    const struct stk__loss_type *type;
    const void *params; /* bound, of its type */
    double label_smoothing;
    bool is_pytorch; /* whose class weights */
    int n_classes;   /* that have a weight; 0: none have */
    const double *class_weight;
};

struct stk__loss_batch {
    const float *logits; /* [rows, outputs] */
    struct stk__targets targets;
    float *gradient; /* [rows, outputs]; written also where only the loss is wanted */
};

struct stk__loss_type {
    struct stk_decl decl;                 /* first: a declaration of stk__losses is its type */
    bool has_classes;                     /* one of them is right: targets may be labels */
    enum stk__activation_kind activation; /* that it applies to outputs itself; linear: none */
    const char *foreign; /* said of a model that ends in the other one of softmax and sigmoid */
    /* Takes what was bound, and looks at a model. NULL: nothing is wanted. */
    int (*read)(const struct stk__call *call, struct stk__loss *loss, struct stk_error *err);
    int (*check_model)(const struct stk__model *model, struct stk_error *err);
    /* What makes a mean of the sum; NULL: all outputs of all rows count alike. */
    double (*divisor)(const struct stk__loss *loss, const struct stk__targets *targets);
    /* As stk__loss_rows. */
    double (*rows)(const struct stk__loss *loss, const struct stk__loss_batch *batch, int64_t first,
                   int64_t n, double factor);
};

/* What can be called: what the files of this folder declare. */
extern const struct stk__namespace stk__losses;
extern const struct stk__loss_type stk__loss_type_cross_entropy; /* where none is asked for */

/* A call, such as cross_entropy(). Lists are in the arena. */
int stk__loss_read(const struct stk_value *value, struct stk_arena *arena, struct stk__loss *out,
                   struct stk_error *err);

/* Whether the model's last layer is undone: the loss is computed from what goes into it. */
bool stk__loss_merges_last(const struct stk__loss *loss, const struct stk__model *model);

/* Whether the model's outputs are what the loss takes; a fault has the place of the last layer. */
int stk__loss_check_model(const struct stk__loss *loss, const struct stk__model *model,
                          struct stk_error *err);

/* Whether rows are right or wrong by it: of classes, and of one output that is true or false. */
static inline bool stk__loss_knows_accuracy(const struct stk__loss *loss, int64_t outputs)
{
    return loss->type->has_classes || (loss->type->activation == STK__SIGMOID && outputs == 1);
}

/* Checks targets against the loss; *divisor is what makes a mean of the sum. Of a whole batch. */
int stk__loss_begin(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                    double *divisor, struct stk_error *err);

/* The sum of the losses of rows first to first + n; gradients are multiplied by `factor`: the loss
 * scale over the divisor. */
double stk__loss_rows(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                      int64_t first, int64_t n, double factor);
