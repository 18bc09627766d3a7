/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_input.c: whether images and targets are what the model and the loss take. */
#define _GNU_SOURCE
#include "train/trainer/trainer.h"

#include "base/error.h"
#include "base/text.h"
#include "base/type.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct stk_view stk_view_rows(const void *data, int dtype, int rank, const int64_t *shape)
{
    struct stk_view view = { .kind = STK_FIXED,
                             .dtype = dtype,
                             .rank = rank,
                             .memory = STK_HEAP,
                             .data = (void *)data,
                             .row_length = -1 };
    int64_t stride = (int64_t)stk_dtype_bytes(dtype);
    for (int i = rank - 1; i >= 0; i--) {
        view.shape[i] = shape[i];
        view.strides[i] = stride;
        stride *= shape[i];
    }
    return view;
}

/* "32×224×224×3" */
enum { SHAPE_TEXT = 200 };
static const char *shape_text(const struct stk_view *view, char text[SHAPE_TEXT])
{
    int at = 0;
    text[0] = 0;
    for (int i = 0; i < view->rank && at < SHAPE_TEXT - 24; i++)
        at += snprintf(text + at, SHAPE_TEXT - (size_t)at, "%s%lld", i ? "×" : "",
                       (long long)view->shape[i]);
    return view->rank ? text : "one value";
}

static int check_rows(const struct stk_view *view, const char *what, struct stk_error *err)
{
    int64_t stride = (int64_t)stk_dtype_bytes(view->dtype);
    if (view->kind != STK_FIXED)
        return stk_fail(err, STK_TYPE, "%s differ in shape: a model takes those of one shape",
                        what);
    if (view->rank < 1)
        return stk_fail(err, STK_TYPE, "%s are one value: a model takes rows of them", what);
    if (!view->data)
        return stk_fail(err, STK_TYPE, "%s have no rows", what);
    for (int i = view->rank - 1; i >= 0; i--) {
        if (view->shape[i] > 1 && view->strides[i] != stride)
            return stk_fail(err, STK_VALUE, "%s do not lie row after row: make a copy of them",
                            what);
        stride *= view->shape[i];
    }
    return STK_OK;
}

static int64_t row_values(const struct stk_view *view)
{
    int64_t n = 1;
    for (int i = 1; i < view->rank; i++)
        n *= view->shape[i];
    return n;
}

static bool is_shape(const struct stk_view *view, const struct stk__shape *shape)
{
    if (view->rank == 4)
        return view->shape[1] == shape->height && view->shape[2] == shape->width &&
               view->shape[3] == shape->channels;
    if (view->rank == 3 && shape->channels == 1)
        return view->shape[1] == shape->height && view->shape[2] == shape->width;
    return view->rank <= 2 && shape->is_flat && row_values(view) == shape->channels;
}

static int check_images(const struct stk_trainer *t, const struct stk_view *images,
                        struct stk_error *err)
{
    const struct stk__shape *shape = &t->model->node[0].shape;
    char given[SHAPE_TEXT], wanted[STK__SHAPE_TEXT];
    int rc = check_rows(images, "images", err);
    if (rc)
        return rc;
    if (images->dtype != STK_F32 && images->dtype != STK_U8)
        return stk_fail(err, STK_TYPE, "images are %s: a model takes float32 or uint8",
                        stk__dtype_names[images->dtype]);
    if (!is_shape(images, shape))
        return stk_fail(err, STK_VALUE,
                        "a batch of images is %s, and the model's input is %s for each of them",
                        shape_text(images, given), stk__shape_text(shape, wanted));
    if (images->shape[0] < 1 || images->shape[0] > t->options.max_batch)
        return stk_fail(err, STK_VALUE,
                        "a batch has %lld rows; this trainer takes 1 to %lld, its max_batch",
                        (long long)images->shape[0], (long long)t->options.max_batch);
    return STK_OK;
}

/* Labels where there is one integer per row and entropy is asked for. */
static int take_targets(const struct stk_trainer *t, const struct stk_view *targets, int64_t rows,
                        struct stk__run *run, struct stk_error *err)
{
    int64_t outputs = stk__shape_values(&t->model->node[t->model->n_nodes - 1].shape);
    char given[SHAPE_TEXT];
    int rc = check_rows(targets, "targets", err);
    if (rc)
        return rc;
    int64_t values = row_values(targets);
    bool is_sparse = values == 1 && t->loss.type->has_classes &&
                     (outputs > 1 || stk__dtype_kind(targets->dtype) != 'f');
    if (targets->shape[0] != rows)
        return stk_fail(err, STK_VALUE, "there are %lld images and %lld targets", (long long)rows,
                        (long long)targets->shape[0]);
    if (!is_sparse && values != outputs)
        return stk_fail(err, STK_VALUE,
                        "targets are %s; the model has %lld outputs for each of %lld rows",
                        shape_text(targets, given), (long long)outputs, (long long)rows);
    run->batch.targets = (struct stk__targets){ .data = targets->data,
                                                .dtype = targets->dtype,
                                                .is_sparse = is_sparse,
                                                .rows = rows,
                                                .outputs = outputs };
    return STK_OK;
}

static void begin_run(struct stk_trainer *t, const struct stk_view *images, struct stk__run *run)
{
    *run = (struct stk__run){ .plan = &t->plan,
                              .program = &t->plan.use,
                              .kernels = stk__train_kernels_at(t->plan.cpu_level),
                              .team = t->team,
                              .arena = (char *)t->tensors.at,
                              .used = t->updates.used,
                              .weight = t->weight,
                              .gradient = t->gradient,
                              .packed = t->packed.at,
                              .sums = t->thread_sums,
                              .found = t->found,
                              .images = images->data,
                              .image_dtype = images->dtype,
                              .image_scale = t->image_scale,
                              .image_offset = t->image_offset,
                              .rows = images->shape[0],
                              .loss = &t->loss,
                              .loss_factor = 1,
                              .seed = t->options.seed,
                              .n_batches = t->n_batches,
                              .updates = &t->updates };
}

int stk__trainer_take(struct stk_trainer *t, const struct stk_view *images,
                      const struct stk_view *targets, struct stk__run *run, struct stk_error *err)
{
    if (t->process != getpid())
        return stk_fail(err, STK_STATE, "a trainer works in the process that made it alone");
    int rc = check_images(t, images, err);
    if (rc)
        return rc;
    begin_run(t, images, run);
    return targets ? take_targets(t, targets, images->shape[0], run, err) : STK_OK;
}
