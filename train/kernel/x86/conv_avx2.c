/* SPDX-License-Identifier: Apache-2.0 */
/* conv_avx2.c: 6 pixels by 16 filters: 12 of 16 registers are sums. */
#include "train/kernel/conv_kernel.h"

#include <immintrin.h>

enum { LANES = 8, MOST = 6 };
typedef __m256 vector;
#define load _mm256_loadu_ps
#define store _mm256_storeu_ps
#define spread _mm256_set1_ps
#define zero _mm256_setzero_ps
#define fuse _mm256_fmadd_ps
#define plus _mm256_add_ps
#define least _mm256_min_ps
#define greatest _mm256_max_ps

static inline __m256i lanes(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#define load_some(from, n) _mm256_maskload_ps(from, lanes(n))
#define store_some(to, value, n) _mm256_maskstore_ps(to, lanes(n), value)
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
