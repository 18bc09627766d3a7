/* SPDX-License-Identifier: Apache-2.0 */
/* pool_groups.c: maxima and means of windows, by themselves; means of whole images. */
#include "base/error.h"
#include "train/kernel/pool_range.h"
#include "train/step/pool_cells.h"
#include "train/step/strips.h"

#include <math.h>
#include <string.h>

struct stk__pooling stk__pool_shape(const struct stk__model_node *node, int height, int width)
{
    const struct stk__window *w = &node->window;
    return (struct stk__pooling){ .height = (int)w->kernel_height,
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
static bool has_cells(const struct stk__pooling *pool)
{
    return pool->height * pool->width <= 255;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A strip holds some rows of one side, or those of the other side that they look at. Wide windows, whose
 * backward pass looks at the image again, are done in one. */
static void size_strips(const struct stk__step_plan *plan, struct stk__step_group *group)
{
    enum { STRIP_FLOATS = 8 << 10 };
    const struct stk__pooling *p = group->state;
    const struct stk__tensor *in = &plan->tensor[group->in[0]], *out = &plan->tensor[group->out];
    bool is_float = in->dtype == STK_F32 && out->dtype == STK_F32;
    if (is_float && !group->adds[0])
        return;
    int64_t rows = larger(STRIP_FLOATS / larger(in->row_values, out->row_values), 1);
    if (!has_cells(p))
        rows = in->height;
    int64_t floats = larger(((rows - 1) * p->stride_y + p->height) * in->row_values,
                            (rows + p->height + 1) * out->row_values);
    group->n_strips = has_cells(p) ? 3 : 5;
    group->strip_rows = (int)rows;
    group->strip_floats = (size_t)(floats + 15) / 16 * 16;
}

static int open_pool(struct stk__step_plan *plan, struct stk__step_group *group,
                     struct stk_error *err)
{
    const struct stk__tensor *in = &plan->tensor[group->in[0]];
    struct stk__pooling *pool = stk_arena_alloc(plan->arena, sizeof *pool);
    if (!pool)
        return stk__out_of_memory(err);
    *pool = stk__pool_shape(stk__group_node(plan, group), in->height, in->width);
    group->state = pool;
    size_strips(plan, group);
    return STK_OK;
}

static int open_maxpool(struct stk__step_plan *plan, struct stk__step_group *group,
                        struct stk_error *err)
{
    int rc = open_pool(plan, group, err);
    if (rc || !has_cells(group->state))
        return rc;
    const struct stk__pooling *pool = group->state;
    group->cells = stk__cells_tensor(plan, group, pool->height * pool->width);
    group->spares = STK__IN | STK__OUT;
    return group->cells < 0 ? stk__out_of_memory(err) : STK_OK;
}

/* ---- maxima ---- */

static int at_least(int n, int least)
{
    return n < least ? least : n;
}

static int at_most(int n, int most)
{
    return n > most ? most : n;
}

/* Rows of the input that rows of the output look at. */
static struct stk__step_image load_window(const struct stk__step_work *work,
                                          const struct stk__step_group *group, int i, int first,
                                          int n, int *row)
{
    const struct stk__pooling *p = group->state;
    struct stk__map in = stk__input_map(work, group, 0, i);
    int behind = (first + n - 1) * p->stride_y - p->pad_top + p->height;
    *row = at_least(first * p->stride_y - p->pad_top, 0);
    return stk__map_load(&in, *row, at_most(behind, p->in_height) - *row,
                         stk__strip(work, group, 0));
}

static void max_rows(const struct stk__step_work *work, const struct stk__step_group *group, int i,
                     int first, int n)
{
    const struct stk__pooling *pool = group->state;
    uint8_t *strip = (uint8_t *)stk__strip(work, group, 2);
    bool keeps = work->run->program == &work->run->plan->train && has_cells(pool);
    struct stk__map out = stk__map_at(work, group->out, i);
    struct stk__step_image y = stk__rows_to(&out, first, n, stk__strip(work, group, 1));
    int row;
    struct stk__step_image x = load_window(work, group, i, first, n, &row);
    work->run->kernels->pool.max_rows(&(struct stk__maxpool_rows){
        .pool = pool,
        .first = first,
        .n_rows = n,
        .x = stk__reads(&x),
        .x_row = row,
        .y = stk__writes(&y),
        .cells = keeps ? stk__cells_to(work, group, i, first, strip) : NULL,
        .cells_down = (int64_t)pool->out_width * pool->channels,
        .low = -INFINITY,
        .high = INFINITY });
    stk__map_store(&out, first, &y);
    if (keeps)
        stk__cells_store(work, group, i, first, n, strip);
}

static void max_forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    stk__for_strips(work, group, max_rows);
    stk__clear_frames(work, group->out);
}

/* The first cell of a window that has its maximum gets the gradient. */
static void give_back(const struct stk__pooling *p, const struct stk__step_image *x, int row,
                      int column, int channel, float maximum, float dy,
                      const struct stk__step_image *dx)
{
    int y0 = row * p->stride_y - p->pad_top, x0 = column * p->stride_x - p->pad_left;
    for (int j = y0 < 0 ? 0 : y0; j < y0 + p->height && j < p->in_height; j++)
        for (int k = x0 < 0 ? 0 : x0; k < x0 + p->width && k < p->in_width; k++)
            if (x->at[j * x->down + (int64_t)k * p->channels + channel] == maximum) {
                dx->at[j * dx->down + (int64_t)k * p->channels + channel] += dy;
                return;
            }
}

static void wide_gradient(const struct stk__pooling *p, const struct stk__step_image *x,
                          const struct stk__step_image *y, const struct stk__step_image *dy,
                          const struct stk__step_image *dx)
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

/* ---- gradients by rows of the input ---- */

/* Rows of the output's gradient whose windows reach rows of the input. */
static struct stk__step_image load_reaching(const struct stk__step_work *work,
                                            const struct stk__step_group *group, int i, int first,
                                            int n, int *row)
{
    const struct stk__pooling *p = group->state;
    struct stk__map d_out = stk__map_at(work, group->d_out, i);
    int behind = stk__windows_y(p, first + n - 1).end;
    *row = stk__windows_y(p, first).first;
    return stk__map_load(&d_out, *row, at_least(behind - *row, 0), stk__strip(work, group, 0));
}

/* Where rows of the input's gradient are made: strips if they are to be added. */
static struct stk__step_image own_rows(const struct stk__step_work *work,
                                       const struct stk__step_group *group,
                                       const struct stk__map *d_in, int first, int n)
{
    float *strip = stk__strip(work, group, 1);
    return group->adds[0] ? stk__strip_image(d_in, n, strip) : stk__rows_to(d_in, first, n, strip);
}

typedef void back_fn(const struct stk__step_work *work, const struct stk__step_group *group, int i,
                     int first, const struct stk__step_image *dx);

static void for_input_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                           back_fn *make)
{
    for (int i = 0; i < work->n; i++) {
        struct stk__map d_in = stk__d_input_map(work, group, 0, i);
        for (int at = 0, end; at < d_in.height; at = end) {
            end = stk__strip_end(group, at, d_in.height);
            struct stk__step_image dx = own_rows(work, group, &d_in, at, end - at);
            make(work, group, i, at, &dx);
            stk__d_input_store(work, group, 0, &d_in, at, &dx, stk__strip(work, group, 2));
        }
    }
}

static void max_back_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                          int i, int first, const struct stk__step_image *dx)
{
    const struct stk__pooling *pool = group->state;
    int row;
    struct stk__step_image dy = load_reaching(work, group, i, first, dx->height, &row);
    uint8_t *strip = (uint8_t *)stk__strip(work, group, 2); /* before it is wanted to add rows */
    work->run->kernels->pool.max_gradient(&(struct stk__maxpool_gradient){
        .pool = pool,
        .first = first,
        .n_rows = dx->height,
        .dy = stk__reads(&dy),
        .cells = stk__cells_load(work, group, i, row, dy.height, strip),
        .cells_down = (int64_t)pool->out_width * pool->channels,
        .dy_row = row,
        .dx = stk__writes(dx) });
}

