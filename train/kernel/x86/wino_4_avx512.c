/* SPDX-License-Identifier: Apache-2.0 */
/* wino_4_avx512.c: tiles of Winograd's F(4×4, 3×3), sixteen channels at a time. */
#include "train/kernel/x86/vector_avx512.h"

#include "train/kernel/wino_points_4.h"

#include "train/kernel/wino_body.h"

void stk__wino_4_fill_avx512(struct stk__wino_kernels *kernels)
{
    *kernels = own_kernels;
}
