/* SPDX-License-Identifier: Apache-2.0 */
/* pool_avx2.c: pools, eight channels at a time. */
#include "train/kernel/x86/vector_avx2.h"

#include "train/kernel/pool_body.h"
#include "train/kernel/pool_weights_body.h"

void stk__pool_fill_avx2(struct stk__pool_kernels *kernels)
{
    *kernels =
        (struct stk__pool_kernels){ max_rows, max_gradient, mean_rows, mean_gradient, max_weights };
}
