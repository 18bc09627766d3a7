/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_avx512.c: the elementwise kernels compiled for AVX-512. */
#include "kernel/elementwise_body.h"

void stk__elementwise_fill_avx512(struct stk__elementwise_kernels *kernels)
{
    stk__elementwise_fill_scalar(kernels);
    fill_all(kernels);
    stk__half_fill_avx2(kernels);
}
