/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_scalar.c: depthwise convolutions in plain C. */
#include "train/kernel/depthwise_plain.h"

void stk__depthwise_fill_scalar(struct stk__depthwise_kernels *kernels)
{
    *kernels = (struct stk__depthwise_kernels){ plain_rows, plain_image, plain_gradient };
}
