/* SPDX-License-Identifier: Apache-2.0 */
/* pixel_scalar.c: small loops over pixels in plain C: the reference. */
#include "train/kernel/pixel_kernel.h"

static void sums(const struct stk__pixel_sums *job)
{
    for (int row = 0; row < job->height; row++)
        for (int c = 0; c < job->channels; c++) {
            const float *x = job->x.at + row * job->x.down + c;
            float sum = 0;
            for (int p = 0; p < job->width; p++, x += job->x.across)
                sum += *x;
            job->sum[c] += sum;
        }
}

static void spread(const struct stk__pixel_spread *job)
{
    for (int row = 0; row < job->height; row++)
        for (int p = 0; p < job->width; p++)
            for (int c = 0; c < job->channels; c++)
                job->y.at[row * job->y.down + p * job->y.across + c] = job->value[c] * job->factor;
}

static void from_bytes(const struct stk__pixel_bytes *job)
{
    for (int row = 0; row < job->height; row++) {
        const uint8_t *x = job->x + row * job->x_down;
        float *y = job->y.at + row * job->y.down;
        for (int p = 0; p < job->width; p++)
            for (int c = 0; c < job->channels; c++)
                *y++ = (float)*x++ * job->scale[c] + job->offset[c];
    }
}

static void add(const float *x, size_t n, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

void stk__pixel_fill_scalar(struct stk__pixel_kernels *kernels)
{
    *kernels = (struct stk__pixel_kernels){ sums, spread, from_bytes, add };
}
