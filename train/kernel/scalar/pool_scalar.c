/* SPDX-License-Identifier: Apache-2.0 */
/* pool_scalar.c: pools in plain C: the reference. */
#include "train/kernel/pool_range.h"

/* ---- maxima ---- */

static void max_at(const struct stk__maxpool_rows *job, int row, int column, int c)
{
    const struct stk__pooling *p = job->pool;
    const struct stk__pool_range down = stk__cells_y(p, row), across = stk__cells_x(p, column);
    int64_t at = row - job->first, cell = down.first * p->width + across.first;
    const float *x = job->x.at + (row * p->stride_y - p->pad_top - job->x_row) * job->x.down +
                     (column * p->stride_x - p->pad_left) * job->x.across + c;
    float most = x[down.first * job->x.down + across.first * job->x.across];
    for (int ky = down.first; ky < down.end; ky++)
        for (int kx = across.first; kx < across.end; kx++) {
            float value = x[ky * job->x.down + kx * job->x.across];
            if (value > most) {
                most = value;
                cell = ky * p->width + kx;
            }
        }
    if (job->cells)
        job->cells[at * job->cells_down + column * p->channels + c] =
            (uint8_t)(most > job->low && most < job->high ? cell : STK__NO_CELL);
    most = most < job->low ? job->low : most;
    job->y.at[at * job->y.down + column * job->y.across + c] = most > job->high ? job->high : most;
}

static void max_rows(const struct stk__maxpool_rows *job)
{
    for (int row = job->first; row < job->first + job->n_rows; row++)
        for (int column = 0; column < job->pool->out_width; column++)
            for (int c = 0; c < job->pool->channels; c++)
                max_at(job, row, column, c);
}

static float max_gradient_at(const struct stk__maxpool_gradient *job, int y, int x, int c)
{
    const struct stk__pooling *p = job->pool;
    const struct stk__pool_range rows = stk__windows_y(p, y);
    const struct stk__pool_range columns = stk__windows_x(p, x);
    float sum = 0;
    for (int row = rows.first; row < rows.end; row++)
        for (int column = columns.first; column < columns.end; column++) {
            int64_t at = row - job->dy_row;
            int cell = (y + p->pad_top - row * p->stride_y) * p->width + x + p->pad_left -
                       column * p->stride_x;
            if (job->cells[at * job->cells_down + column * p->channels + c] == cell)
                sum += job->dy.at[at * job->dy.down + column * job->dy.across + c];
        }
    return sum;
}

static void max_gradient(const struct stk__maxpool_gradient *job)
{
    for (int row = 0; row < job->n_rows; row++)
        for (int x = 0; x < job->pool->in_width; x++)
            for (int c = 0; c < job->pool->channels; c++)
                job->dx.at[row * job->dx.down + x * job->dx.across + c] =
                    max_gradient_at(job, job->first + row, x, c);
}

/* ---- means ---- */

static float mean_at(const struct stk__avgpool_rows *job, int row, int column, int c)
{
    const struct stk__pooling *p = job->pool;
    const struct stk__pool_range down = stk__cells_y(p, row), across = stk__cells_x(p, column);
    const float *x = job->x.at + (row * p->stride_y - p->pad_top - job->x_row) * job->x.down +
                     (column * p->stride_x - p->pad_left) * job->x.across + c;
    float sum = 0;
    for (int ky = down.first; ky < down.end; ky++)
        for (int kx = across.first; kx < across.end; kx++)
            sum += x[ky * job->x.down + kx * job->x.across];
    return sum * (1 / (float)((down.end - down.first) * (across.end - across.first)));
}

static void mean_rows(const struct stk__avgpool_rows *job)
{
    for (int row = 0; row < job->n_rows; row++)
        for (int column = 0; column < job->pool->out_width; column++)
            for (int c = 0; c < job->pool->channels; c++)
                job->y.at[row * job->y.down + column * job->y.across + c] =
                    mean_at(job, job->first + row, column, c);
}

static float mean_gradient_at(const struct stk__avgpool_gradient *job, int y, int x, int c)
{
    const struct stk__pooling *p = job->pool;
    const struct stk__pool_range rows = stk__windows_y(p, y);
    const struct stk__pool_range columns = stk__windows_x(p, x);
    float sum = 0;
    for (int row = rows.first; row < rows.end; row++)
        for (int column = columns.first; column < columns.end; column++) {
            const struct stk__pool_range down = stk__cells_y(p, row),
                                         across = stk__cells_x(p, column);
            int n = (down.end - down.first) * (across.end - across.first);
            sum += job->dy.at[(row - job->dy_row) * job->dy.down + column * job->dy.across + c] *
                   (1 / (float)n);
        }
    return sum;
}

static void mean_gradient(const struct stk__avgpool_gradient *job)
{
    for (int row = 0; row < job->n_rows; row++)
        for (int x = 0; x < job->pool->in_width; x++)
            for (int c = 0; c < job->pool->channels; c++)
                job->dx.at[row * job->dx.down + x * job->dx.across + c] =
                    mean_gradient_at(job, job->first + row, x, c);
}

/* ---- weights in front of a pool ---- */

static void add_weights_of(const struct stk__maxpool_weights *job, const float *x, float dy, int f)
{
    float *to = job->weights + f;
    for (int ky = 0; ky < job->kernel_height; ky++)
        for (int k = 0; k < job->kernel_width * job->channels; k++, to += job->filters)
            *to += x[ky * job->x_down + k] * dy;
    if (job->bias)
        job->bias[f] += dy;
}

static void max_weights(const struct stk__maxpool_weights *job)
{
    for (int column = 0; column < job->width; column++)
        for (int f = 0; f < job->filters; f++) {
            int64_t at = (int64_t)column * job->filters + f;
            int cell = job->cells[at];
            if (cell != STK__NO_CELL)
                add_weights_of(job,
                               job->x + cell / 2 * job->x_down +
                                   (int64_t)(2 * column + cell % 2) * job->channels,
                               job->dy.at[at], f);
        }
}

void stk__pool_fill_scalar(struct stk__pool_kernels *kernels)
{
    *kernels =
        (struct stk__pool_kernels){ max_rows, max_gradient, mean_rows, mean_gradient, max_weights };
}
