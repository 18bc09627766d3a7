/* SPDX-License-Identifier: Apache-2.0 */
/* dense_scalar.c: dense layers in plain C: the reference. */
#include "train/kernel/dense_kernel.h"

#include <string.h>

static void keep_within(float *y, int m, float low, float high)
{
    for (int i = 0; i < m; i++) {
        y[i] = y[i] < low ? low : y[i];
        y[i] = y[i] > high ? high : y[i];
    }
}

static void begin(const float *bias, int m, float *y)
{
    if (bias)
        memcpy(y, bias, (size_t)m * sizeof *y);
    else
        memset(y, 0, (size_t)m * sizeof *y);
}

static void rows(const struct stk__dense_rows *job)
{
    for (int row = 0; row < job->n; row++) {
        const float *x = job->x + row * job->x_down;
        float *y = job->y + row * job->y_down;
        begin(job->bias, job->m, y);
        for (int k = 0; k < job->k; k++)
            for (int i = 0; i < job->m; i++)
                y[i] += x[k] * job->weights[(size_t)k * (size_t)job->m + (size_t)i];
        keep_within(y, job->m, job->low, job->high);
    }
}

static void join(const struct stk__dense_parts *job)
{
    for (int row = 0; row < job->n; row++) {
        float *y = job->y + row * job->y_down;
        begin(job->bias, job->m, y);
        for (int part = 0; part < job->n_parts; part++)
            for (int i = 0; i < job->m; i++)
                y[i] += job->part[part * job->part_down + (int64_t)row * job->m + i];
        keep_within(y, job->m, job->low, job->high);
    }
}

static void image(const struct stk__dense_image *job)
{
    for (int row = 0; row < job->n; row++)
        for (int k = 0; k < job->k; k++) {
            const float *weights = job->weights + (size_t)k * (size_t)job->m;
            float sum = 0;
            for (int i = 0; i < job->m; i++)
                sum += job->dy[row * job->dy_down + i] * weights[i];
            job->dx[row * job->dx_down + k] = sum;
        }
}

static void gradient(const struct stk__dense_gradient *job)
{
    for (int k = 0; k < job->k; k++) {
        float *weights = job->weights + (size_t)k * (size_t)job->m;
        if (!job->adds)
            memset(weights, 0, (size_t)job->m * sizeof *weights);
        for (int row = 0; row < job->n; row++)
            for (int i = 0; i < job->m; i++)
                weights[i] += job->x[row * job->x_down + k] * job->dy[row * job->dy_down + i];
    }
}

void stk__dense_fill_scalar(struct stk__dense_kernels *kernels)
{
    *kernels = (struct stk__dense_kernels){ rows, join, image, gradient };
}
