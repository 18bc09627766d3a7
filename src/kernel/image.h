/* SPDX-License-Identifier: Apache-2.0 */
/* image.h: kernels on rows of an image. A row is width * channels values, interleaved.
 *
 * Nothing is read outside the rows given. dst and src do not overlap unless a kernel says so. Sums
 * are taken in the order of the taps, and a multiplication is rounded before its product is added,
 * in every version.
 */
#pragma once
#include <stdint.h>

/* Where each value of an output row lies between two values of a source row; made by
 * stk__lerp_row_init.
 *
 * For uint8 sources the values of four outputs at a time are found in one window of 16 source
 * bytes, or in two of 8, and put in their lanes by a byte shuffle: lane = left | right << 16. Rows
 * too short or too far apart for that have window_bytes 0. */
struct stk__lerp_row {
    int n, n_src, channels;      /* values; channels of them a pixel */
    const int32_t *left, *right; /* [n] */
    const float *weight;         /* [n] of the right value */
    int window_bytes;            /* 16: window[n / 4]; 8: window[n / 4 * 2]; 0: none */
    const int32_t *window;       /* offsets in the source row */
    const uint8_t *shuffle;      /* [n * 4] */
};

/* Which source pixels each output pixel is made of; made by stk__taps_init (taps.h). */
struct stk__taps {
    int n_in, n_out;      /* pixels */
    int span;             /* taps of an output pixel at most */
    const int32_t *count; /* [n_out] taps in use; NULL: all have span */
    const int32_t *index; /* [n_out * span] source pixels, ascending */
    const float *weight;  /* [n_out * span]; lerp: [n_out], of the second; nearest: NULL */
};

/* value * mul + add with constants that repeat every `period` values, a multiple of 16. */
struct stk__affine {
    int period;
    const float *mul, *add; /* [period] */
};

struct stk__image_kernels {
    /* dst = left + (right - left) * weight along a row. */
    void (*lerp_x_u8)(float *dst, const uint8_t *src, const struct stk__lerp_row *row);
    void (*lerp_x_f32)(float *dst, const float *src, const struct stk__lerp_row *row);
    /* dst = top + (bottom - top) * weight between two rows. */
    void (*lerp_y_f32)(float *dst, const float *top, const float *bottom, float weight, int n);
    /* Each output pixel the sum of its taps, value * weight. */
    void (*sum_x_u8)(float *dst, const uint8_t *src, const struct stk__taps *taps, int channels);
    void (*sum_x_f32)(float *dst, const float *src, const struct stk__taps *taps, int channels);
    /* sum += src * weight. */
    void (*add_y_u8)(float *sum, const uint8_t *src, float weight, int n);
    void (*add_y_f32)(float *sum, const float *src, float weight, int n);
    /* dst = src * factor; dst may be src. */
    void (*mul_f32)(float *dst, const float *src, float factor, int n);
    /* dst = src * mul + add; dst may be src. The row begins at channel 0. */
    void (*affine_u8)(float *dst, const uint8_t *src, int64_t n, const struct stk__affine *affine);
    void (*affine_f32)(float *dst, const float *src, int64_t n, const struct stk__affine *affine);
    /* dst = src + 0.5 cut off, in 0..255; NaN is 0. */
    void (*round_u8)(uint8_t *dst, const float *src, int n);
    /* dst pixel i = src pixel n - 1 - i. */
    void (*reverse_pixels)(uint8_t *dst, const uint8_t *src, int n, int pixel_bytes);
    /* dst pixel i = src pixel index[i]. */
    void (*pick_pixels)(uint8_t *dst, const uint8_t *src, const int32_t *index, int n,
                        int pixel_bytes);
};

void stk__image_fill_scalar(struct stk__image_kernels *kernels);
void stk__image_fill_avx2(struct stk__image_kernels *kernels);
void stk__image_fill_avx512(struct stk__image_kernels *kernels);

/* Also for the pixels a vector version leaves over. */
void stk__reverse_pixels_scalar(uint8_t *dst, const uint8_t *src, int n, int pixel_bytes);

/* One value, for every version's last few. */
static inline float stk__lerp(float a, float b, float weight)
{
    return a + (b - a) * weight;
}

static inline uint8_t stk__round_u8(float value)
{
    float v = value + 0.5f;
    v = v > 0 ? v : 0;
    return (uint8_t)(v < 255 ? v : 255);
}

/* Taps of output pixel i. */
static inline int stk__taps_count(const struct stk__taps *taps, int i)
{
    return taps->count ? taps->count[i] : taps->span;
}

/* The sum of the taps of output pixel i for the channel src begins with; 0 without taps. */
static inline float stk__sum_u8(const uint8_t *src, const struct stk__taps *taps, int i,
                                int channels)
{
    const int32_t *index = taps->index + (int64_t)i * taps->span;
    const float *weight = taps->weight + (int64_t)i * taps->span;
    int n = stk__taps_count(taps, i);
    float sum = n ? (float)src[index[0] * channels] * weight[0] : 0;
    for (int k = 1; k < n; k++)
        sum += (float)src[index[k] * channels] * weight[k];
    return sum;
}

static inline float stk__sum_f32(const float *src, const struct stk__taps *taps, int i,
                                 int channels)
{
    const int32_t *index = taps->index + (int64_t)i * taps->span;
    const float *weight = taps->weight + (int64_t)i * taps->span;
    int n = stk__taps_count(taps, i);
    float sum = n ? src[index[0] * channels] * weight[0] : 0;
    for (int k = 1; k < n; k++)
        sum += src[index[k] * channels] * weight[k];
    return sum;
}
