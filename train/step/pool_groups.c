/* SPDX-License-Identifier: Apache-2.0 */
/* pool_groups.c: maxima and means of windows, by themselves; means of whole images. */
#include "base/error.h"
#include "train/step/pool_shape.h"
#include "train/step/step.h"

#include <math.h>
#include <string.h>

struct stk__pool stk__pool_shape(const struct stk__node *node, int height, int width)
{
    const struct stk__window *w = &node->window;
    return (struct stk__pool){ .height = (int)w->kernel_height,
                               .width = (int)w->kernel_width,
                               .stride_y = (int)w->stride_height,
                               .stride_x = (int)w->stride_width,
                               .pad_top = (int)w->pad_top,
                               .pad_left = (int)w->pad_left,
                               .in_height = height,
                               .in_width = width,
                               .out_height = (int)node->shape.height,
                               .out_width = (int)node->shape.width,
                               .channels = (int)node->shape.channels };
}

/* Cells have a byte each: wider windows are looked through again in the backward pass. */
static bool has_cells(const struct stk__pool *pool)
{
    return pool->height * pool->width <= 255;
}

static int open_pool(struct stk__step_plan *plan, struct stk__group *group, struct stk_error *err)
{
    const struct stk__tensor *in = &plan->tensor[group->in[0]];
    struct stk__pool *pool = stk_arena_alloc(plan->arena, sizeof *pool);
    if (!pool)
        return stk__out_of_memory(err);
    *pool = stk__pool_shape(stk__group_node(plan, group), in->height, in->width);
    group->state = pool;
    if (group->adds[0])
        group->scratch_bytes =
            (size_t)in->height * (size_t)in->width * (size_t)in->channels * sizeof(float);
    return STK_OK;
}

static int open_maxpool(struct stk__step_plan *plan, struct stk__group *group,
                        struct stk_error *err)
{
    int rc = open_pool(plan, group, err);
    if (rc || !has_cells(group->state))
        return rc;
    struct stk__tensor cells = plan->tensor[group->out];
    cells.what = "cells";
    cells.top = cells.left = cells.bottom = cells.right = 0;
    cells.value_bytes = 1;
    group->cells = stk__step_plan_tensor(plan, &cells);
    group->spares = STK__IN | STK__OUT;
    return group->cells < 0 ? stk__out_of_memory(err) : STK_OK;
}

/* ---- maxima ---- */

static void maxima(const struct stk__work *work, const struct stk__group *group, bool trains)
{
    const struct stk__pool *pool = group->state;
    for (int i = 0; i < work->n; i++) {
        struct stk__image x = stk__input_at(work, group, 0, i);
        struct stk__image y = stk__image_at(work, group->out, i);
        work->run->kernels->pool.max_rows(&(struct stk__maxpool_rows){
            .pool = pool,
            .n_rows = pool->out_height,
            .x = stk__reads(&x),
            .y = stk__writes(&y),
            .cells = trains && has_cells(pool) ? stk__at(work, group->cells, i) : NULL,
            .cells_down = (int64_t)pool->out_width * pool->channels,
            .low = -INFINITY,
            .high = INFINITY });
    }
    stk__clear_frames(work, group->out);
}

static void max_forward(const struct stk__work *work, const struct stk__group *group)
{
    maxima(work, group, true);
}

static void max_use(const struct stk__work *work, const struct stk__group *group)
{
    maxima(work, group, false);
}

/* The first cell of a window that has its maximum gets the gradient. */
static void give_back(const struct stk__pool *p, const struct stk__image *x, int row, int column,
                      int channel, float maximum, float dy, const struct stk__image *dx)
{
    int y0 = row * p->stride_y - p->pad_top, x0 = column * p->stride_x - p->pad_left;
    for (int j = y0 < 0 ? 0 : y0; j < y0 + p->height && j < p->in_height; j++)
        for (int k = x0 < 0 ? 0 : x0; k < x0 + p->width && k < p->in_width; k++)
            if (x->at[j * x->down + (int64_t)k * p->channels + channel] == maximum) {
                dx->at[j * dx->down + (int64_t)k * p->channels + channel] += dy;
                return;
            }
}

static void wide_gradient(const struct stk__pool *p, const struct stk__image *x,
                          const struct stk__image *y, const struct stk__image *dy,
                          const struct stk__image *dx)
{
    for (int j = 0; j < dx->height; j++)
        memset(dx->at + j * dx->down, 0, (size_t)(dx->width * dx->channels) * sizeof *dx->at);
    for (int row = 0; row < p->out_height; row++)
        for (int column = 0; column < p->out_width; column++)
            for (int c = 0; c < p->channels; c++) {
                int64_t at = (int64_t)column * p->channels + c;
                give_back(p, x, row, column, c, y->at[row * y->down + at],
                          dy->at[row * dy->down + at], dx);
            }
}

/* Where the gradient is written to: its tensor, or scratch if it is to be added. */
static struct stk__image own_gradient(const struct stk__work *work, const struct stk__group *group,
                                      int64_t i)
{
    struct stk__image dx = stk__d_input_at(work, group, 0, i);
    if (group->adds[0]) {
        dx.at = stk__at(work, group->scratch, 0);
        dx.down = (int64_t)dx.width * dx.channels;
    }
    return dx;
}

static void add_own(const struct stk__work *work, const struct stk__group *group, int64_t i,
                    const struct stk__image *own)
{
    struct stk__image dx = stk__d_input_at(work, group, 0, i);
    if (group->adds[0])
        stk__put_rows(work->run->kernels, own, &dx, true);
}

