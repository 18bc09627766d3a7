/* SPDX-License-Identifier: Apache-2.0 */
/* taps_rules.h: the rules of each library, for taps.c. */
#pragma once
#include "kernel/taps.h"

/* The taps of one output pixel. Rules of float arithmetic leave floats in the weights. */
struct stk__tap_run {
    int64_t first;
    int count;
    double *weight; /* room for the span */
};

/* Taps of an output pixel at most. */
int stk__tf_span(const struct stk__axis *axis);
int stk__pillow_span(const struct stk__axis *axis);
int stk__opencv_span(const struct stk__axis *axis);

/* Those of output pixel i. Nearest, which has no weights, and TF_LERP are filled in whole. */
void stk__tf_taps(const struct stk__axis *axis, int i, struct stk__tap_run *run);
void stk__pillow_taps(const struct stk__axis *axis, int i, struct stk__tap_run *run);
void stk__opencv_taps(const struct stk__axis *axis, int i, struct stk__tap_run *run);

/* The pixel for each of n_out. */
void stk__tf_nearest(const struct stk__axis *axis, int32_t *first);
void stk__pillow_nearest(const struct stk__axis *axis, int32_t *first);
void stk__opencv_nearest(const struct stk__axis *axis, int32_t *first);

/* For each pixel that is wanted; with two weights. */
void stk__tf_lerps(const struct stk__axis *axis, int32_t *first, int32_t *count, float *weight);

static inline int stk__clamp_index(int64_t index, int n)
{
    return index < 0 ? 0 : index >= n ? n - 1 : (int)index;
}
