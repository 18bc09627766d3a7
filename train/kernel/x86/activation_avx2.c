/* SPDX-License-Identifier: Apache-2.0 */
/* activation_avx2.c: activations, eight values at a time. */
#include "train/kernel/x86/vector_avx2.h"

#include "train/kernel/activation_body.h"

void stk__activation_fill_avx2(struct stk__activation_kernels *kernels)
{
    *kernels = activations;
}
