/* SPDX-License-Identifier: Apache-2.0 */
/* wino_6_scalar.c: tiles of Winograd's F(6×6, 3×3), in plain C. */
#include "train/kernel/scalar/vector_scalar.h"

#include "train/kernel/wino_points_6.h"

/* Floats one at a time gain nothing from loops that are written out, which would be 373 KB. */
#undef UNROLL
#define UNROLL STK__LOOP

#include "train/kernel/wino_body.h"

void stk__wino_6_fill_scalar(struct stk__wino_kernels *kernels)
{
    *kernels = own_kernels;
}
