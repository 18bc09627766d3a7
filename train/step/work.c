/* SPDX-License-Identifier: Apache-2.0 */
/* work.c: where tensors of a lot lie, and what parts of several kinds do with them. */
#include "train/step/strips.h"

#include <math.h>
#include <string.h>

/* ---- places ---- */

/* Images of float32 without a frame are read where the caller has them. */
static bool is_callers(const struct stk__run *run, int tensor)
{
    const struct stk__tensor *t = &run->plan->tensor[tensor];
    return tensor == run->plan->input && run->image_dtype == STK_F32 && !t->top && !t->left &&
           !t->bottom && !t->right;
}

int stk__dtype_of(const struct stk__step_work *work, int tensor)
{
    return is_callers(work->run, tensor) ? STK_F32 : work->run->plan->tensor[tensor].dtype;
}

void *stk__tensor_at(const struct stk__step_work *work, int tensor, int64_t i)
{
    const struct stk__run *run = work->run;
    const struct stk__tensor *t = &run->plan->tensor[tensor];
    const struct stk__tensor_place *place = &run->program->place[tensor];
    if (is_callers(run, tensor))
        return (char *)run->images +
               (work->first + i) * t->height * t->row_values * (int64_t)sizeof(float);
    if (place->is_shared)
        return run->arena + place->at + (size_t)(work->first + i) * t->image_bytes;
    return work->workspace + place->at + (size_t)i * t->image_bytes;
}

struct stk__step_image stk__image_at(const struct stk__step_work *work, int tensor, int64_t i)
{
    const struct stk__tensor *t = &work->run->plan->tensor[tensor];
    float *at = stk__tensor_at(work, tensor, i);
    return (struct stk__step_image){ .at = at + t->top * t->row_values +
                                           (int64_t)t->left * t->channels,
                                     .down = t->row_values,
                                     .height = t->height,
                                     .width = t->width,
                                     .channels = t->channels };
}

int64_t stk__image_stride(const struct stk__step_work *work, int tensor)
{
    const struct stk__tensor *t = &work->run->plan->tensor[tensor];
    return is_callers(work->run, tensor) ? t->height * t->row_values
                                         : (int64_t)(t->image_bytes / stk_dtype_bytes(t->dtype));
}

/* The end of a row and the beginning of the next lie side by side. */
static void clear_frame(const struct stk__tensor *t, char *at)
{
    size_t value = stk_dtype_bytes(t->dtype);
    size_t row = (size_t)t->row_values * value, pixel = (size_t)t->channels * value;
    size_t middle = (size_t)t->width * pixel;
    size_t before = (size_t)t->top * row + (size_t)t->left * pixel;
    memset(at, 0, before);
    at += before + middle;
    for (int y = 1; y < t->height && row > middle; y++, at += row)
        memset(at, 0, row - middle);
    if (row == middle)
        at += (size_t)(t->height - 1) * row;
    memset(at, 0, (size_t)t->right * pixel + (size_t)t->bottom * row);
}

void stk__clear_frames(const struct stk__step_work *work, int tensor)
{
    const struct stk__tensor *t = &work->run->plan->tensor[tensor];
    if (!t->top && !t->left && !t->bottom && !t->right)
        return;
    for (int i = 0; i < work->n; i++)
        clear_frame(t, stk__tensor_at(work, tensor, i));
}

/* ---- weights ---- */

float *stk__packed_at(const struct stk__step_work *work, const struct stk__step_group *group)
{
    return work->run->packed + group->packed_at;
}

float *stk__sums_at(const struct stk__step_work *work, const struct stk__step_group *group,
                    int thread)
{
    return work->run->sums[thread] + group->sums_at;
}

void stk__collect_sums(const struct stk__step_work *work, const struct stk__step_group *group,
                       size_t at, int weight)
{
    const struct stk__run *run = work->run;
    if (weight < 0)
        return;
    struct stk__team_share share =
        stk__share_of(run->plan->model->weight[weight].n_values, work->thread, work->n_threads);
    size_t n = (size_t)(share.behind - share.first);
    float *to = run->gradient[weight] + share.first;
    memcpy(to, stk__sums_at(work, group, 0) + at + share.first, n * sizeof *to);
    for (int t = 1; t < work->n_threads; t++)
        run->kernels->pixel.add(stk__sums_at(work, group, t) + at + share.first, n, to);
}

/* ---- activations ---- */

/* Every switch over activations names all of them, so that the compiler tells where a new one is missing. */

bool stk__activation_is_clamp(const struct stk__activation *a)
{
    return a->kind == STK__LINEAR || a->kind == STK__RELU || a->kind == STK__RELU6;
}

