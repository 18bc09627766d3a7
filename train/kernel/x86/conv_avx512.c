/* SPDX-License-Identifier: Apache-2.0 */
/* conv_avx512.c: 14 pixels by 32 filters: 28 of 32 registers are sums. */
#include "train/kernel/x86/vector_avx512.h"

#include "train/kernel/conv_kernel.h"

enum { MOST = 14 };
#include "train/kernel/x86/conv_tile.h"

#define ALL(of)                                                                                    \
    of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9) of(10) of(11) of(12) of(13) of(14)
ALL(TILE_OF)
ALL(GATHER_OF)
static tile_fn *const tile_of[] = { 0,       tile_1,  tile_2,  tile_3,  tile_4,
                                    tile_5,  tile_6,  tile_7,  tile_8,  tile_9,
                                    tile_10, tile_11, tile_12, tile_13, tile_14 };
static gather_fn *const gather_of[] = { 0,         gather_1,  gather_2,  gather_3,  gather_4,
                                        gather_5,  gather_6,  gather_7,  gather_8,  gather_9,
                                        gather_10, gather_11, gather_12, gather_13, gather_14 };
#include "train/kernel/x86/conv_walk.h"

void stk__conv_fill_avx512(struct stk__conv_kernels *kernels)
{
    *kernels = (struct stk__conv_kernels){ BLOCK, rows, gradient };
}
