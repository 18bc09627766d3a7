/* SPDX-License-Identifier: Apache-2.0 */
/* loss_avx512.c: sixteen classes at a time; the last ones under a mask. */
#include "train/kernel/loss_kernel.h"

#include <immintrin.h>
#include <math.h>

static inline __mmask16 mask_of(size_t left)
{
    return left >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1);
}

/* exp of numbers up to 0, to 1e-7: 2^k · e^r with |r| below ln 2 / 2; the polynomial is Cephes'. */
static inline __m512 exp_below(__m512 x)
{
    __m512 k = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)),
                                    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_fnmadd_ps(k, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fnmadd_ps(k, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.9875691500e-4f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
    p = _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, r);
    __m512 value = _mm512_scalef_ps(_mm512_add_ps(p, _mm512_set1_ps(1)), k);
    /* -inf and what is below the least float; NaN is neither */
    __mmask16 is_none = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-104), _CMP_LT_OQ);
    return _mm512_mask_mov_ps(value, is_none, _mm512_setzero_ps());
}

static inline __m512 greatest(const float *logits, size_t n)
{
    __m512 most = _mm512_set1_ps(-INFINITY);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 mask = mask_of(n - i);
        most = _mm512_mask_max_ps(most, mask, most, _mm512_maskz_loadu_ps(mask, logits + i));
    }
    return _mm512_set1_ps(_mm512_reduce_max_ps(most));
}

static float cross_entropy(const float *logits, size_t n, float factor, float *gradient)
{
    __m512 most = greatest(logits, n), exps = _mm512_setzero_ps();
    __m512 targets = exps, product = exps;
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 mask = mask_of(n - i);
        __m512 below = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, logits + i), most);
        __m512 target = _mm512_maskz_loadu_ps(mask, gradient + i);
        __mmask16 counts = _mm512_cmp_ps_mask(target, _mm512_setzero_ps(), _CMP_NEQ_UQ);
        exps = _mm512_mask_add_ps(exps, mask, exps, exp_below(below));
        targets = _mm512_add_ps(targets, target);
        product = _mm512_mask3_fmadd_ps(target, below, product, counts);
    }
    float sum = _mm512_reduce_add_ps(exps), all = _mm512_reduce_add_ps(targets);
    __m512 scale = _mm512_set1_ps(factor * all / sum), by = _mm512_set1_ps(factor);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 mask = mask_of(n - i);
        __m512 below = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, logits + i), most);
        __m512 target = _mm512_mul_ps(by, _mm512_maskz_loadu_ps(mask, gradient + i));
        _mm512_mask_storeu_ps(gradient + i, mask, _mm512_fmsub_ps(scale, exp_below(below), target));
    }
    return all * logf(sum) - _mm512_reduce_add_ps(product);
}

static void softmax(const float *logits, size_t n, float *out)
{
    __m512 most = greatest(logits, n), exps = _mm512_setzero_ps();
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 mask = mask_of(n - i);
        __m512 value = exp_below(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, logits + i), most));
        exps = _mm512_mask_add_ps(exps, mask, exps, value);
        _mm512_mask_storeu_ps(out + i, mask, value);
    }
    __m512 scale = _mm512_set1_ps(1 / _mm512_reduce_add_ps(exps));
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 mask = mask_of(n - i);
        __m512 value = _mm512_maskz_loadu_ps(mask, out + i);
        _mm512_mask_storeu_ps(out + i, mask, _mm512_mul_ps(value, scale));
    }
}

void stk__loss_fill_avx512(struct stk__loss_kernels *kernels)
{
    *kernels = (struct stk__loss_kernels){ cross_entropy, softmax };
}
