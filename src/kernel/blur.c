/* SPDX-License-Identifier: Apache-2.0 */
/* blur.c: a Gaussian blur, down the columns and then along the rows, a row at a time. */
#include "kernel/adjust.h"

#include "base/cancel.h"

#include <math.h>
#include <string.h>

/* torchvision's: the softmax of -(x / sigma)^2 / 2. */
static void make_weights(float *weight, int size, double sigma)
{
    double sum = 0, middle = (size - 1) / 2.0;
    for (int i = 0; i < size; i++)
        sum += exp(-0.5 * ((i - middle) / sigma) * ((i - middle) / sigma));
    for (int i = 0; i < size; i++)
        weight[i] = (float)(exp(-0.5 * ((i - middle) / sigma) * ((i - middle) / sigma)) / sum);
}

static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Work space: weights and row pointers of each axis; a row with its reflections at both ends; one
 * without. */
struct work {
    float *weight[2];
    const void **rows;
    float *padded, *row;
};

static size_t row_bytes(const struct stk__raster *raster)
{
    return rounded((size_t)raster->width * (size_t)raster->channels * sizeof(float));
}

static size_t pad_bytes(const struct stk__raster *raster, const int size[2])
{
    return rounded((size_t)(size[0] / 2) * (size_t)raster->channels * sizeof(float));
}

size_t stk__blur_bytes(const struct stk__raster *raster, const int size[2])
{
    size_t most = (size_t)(size[0] > size[1] ? size[0] : size[1]);
    return 2 * rounded(most * sizeof(float)) + rounded(most * sizeof(void *)) +
           2 * pad_bytes(raster, size) + 2 * row_bytes(raster);
}

static struct work lay_out(const struct stk__raster *raster, const struct stk__blur *blur)
{
    size_t most = (size_t)(blur->size[0] > blur->size[1] ? blur->size[0] : blur->size[1]);
    size_t weight_bytes = rounded(most * sizeof(float));
    uint8_t *at = blur->work;
    struct work work;
    work.weight[0] = (float *)(void *)at;
    work.weight[1] = (float *)(void *)(at + weight_bytes);
    at += 2 * weight_bytes;
    work.rows = (const void **)(void *)at;
    at += rounded(most * sizeof(void *));
    work.row = (float *)(void *)at;
    at += row_bytes(raster);
    work.padded = (float *)(void *)(at + pad_bytes(raster, blur->size));
    return work;
}

/* Without the edge itself: -1 is 1. */
static int32_t reflected(int32_t i, int32_t n)
{
    i = i < 0 ? -i : i;
    return i < n ? i : 2 * n - 2 - i;
}

static void blur_down(const struct stk__raster *raster, const struct work *work, int size,
                      int32_t y)
{
    const struct stk__resample_kernels *kernels = &raster->kernels->resample;
    int n = raster->width * raster->channels;
    size_t bytes = (size_t)n * (raster->is_float ? sizeof(float) : 1);
    for (int k = 0; k < size; k++) {
        int32_t from = reflected(y + k - size / 2, raster->height);
        work->rows[k] = (const uint8_t *)raster->src + (size_t)from * bytes;
    }
    if (raster->is_float)
        kernels->sum_y_f32(work->padded, (const float *const *)(const void *)work->rows,
                           work->weight[1], size, n);
    else
        kernels->sum_y_u8(work->padded, (const uint8_t *const *)(const void *)work->rows,
                          work->weight[1], size, n);
}

static void blur_along(const struct stk__raster *raster, const struct work *work, int size,
                       float *dst)
{
    int32_t channels = raster->channels, width = raster->width;
    size_t pixel_bytes = (size_t)channels * sizeof(float);
    for (int32_t x = 1; x <= size / 2; x++) {
        memcpy(work->padded - x * channels, work->padded + x * channels, pixel_bytes);
        memcpy(work->padded + (width - 1 + x) * channels, work->padded + (width - 1 - x) * channels,
               pixel_bytes);
    }
    for (int k = 0; k < size; k++)
        work->rows[k] = work->padded + (k - size / 2) * channels;
    raster->kernels->resample.sum_y_f32(dst, (const float *const *)(const void *)work->rows,
                                        work->weight[0], size, width * channels);
}

void stk__adjust_blur(const struct stk__raster *raster, const struct stk__blur *blur)
{
    struct work work = lay_out(raster, blur);
    size_t n = (size_t)raster->width * (size_t)raster->channels;
    make_weights(work.weight[0], blur->size[0], blur->sigma[0]);
    make_weights(work.weight[1], blur->size[1], blur->sigma[1]);
    for (int32_t y = 0; y < raster->height && !stk__cancel_is_asked(); y++) {
        float *row = raster->is_float ? (float *)raster->dst + (size_t)y * n : work.row;
        blur_down(raster, &work, blur->size[1], y);
        blur_along(raster, &work, blur->size[0], row);
        if (!raster->is_float)
            raster->kernels->image.round_even_u8((uint8_t *)raster->dst + (size_t)y * n, row,
                                                 (int)n);
    }
}