static void wide_back_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                           int i, int first, const struct stk__step_image *dx)
{
    const struct stk__pooling *pool = group->state;
    struct stk__map in = stk__input_map(work, group, 0, i);
    struct stk__map out = stk__map_at(work, group->out, i);
    struct stk__map d_out = stk__map_at(work, group->d_out, i);
    (void)first; /* all of them */
    struct stk__step_image x = stk__map_load(&in, 0, in.height, stk__strip(work, group, 0));
    struct stk__step_image y = stk__map_load(&out, 0, out.height, stk__strip(work, group, 3));
    struct stk__step_image dy = stk__map_load(&d_out, 0, d_out.height, stk__strip(work, group, 4));
    wide_gradient(pool, &x, &y, &dy, dx);
}

static void max_backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    for_input_rows(work, group, has_cells(group->state) ? max_back_rows : wide_back_rows);
}

/* ---- means ---- */

static void mean_rows(const struct stk__step_work *work, const struct stk__step_group *group, int i,
                      int first, int n)
{
    struct stk__map out = stk__map_at(work, group->out, i);
    struct stk__step_image y = stk__rows_to(&out, first, n, stk__strip(work, group, 1));
    int row;
    struct stk__step_image x = load_window(work, group, i, first, n, &row);
    work->run->kernels->pool.mean_rows(&(struct stk__avgpool_rows){ .pool = group->state,
                                                                    .first = first,
                                                                    .n_rows = n,
                                                                    .x = stk__reads(&x),
                                                                    .x_row = row,
                                                                    .y = stk__writes(&y) });
    stk__map_store(&out, first, &y);
}

