/* SPDX-License-Identifier: Apache-2.0 */
/* finish.h: the last steps of an image on the way to its destination, row by row: rounding, one
 * multiplication and addition per channel, another dtype, channels in planes. */
#pragma once
#include "kernel/kernel.h"

#include <stdbool.h>
#include <stddef.h>

enum stk__rounding { STK__ROUND_NOT, STK__ROUND_UP, STK__ROUND_EVEN };

struct stk__finish {
    int dtype;                        /* of the destination: STK_U8, _F16, _BF16 or _F32 */
    enum stk__rounding rounding;      /* floats become bytes first: halves up or to even */
    const struct stk__affine *affine; /* gives floats; or NULL */
    bool is_planar;                   /* [channels, height, width] */
    int channels;
};

/* Where an image goes. */
struct stk__target {
    uint8_t *data;
    size_t row_bytes;
    size_t plane_bytes; /* between channels, if planar */
    bool is_far;        /* nobody reads it soon: it may go past the caches */
};

/* Work space for rows of n values. */
size_t stk__finish_bytes(int n);

/* True if rows of this dtype (STK_U8 or STK_F32) are what the destination holds: they may be
 * written there at once. */
bool stk__finish_is_none(const struct stk__finish *finish, int dtype);

/* Pixels on their way. */
struct stk__finish_pixels {
    const void *data;
    int dtype; /* STK_U8 or STK_F32 */
    int n;
};

void stk__finish_row(const struct stk__finish *finish, const struct stk__kernels *kernels,
                     struct stk__finish_pixels row, void *work, uint8_t *dst, size_t plane_bytes);

/* Per-channel constants spread over a period. */
size_t stk__affine_bytes(int channels);
void stk__affine_init(struct stk__affine *affine, const float *mul, const float *add, int channels,
                      void *memory);
