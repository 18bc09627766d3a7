/* SPDX-License-Identifier: Apache-2.0 */
/* loss_part.c: losses of a lot, their gradients, and what is counted. */
#include "train/step/step.h"

#include <string.h>

#include "base/type.h"

/* The rows of the batch that are in the lot. */
static struct stk__loss_batch lot_of(const struct stk__step_work *work)
{
    struct stk__loss_batch batch = work->run->batch;
    size_t row = stk_dtype_bytes(batch.targets.dtype) *
                 (size_t)(batch.targets.is_sparse ? 1 : batch.targets.outputs);
    batch.targets.data = (const char *)batch.targets.data + (size_t)work->first * row;
    batch.targets.rows = 1;
    return batch;
}

static void count(const struct stk__loss *loss, const struct stk__loss_batch *row,
                  struct stk__found *found)
{
    if (!stk__loss_knows_accuracy(loss, row->targets.outputs))
        return;
    if (!loss->type->has_classes) {
        found->top1 += stk__count_binary(row->logits, &row->targets);
        return;
    }
    found->top1 += stk__count_top(row->logits, &row->targets, 1);
    found->top5 += stk__count_top(row->logits, &row->targets, 5);
}

static void sum_losses(const struct stk__step_work *work)
{
    const struct stk__run *run = work->run;
    struct stk__found *found = &run->found[work->thread];
    struct stk__loss_batch row = lot_of(work);
    size_t bytes = stk_dtype_bytes(row.targets.dtype) *
                   (size_t)(row.targets.is_sparse ? 1 : row.targets.outputs);
    for (int i = 0; i < work->n; i++) {
        row.logits = stk__tensor_at(work, run->plan->logits, i);
        row.gradient = stk__tensor_at(work, run->plan->gradient_of[run->plan->logits], i);
        found->loss += stk__loss_rows(run->loss, &row, 0, 1, run->loss_factor);
        count(run->loss, &row, found);
        row.targets.data = (const char *)row.targets.data + bytes;
    }
}

static void put_outputs(const struct stk__step_work *work)
{
    const struct stk__run *run = work->run;
    for (int i = 0; i < work->n; i++) {
        struct stk__step_image from = stk__image_at(work, run->plan->outputs, i), to = from;
        int64_t n = (int64_t)from.height * from.width * from.channels;
        to.down = (int64_t)from.width * from.channels;
        to.at = run->outputs + (work->first + i) * n;
        stk__put_rows(run->kernels, &from, &to, false);
    }
}

static void run_loss(const struct stk__step_work *work, const struct stk__step_group *group)
{
    (void)group;
    if (work->run->batch.targets.rows > 0)
        sum_losses(work);
}

static void run_use(const struct stk__step_work *work, const struct stk__step_group *group)
{
    run_loss(work, group);
    if (work->run->outputs)
        put_outputs(work);
}

const struct stk__part stk__loss_part = { run_loss, 0, false };
const struct stk__part stk__use_loss_part = { run_use, 0, false };
