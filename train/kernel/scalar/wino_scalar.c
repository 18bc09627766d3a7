/* SPDX-License-Identifier: Apache-2.0 */
/* wino_scalar.c: tiles of Winograd's convolution, in plain C. */
#include "train/kernel/scalar/vector_scalar.h"

#include "train/kernel/wino_body.h"

void stk__wino_fill_scalar(struct stk__wino_kernels *kernels)
{
    *kernels = own_kernels;
}
