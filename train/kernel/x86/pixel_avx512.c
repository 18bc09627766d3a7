/* SPDX-License-Identifier: Apache-2.0 */
/* pixel_avx512.c: small loops over pixels, sixteen values at a time. */
#include "train/kernel/x86/vector_avx512.h"

#include "train/kernel/pixel_body.h"

void stk__pixel_fill_avx512(struct stk__pixel_kernels *kernels)
{
    *kernels = (struct stk__pixel_kernels){ sums, spread_rows, from_bytes, add };
}
