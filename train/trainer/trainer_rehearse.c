/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_rehearse.c: a pass over images of zeros when a trainer is made.
 *
 * Some candidates make what they need for a band when they first run one of its height (oneDNN
 * compiles a kernel). All images of a batch are cut alike, so a batch with an image for each
 * thread shows them every band that steps will have, and steps make nothing.
 */
#include "train/trainer/trainer.h"

#include "base/error.h"

#include <stdlib.h>

/* Zeros are images, and labels or values of any type. */
static int rehearse(struct stk_trainer *t, int64_t rows, const void *zeros, struct stk_error *err)
{
    const struct stk__shape *shape = &t->model->node[0].shape;
    int64_t outputs = stk__shape_values(&t->model->node[t->model->n_nodes - 1].shape);
    bool is_sparse = t->loss.type->has_classes;
    struct stk_view images = stk_view_rows(
        zeros, STK_F32, 4, (int64_t[]){ rows, shape->height, shape->width, shape->channels });
    struct stk_view targets = stk_view_rows(zeros, is_sparse ? STK_I32 : STK_F32, is_sparse ? 1 : 2,
                                            (int64_t[]){ rows, outputs });
    struct stk__run run;
    double divisor;
    int rc = stk__trainer_take(t, &images, &targets, &run, err);
    if (!rc)
        rc = stk__loss_begin(&t->loss, &run.batch, &divisor, err);
    if (rc)
        return rc;
    run.program = t->plan.trains ? &t->plan.train : &t->plan.use;
    stk__trainer_run(t, &run);
    return STK_OK;
}

int stk__trainer_rehearse(struct stk_trainer *t, struct stk_error *err)
{
    int64_t rows =
        t->options.threads < t->options.max_batch ? t->options.threads : t->options.max_batch;
    int64_t values = stk__shape_values(&t->model->node[0].shape);
    int64_t outputs = stk__shape_values(&t->model->node[t->model->n_nodes - 1].shape);
    void *zeros =
        calloc((size_t)rows * (size_t)(values > outputs ? values : outputs), sizeof(float));
    if (!zeros)
        return stk__out_of_memory(err);
    int rc = rehearse(t, rows, zeros, err);
    free(zeros);
    return rc;
}
