/* SPDX-License-Identifier: Apache-2.0 */
/* permute_avx2.c: the keyed permutation, two vectors of eight 32-bit halves at a time. */
#include "kernel/x86/permute_walk.h"

#include <immintrin.h>

static inline __m256i scramble(__m256i x)
{
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 16));
    x = _mm256_mullo_epi32(x, _mm256_set1_epi32(0x7feb352d));
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 15));
    x = _mm256_mullo_epi32(x, _mm256_set1_epi32((int)0x846ca68bu));
    return _mm256_xor_si256(x, _mm256_srli_epi32(x, 16));
}

static inline __m256i feistel(__m256i half, __m256i other, uint32_t key, __m256i mask)
{
    __m256i f = scramble(_mm256_add_epi32(other, _mm256_set1_epi32((int)key)));
    return _mm256_xor_si256(half, _mm256_and_si256(f, mask));
}

/* The low halves of eight words: the first four words' in the even lanes, the others' in the odd
 * lanes. */
static inline __m256i pack(__m256i a, __m256i b)
{
    return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xaa);
}

struct halves {
    __m256i left, right;
};

static inline struct halves split(const struct stk__cipher *cipher, const uint64_t *position)
{
    const __m128i shift = _mm_cvtsi32_si128(cipher->bits_right);
    __m256i a = _mm256_loadu_si256((const __m256i *)position);
    __m256i b = _mm256_loadu_si256((const __m256i *)(position + 4));
    __m256i right = _mm256_and_si256(pack(a, b), _mm256_set1_epi32((int)cipher->mask_right));
    return (struct halves){ pack(_mm256_srl_epi64(a, shift), _mm256_srl_epi64(b, shift)), right };
}

static inline void join(const struct stk__cipher *cipher, struct halves h, uint64_t *position)
{
    const __m128i shift = _mm_cvtsi32_si128(cipher->bits_right);
    const __m256i low = _mm256_set1_epi64x(0xffffffff);
    __m256i a = _mm256_or_si256(_mm256_sll_epi64(_mm256_and_si256(h.left, low), shift),
                                _mm256_and_si256(h.right, low));
    __m256i b = _mm256_or_si256(_mm256_sll_epi64(_mm256_srli_epi64(h.left, 32), shift),
                                _mm256_srli_epi64(h.right, 32));
    _mm256_storeu_si256((__m256i *)position, a);
    _mm256_storeu_si256((__m256i *)(position + 4), b);
}

static inline struct halves two_rounds(const struct stk__cipher *cipher, struct halves h, int round)
{
    const __m256i mask_left = _mm256_set1_epi32((int)cipher->mask_left);
    const __m256i mask_right = _mm256_set1_epi32((int)cipher->mask_right);
    h.left = feistel(h.left, h.right, cipher->round_key[round], mask_left);
    h.right = feistel(h.right, h.left, cipher->round_key[round + 1], mask_right);
    return h;
}

/* Four vectors side by side, since one alone waits for its own multiplications. */
static void encrypt_avx2(const struct stk__cipher *cipher, uint64_t *position, int n)
{
    for (uint64_t *p = position; p < position + n; p += 32) {
        struct halves a = split(cipher, p), b = split(cipher, p + 8);
        struct halves c = split(cipher, p + 16), d = split(cipher, p + 24);
        for (int round = 0; round < STK__CIPHER_ROUNDS; round += 2) {
            a = two_rounds(cipher, a, round);
            b = two_rounds(cipher, b, round);
            c = two_rounds(cipher, c, round);
            d = two_rounds(cipher, d, round);
        }
        join(cipher, a, p);
        join(cipher, b, p + 8);
        join(cipher, c, p + 16);
        join(cipher, d, p + 24);
    }
}

void stk__permute_avx2(uint64_t *position, int n, uint64_t count, uint64_t key)
{
    stk__walk(encrypt_avx2, position, n, count, key);
}
