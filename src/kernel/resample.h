/* SPDX-License-Identifier: Apache-2.0 */
/* resample.h: kernels that resize rows. A row is width * channels values, interleaved.
 *
 * Nothing is read or written outside the rows given; dst and src do not overlap. Float sums begin
 * with 0 and add the taps in order, and a product is rounded before it is added, in every version.
 *
 * Along a row (x) a kernel makes output pixels from runs of source pixels; between rows (y) it
 * makes values from the values of other rows at the same place. x kernels take their taps from a
 * lerp row (two taps) or a span row (more), which across.h makes.
 */
#pragma once
#include "kernel/image.h"

#include <stdbool.h>

/* Where each value of an output row lies between two values of a source row.
 *
 * For uint8 sources the values of four outputs at a time are found in one window of 16 source
 * bytes, or in two of 8, and put in their lanes by a byte shuffle: lane = left | right << 16. Rows
 * too short or too far apart for that have window_bytes 0. Those of sixteen outputs at a time, the
 * last of which may be fewer, are found in one window of 64.
 *
 * A weight times a difference of bytes is exact if it is a multiple of 1 / 65536, and so is the sum
 * if it is one of 1 / STK__LERP_WHOLE. Positions far from 0 have few bits for their fraction, so
 * runs of such values are found at one end of a row; they are multiples of 32, or empty. */
enum { STK__LERP_WHOLE = 32768 };

struct stk__lerp_row {
    int n, n_src, channels;      /* values; channels of them a pixel */
    const int32_t *left, *right; /* [n] */
    const float *weight;         /* [n] of the right value; NULL with pair */
    const int32_t *pair;         /* [n] integers: of the left value | of the right << 16 */
    int exact_from, exact_to;    /* values whose products are exact, within them: */
    int whole_from, whole_to;    /* values whose sums are, too */
    const int32_t *whole;        /* [n] of those: weight of the left | of the right << 16 */
    int window_bytes;            /* 16: window[n / 4]; 8: window[n / 4 * 2]; 0: none */
    const int32_t *window;       /* offsets in the source row */
    const uint8_t *shuffle;      /* [n * 4] */
    const int32_t *window_64;    /* [(n + 15) / 16]; NULL: none */
    const uint8_t *shuffle_64;   /* [(n + 15) / 16 * 64] */
};

/* One output row of an image of bytes, lerped along both axes. */
struct stk__lerp_line {
    const uint8_t *top; /* NULL: kept is that row, lerped along x */
    const uint8_t *bottom;
    const uint8_t
        *ahead;   /* where the rows of the line after it begin: worth fetching. Never read */
    float weight; /* of the bottom row */
    float *kept;
    bool keeps_bottom; /* in kept, for the next line */
    void *dst;
    bool is_rounded;                  /* to bytes, as stk__round_u8 does; else floats, */
    bool is_far;                      /* which may go past the caches; dst is aligned to 64 bytes */
    const struct stk__affine *affine; /* of floats: * mul + add; or NULL */
};

/* A run of `span` pixels for each output pixel.
 *
 * Vector versions take four output pixels, of three or four channels, at a time: as two vectors of
 * eight lanes, of pixels 0 and 2 and of pixels 1 and 3. `packed` has the weights in that order,
 * aligned to 32 bytes; taps of integer weights go in pairs, first | second << 16:
 *     float    [quad][tap][vector][lane]
 *     11 bits  [quad][pair of taps][vector][lane]
 *     22 bits  [quad][pair of taps][vector][weight >> 11, weight & 2047][lane]
 */
struct stk__span_row {
    int n_in, n, channels; /* pixels */
    int span;              /* a multiple of 4 if packed and the source is uint8 */
    const int32_t *first;  /* [n] */
    const float *weight;   /* [n * span], or */
    const int32_t *fixed;  /* [n * span] */
    const void *packed;    /* NULL: other channels, or a row too short */
    int n_plain;           /* quads from the left that may be read 16 bytes at a time */
};

