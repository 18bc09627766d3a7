/* SPDX-License-Identifier: Apache-2.0 */
/* conv_avx2.c: 6 pixels by 16 filters: 12 of 16 registers are sums. */
#include "train/kernel/x86/vector_avx2.h"

#include "train/kernel/conv_kernel.h"

enum { MOST = 6 };
#include "train/kernel/x86/conv_tile.h"

#define ALL(of) of(1) of(2) of(3) of(4) of(5) of(6)
ALL(TILE_OF)
ALL(GATHER_OF)
static tile_fn *const tile_of[] = { 0, tile_1, tile_2, tile_3, tile_4, tile_5, tile_6 };
static gather_fn *const gather_of[] = { 0,        gather_1, gather_2, gather_3,
                                        gather_4, gather_5, gather_6 };
#include "train/kernel/x86/conv_walk.h"

void stk__conv_fill_avx2(struct stk__conv_kernels *kernels)
{
    *kernels = (struct stk__conv_kernels){ BLOCK, rows, gradient };
}
