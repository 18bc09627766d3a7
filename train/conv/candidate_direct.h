/* SPDX-License-Identifier: Apache-2.0 */
/* candidate_direct.h: how weights lie for the kernels of conv_kernel.h. */
#pragma once
#include "train/conv/conv.h"

/* Of one way, the taps that look at places of the image with one remainder by the stride. */
struct stk__taps_class {
    int first_tap, n_taps;
    int first, n; /* the first such place, and how many there are */
    int from;     /* the output that the first tap of the first place is in */
};

struct stk__taps_class stk__class_y(const struct stk__conv *conv, int remainder);
struct stk__taps_class stk__class_x(const struct stk__conv *conv, int remainder);

/* Floats of weights that are packed in blocks, as they are and turned. */
size_t stk__direct_packed_floats(const struct stk__conv *conv, int block);
size_t stk__direct_turned_floats(const struct stk__conv *conv, int block);

/* Of one group and class. */
size_t stk__direct_class_floats(const struct stk__conv *conv, int block, struct stk__taps_class y,
                                struct stk__taps_class x);

void stk__direct_pack(const struct stk__conv *conv, int block, const float *weights, float *packed,
                      int part, int n_parts);
void stk__direct_turn(const struct stk__conv *conv, int block, const float *weights, float *turned,
                      int part, int n_parts);

/* Adds up sums in their order. */
void stk__direct_unpack(const struct stk__conv *conv, int block, float *const *sums, int n_sums,
                        float *weights, int part, int n_parts);
