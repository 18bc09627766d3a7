/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_avx512.c: depthwise convolutions, sixteen channels at a time. */
#include "train/kernel/x86/vector_avx512.h"

#include "train/kernel/depthwise_body.h"

void stk__depthwise_fill_avx512(struct stk__depthwise_kernels *kernels)
{
    *kernels = (struct stk__depthwise_kernels){ rows, image, gradient };
}
