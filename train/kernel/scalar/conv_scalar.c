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
    for (int image = 0; image < job->n_images; image++)
        for (int row = 0; row < job->height; row++)
            for (int i = 0; i < job->width; i++)
                pixel(job,
                      job->x + image * job->x_apart + row * job->patch->down +
                          i * job->patch->across,
                      job->y + image * job->y_apart + row * job->y_down + i * job->y_across);
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

/* What a pixel adds to the gradient of all filters. */
static void add_all(const struct stk__conv_gradient *job, const float *place, const float *dy)
{
    size_t terms = (size_t)job->patch->n_pieces * (size_t)job->patch->piece;
    for (int first = 0; first < job->filters; first += BLOCK) {
        int n = job->filters - first < BLOCK ? job->filters - first : BLOCK;
        add_pixel(job->patch, place, dy + first, n, job->weights + (size_t)first * terms);
    }
    for (int f = 0; job->bias && f < job->filters; f++)
        job->bias[f] += dy[f];
}

static void gradient(const struct stk__conv_gradient *job)
{
    for (int image = 0; image < job->n_images; image++)
        for (int row = 0; row < job->height; row++)
            for (int i = 0; i < job->width; i++)
                add_all(job,
                        job->x + image * job->x_apart + row * job->patch->down +
                            i * job->patch->across,
                        job->dy + image * job->dy_apart + row * job->dy_down + i * job->dy_across);
}

void stk__conv_fill_scalar(struct stk__conv_kernels *kernels)
{
    *kernels = (struct stk__conv_kernels){ BLOCK, rows, gradient };
}