static void max_backward(const struct stk__work *work, const struct stk__group *group)
{
    const struct stk__pool *pool = group->state;
    for (int i = 0; i < work->n; i++) {
        struct stk__image dy = stk__image_at(work, group->d_out, i);
        struct stk__image own = own_gradient(work, group, i);
        if (has_cells(pool)) {
            work->run->kernels->pool.max_gradient(&(struct stk__maxpool_gradient){
                .pool = pool,
                .n_rows = pool->in_height,
                .dy = stk__reads(&dy),
                .cells = stk__at(work, group->cells, i),
                .cells_down = (int64_t)pool->out_width * pool->channels,
                .dx = stk__writes(&own) });
        } else {
            struct stk__image x = stk__input_at(work, group, 0, i);
            struct stk__image y = stk__image_at(work, group->out, i);
            wide_gradient(pool, &x, &y, &dy, &own);
        }
        add_own(work, group, i, &own);
    }
}

/* ---- means ---- */

static void mean_forward(const struct stk__work *work, const struct stk__group *group)
{
    const struct stk__pool *pool = group->state;
    for (int i = 0; i < work->n; i++) {
        struct stk__image x = stk__input_at(work, group, 0, i);
        struct stk__image y = stk__image_at(work, group->out, i);
        work->run->kernels->pool.mean_rows(&(struct stk__avgpool_rows){
            .pool = pool, .n_rows = pool->out_height, .x = stk__reads(&x), .y = stk__writes(&y) });
    }
    stk__clear_frames(work, group->out);
}

static void mean_backward(const struct stk__work *work, const struct stk__group *group)
{
    const struct stk__pool *pool = group->state;
    for (int i = 0; i < work->n; i++) {
        struct stk__image dy = stk__image_at(work, group->d_out, i);
        struct stk__image own = own_gradient(work, group, i);
        work->run->kernels->pool.mean_gradient(
            &(struct stk__avgpool_gradient){ .pool = pool,
                                             .n_rows = pool->in_height,
                                             .dy = stk__reads(&dy),
                                             .dx = stk__writes(&own) });
        add_own(work, group, i, &own);
    }
}

/* ---- means of whole images ---- */

static void whole_forward(const struct stk__work *work, const struct stk__group *group)
{
    for (int i = 0; i < work->n; i++) {
        struct stk__image x = stk__input_at(work, group, 0, i);
        float *sum = stk__at(work, group->out, i);
        float factor = 1 / ((float)x.width * (float)x.height);
        memset(sum, 0, (size_t)x.channels * sizeof *sum);
        work->run->kernels->pixel.sums(
            &(struct stk__pixel_sums){ stk__reads(&x), x.width, x.height, x.channels, sum });
        for (int c = 0; c < x.channels; c++)
            sum[c] *= factor;
    }
}

static void whole_backward(const struct stk__work *work, const struct stk__group *group)
{
    for (int i = 0; i < work->n; i++) {
        struct stk__image own = own_gradient(work, group, i);
        work->run->kernels->pixel.spread(
            &(struct stk__pixel_spread){ .value = stk__at(work, group->d_out, i),
                                         .factor = 1 / ((float)own.width * (float)own.height),
                                         .y = stk__writes(&own),
                                         .width = own.width,
                                         .height = own.height,
                                         .channels = own.channels });
        add_own(work, group, i, &own);
    }
}

static int open_whole(struct stk__step_plan *plan, struct stk__group *group, struct stk_error *err)
{
    const struct stk__tensor *in = &plan->tensor[group->in[0]];
    (void)err;
    if (group->adds[0])
        group->scratch_bytes =
            (size_t)in->height * (size_t)in->width * (size_t)in->channels * sizeof(float);
    return STK_OK;
}

static const struct stk__part max_forward_parts[] = {
    { max_forward, STK__IN | STK__OUT | STK__CELLS, false },
    { 0 },
};
static const struct stk__part max_backward_parts[] = {
    { max_backward, STK__IN | STK__OUT | STK__D_IN | STK__D_OUT | STK__CELLS | STK__SCRATCH,
      false },
    { 0 },
};
static const struct stk__part max_use_parts[] = { { max_use, STK__IN | STK__OUT, false }, { 0 } };

const struct stk__group_type stk__maxpool_group = { .name = "maxpool",
                                                    .open = open_maxpool,
                                                    .forward = max_forward_parts,
                                                    .backward = max_backward_parts,
                                                    .use = max_use_parts };

static const struct stk__part mean_forward_parts[] = { { mean_forward, STK__IN | STK__OUT, false },
                                                       { 0 } };
static const struct stk__part mean_backward_parts[] = {
    { mean_backward, STK__D_IN | STK__D_OUT | STK__SCRATCH, false },
    { 0 },
};

const struct stk__group_type stk__avgpool_group = { .name = "avgpool",
                                                    .open = open_pool,
                                                    .forward = mean_forward_parts,
                                                    .backward = mean_backward_parts,
                                                    .use = mean_forward_parts };

static const struct stk__part whole_forward_parts[] = {
    { whole_forward, STK__IN | STK__OUT, false },
    { 0 },
};
static const struct stk__part whole_backward_parts[] = {
    { whole_backward, STK__D_IN | STK__D_OUT | STK__SCRATCH, false },
    { 0 },
};

const struct stk__group_type stk__mean_group = { .name = "mean",
                                                 .open = open_whole,
                                                 .forward = whole_forward_parts,
                                                 .backward = whole_backward_parts,
                                                 .use = whole_forward_parts };
