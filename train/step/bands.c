/* SPDX-License-Identifier: Apache-2.0 */
/* bands.c: see bands.h. */
#include "train/step/bands.h"

#include "train/step/pool_shape.h"

#include <string.h>

struct stk__conv stk__conv_of(const struct stk__step_plan *plan, const struct stk__group *group)
{
    const struct stk__node *node = stk__group_node(plan, group);
    const struct stk__shape *in = &plan->model->node[node->input[0]].shape;
    const struct stk__window *w = &node->window;
    return (struct stk__conv){ .height = (int)in->height,
                               .width = (int)in->width,
                               .channels = (int)in->channels,
                               .out_height = (int)node->shape.height,
                               .out_width = (int)node->shape.width,
                               .filters = (int)node->shape.channels,
                               .kernel_height = (int)w->kernel_height,
                               .kernel_width = (int)w->kernel_width,
                               .stride_y = (int)w->stride_height,
                               .stride_x = (int)w->stride_width,
                               .dilation_y = (int)w->dilation_height,
                               .dilation_x = (int)w->dilation_width,
                               .pad_top = (int)w->pad_top,
                               .pad_left = (int)w->pad_left,
                               .pad_bottom = (int)w->pad_bottom,
                               .pad_right = (int)w->pad_right,
                               .groups = (int)w->groups };
}

struct stk__bands stk__bands_of(const struct stk__step_plan *plan, const struct stk__group *group,
                                size_t bytes, int unit)
{
    struct stk__bands b = { .conv = stk__conv_of(plan, group),
                            .has_pool = group->pool >= 0,
                            .activation = stk__group_activation(plan, group) };
    struct stk__framed framed = stk__conv_output(&b.conv);
    b.has_frame = framed.top || framed.height > framed.top + b.conv.out_height ||
                  framed.width > b.conv.out_width;
    b.top = (b.conv.kernel_height - 1) * b.conv.dilation_y / b.conv.stride_y;
    b.left = framed.left;
    b.bottom = framed.height - framed.top - b.conv.out_height;
    b.down = (int64_t)framed.width * framed.channels;
    int64_t rows = (int64_t)bytes / (b.down * (int64_t)sizeof(float)) / unit * unit;
    b.n_rows = rows < unit ? unit : rows > b.conv.out_height ? b.conv.out_height : (int)rows;
    if (b.has_pool)
        b.pool =
            stk__pool_shape(&plan->model->node[group->pool], b.conv.out_height, b.conv.out_width);
    return b;
}

size_t stk__bands_floats(const struct stk__bands *b)
{
    return (size_t)(b->top + b->n_rows + b->bottom) * (size_t)b->down;
}

/* ---- rows ---- */

static float *row_at(const struct stk__band *band, int row)
{
    return band->at + (row - band->lo) * band->of->down;
}

static float *middle_at(const struct stk__band *band, int row)
{
    return row_at(band, row) + (int64_t)band->of->left * band->of->conv.filters;
}

static void fill_from_pool(const struct stk__band *band, int row, int n)
{
    const struct stk__bands *b = band->of;
    struct stk__image dy = stk__image_at(band->work, band->group->d_out, band->image);
    band->work->run->kernels->pool.max_gradient(&(struct stk__maxpool_gradient){
        .pool = &b->pool,
        .first = row,
        .n_rows = n,
        .dy = stk__reads(&dy),
        .cells = stk__at(band->work, band->group->cells, band->image),
        .cells_down = (int64_t)b->pool.out_width * b->pool.channels,
        .dx = { middle_at(band, row), b->conv.filters, b->down } });
}

static void fill_from_output(const struct stk__band *band, int row, int n)
{
    const struct stk__bands *b = band->of;
    const struct stk__train_kernels *kernels = band->work->run->kernels;
    struct stk__image dy = stk__image_at(band->work, band->group->d_out, band->image);
    struct stk__image y = stk__image_at(band->work, band->group->out, band->image);
    size_t values = (size_t)dy.width * (size_t)dy.channels;
    for (int j = row; j < row + n; j++)
        if (b->activation.kind == STK__LINEAR)
            memcpy(middle_at(band, j), dy.at + j * dy.down, values * sizeof *dy.at);
        else
            stk__activate_back(kernels, &b->activation, y.at + j * y.down, dy.at + j * dy.down,
                               values, middle_at(band, j));
}

/* ---- walking ---- */

struct stk__band stk__band_begin(const struct stk__bands *bands, const struct stk__work *work,
                                 const struct stk__group *group, float *memory)
{
    memset(memory, 0, stk__bands_floats(bands) * sizeof *memory);
    if (bands->has_pool && !stk__activation_is_clamp(&bands->activation))
        stk__mask_gradient(work, group); /* the output is what it gave where it counts */
    return (struct stk__band){ .of = bands, .work = work, .group = group, .at = memory };
}

void stk__band_image(struct stk__band *band, int image)
{
    const struct stk__bands *b = band->of;
    band->image = image;
    band->lo = -b->top;
    band->hi = band->n = band->done = band->ready = 0;
    memset(band->at, 0, (size_t)b->top * (size_t)b->down * sizeof *band->at);
}

/* Rows of the image's gradient that no later row of the output is in. */
static int ready_rows(const struct stk__conv *c, int hi)
{
    int64_t ready = (int64_t)hi * c->stride_y - c->pad_top;
    if (hi == c->out_height || ready > c->height)
        return c->height;
    return ready < 0 ? 0 : (int)ready;
}

bool stk__band_next(struct stk__band *band)
{
    const struct stk__bands *b = band->of;
    int left = b->conv.out_height - band->hi;
    if (left == 0)
        return false;
    int lo = band->hi - b->top;
    if (lo > band->lo)
        memmove(band->at, row_at(band, lo), (size_t)b->top * (size_t)b->down * sizeof *band->at);
    band->lo = lo;
    band->n = left < b->n_rows ? left : b->n_rows;
    if (b->has_pool)
        fill_from_pool(band, band->hi, band->n);
    else
        fill_from_output(band, band->hi, band->n);
    band->hi += band->n;
    if (band->hi == b->conv.out_height)
        memset(row_at(band, band->hi), 0, (size_t)b->bottom * (size_t)b->down * sizeof *band->at);
    band->done = band->ready;
    band->ready = ready_rows(&b->conv, band->hi);
    return true;
}

struct stk__rows stk__band_rows(const struct stk__band *band)
{
    const struct stk__bands *b = band->of;
    return (struct stk__rows){ .at = middle_at(band, band->lo),
                               .first = band->lo,
                               .across = b->conv.filters,
                               .down = b->down };
}
