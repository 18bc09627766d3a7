/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h: mixing of 64-bit words (keys, paths, seeds) and a hash over bytes (digests, cache
 * keys).
 *
 * tests/model/bits.py is the same in plain Python; the numbers these functions give are part of
 * what a chain means, so changing them changes everybody's shuffles.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Of a row: what random numbers are drawn by. */
struct stk__key {
    uint64_t hi, lo;
};

/* Two words into one; not commutative. */
static inline uint64_t stk__hash_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9e3779b97f4a7c15u ^ (b + 0xd1b54a32d192ed03u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A row's key from three words. */
static inline struct stk__key stk__key_make(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t hi = stk__hash_mix(stk__hash_mix(a, b), c);
    return (struct stk__key){ hi, stk__hash_mix(hi, a ^ b ^ c) };
}

static inline struct stk__key stk__key_join(struct stk__key a, struct stk__key b)
{
    return (struct stk__key){ stk__hash_mix(a.hi, b.hi), stk__hash_mix(a.lo, b.lo) };
}

/* The path of the first epoch, outside any repeat. */
static inline uint64_t stk__first_path(void)
{
    return stk__hash_mix(0, 0);
}

/* A running hash: h starts anywhere (0), any split of the bytes into calls gives a different
 * result. data may be NULL when bytes is 0. */
uint64_t stk__hash_bytes(uint64_t h, const void *data, size_t bytes);