bool stk__activation_is_simple(const struct stk__activation *a)
{
    switch (a->kind) {
    case STK__LINEAR:
    case STK__RELU:
    case STK__RELU6:
    case STK__SIGMOID:
    case STK__TANH:
        return true;
    case STK__LEAKY_RELU: /* of one sign with what went in */
        return a->negative_slope > 0;
    case STK__GELU:
    case STK__SOFTMAX:
    case STK__SWISH:
        break;
    }
    return false;
}

struct stk__bounds stk__activation_bounds(const struct stk__activation *a)
{
    return (struct stk__bounds){ a->kind == STK__RELU || a->kind == STK__RELU6 ? 0 : -INFINITY,
                                 a->kind == STK__RELU6 ? 6 : INFINITY };
}

void stk__activation_apply(const struct stk__train_kernels *k, const struct stk__activation *a,
                           const float *x, size_t n, float *y)
{
    const struct stk__activation_kernels *of = &k->activation;
    struct stk__bounds bounds = stk__activation_bounds(a);
    switch (a->kind) {
    case STK__LEAKY_RELU:
        of->leaky(x, n, (float)a->negative_slope, y);
        return;
    case STK__GELU:
        (a->is_approximate ? of->gelu_tanh : of->gelu)(x, n, y);
        return;
    case STK__SWISH:
        of->swish(x, n, y);
        return;
    case STK__SIGMOID:
        of->sigmoid(x, n, y);
        return;
    case STK__TANH:
        of->tanh(x, n, y);
        return;
    case STK__LINEAR:
    case STK__RELU:
    case STK__RELU6:
        of->clamp(x, n, bounds.low, bounds.high, y);
        return;
    case STK__SOFTMAX: /* not value by value: nobody asks for it here */
        return;
    }
}

void stk__activate_back(const struct stk__train_kernels *k, const struct stk__activation *a,
                        const float *y, const float *dy, size_t n, float *dx)
{
    const struct stk__activation_kernels *of = &k->activation;
    struct stk__bounds bounds = stk__activation_bounds(a);
    switch (a->kind) {
    case STK__LEAKY_RELU:
        of->leaky_gradient(y, dy, n, (float)a->negative_slope, dx);
        return;
    case STK__SIGMOID:
        of->sigmoid_gradient(y, dy, n, dx);
        return;
    case STK__TANH:
        of->tanh_gradient(y, dy, n, dx);
        return;
    case STK__LINEAR:
    case STK__RELU:
    case STK__RELU6:
        of->clamp_gradient(y, dy, n, bounds.low, bounds.high, dx);
        return;
    case STK__GELU: /* these are not simple */
    case STK__SOFTMAX:
    case STK__SWISH:
        return;
    }
}

static void mask_rows(const struct stk__run *run, const struct stk__activation *a,
                      const struct stk__step_image *y, const struct stk__step_image *dy)
{
    size_t row = (size_t)(y->width * y->channels);
    if (stk__is_dense(y) && stk__is_dense(dy)) {
        stk__activate_back(run->kernels, a, y->at, dy->at, row * (size_t)y->height, dy->at);
        return;
    }
    for (int j = 0; j < y->height; j++)
        stk__activate_back(run->kernels, a, y->at + j * y->down, dy->at + j * dy->down, row,
                           dy->at + j * dy->down);
}

void stk__mask_gradient(const struct stk__step_work *work, const struct stk__step_group *group,
                        float *const strip[2])
{
    const struct stk__run *run = work->run;
    struct stk__activation a = stk__group_activation(run->plan, group);
    for (int i = 0; a.kind != STK__LINEAR && i < work->n; i++) {
        struct stk__map y = stk__map_at(work, group->out, i);
        struct stk__map dy = stk__map_at(work, group->d_out, i);
        int n = y.dtype == STK_F32 ? y.height : 1;
        for (int j = 0; j < y.height; j += n) {
            struct stk__step_image values = stk__map_load(&y, j, n, strip ? strip[0] : NULL);
            struct stk__step_image gradient = stk__map_load(&dy, j, n, strip ? strip[1] : NULL);
            mask_rows(run, &a, &values, &gradient);
            stk__map_store(&dy, j, &gradient);
        }
    }
}

/* ---- rows ---- */

static void put_span(const struct stk__train_kernels *kernels, const float *from, size_t n,
                     float *to, bool adds)
{
    if (adds)
        kernels->pixel.add(from, n, to);
    else
        memcpy(to, from, n * sizeof *to);
}

void stk__put_rows(const struct stk__train_kernels *kernels, const struct stk__step_image *from,
                   const struct stk__step_image *to, bool adds)
{
    size_t row = (size_t)from->width * (size_t)from->channels;
    if (stk__is_dense(from) && stk__is_dense(to)) {
        put_span(kernels, from->at, row * (size_t)from->height, to->at, adds);
        return;
    }
    for (int y = 0; y < from->height; y++)
        put_span(kernels, from->at + y * from->down, row, to->at + y * to->down, adds);
}
