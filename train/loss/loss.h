/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h: losses on what a model puts out (logits), with their gradients.
 *
 *     cross_entropy(label_smoothing=0.1)   binary_cross_entropy()   mse()
 *
 * A batch:   stk__loss_begin   checks targets, and says what the sum is divided by
 *            stk__loss_rows    sums losses and writes gradients: of any rows, on any threads
 */
#pragma once
#include "lang/lang.h"
#include "train/loss/target.h"

enum stk__loss_kind { STK__LOSS_BINARY, STK__LOSS_CROSS_ENTROPY, STK__LOSS_SQUARES };

struct stk__loss {
    enum stk__loss_kind kind;
    const char *name;
    double label_smoothing;
    bool is_pytorch; /* whose class weights */
    int n_classes;   /* that have a weight; 0: none have */
    const double *class_weight;
};

/* What can be called. */
extern const struct stk__namespace stk__losses;

/* A call, such as cross_entropy(). Lists are in the arena. */
int stk__loss_read(const struct stk_value *value, struct stk_arena *arena, struct stk__loss *out,
                   struct stk_error *err);

/* Whether the model's last layer is undone: the loss is computed from what goes into it. */
struct stk__model;
bool stk__loss_merges_last(const struct stk__loss *loss, const struct stk__model *model);

/* Whether the model's outputs are what the loss takes; a fault has the place of the last layer. */
int stk__loss_check_model(const struct stk__loss *loss, const struct stk__model *model,
                          struct stk_error *err);

/* Whether rows are right or wrong by it: of classes, and of one output that is true or false. */
static inline bool stk__loss_knows_accuracy(const struct stk__loss *loss, int64_t outputs)
{
    return loss->kind == STK__LOSS_CROSS_ENTROPY ||
           (loss->kind == STK__LOSS_BINARY && outputs == 1);
}

struct stk__loss_batch {
    const float *logits; /* [rows, outputs] */
    struct stk__targets targets;
    float *gradient; /* [rows, outputs]; written also where only the loss is wanted */
};

/* Checks targets against the loss; *divisor is what makes a mean of the sum. Of a whole batch. */
int stk__loss_begin(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                    double *divisor, struct stk_error *err);

/* The sum of the losses of rows first to first + n; gradients are multiplied by `factor`: the loss scale
 * over the divisor. */
double stk__loss_rows(const struct stk__loss *loss, const struct stk__loss_batch *batch,
                      int64_t first, int64_t n, double factor);
