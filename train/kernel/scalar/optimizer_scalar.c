/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_scalar.c: the steps of optimizers in plain C: the reference. */
#include "train/kernel/optimizer_kernel.h"

#include <math.h>

static float gradient_of(float raw, float weight, const struct stk__step_rates *r)
{
    float gradient = raw * r->grad_factor;
    gradient = gradient < -r->clip ? -r->clip : gradient > r->clip ? r->clip : gradient;
    return gradient + r->pull * weight;
}

static float decayed(float weight, const struct stk__step_rates *r)
{
    return r->keep * weight - r->decay * weight;
}

static bool sgd(const struct stk__step_span *s, const struct stk__step_rates *r)
{
    bool is_finite = true;
    for (size_t i = 0; i < s->n; i++) {
        float gradient = gradient_of(s->gradient[i], s->weight[i], r);
        float change = r->from_gradient * gradient;
        is_finite &= isfinite(s->gradient[i]) != 0;
        if (s->first) {
            s->first[i] = r->momentum * s->first[i] + r->push * gradient;
            change += r->from_first * s->first[i];
        }
        s->weight[i] = decayed(s->weight[i], r) + change;
    }
    return is_finite;
}

static bool adam(const struct stk__step_span *s, const struct stk__step_rates *r)
{
    bool is_finite = true;
    for (size_t i = 0; i < s->n; i++) {
        float gradient = gradient_of(s->gradient[i], s->weight[i], r);
        is_finite &= isfinite(s->gradient[i]) != 0;
        s->first[i] += (gradient - s->first[i]) * r->take_first;
        s->second[i] += (gradient * gradient - s->second[i]) * r->take_second;
        s->weight[i] =
            decayed(s->weight[i], r) - r->rate * s->first[i] / (sqrtf(s->second[i]) + r->epsilon);
    }
    return is_finite;
}

static double squares(const float *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)values[i] * values[i];
    return sum;
}

void stk__optimizer_fill_scalar(struct stk__optimizer_kernels *kernels)
{
    *kernels = (struct stk__optimizer_kernels){ sgd, adam, squares };
}
