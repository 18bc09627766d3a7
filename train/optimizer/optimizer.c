/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c: from an optimizer and a step to the numbers of the kernels, and the pass over a span.
 *
 * Keras (decay beside the gradient, in all of them):
 *     weight -= weight * weight_decay * rate
 *     SGD   first = momentum * first - rate * gradient;   weight += first
 *           Nesterov: weight += momentum * first - rate * gradient
 *     Adam  weight -= rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * first / (sqrt(second) + epsilon)
 * PyTorch (decay beside the gradient in AdamW, else as part of it):
 *     SGD   first = momentum * first + gradient;          weight -= rate * first
 *           Nesterov: weight -= rate * (gradient + momentum * first)
 *     Adam  epsilon is added behind the correction of second: as above with
 *           epsilon * sqrt(1 - beta_2^t)
 */
#include "train/optimizer/optimizer.h"

#include "base/cpu.h"
#include "kernel/kernel.h"
#include "train/kernel/train_kernel.h"

#include <math.h>

/* Weights, state and gradients of a block fit into the first cache level: copies in another type are
 * made of what is still there. */
enum { BLOCK = 1024 };

static bool is_adam(const struct stk__optimizer *o)
{
    return o->kind != STK__OPTIMIZER_SGD;
}

int stk__optimizer_slots(const struct stk__optimizer *o)
{
    return is_adam(o) ? 2 : o->momentum != 0;
}

double stk__gradient_squares(const float *gradient, size_t n)
{
    return stk__train_kernels()->optimizer.squares(gradient, n);
}

double stk__optimizer_factor(const struct stk__optimizer *o, double squares, double inverse_scale)
{
    if (isinf(o->clip_norm))
        return inverse_scale;
    double norm = sqrt(squares) * inverse_scale;
    if (o->form == STK__FORM_PYTORCH)
        norm += 1e-6;
    return norm > o->clip_norm ? inverse_scale * (o->clip_norm / norm) : inverse_scale;
}

static void put_decay(const struct stk__optimizer *o, double rate, struct stk__step_rates *out)
{
    bool is_pytorch = o->form == STK__FORM_PYTORCH;
    if (is_pytorch && o->kind != STK__OPTIMIZER_ADAMW)
        out->pull = (float)o->weight_decay;
    else if (is_pytorch)
        out->keep = (float)(1 - rate * o->weight_decay); /* rounded, as it multiplies there */
    else
        out->decay = (float)(rate * o->weight_decay);
}

static void put_sgd(const struct stk__optimizer *o, double rate, struct stk__step_rates *out)
{
    bool is_keras = o->form == STK__FORM_KERAS;
    out->momentum = (float)o->momentum;
    out->push = (float)(is_keras ? -rate : 1);
    out->from_first = (float)(is_keras ? 1 : -rate);
    if (o->momentum == 0 || o->is_nesterov)
        out->from_gradient = (float)-rate;
    if (o->is_nesterov)
        out->from_first = (float)(o->momentum * (is_keras ? 1 : -rate));
}

/* Keras corrects in float32. There 1 - 0.999f is off by 1e-5 of itself, which the first steps show. */
static double keras_correction(const struct stk__optimizer *o, int64_t step)
{
    float t = (float)(step + 1);
    float first = 1 - powf((float)o->beta_1, t), second = 1 - powf((float)o->beta_2, t);
    return sqrtf(second) / first;
}

static void put_adam(const struct stk__optimizer *o, double rate, int64_t step,
                     struct stk__step_rates *out)
{
    bool is_pytorch = o->form == STK__FORM_PYTORCH;
    double t = (double)step + 1;
    double first = 1 - pow(o->beta_1, t), second = sqrt(1 - pow(o->beta_2, t));
    out->take_first = (float)(1 - o->beta_1);
    out->take_second = (float)(1 - o->beta_2);
    out->rate = (float)(rate * (is_pytorch ? second / first : keras_correction(o, step)));
    out->epsilon = (float)(is_pytorch ? o->epsilon * second : o->epsilon);
}

struct stk__step_rates stk__optimizer_rates(const struct stk__optimizer *o, int64_t step,
                                            double factor, bool decays)
{
    struct stk__step_rates out = { .grad_factor = (float)factor,
                                   .clip = (float)o->clip_value,
                                   .keep = 1 };
    double rate = stk__schedule_rate(&o->rate, step);
    if (decays)
        put_decay(o, rate, &out);
    if (is_adam(o))
        put_adam(o, rate, step, &out);
    else
        put_sgd(o, rate, &out);
    return out;
}

static struct stk__step_span block_of(const struct stk__step_span *span, size_t at)
{
    size_t left = span->n - at;
    return (struct stk__step_span){ span->weight + at, span->first ? span->first + at : NULL,
                                    span->second ? span->second + at : NULL, span->gradient + at,
                                    left < BLOCK ? left : BLOCK };
}

bool stk__optimizer_step(const struct stk__optimizer *o, const struct stk__step_span *span,
                         const struct stk__step_rates *rates, struct stk__weight_copy copy)
{
    const struct stk__optimizer_kernels *kernels = &stk__train_kernels()->optimizer;
    bool (*step)(const struct stk__step_span *, const struct stk__step_rates *) =
        is_adam(o) ? kernels->adam : kernels->sgd;
    if (!copy.to)
        return step(span, rates);
    stk__elementwise_fn convert = stk__kernels()->elementwise.convert[STK_F32][copy.dtype];
    bool is_finite = true;
    for (size_t at = 0; at < span->n; at += BLOCK) {
        struct stk__step_span block = block_of(span, at);
        is_finite &= step(&block, rates);
        convert(copy.to + at, block.weight, NULL, NULL, block.n);
    }
    return is_finite;
}
