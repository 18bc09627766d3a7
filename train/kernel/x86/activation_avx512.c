/* SPDX-License-Identifier: Apache-2.0 */
/* activation_avx512.c: activations, sixteen values at a time. */
#include "train/kernel/x86/vector_avx512.h"

#include "train/kernel/activation_body.h"

void stk__activation_fill_avx512(struct stk__activation_kernels *kernels)
{
    *kernels = activations;
}
