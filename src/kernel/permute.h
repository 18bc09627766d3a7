/* SPDX-License-Identifier: Apache-2.0 */
/* permute.h: a keyed permutation of [0, count), one position at a time, in no memory.
 *
 * An alternating Feistel network of six rounds on the smallest number of bits b that holds count
 * values (2^b >= count), walked until the result is inside. The high b/2 bits are L, the low
 * b - b/2 bits are R, both uint32_t:
 *
 *     k[i] = (uint32_t)stk__hash_mix(key, i)
 *     even round:  L ^= F(R + k[i]) & maskL        odd round:  R ^= F(L + k[i]) & maskR
 *     F(x):  x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; x ^= x >> 16
 *
 * On a few bits a network cannot reach all permutations evenly (of 5 values some came three times as
 * often as others), so up to 64 values are shuffled one by one, from the last down:
 *
 *     for i = count - 1 … 1:  swap(value[i], value[below(mix(key, i), i + 1)])
 */
#pragma once
#include "base/hash.h"
#include "base/rng.h"

#include <stdint.h>

/* Replaces n positions, each below count, by their images. count <= 2^56. */
typedef void (*stk__permute_fn)(uint64_t *position, int n, uint64_t count, uint64_t key);

void stk__permute_scalar(uint64_t *position, int n, uint64_t count, uint64_t key);
void stk__permute_avx2(uint64_t *position, int n, uint64_t count, uint64_t key);
void stk__permute_avx512(uint64_t *position, int n, uint64_t count, uint64_t key);

enum { STK__CIPHER_ROUNDS = 6, STK__FEW = 64 };

/* The same for count <= STK__FEW. */
void stk__permute_few(uint64_t *position, int n, uint64_t count, uint64_t key);

/* The network for one count and key. */
struct stk__cipher {
    uint32_t round_key[STK__CIPHER_ROUNDS];
    uint32_t mask_left, mask_right;
    int bits_right;
};

static inline struct stk__cipher stk__cipher_make(uint64_t count, uint64_t key)
{
    int bits = 64 - __builtin_clzll(count - 1);
    struct stk__cipher cipher = { .bits_right = bits - bits / 2 };
    cipher.mask_left = (UINT32_C(1) << bits / 2) - 1;
    cipher.mask_right = (UINT32_C(1) << cipher.bits_right) - 1;
    for (int i = 0; i < STK__CIPHER_ROUNDS; i++)
        cipher.round_key[i] = (uint32_t)stk__hash_mix(key, (uint64_t)i);
    return cipher;
}
