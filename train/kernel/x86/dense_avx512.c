/* SPDX-License-Identifier: Apache-2.0 */
/* dense_avx512.c: dense layers, tiles of 14 rows by 32 columns: 28 of 32 registers are sums. */
#include "train/kernel/x86/vector_avx512.h"

#include "train/kernel/x86/dense_tile.h"

/* clang-format off */
TILES_OF(1) TILES_OF(2) TILES_OF(3) TILES_OF(4) TILES_OF(5) TILES_OF(6) TILES_OF(7)
TILES_OF(8) TILES_OF(9) TILES_OF(10) TILES_OF(11) TILES_OF(12) TILES_OF(13) TILES_OF(14)
    /* clang-format on */
    static tile_fn *const panel_of[] = { 0,        panel_1,  panel_2,  panel_3,  panel_4,
                                         panel_5,  panel_6,  panel_7,  panel_8,  panel_9,
                                         panel_10, panel_11, panel_12, panel_13, panel_14 };
static tile_fn *const beside_of[] = { 0,         beside_1,  beside_2,  beside_3,  beside_4,
                                      beside_5,  beside_6,  beside_7,  beside_8,  beside_9,
                                      beside_10, beside_11, beside_12, beside_13, beside_14 };
#include "train/kernel/x86/dense_walk.h"

void stk__dense_fill_avx512(struct stk__dense_kernels *kernels)
{
    *kernels = (struct stk__dense_kernels){ rows, join, image, gradient };
}