struct stk__resample_kernels {
    /* ---- lerp: a + (b - a) * weight ---- */
    void (*lerp_x_u8)(float *dst, const uint8_t *src, const struct stk__lerp_row *row);
    /* x and y at once. */
    void (*lerp_line_u8)(const struct stk__lerp_line *line, const struct stk__lerp_row *row);
    /* Two lines of one kind, one after the other: what the second one keeps is kept, and it has no
     * top if the first one's bottom row is it. */
    void (*lerp_pair_u8)(const struct stk__lerp_line lines[2], const struct stk__lerp_row *row);
    /* After lines that are far: other threads see them from now on. */
    void (*settle)(void);
    void (*lerp_x_f32)(float *dst, const float *src, const struct stk__lerp_row *row);
    void (*lerp_y_f32)(float *dst, const float *top, const float *bottom, float weight, int n);
    /* The same, then * mul + add. Far: as of a line. */
    void (*lerp_y_affine)(float *dst, const float *const rows[2], float weight, int n,
                          const struct stk__affine *affine, bool is_far);
    /* The same, rounded as stk__round_u8 does; for rows within 0..255. */
    void (*lerp_y_round)(uint8_t *dst, const float *top, const float *bottom, float weight, int n);

    /* ---- sums of value * weight ---- */
    void (*sum_x_u8)(float *dst, const uint8_t *src, const struct stk__span_row *row);
    void (*sum_x_f32)(float *dst, const float *src, const struct stk__span_row *row);
    void (*sum_y_u8)(float *dst, const uint8_t *const *rows, const float *weight, int n_rows,
                     int n);
    void (*sum_y_f32)(float *dst, const float *const *rows, const float *weight, int n_rows, int n);

    /* ---- integers of 22 bits: (sum + 2^21) >> 22, within 0..255 ---- */
    void (*fixed_x_u8)(uint8_t *dst, const uint8_t *src, const struct stk__span_row *row);
    void (*fixed_y_u8)(uint8_t *dst, const uint8_t *const *rows, const int32_t *weight, int n_rows,
                       int n);

    /* ---- integers of 11 bits ---- */
    /* Two taps: the sum >> 4; then ((top * w0 >> 16) + (bottom * w1 >> 16) + 2) >> 2. */
    void (*blend_x_u8)(int16_t *dst, const uint8_t *src, const struct stk__lerp_row *row);
    void (*blend_y_i16)(uint8_t *dst, const int16_t *top, const int16_t *bottom,
                        const int32_t weight[2], int n);
    /* More taps. y: of the first n_float values the sum of floats, from the last row to the first,
     * rounded to even; of the others (sum + 2^21) >> 22. At most 8 rows. */
    void (*wide_x_u8)(int32_t *dst, const uint8_t *src, const struct stk__span_row *row);
    void (*wide_y_i32)(uint8_t *dst, const int32_t *const *rows, const int32_t *weight, int n_rows,
                       int n, int n_float);

    /* The mean of 2 x 2 pixels, halves up: dst has n pixels. */
    void (*halve_u8)(uint8_t *dst, const uint8_t *top, const uint8_t *bottom, int n, int channels);
};

void stk__resample_fill_scalar(struct stk__resample_kernels *kernels);
/* Two taps; runs along a row; between rows. */
void stk__lerp_line_u8_avx2(const struct stk__lerp_line *line, const struct stk__lerp_row *row);
void stk__lerp_pair_u8_avx2(const struct stk__lerp_line lines[2], const struct stk__lerp_row *row);
void stk__lerp_pair_u8_avx512(const struct stk__lerp_line lines[2],
                              const struct stk__lerp_row *row);
void stk__lerp_line_u8_avx512(const struct stk__lerp_line *line, const struct stk__lerp_row *row);
void stk__lerp_fill_avx2(struct stk__resample_kernels *kernels);
void stk__span_fill_avx2(struct stk__resample_kernels *kernels);
void stk__rows_fill_avx2(struct stk__resample_kernels *kernels);
void stk__rows_fill_avx512(struct stk__resample_kernels *kernels);

/* ---- one value, for every version's last few ---- */

static inline float stk__lerp(float a, float b, float weight)
{
    return a + (b - a) * weight;
}

static inline float stk__lerp_x(const uint8_t *src, const struct stk__lerp_row *row, int i)
{
    return stk__lerp(src[row->left[i]], src[row->right[i]], row->weight[i]);
}

