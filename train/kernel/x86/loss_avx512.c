/* SPDX-License-Identifier: Apache-2.0 */
/* loss_avx512.c: softmax and cross entropy, sixteen classes at a time. */
#include "train/kernel/x86/vector_avx512.h"

static const float least_exponent = -104; /* that of the least float, a subnormal one */

#include "train/kernel/loss_body.h"

void stk__loss_fill_avx512(struct stk__loss_kernels *kernels)
{
    *kernels = (struct stk__loss_kernels){ cross_entropy, softmax };
}
