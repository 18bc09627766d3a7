/* SPDX-License-Identifier: Apache-2.0 */
/* permute_scalar.c: the keyed permutation, one position at a time. */
#include "kernel/permute.h"

static uint32_t scramble(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static uint64_t encrypt(const struct stk__cipher *cipher, uint64_t position)
{
    uint32_t left = (uint32_t)(position >> cipher->bits_right);
    uint32_t right = (uint32_t)position & cipher->mask_right;
    for (int i = 0; i < STK__CIPHER_ROUNDS; i += 2) {
        left ^= scramble(right + cipher->round_key[i]) & cipher->mask_left;
        right ^= scramble(left + cipher->round_key[i + 1]) & cipher->mask_right;
    }
    return (uint64_t)left << cipher->bits_right | right;
}

void stk__permute_few(uint64_t *position, int n, uint64_t count, uint64_t key)
{
    uint8_t value[STK__FEW];
    for (uint64_t i = 0; i < count; i++)
        value[i] = (uint8_t)i;
    for (uint64_t i = count; i-- > 1;) {
        uint64_t j = stk__below(stk__hash_mix(key, i), i + 1);
        uint8_t kept = value[i];
        value[i] = value[j];
        value[j] = kept;
    }
    for (int i = 0; i < n; i++)
        position[i] = value[position[i]];
}

void stk__permute_scalar(uint64_t *position, int n, uint64_t count, uint64_t key)
{
    if (count <= STK__FEW) {
        stk__permute_few(position, n, count, key);
        return;
    }
    struct stk__cipher cipher = stk__cipher_make(count, key);
    for (int i = 0; i < n; i++) {
        do
            position[i] = encrypt(&cipher, position[i]);
        while (position[i] >= count);
    }
}
