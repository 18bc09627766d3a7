/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h: Philox4x32-10, the counter-based generator of Salmon et al. (2011). Pure: no state
 * anywhere. */
#pragma once
#include <stdint.h>

/* Four random words for a 128-bit counter under a 64-bit key. */
void stk__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* A word as a float in [0, 1), exact in 24 bits. */
static inline float stk__unit_float(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* A word pair as an integer below n, by multiplication: bias below n / 2^64. */
static inline uint64_t stk__below(uint64_t word, uint64_t n)
{
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)((u128)word * n >> 64);
}
