/* SPDX-License-Identifier: Apache-2.0 */
/* loss_avx2.c: softmax and cross entropy, eight classes at a time. */
#include "train/kernel/x86/vector_avx2.h"

static const float least_exponent = -87; /* below it a power would need a subnormal exponent */

#include "train/kernel/loss_body.h"

void stk__loss_fill_avx2(struct stk__loss_kernels *kernels)
{
    *kernels = (struct stk__loss_kernels){ cross_entropy, softmax };
}
