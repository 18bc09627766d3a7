/* SPDX-License-Identifier: Apache-2.0 */
/* resize.h: a whole image, row by row, through prepared taps. */
#pragma once
#include "kernel/taps.h"

#include <stdbool.h>
#include <stddef.h>

/* All that one image needs; the taps belong to its size, the rows are work space. Values are uint8
 * or float32. Nearest moves pixels as they are and uses neither rows nor affine; it needs equal
 * dtypes. */
struct stk__resize {
    enum stk__taps_kind kind;
    int channels;
    bool src_is_u8, dst_is_u8;
    const struct stk__taps *x, *y;
    const struct stk__lerp_row *lerp_x; /* lerp */
    const struct stk__affine *affine;   /* applied to each row while it is in cache; may be NULL */
    float *row[2];                      /* of stk__resize_row_values each */
    float *sum;
};

/* Floats that row[0], row[1] and sum must hold each. */
size_t stk__resize_row_values(const struct stk__resize *resize);

void stk__resize_image(const struct stk__resize *resize, const struct stk__image_kernels *kernels,
                       const void *src, void *dst);
