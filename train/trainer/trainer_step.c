/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_step.c: steps, their halves, evaluation and prediction. */
#include "train/trainer/trainer.h"

#include "base/error.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static float scale_of(const struct stk_trainer *t)
{
    return t->has_scale ? t->scale.scale : 1;
}

static void fill_in(const struct stk_trainer *t, const struct stk__run *run, double divisor,
                    struct stk_step *out)
{
    struct stk__found found = stk__trainer_found(t);
    bool has_accuracy = stk__loss_knows_accuracy(run->loss, run->batch.targets.outputs);
    bool has_classes = run->loss->type->has_classes;
    *out = (struct stk_step){ .loss = found.loss / divisor,
                              .rows = run->rows,
                              .top1 = has_accuracy ? found.top1 : -1,
                              .top5 = has_classes ? found.top5 : -1,
                              .step = t->step,
                              .learning_rate = stk__schedule_rate(&t->optimizer.rate, t->step),
                              .loss_scale = scale_of(t),
                              .gradient_norm = NAN };
}

static int begin(struct stk_trainer *t, const struct stk_view *images,
                 const struct stk_view *targets, struct stk__run *run, double *divisor,
                 struct stk_error *err)
{
    int rc = t->plan.trains ? STK_OK : stk__trainer_check_loss(t, err);
    if (!rc)
        rc = stk__trainer_take(t, images, targets, run, err);
    if (!rc)
        rc = stk__loss_begin(&t->loss, &run->batch, divisor, err);
    return rc;
}

/* ---- training ---- */

static int check_training(const struct stk_trainer *t, struct stk_error *err)
{
    if (t->plan.trains)
        return STK_OK;
    return stk_fail(err, STK_STATE, "this trainer was made with only_forward");
}

/* The forward and the backward pass; updates what it can on the way where that is asked for, or puts it off
 * where all gradients must be known. */
static int pass(struct stk_trainer *t, const struct stk_view *images,
                const struct stk_view *targets, bool updates, struct stk__run *run,
                struct stk_step *out, struct stk_error *err)
{
    double divisor;
    int rc = check_training(t, err);
    if (!rc)
        rc = begin(t, images, targets, run, &divisor, err);
    if (rc)
        return rc;
    run->program = &t->plan.train;
    run->loss_factor = scale_of(t) / divisor;
    run->seconds = t->seconds;
    run->updates_now = updates && !t->stores_gradients && !stk__update_is_late(t);
    run->puts_off = updates && !t->stores_gradients && t->plan.puts_off;
    if (run->updates_now)
        stk__updates_begin(&t->updates, t->step, 1);
    for (int w = 0; w < t->model->n_weights; w++)
        t->updates.of[w].is_used_up = false;
    stk__trainer_run(t, run);
    fill_in(t, run, divisor, out);
    t->gradient_scale = scale_of(t);
    t->has_gradients = t->seen_gradients = true;
    t->n_batches++;
    return STK_OK;
}

/* Names the layer: the pass is done again, with an eye on every result. */
static void find_layer(struct stk_trainer *t, struct stk__run *run, struct stk__text *out)
{
    struct stk__run again = *run;
    again.looks_for_bad = true;
    again.updates_now = false;
    again.puts_off = false;
    again.seconds = NULL;
    stk__trainer_run(t, &again);
    struct stk__found found = stk__trainer_found(t);
    if (found.bad_op >= run->program->n_ops)
        return;
    const struct stk__step_op *op = &run->program->op[found.bad_op];
    const struct stk__step_group *group = &t->plan.group[op->group];
    stk__text_add(out, "%s: the %s is not finite (row %lld)", t->model->node[group->node].name,
                  op->is_backward ? "gradient of its input" : "output", (long long)found.bad_row);
}

static int fail_loss(struct stk_trainer *t, struct stk__run *run, const struct stk_step *step,
                     struct stk_error *err)
{
    struct stk__text layer = { 0 };
    find_layer(t, run, &layer);
    int rc = stk_fail(err, STK_DATA,
                      "step %lld: the loss is %s%s%s; a lower learning rate may help, and "
                      "on_nonfinite=skip leaves such steps out",
                      (long long)step->step, isnan(step->loss) ? "nan" : "infinite",
                      layer.len ? "; " : "", layer.len ? layer.data : "");
    stk__text_free(&layer);
    return rc;
}

