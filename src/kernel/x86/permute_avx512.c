/* SPDX-License-Identifier: Apache-2.0 */
/* permute_avx512.c: the keyed permutation, sixteen 32-bit halves at a time. Mirrors
 * permute_avx2.c. */
#include "kernel/x86/permute_walk.h"

#include <immintrin.h>

static inline __m512i scramble(__m512i x)
{
    x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 16));
    x = _mm512_mullo_epi32(x, _mm512_set1_epi32(0x7feb352d));
    x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 15));
    x = _mm512_mullo_epi32(x, _mm512_set1_epi32((int)0x846ca68bu));
    return _mm512_xor_si512(x, _mm512_srli_epi32(x, 16));
}

static inline __m512i feistel(__m512i half, __m512i other, uint32_t key, __m512i mask)
{
    __m512i f = scramble(_mm512_add_epi32(other, _mm512_set1_epi32((int)key)));
    return _mm512_xor_si512(half, _mm512_and_si512(f, mask));
}

/* The low halves of sixteen words: the first eight words' in the even lanes, the others' in the
 * odd. */
static inline __m512i pack(__m512i a, __m512i b)
{
    return _mm512_mask_blend_epi32(0xaaaa, a, _mm512_slli_epi64(b, 32));
}

static inline void encrypt_16(const struct stk__cipher *cipher, uint64_t *position)
{
    const __m128i shift = _mm_cvtsi32_si128(cipher->bits_right);
    const __m512i mask_left = _mm512_set1_epi32((int)cipher->mask_left);
    const __m512i mask_right = _mm512_set1_epi32((int)cipher->mask_right);
    const __m512i low = _mm512_set1_epi64(0xffffffff);
    __m512i a = _mm512_loadu_si512(position);
    __m512i b = _mm512_loadu_si512(position + 8);
    __m512i left = pack(_mm512_srl_epi64(a, shift), _mm512_srl_epi64(b, shift));
    __m512i right = _mm512_and_si512(pack(a, b), mask_right);
    for (int i = 0; i < STK__CIPHER_ROUNDS; i += 2) {
        left = feistel(left, right, cipher->round_key[i], mask_left);
        right = feistel(right, left, cipher->round_key[i + 1], mask_right);
    }
    a = _mm512_or_si512(_mm512_sll_epi64(_mm512_and_si512(left, low), shift),
                        _mm512_and_si512(right, low));
    b = _mm512_or_si512(_mm512_sll_epi64(_mm512_srli_epi64(left, 32), shift),
                        _mm512_srli_epi64(right, 32));
    _mm512_storeu_si512(position, a);
    _mm512_storeu_si512(position + 8, b);
}

static void encrypt_avx512(const struct stk__cipher *cipher, uint64_t *position, int n)
{
    for (int i = 0; i < n; i += 16)
        encrypt_16(cipher, position + i);
}

void stk__permute_avx512(uint64_t *position, int n, uint64_t count, uint64_t key)
{
    stk__walk(encrypt_avx512, position, n, count, key);
}