static inline void stk__lerp_line_value(const struct stk__lerp_line *line,
                                        const struct stk__lerp_row *row, int i)
{
    const struct stk__affine *affine = line->affine;
    float top = line->top ? stk__lerp_x(line->top, row, i) : line->kept[i];
    float bottom = stk__lerp_x(line->bottom, row, i);
    float value = stk__lerp(top, bottom, line->weight);
    if (line->keeps_bottom)
        line->kept[i] = bottom;
    if (affine)
        value = value * affine->mul[i % affine->period] + affine->add[i % affine->period];
    if (line->is_rounded)
        ((uint8_t *)line->dst)[i] = stk__round_u8(value);
    else
        ((float *)line->dst)[i] = value;
}

static inline uint8_t stk__clip_u8(int32_t value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static inline float stk__wide_weight(int32_t weight)
{
    return (float)weight * 0x1p-22f;
}

/* Of output pixel i, for the channel src begins with. */
static inline float stk__sum_u8(const uint8_t *src, const struct stk__span_row *row, int i)
{
    const float *weight = row->weight + (int64_t)i * row->span;
    const uint8_t *at = src + (int64_t)row->first[i] * row->channels;
    float sum = 0;
    for (int k = 0; k < row->span; k++, at += row->channels)
        sum += (float)*at * weight[k];
    return sum;
}

static inline float stk__sum_f32(const float *src, const struct stk__span_row *row, int i)
{
    const float *weight = row->weight + (int64_t)i * row->span;
    const float *at = src + (int64_t)row->first[i] * row->channels;
    float sum = 0;
    for (int k = 0; k < row->span; k++, at += row->channels)
        sum += *at * weight[k];
    return sum;
}

/* Integers wrap, as they do in vectors and in the libraries: sums of wide rows may. */
static inline int32_t stk__sum_fixed(const uint8_t *src, const struct stk__span_row *row, int i)
{
    const int32_t *weight = row->fixed + (int64_t)i * row->span;
    const uint8_t *at = src + (int64_t)row->first[i] * row->channels;
    uint32_t sum = 0;
    for (int k = 0; k < row->span; k++, at += row->channels)
        sum += *at * (uint32_t)weight[k];
    return (int32_t)sum;
}

static inline uint8_t stk__from_fixed(uint32_t sum)
{
    return stk__clip_u8((int32_t)(sum + (1u << 21)) >> 22);
}

static inline uint8_t stk__fixed_y(const uint8_t *const *rows, const int32_t *weight, int n_rows,
                                   int i)
{
    uint32_t sum = 0;
    for (int k = 0; k < n_rows; k++)
        sum += rows[k][i] * (uint32_t)weight[k];
    return stk__from_fixed(sum);
}

static inline uint8_t stk__wide_y(const int32_t *const *rows, const int32_t *weight, int n_rows,
                                  int i)
{
    uint32_t sum = 0;
    for (int k = 0; k < n_rows; k++)
        sum += (uint32_t)rows[k][i] * (uint32_t)weight[k];
    return stk__from_fixed(sum);
}

/* The same as floats, from the last row to the first. */
static inline uint8_t stk__wide_y_float(const int32_t *const *rows, const int32_t *weight,
                                        int n_rows, int i)
{
    float sum = (float)rows[n_rows - 1][i] * stk__wide_weight(weight[n_rows - 1]);
    for (int k = n_rows - 2; k >= 0; k--)
        sum = (float)rows[k][i] * stk__wide_weight(weight[k]) + sum;
    return stk__round_even_u8(sum);
}

static inline int16_t stk__blend_x(const uint8_t *src, const struct stk__lerp_row *row, int i)
{
    int32_t pair = row->pair[i];
    int32_t sum = src[row->left[i]] * (int16_t)pair + src[row->right[i]] * (pair >> 16);
    return (int16_t)(sum >> 4);
}

static inline uint8_t stk__blend_y(int16_t top, int16_t bottom, const int32_t weight[2])
{
    return stk__clip_u8(((top * weight[0] >> 16) + (bottom * weight[1] >> 16) + 2) >> 2);
}