static void mean_forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    stk__for_strips(work, group, mean_rows);
    stk__clear_frames(work, group->out);
}

static void mean_back_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                           int i, int first, const struct stk__step_image *dx)
{
    int row;
    struct stk__step_image dy = load_reaching(work, group, i, first, dx->height, &row);
    work->run->kernels->pool.mean_gradient(
        &(struct stk__avgpool_gradient){ .pool = group->state,
                                         .first = first,
                                         .n_rows = dx->height,
                                         .dy = stk__reads(&dy),
                                         .dy_row = row,
                                         .dx = stk__writes(dx) });
}

static void mean_backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    for_input_rows(work, group, mean_back_rows);
}

/* ---- means of whole images ---- */

/* Sums of rows; features are float32, an image of one pixel may be in half precision and have a frame. */
static void mean_of_image(const struct stk__step_work *work, const struct stk__step_group *group,
                          int i)
{
    struct stk__map in = stk__input_map(work, group, 0, i), out = stk__map_at(work, group->out, i);
    struct stk__step_image mean = stk__rows_to(&out, 0, 1, stk__strip(work, group, 1));
    float factor = 1 / ((float)in.width * (float)in.height);
    memset(mean.at, 0, (size_t)in.channels * sizeof *mean.at);
    for (int at = 0, end; at < in.height; at = end) {
        end = stk__strip_end(group, at, in.height);
        struct stk__step_image x = stk__map_load(&in, at, end - at, stk__strip(work, group, 0));
        work->run->kernels->pixel.sums(
            &(struct stk__pixel_sums){ stk__reads(&x), x.width, x.height, x.channels, mean.at });
    }
    for (int c = 0; c < in.channels; c++)
        mean.at[c] *= factor;
    stk__map_store(&out, 0, &mean);
}

static void whole_forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    for (int i = 0; i < work->n; i++)
        mean_of_image(work, group, i);
    stk__clear_frames(work, group->out);
}

static void whole_back_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                            int i, int first, const struct stk__step_image *dx)
{
    const struct stk__tensor *in = &work->run->plan->tensor[group->in[0]];
    struct stk__map d_out = stk__map_at(work, group->d_out, i);
    struct stk__step_image dy = stk__map_load(&d_out, 0, 1, stk__strip(work, group, 0));
    (void)first;
    work->run->kernels->pixel.spread(
        &(struct stk__pixel_spread){ .value = dy.at,
                                     .factor = 1 / ((float)in->width * (float)in->height),
                                     .y = stk__writes(dx),
                                     .width = dx->width,
                                     .height = dx->height,
                                     .channels = dx->channels });
}

static void whole_backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    for_input_rows(work, group, whole_back_rows);
}

/* Gradients that are added are made in strips whatever they are. */
static int open_whole(struct stk__step_plan *plan, struct stk__step_group *group,
                      struct stk_error *err)
{
    (void)err;
    if (group->adds[0] && group->strip_floats == 0) {
        group->strip_rows = 1;
        group->strip_floats = (size_t)plan->tensor[group->in[0]].row_values;
    }
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
static const struct stk__part max_use_parts[] = { { max_forward, STK__IN | STK__OUT, false },
                                                  { 0 } };

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
                                                 .use = whole_forward_parts,
                                                 .n_strips = 3 };
