/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_avx2.c: steps of optimizers, eight weights at a time. */
#include "train/kernel/x86/vector_avx2.h"

#include "train/kernel/optimizer_body.h"

static double squares(const float *values, size_t n)
{
    __m256d low = _mm256_setzero_pd(), high = low;
    double rest = 0;
    for (size_t i = n / 8 * 8; i < n; i++)
        rest += (double)values[i] * values[i];
    for (size_t i = 0; i + 8 <= n; i += 8) {
        __m256 x = _mm256_loadu_ps(values + i);
        __m256d a = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
        __m256d b = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
        low = _mm256_fmadd_pd(a, a, low);
        high = _mm256_fmadd_pd(b, b, high);
    }
    __m256d sum = _mm256_add_pd(low, high);
    __m128d half = _mm_add_pd(_mm256_castpd256_pd128(sum), _mm256_extractf128_pd(sum, 1));
    return rest + _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

void stk__optimizer_fill_avx2(struct stk__optimizer_kernels *kernels)
{
    *kernels = (struct stk__optimizer_kernels){ sgd, adam, squares };
}
