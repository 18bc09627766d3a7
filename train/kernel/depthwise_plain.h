/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_plain.h: depthwise convolutions in plain C: the reference, and at every level what is done with a
 * multiplier above 1. */
#pragma once
#include "train/kernel/depthwise_kernel.h"

static float keep_within(float value, float low, float high)
{
    value = value < low ? low : value;
    return value > high ? high : value;
}

/* One value: x is its channel in the first cell. */
static float value_at(const struct stk__depthwise_rows *job, const float *x, const float *weights)
{
    const struct stk__depthwise *s = job->shape;
    float sum = 0;
    for (int ky = 0; ky < s->height; ky++)
        for (int kx = 0; kx < s->width; kx++, weights += s->channels * s->multiplier)
            sum +=
                x[ky * s->dilation_y * job->x.down + kx * s->dilation_x * job->x.across] * *weights;
    return sum;
}

static void plain_rows(const struct stk__depthwise_rows *job)
{
    const struct stk__depthwise *s = job->shape;
    for (int row = 0; row < job->height; row++)
        for (int p = 0; p < job->width; p++) {
            const float *x =
                job->x.at + row * s->stride_y * job->x.down + p * s->stride_x * job->x.across;
            float *y = job->y.at + row * job->y.down + p * job->y.across;
            for (int f = 0; f < s->channels * s->multiplier; f++) {
                float sum = value_at(job, x + f / s->multiplier, job->weights + f);
                y[f] = keep_within(sum + (job->bias ? job->bias[f] : 0), job->low, job->high);
            }
        }
}

/* What the outputs give that look at a value by one cell; dy is the output's pixel. */
static float from_pixel(const struct stk__depthwise *s, const float *dy, const float *weights)
{
    float sum = 0;
    for (int m = 0; m < s->multiplier; m++)
        sum += dy[m] * weights[m];
    return sum;
}

/* y and x: the pixel's place in the image with its padding. An output looks at it by a cell if its
 * place less the cell's is a multiple of the stride. */
static float image_at(const struct stk__depthwise_image *job, int y, int x, int channel)
{
    const struct stk__depthwise *s = job->shape;
    const float *dy = job->dy.at + channel * s->multiplier;
    const float *weights = job->weights + channel * s->multiplier;
    float sum = 0;
    for (int ky = 0; ky < s->height; ky++)
        for (int kx = 0; kx < s->width; kx++, weights += s->channels * s->multiplier) {
            int down = y - ky * s->dilation_y, across = x - kx * s->dilation_x;
            if (down % s->stride_y == 0 && across % s->stride_x == 0)
                sum += from_pixel(s,
                                  dy + down / s->stride_y * job->dy.down +
                                      across / s->stride_x * job->dy.across,
                                  weights);
        }
    return sum;
}

static void plain_image(const struct stk__depthwise_image *job)
{
    for (int row = 0; row < job->height; row++)
        for (int p = 0; p < job->width; p++)
            for (int c = 0; c < job->shape->channels; c++)
                job->dx.at[row * job->dx.down + p * job->dx.across + c] =
                    image_at(job, job->first + row + job->pad_top, p + job->pad_left, c);
}

static void add_pixel(const struct stk__depthwise_gradient *job, const float *x, const float *dy)
{
    const struct stk__depthwise *s = job->shape;
    float *weights = job->weights;
    for (int ky = 0; ky < s->height; ky++)
        for (int kx = 0; kx < s->width; kx++) {
            const float *cell =
                x + ky * s->dilation_y * job->x.down + kx * s->dilation_x * job->x.across;
            for (int f = 0; f < s->channels * s->multiplier; f++)
                *weights++ += cell[f / s->multiplier] * dy[f];
        }
    for (int f = 0; job->bias && f < s->channels * s->multiplier; f++)
        job->bias[f] += dy[f];
}

static void plain_gradient(const struct stk__depthwise_gradient *job)
{
    const struct stk__depthwise *s = job->shape;
    for (int row = 0; row < job->height; row++)
        for (int p = 0; p < job->width; p++)
            add_pixel(job,
                      job->x.at + row * s->stride_y * job->x.down + p * s->stride_x * job->x.across,
                      job->dy.at + row * job->dy.down + p * job->dy.across);
}
