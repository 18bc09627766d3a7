/* SPDX-License-Identifier: Apache-2.0 */
/* taps.h: which source pixels make an output pixel, along one axis, as TensorFlow 2 has it.
 *
 * In float32, with scale = n_in / n_out:
 *     nearest   pixel min(floor((i + 0.5) * scale), n_in - 1)
 *     lerp      at = (i + 0.5) * scale - 0.5: pixels floor(at) and ceil(at), clamped to the image;
 *               the second has the weight at - floor(at)
 *     area      the pixels that [i * scale, (i + 1) * scale) covers, weighted by how much of each
 *     triangle  pixels within max(scale, 1) of (i + 0.5) * scale, weights falling linearly, sum 1
 * Memory comes from the caller, aligned for float; everything points into it.
 */
#pragma once
#include "kernel/image.h"

#include <stddef.h>

enum stk__taps_kind { STK__NEAREST, STK__LERP, STK__AREA, STK__TRIANGLE };

size_t stk__taps_bytes(enum stk__taps_kind kind, int n_in, int n_out);
void stk__taps_init(struct stk__taps *taps, enum stk__taps_kind kind, int n_in, int n_out,
                    void *memory);

/* The taps of a lerp axis spread over the values of a row. n_out * channels fits an int. */
size_t stk__lerp_row_bytes(int n_out, int channels);
void stk__lerp_row_init(struct stk__lerp_row *row, const struct stk__taps *taps, int channels,
                        void *memory);

/* Per-channel constants spread over a period. */
size_t stk__affine_bytes(int channels);
void stk__affine_init(struct stk__affine *affine, const float *mul, const float *add, int channels,
                      void *memory);
