/* SPDX-License-Identifier: Apache-2.0 */
/* norm_avx512.c: batch normalisation, sixteen channels at a time. */
#include "train/kernel/x86/vector_avx512.h"

#include "train/kernel/norm_body.h"

void stk__norm_fill_avx512(struct stk__norm_kernels *kernels)
{
    *kernels = (struct stk__norm_kernels){ sums, rows, gradient_sums, gradient_rows };
}
