/* SPDX-License-Identifier: Apache-2.0 */
/* pixel_avx2.c: small loops over pixels, eight values at a time. */
#include "train/kernel/x86/vector_avx2.h"

#include "train/kernel/pixel_body.h"

void stk__pixel_fill_avx2(struct stk__pixel_kernels *kernels)
{
    *kernels = (struct stk__pixel_kernels){ sums, spread_rows, from_bytes, add };
}
