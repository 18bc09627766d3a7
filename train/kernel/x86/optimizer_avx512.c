/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_avx512.c: steps of optimizers, sixteen weights at a time. */
#include "train/kernel/x86/vector_avx512.h"

#include "train/kernel/optimizer_body.h"

static inline __mmask16 mask_of(size_t left)
{
    return left >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1);
}

static double squares(const float *values, size_t n)
{
    __m512d low = _mm512_setzero_pd(), high = low;
    for (size_t i = 0; i < n; i += 16) {
        __m512 x = _mm512_maskz_loadu_ps(mask_of(n - i), values + i);
        __m512d a = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
        __m512d b = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
        low = _mm512_fmadd_pd(a, a, low);
        high = _mm512_fmadd_pd(b, b, high);
    }
    return _mm512_reduce_add_pd(_mm512_add_pd(low, high));
}

void stk__optimizer_fill_avx512(struct stk__optimizer_kernels *kernels)
{
    *kernels = (struct stk__optimizer_kernels){ sgd, adam, squares };
}
