/* SPDX-License-Identifier: Apache-2.0 */
/* conv_scalar.c: convolutions in plain C, the reference. */
#include "train/kernel/conv_kernel.h"

enum { BLOCK = 8 };

/* A pixel's values for a block of filters. */
static void add_up(const struct stk__patch *patch, const float *place, const float *weights,
                   float *sum)
{
    for (int k = 0; k < patch->n_pieces; k++)
        for (int i = 0; i < patch->piece; i++, weights += BLOCK)
            for (int f = 0; f < BLOCK; f++)
                sum[f] += place[patch->at[k] + i] * weights[f];
}

static void pixel(const struct stk__conv_rows *job, const float *place, float *y)
{
    size_t terms = (size_t)job->patch->n_pieces * (size_t)job->patch->piece;
    for (int first = 0; first < job->filters; first += BLOCK) {
        int n = job->filters - first < BLOCK ? job->filters - first : BLOCK;
        float sum[BLOCK] = { 0 };
        for (int f = 0; job->bias && f < n; f++)
            sum[f] = job->bias[first + f];
        add_up(job->patch, place, job->weights + (size_t)first * terms, sum);
        for (int f = 0; f < n; f++) {
            float value = sum[f] < job->low ? job->low : sum[f];
            y[first + f] = value > job->high ? job->high : value;
        }
    }
}

static void rows(const struct stk__conv_rows *job)
{
    for (int row = 0; row < job->height; row++)
        for (int i = 0; i < job->width; i++)
            pixel(job, job->x + row * job->patch->down + i * job->patch->across,
                  job->y + row * job->y_down + i * job->y_across);
}

/* What a pixel adds to the gradient of a block of filters. */
static void add_pixel(const struct stk__patch *patch, const float *place, const float *dy, int n,
                      float *weights)
{
    for (int k = 0; k < patch->n_pieces; k++)
        for (int i = 0; i < patch->piece; i++, weights += BLOCK)
            for (int f = 0; f < n; f++)
                weights[f] += place[patch->at[k] + i] * dy[f];
}

static void gradient(const struct stk__conv_gradient *job)
{
    const struct stk__patch *patch = job->patch;
    size_t terms = (size_t)patch->n_pieces * (size_t)patch->piece;
    for (int row = 0; row < job->height; row++)
        for (int i = 0; i < job->width; i++) {
            const float *place = job->x + row * patch->down + i * patch->across;
            const float *dy = job->dy + row * job->dy_down + i * job->dy_across;
            for (int first = 0; first < job->filters; first += BLOCK) {
                int n = job->filters - first < BLOCK ? job->filters - first : BLOCK;
                add_pixel(patch, place, dy + first, n, job->weights + (size_t)first * terms);
            }
        }
}

void stk__conv_fill_scalar(struct stk__conv_kernels *kernels)
{
    *kernels = (struct stk__conv_kernels){ BLOCK, rows, gradient };
}
