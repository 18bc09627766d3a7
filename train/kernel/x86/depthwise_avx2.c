/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_avx2.c: depthwise convolutions, eight channels at a time. */
#include "train/kernel/x86/vector_avx2.h"

#include "train/kernel/depthwise_body.h"

void stk__depthwise_fill_avx2(struct stk__depthwise_kernels *kernels)
{
    *kernels = (struct stk__depthwise_kernels){ rows, image, gradient };
}
