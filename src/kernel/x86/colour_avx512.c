/* SPDX-License-Identifier: Apache-2.0 */
/* colour_avx512.c: the colour kernels compiled for AVX-512. */
#include "kernel/x86/colour_x86.h"

#include "kernel/colour_body.h"

void stk__colour_fill_avx512(struct stk__colour_kernels *kernels)
{
    fill_all(kernels);
    kernels->map_u8 = map_u8;
}
