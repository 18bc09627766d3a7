/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_avx512.c: sixteen weights at a time; the last ones under a mask. */
#include "train/kernel/optimizer_kernel.h"

#include <immintrin.h>

/* Rates in every lane. */
struct lanes {
    __m512 grad_factor, clip, pull, keep, decay;
};

static inline struct lanes spread(const struct stk__step_rates *r)
{
    return (struct lanes){ _mm512_set1_ps(r->grad_factor), _mm512_set1_ps(r->clip),
                           _mm512_set1_ps(r->pull), _mm512_set1_ps(r->keep),
                           _mm512_set1_ps(r->decay) };
}

static inline __mmask16 mask_of(size_t left)
{
    return left >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1);
}

/* min and max give their second operand where one is NaN, so NaN stays. */
static inline __m512 gradient_of(__m512 raw, __m512 weight, const struct lanes *l)
{
    __m512 gradient = _mm512_mul_ps(raw, l->grad_factor);
    __m512 least = _mm512_sub_ps(_mm512_setzero_ps(), l->clip);
    gradient = _mm512_max_ps(least, _mm512_min_ps(l->clip, gradient));
    return _mm512_fmadd_ps(l->pull, weight, gradient);
}

static inline __m512 decayed(__m512 weight, const struct lanes *l)
{
    return _mm512_fnmadd_ps(l->decay, weight, _mm512_mul_ps(l->keep, weight));
}

/* Adds 0, or NaN where a gradient is not finite. */
static inline __m512 note_finite(__m512 sum, __m512 raw)
{
    return _mm512_fmadd_ps(raw, _mm512_setzero_ps(), sum);
}

static inline bool all_finite(__m512 sum)
{
    return !_mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
}

static bool sgd(const struct stk__step_span *s, const struct stk__step_rates *r)
{
    const struct lanes l = spread(r);
    __m512 momentum = _mm512_set1_ps(r->momentum), push = _mm512_set1_ps(r->push);
    __m512 from_first = _mm512_set1_ps(r->from_first);
    __m512 from_gradient = _mm512_set1_ps(r->from_gradient), noted = _mm512_setzero_ps();
    for (size_t i = 0; i < s->n; i += 16) {
        __mmask16 mask = mask_of(s->n - i);
        __m512 raw = _mm512_maskz_loadu_ps(mask, s->gradient + i);
        __m512 weight = _mm512_maskz_loadu_ps(mask, s->weight + i);
        __m512 gradient = gradient_of(raw, weight, &l);
        noted = note_finite(noted, raw);
        weight = _mm512_fmadd_ps(from_gradient, gradient, decayed(weight, &l));
        if (s->first) {
            __m512 first = _mm512_maskz_loadu_ps(mask, s->first + i);
            first = _mm512_fmadd_ps(momentum, first, _mm512_mul_ps(push, gradient));
            _mm512_mask_storeu_ps(s->first + i, mask, first);
            weight = _mm512_fmadd_ps(from_first, first, weight);
        }
        _mm512_mask_storeu_ps(s->weight + i, mask, weight);
    }
    return all_finite(noted);
}

static bool adam(const struct stk__step_span *s, const struct stk__step_rates *r)
{
    const struct lanes l = spread(r);
    __m512 take_first = _mm512_set1_ps(r->take_first), take_second = _mm512_set1_ps(r->take_second);
    __m512 rate = _mm512_set1_ps(r->rate), epsilon = _mm512_set1_ps(r->epsilon);
    __m512 noted = _mm512_setzero_ps();
    for (size_t i = 0; i < s->n; i += 16) {
        __mmask16 mask = mask_of(s->n - i);
        __m512 raw = _mm512_maskz_loadu_ps(mask, s->gradient + i);
        __m512 weight = _mm512_maskz_loadu_ps(mask, s->weight + i);
        __m512 first = _mm512_maskz_loadu_ps(mask, s->first + i);
        __m512 second = _mm512_maskz_loadu_ps(mask, s->second + i);
        __m512 gradient = gradient_of(raw, weight, &l);
        noted = note_finite(noted, raw);
        first = _mm512_fmadd_ps(_mm512_sub_ps(gradient, first), take_first, first);
        second = _mm512_fmadd_ps(_mm512_fmsub_ps(gradient, gradient, second), take_second, second);
        _mm512_mask_storeu_ps(s->first + i, mask, first);
        _mm512_mask_storeu_ps(s->second + i, mask, second);
        __m512 below = _mm512_add_ps(_mm512_sqrt_ps(second), epsilon);
        __m512 change = _mm512_maskz_div_ps(mask, _mm512_mul_ps(rate, first), below);
        _mm512_mask_storeu_ps(s->weight + i, mask, _mm512_sub_ps(decayed(weight, &l), change));
    }
    return all_finite(noted);
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
