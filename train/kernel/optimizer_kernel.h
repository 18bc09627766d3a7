/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_kernel.h: one step of an optimizer over a span of weights.
 *
 * Each kernel goes over its arrays once: it multiplies the gradient by what undoes the loss scale and
 * clips the norm, clips it by value, decays the weight, and updates state and weight. Versions agree
 * to a few units in the last place of each step's change; they may contract.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* What a step does, computed once for all spans of it; see optimizer.c for what they come from. */
struct stk__step_rates {
    float grad_factor; /* gradients are multiplied by this */
    float clip;        /* and kept within ±clip; infinite: as they are */
    float pull;        /* decay that is part of the gradient: gradient += pull * weight */
    float keep, decay; /* decay beside it: weight = keep * weight - decay * weight */
    float momentum;    /* SGD: first = momentum * first + push * gradient */
    float push;
    float from_first, from_gradient; /* weight += from_first * first + from_gradient * gradient */
    float take_first, take_second;   /* Adam: first += take_first * (gradient - first); 1 - beta */
    float rate, epsilon;             /* weight -= rate * first / (sqrt(second) + epsilon) */
};

/* Arrays of one span. None overlap. */
struct stk__step_span {
    float *weight;
    float *first;  /* momentum or first moment; NULL: SGD without momentum */
    float *second; /* second moment: Adam */
    const float *gradient;
    size_t n;
};

struct stk__optimizer_kernels {
    /* Return false if a gradient, as it came, was not finite; the span is changed all the same. */
    bool (*sgd)(const struct stk__step_span *span, const struct stk__step_rates *rates);
    bool (*adam)(const struct stk__step_span *span, const struct stk__step_rates *rates);
    /* The sum of squares, added in double; not finite where a value is not, and only there. */
    double (*squares)(const float *values, size_t n);
};

void stk__optimizer_fill_scalar(struct stk__optimizer_kernels *kernels);
void stk__optimizer_fill_avx2(struct stk__optimizer_kernels *kernels);
void stk__optimizer_fill_avx512(struct stk__optimizer_kernels *kernels);
