/* SPDX-License-Identifier: Apache-2.0 */
/* norm_scalar.c: batch normalisation in plain C: the reference. */
#include "train/kernel/norm_kernel.h"

static const float *pixel(const struct stk__read_map *map, int row, int column)
{
    return map->at ? map->at + row * map->down + column * map->across : NULL;
}

static void sums(const struct stk__norm_sums *job)
{
    for (int row = 0; row < job->height; row++)
        for (int c = 0; c < job->channels; c++) {
            const float *x = pixel(&job->x, row, 0) + c;
            float shift = job->shift ? job->shift[c] : 0, sum = 0, squares = 0;
            for (int p = 0; p < job->width; p++, x += job->x.across) {
                sum += *x - shift;
                squares += (*x - shift) * (*x - shift);
            }
            job->sum[c] += sum;
            job->squares[c] += squares;
        }
}

static void rows(const struct stk__norm_rows *job)
{
    for (int row = 0; row < job->height; row++)
        for (int p = 0; p < job->width; p++) {
            const float *x = pixel(&job->x, row, p);
            float *y = job->y.at + row * job->y.down + p * job->y.across;
            for (int c = 0; c < job->channels; c++) {
                float value = job->scale[c] * x[c] + job->offset[c];
                value = value < job->low ? job->low : value;
                y[c] = value > job->high ? job->high : value;
            }
        }
}

static float counted(float dy, const float *y, int c, float low, float high)
{
    return !y || (y[c] > low && y[c] < high) ? dy : 0;
}

static void gradient_sums(const struct stk__norm_gradient_sums *job)
{
    for (int row = 0; row < job->height; row++)
        for (int c = 0; c < job->channels; c++) {
            float sum = 0, products = 0;
            for (int p = 0; p < job->width; p++) {
                float dy = counted(pixel(&job->dy, row, p)[c], pixel(&job->y, row, p), c, job->low,
                                   job->high);
                sum += dy;
                products += dy * (pixel(&job->x, row, p)[c] - job->mean[c]);
            }
            job->sum[c] += sum;
            job->products[c] += products;
        }
}

static void gradient_rows(const struct stk__norm_gradient_rows *job)
{
    for (int row = 0; row < job->height; row++)
        for (int p = 0; p < job->width; p++) {
            const float *x = pixel(&job->x, row, p), *y = pixel(&job->y, row, p);
            const float *from = pixel(&job->dy, row, p);
            float *dx = job->dx.at + row * job->dx.down + p * job->dx.across;
            for (int c = 0; c < job->channels; c++) {
                float dy = counted(from[c], y, c, job->low, job->high);
                dx[c] =
                    job->scale[c] * (dy - job->mean_dy[c]) + job->slope[c] * (x[c] - job->mean[c]);
            }
        }
}

void stk__norm_fill_scalar(struct stk__norm_kernels *kernels)
{
    *kernels = (struct stk__norm_kernels){ sums, rows, gradient_sums, gradient_rows };
}
