/* SPDX-License-Identifier: Apache-2.0 */
/* taps.h: which source pixels make an output pixel, along one axis, as TensorFlow, Pillow and
 * OpenCV have it.
 *
 * Every library has its own rules, down to where a float is rounded; taps_tf.c, taps_pillow.c and
 * taps_opencv.c say them. What all have in common is a run of neighbouring pixels, from `first`
 * on, and a weight for each. Memory comes from the caller, aligned for double; everything points
 * into it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stk__method {
    STK__BILINEAR,
    STK__NEAREST,
    STK__AREA,
    STK__BICUBIC,
    STK__LANCZOS3,
    STK__LANCZOS4,
    STK__LANCZOS5,
    STK__MITCHELL,
    STK__GAUSSIAN,
    STK__HAMMING,
    STK__N_METHODS
};

enum stk__rule {
    STK__TF_NEAREST,
    STK__TF_LERP, /* two pixels at most; weight[2 * i + 1] is that of the last */
    STK__TF_AREA,
    STK__TF_CUBIC,
    STK__TF_SPAN, /* the method's curve, wider when shrinking if antialias */
    STK__PILLOW_NEAREST,
    STK__PILLOW_SPAN,
    STK__OPENCV_NEAREST,
    STK__OPENCV_SPAN,
    STK__OPENCV_AREA, /* shrinking */
    STK__OPENCV_GROW, /* area when one axis grows */
};

struct stk__axis {
    enum stk__rule rule;
    enum stk__method method;
    bool antialias;
    int n_in, n_out;  /* pixels */
    int from, n;      /* output pixels that are wanted: n of them from here on */
    bool is_reversed; /* the last of them first */
    int bits;         /* 0: weights are floats; 11, 22: integers, times 2^bits */
    /* Along a row: all have `span` taps, a multiple of this where the image has so many pixels,
     * and lie inside the image; what a rule takes from outside is taken from the border pixel.
     * 0: across rows. First may be negative, and rows outside are the border row. */
    int multiple;
};

struct stk__taps {
    int n_in, n;
    int span;             /* taps of an output pixel at most */
    const int32_t *first; /* [n] */
    const int32_t *count; /* [n] */
    const float *weight;  /* [n * span]; NULL with bits */
    const int32_t *fixed; /* [n * span]; NULL without */
};

/* More than the span will be. */
int stk__taps_room(const struct stk__axis *axis);

size_t stk__taps_bytes(const struct stk__axis *axis);
void stk__taps_init(struct stk__taps *taps, const struct stk__axis *axis, void *memory);

/* The source row of tap k of output row i. */
static inline int stk__taps_row(const struct stk__taps *taps, int i, int k)
{
    int row = taps->first[i] + k;
    return row < 0 ? 0 : row >= taps->n_in ? taps->n_in - 1 : row;
}
