/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_avx2.c: eight weights at a time; the last ones from a copy that is as long as a vector. */
#include "train/kernel/optimizer_kernel.h"

#include <immintrin.h>
#include <string.h>

/* Rates in every lane. */
struct lanes {
    __m256 grad_factor, clip, pull, keep, decay;
};

static inline struct lanes spread(const struct stk__step_rates *r)
{
    return (struct lanes){ _mm256_set1_ps(r->grad_factor), _mm256_set1_ps(r->clip),
                           _mm256_set1_ps(r->pull), _mm256_set1_ps(r->keep),
                           _mm256_set1_ps(r->decay) };
}

/* min and max give their second operand where one is NaN, so NaN stays. */
static inline __m256 gradient_of(__m256 raw, __m256 weight, const struct lanes *l)
{
    __m256 gradient = _mm256_mul_ps(raw, l->grad_factor);
    __m256 least = _mm256_sub_ps(_mm256_setzero_ps(), l->clip);
    gradient = _mm256_max_ps(least, _mm256_min_ps(l->clip, gradient));
    return _mm256_fmadd_ps(l->pull, weight, gradient);
}

static inline __m256 decayed(__m256 weight, const struct lanes *l)
{
    return _mm256_fnmadd_ps(l->decay, weight, _mm256_mul_ps(l->keep, weight));
}

/* Adds 0, or NaN where a gradient is not finite. */
static inline __m256 note_finite(__m256 sum, __m256 raw)
{
    return _mm256_fmadd_ps(raw, _mm256_setzero_ps(), sum);
}

static inline bool all_finite(__m256 sum)
{
    return !_mm256_movemask_ps(_mm256_cmp_ps(sum, sum, _CMP_UNORD_Q));
}

static bool sgd_whole(const struct stk__step_span *s, const struct stk__step_rates *r)
{
    const struct lanes l = spread(r);
    __m256 momentum = _mm256_set1_ps(r->momentum), push = _mm256_set1_ps(r->push);
    __m256 from_first = _mm256_set1_ps(r->from_first);
    __m256 from_gradient = _mm256_set1_ps(r->from_gradient), noted = _mm256_setzero_ps();
    for (size_t i = 0; i < s->n; i += 8) {
        __m256 raw = _mm256_loadu_ps(s->gradient + i);
        __m256 weight = _mm256_loadu_ps(s->weight + i);
        __m256 gradient = gradient_of(raw, weight, &l);
        noted = note_finite(noted, raw);
        weight = _mm256_fmadd_ps(from_gradient, gradient, decayed(weight, &l));
        if (s->first) {
            __m256 first = _mm256_loadu_ps(s->first + i);
            first = _mm256_fmadd_ps(momentum, first, _mm256_mul_ps(push, gradient));
            _mm256_storeu_ps(s->first + i, first);
            weight = _mm256_fmadd_ps(from_first, first, weight);
        }
        _mm256_storeu_ps(s->weight + i, weight);
    }
    return all_finite(noted);
}

static bool adam_whole(const struct stk__step_span *s, const struct stk__step_rates *r)
{
    const struct lanes l = spread(r);
    __m256 take_first = _mm256_set1_ps(r->take_first), take_second = _mm256_set1_ps(r->take_second);
    __m256 rate = _mm256_set1_ps(r->rate), epsilon = _mm256_set1_ps(r->epsilon);
    __m256 noted = _mm256_setzero_ps();
    for (size_t i = 0; i < s->n; i += 8) {
        __m256 raw = _mm256_loadu_ps(s->gradient + i);
        __m256 weight = _mm256_loadu_ps(s->weight + i);
        __m256 first = _mm256_loadu_ps(s->first + i);
        __m256 second = _mm256_loadu_ps(s->second + i);
        __m256 gradient = gradient_of(raw, weight, &l);
        noted = note_finite(noted, raw);
        first = _mm256_fmadd_ps(_mm256_sub_ps(gradient, first), take_first, first);
        second = _mm256_fmadd_ps(_mm256_fmsub_ps(gradient, gradient, second), take_second, second);
        _mm256_storeu_ps(s->first + i, first);
        _mm256_storeu_ps(s->second + i, second);
        __m256 below = _mm256_add_ps(_mm256_sqrt_ps(second), epsilon);
        __m256 change = _mm256_div_ps(_mm256_mul_ps(rate, first), below);
        _mm256_storeu_ps(s->weight + i, _mm256_sub_ps(decayed(weight, &l), change));
    }
    return all_finite(noted);
}

typedef bool (*step_fn)(const struct stk__step_span *s, const struct stk__step_rates *r);

/* The last `n` weights, fewer than a vector holds. */
static bool step_rest(step_fn step, const struct stk__step_span *s, const struct stk__step_rates *r)
{
    float part[4][8] = { { 0 } };
    float *const from[4] = { s->weight, s->first, s->second, NULL };
    for (int a = 0; a < 3; a++)
        if (from[a])
            memcpy(part[a], from[a], s->n * sizeof(float));
    memcpy(part[3], s->gradient, s->n * sizeof(float));
    const struct stk__step_span copy = { part[0], s->first ? part[1] : NULL, part[2], part[3], 8 };
    bool is_finite = step(&copy, r);
    for (int a = 0; a < 3; a++)
        if (from[a])
            memcpy(from[a], part[a], s->n * sizeof(float));
    return is_finite;
}

static bool step_all(step_fn step, const struct stk__step_span *s, const struct stk__step_rates *r)
{
    size_t n = s->n / 8 * 8;
    struct stk__step_span whole = *s;
    whole.n = n;
    bool is_finite = step(&whole, r);
    if (n == s->n)
        return is_finite;
    const struct stk__step_span rest = { s->weight + n, s->first ? s->first + n : NULL,
                                         s->second ? s->second + n : NULL, s->gradient + n,
                                         s->n - n };
    return step_rest(step, &rest, r) && is_finite;
}

static bool sgd(const struct stk__step_span *s, const struct stk__step_rates *r)
{
    return step_all(sgd_whole, s, r);
}

static bool adam(const struct stk__step_span *s, const struct stk__step_rates *r)
{
    return step_all(adam_whole, s, r);
}

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
