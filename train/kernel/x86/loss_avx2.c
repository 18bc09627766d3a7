/* SPDX-License-Identifier: Apache-2.0 */
/* loss_avx2.c: eight classes at a time; the last ones under a mask. */
#include "train/kernel/loss_kernel.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>

/* All bits of the first `left` lanes. */
static inline __m256i mask_of(size_t left)
{
    static const int32_t bits[16] = { -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0 };
    return _mm256_loadu_si256((const __m256i *)(bits + 8 - (left < 8 ? left : 8)));
}

/* The last ones are put in by hand: masked stores are slow on some processors. */
static inline void store(float *dst, size_t left, __m256 value)
{
    float part[8];
    if (left >= 8) {
        _mm256_storeu_ps(dst, value);
        return;
    }
    _mm256_storeu_ps(part, value);
    for (size_t i = 0; i < left; i++)
        dst[i] = part[i];
}

static inline float sum_of(__m256 x)
{
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

/* exp of numbers up to 0, to 1e-7: 2^k · e^r with |r| below ln 2 / 2; the polynomial is Cephes'.
 * Below -87 the power would need a subnormal exponent, and the value is taken for 0. */
static inline __m256 exp_below(__m256 x)
{
    __m256 k = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(k, _mm256_set1_ps(0.693359375f), x);
    r = _mm256_fnmadd_ps(k, _mm256_set1_ps(-2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.9875691500e-4f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1f));
    p = _mm256_fmadd_ps(_mm256_mul_ps(r, r), p, r);
    __m256i power =
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(k), _mm256_set1_epi32(127)), 23);
    __m256 value = _mm256_mul_ps(_mm256_add_ps(p, _mm256_set1_ps(1)), _mm256_castsi256_ps(power));
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(-87), _CMP_LT_OQ), value);
}

static inline __m256 greatest(const float *logits, size_t n)
{
    __m256 none = _mm256_set1_ps(-INFINITY), most = none;
    for (size_t i = 0; i < n; i += 8) {
        __m256i mask = mask_of(n - i);
        __m256 x = _mm256_maskload_ps(logits + i, mask);
        most = _mm256_max_ps(most, _mm256_blendv_ps(none, x, _mm256_castsi256_ps(mask)));
    }
    most = _mm256_max_ps(most, _mm256_permute2f128_ps(most, most, 1));
    most = _mm256_max_ps(most, _mm256_permute_ps(most, 0x4e));
    return _mm256_max_ps(most, _mm256_permute_ps(most, 0xb1));
}

/* exp of logits less the greatest; 0 in lanes that are none. */
static inline __m256 exp_masked(__m256 below, __m256i mask)
{
    return _mm256_and_ps(exp_below(below), _mm256_castsi256_ps(mask));
}

static float cross_entropy(const float *logits, size_t n, float factor, float *gradient)
{
    __m256 most = greatest(logits, n), exps = _mm256_setzero_ps();
    __m256 zero = exps, targets = exps, product = exps;
    for (size_t i = 0; i < n; i += 8) {
        __m256i mask = mask_of(n - i);
        __m256 below = _mm256_sub_ps(_mm256_maskload_ps(logits + i, mask), most);
        __m256 target = _mm256_maskload_ps(gradient + i, mask);
        __m256 counts = _mm256_cmp_ps(target, zero, _CMP_NEQ_UQ);
        exps = _mm256_add_ps(exps, exp_masked(below, mask));
        targets = _mm256_add_ps(targets, target);
        product = _mm256_fmadd_ps(target, _mm256_and_ps(below, counts), product);
    }
    float sum = sum_of(exps), all = sum_of(targets);
    __m256 scale = _mm256_set1_ps(factor * all / sum), by = _mm256_set1_ps(factor);
    for (size_t i = 0; i < n; i += 8) {
        __m256i mask = mask_of(n - i);
        __m256 below = _mm256_sub_ps(_mm256_maskload_ps(logits + i, mask), most);
        __m256 target = _mm256_mul_ps(by, _mm256_maskload_ps(gradient + i, mask));
        store(gradient + i, n - i, _mm256_fmsub_ps(scale, exp_below(below), target));
    }
    return all * logf(sum) - sum_of(product);
}

static void softmax(const float *logits, size_t n, float *out)
{
    __m256 most = greatest(logits, n), exps = _mm256_setzero_ps();
    for (size_t i = 0; i < n; i += 8) {
        __m256i mask = mask_of(n - i);
        __m256 below = _mm256_sub_ps(_mm256_maskload_ps(logits + i, mask), most);
        __m256 value = exp_masked(below, mask);
        exps = _mm256_add_ps(exps, value);
        store(out + i, n - i, value);
    }
    __m256 scale = _mm256_set1_ps(1 / sum_of(exps));
    for (size_t i = 0; i < n; i += 8) {
        __m256 value = _mm256_maskload_ps(out + i, mask_of(n - i));
        store(out + i, n - i, _mm256_mul_ps(value, scale));
    }
}

void stk__loss_fill_avx2(struct stk__loss_kernels *kernels)
{
    *kernels = (struct stk__loss_kernels){ cross_entropy, softmax };
}
