/* SPDX-License-Identifier: Apache-2.0 */
/* moments.h: what mean, deviation and range are made of, for each of several interleaved channels.
 *
 * Sums are of differences from a shift near the mean, so that no digits are lost where the
 * deviation is small. They are added in 24 lanes, the same at every level.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { STK__MOMENT_LANES = 24 };

/* Of finite values, except for the range, which only leaves out NaN. */
struct stk__moments {
    double sum, square; /* of value - shift, and its square */
    double lo, hi;      /* +inf and -inf where there is none */
    uint64_t n_bad;     /* NaN and infinities */
};

/* Value i belongs to channel i % channels. Fills out[channels]. */
struct stk__moment_kernels {
    void (*of_f32)(const float *src, size_t n, int channels, const double *shift,
                   struct stk__moments *out);
    void (*of_f64)(const double *src, size_t n, int channels, const double *shift,
                   struct stk__moments *out);
};

void stk__moments_fill_scalar(struct stk__moment_kernels *kernels);
void stk__moments_fill_avx2(struct stk__moment_kernels *kernels);

/* How often each byte occurs in each channel: added to counts[channels][256]. The same at every
 * level. */
void stk__count_bytes(const uint8_t *src, size_t n, int channels, uint64_t *counts);
