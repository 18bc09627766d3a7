/* SPDX-License-Identifier: Apache-2.0 */
/* dense_avx2.c: dense layers, tiles of 6 rows by 16 columns: 12 of 16 registers are sums. */
#include "train/kernel/x86/vector_avx2.h"

#include "train/kernel/x86/dense_tile.h"

TILES_OF(1)
TILES_OF(2)
TILES_OF(3)
TILES_OF(4)
TILES_OF(5)
TILES_OF(6)
static tile_fn *const panel_of[] = { 0, panel_1, panel_2, panel_3, panel_4, panel_5, panel_6 };
static tile_fn *const beside_of[] = {
    0, beside_1, beside_2, beside_3, beside_4, beside_5, beside_6
};
#include "train/kernel/x86/dense_walk.h"

void stk__dense_fill_avx2(struct stk__dense_kernels *kernels)
{
    *kernels = (struct stk__dense_kernels){ rows, join, image, gradient };
}
