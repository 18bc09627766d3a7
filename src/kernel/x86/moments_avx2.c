/* SPDX-License-Identifier: Apache-2.0 */
/* moments_avx2.c: the sums of moments.h compiled for AVX2. */
#include "kernel/moments_body.h"

void stk__moments_fill_avx2(struct stk__moment_kernels *kernels)
{
    fill_all(kernels);
}