/* A loss that is not finite: an error, or a step that is left out. */
static int judge_loss(struct stk_trainer *t, struct stk__run *run, struct stk_step *out,
                      struct stk_error *err)
{
    if (isfinite(out->loss)) {
        stk__trainer_keep(t, run);
        return STK_OK;
    }
    if (!t->has_scale && t->options.on_nonfinite == STK_NONFINITE_FAIL) {
        t->has_gradients = false;
        return fail_loss(t, run, out, err);
    }
    return STK_OK;
}

int stk_trainer_step(struct stk_trainer *t, const struct stk_view *images,
                     const struct stk_view *targets, struct stk_step *out, struct stk_error *err)
{
    struct stk__run run;
    int rc = pass(t, images, targets, true, &run, out, err);
    if (!rc)
        rc = judge_loss(t, &run, out, err);
    if (!rc)
        rc = stk__trainer_update(t, &run, out, err);
    t->last = *out;
    return rc;
}

int stk_trainer_gradients(struct stk_trainer *t, const struct stk_view *images,
                          const struct stk_view *targets, struct stk_step *out,
                          struct stk_error *err)
{
    struct stk__run run;
    int rc = pass(t, images, targets, false, &run, out, err);
    if (!rc)
        rc = judge_loss(t, &run, out, err);
    t->last = *out;
    return rc;
}

int stk_trainer_update(struct stk_trainer *t, struct stk_step *out, struct stk_error *err)
{
    int rc = check_training(t, err);
    if (!rc && !t->has_gradients)
        rc = stk_fail(err, STK_STATE, "there are no gradients that have not been used");
    if (rc)
        return rc;
    *out = t->last;
    return stk__trainer_update(t, NULL, out, err);
}

int stk_trainer_find_nonfinite(struct stk_trainer *t, const struct stk_view *images,
                               const struct stk_view *targets, char **out, struct stk_error *err)
{
    struct stk__run run;
    struct stk__text text = { 0 };
    double divisor;
    *out = NULL;
    int rc = check_training(t, err);
    if (!rc)
        rc = begin(t, images, targets, &run, &divisor, err);
    if (rc)
        return rc;
    run.program = &t->plan.train;
    run.loss_factor = scale_of(t) / divisor;
    run.n_batches = t->n_batches ? t->n_batches - 1 : 0;
    find_layer(t, &run, &text);
    t->has_gradients = false;
    if (text.failed)
        return stk__out_of_memory(err);
    *out = text.len ? stk__text_take(&text) : NULL;
    return STK_OK;
}

/* ---- use ---- */

int stk_trainer_eval(struct stk_trainer *t, const struct stk_view *images,
                     const struct stk_view *targets, struct stk_step *out, struct stk_error *err)
{
    struct stk__run run;
    double divisor;
    int rc = begin(t, images, targets, &run, &divisor, err);
    if (rc)
        return rc;
    run.loss_factor = 1 / divisor;
    stk__trainer_run(t, &run);
    fill_in(t, &run, divisor, out);
    return STK_OK;
}

int stk_trainer_predict(struct stk_trainer *t, const struct stk_view *images, float *outputs,
                        struct stk_error *err)
{
    struct stk__run run;
    int rc = stk__trainer_take(t, images, NULL, &run, err);
    if (rc)
        return rc;
    run.outputs = outputs;
    stk__trainer_run(t, &run);
    return STK_OK;
}

int stk_trainer_affine(struct stk_trainer *t, const float *scale, const float *offset,
                       int n_channels, struct stk_error *err)
{
    int64_t channels = t->model->node[0].shape.channels;
    if (n_channels != channels)
        return stk_fail(err, STK_VALUE, "there are numbers for %d channels, and images have %lld",
                        n_channels, (long long)channels);
    for (int i = 0; i < n_channels; i++)
        if (!isfinite(scale[i]) || !isfinite(offset[i]))
            return stk_fail(err, STK_VALUE, "the scale or the offset of channel %d is not finite",
                            i);
    memcpy(t->image_scale, scale, (size_t)n_channels * sizeof *scale);
    memcpy(t->image_offset, offset, (size_t)n_channels * sizeof *offset);
    return STK_OK;
}
