/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c: reading an optimizer, the numbers of a step that all share, and the pass over a
 * span.
 *
 * Decay is beside the gradient in Keras, weight -= weight * weight_decay * rate, as in PyTorch's
 * AdamW; in others of PyTorch it is part of the gradient.
 */
#include "train/optimizer/optimizer.h"

#include "base/error.h"
#include "kernel/kernel.h"
#include "train/kernel/train_kernel.h"
#include "train/model/declared.h"

#include <math.h>

/* Weights, state and gradients of a block fit into the first cache level: copies in another type
 * are made of what is still there. */
enum { BLOCK = 1024 };

const char *const stk__optimizer_forms[] = { "keras", "pytorch", NULL };

/* ---- reading ---- */

static int read_rate(const struct stk__optimizer_params *p, struct stk_arena *arena,
                     struct stk__optimizer *out, struct stk_error *err)
{
    out->rate = stk__schedule_constantly(out->type->rate);
    return p->learning_rate ? stk__schedule_read(p->learning_rate, arena, &out->rate, err) : STK_OK;
}

int stk__optimizer_read(const struct stk_value *value, struct stk_arena *arena,
                        struct stk__optimizer *out, struct stk_error *err)
{
    struct stk__declared said;
    int rc = stk__declared_bound(value, &stk__optimizers, "an optimizer is", arena, &said, err);
    if (rc)
        return rc;
    const struct stk__optimizer_type *type = (const void *)said.decl;
    const struct stk__optimizer_params *p = said.params;
    *out = (struct stk__optimizer){ .type = type,
                                    .params = p,
                                    .form = (enum stk__optimizer_form)p->form,
                                    .weight_decay =
                                        stk__given_or(p->weight_decay, type->decay[p->form]),
                                    .clip_norm = stk__given_or(p->global_clipnorm, INFINITY),
                                    .clip_value = stk__given_or(p->clipvalue, INFINITY) };
    rc = type->check ? type->check(said.call, out, err) : STK_OK;
    if (!rc)
        rc = read_rate(p, arena, out, err);
    if (!rc && !isinf(out->clip_norm) && !isinf(out->clip_value))
        rc = stk__fail_at(err, STK_VALUE, said.call->at, said.call->len,
                          "%s: global_clipnorm and clipvalue exclude each other", said.call->name);
    return rc;
}

/* ---- steps ---- */

int stk__optimizer_slots(const struct stk__optimizer *o)
{
    return o->type->n_slots(o);
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
    if (is_pytorch && !o->type->decays_beside)
        out->pull = (float)o->weight_decay;
    else if (is_pytorch)
        out->keep = (float)(1 - rate * o->weight_decay); /* rounded, as it multiplies there */
    else
        out->decay = (float)(rate * o->weight_decay);
}

struct stk__step_rates stk__optimizer_rates_at(const struct stk__optimizer *o, double rate,
                                               int64_t step, double factor, bool decays)
{
    struct stk__step_rates out = { .grad_factor = (float)factor,
                                   .clip = (float)o->clip_value,
                                   .keep = 1 };
    if (decays)
        put_decay(o, rate, &out);
    o->type->put_rates(o, rate, step, &out);
    return out;
}

struct stk__step_rates stk__optimizer_rates(const struct stk__optimizer *o, int64_t step,
                                            double factor, bool decays)
{
    return stk__optimizer_rates_at(o, stk__schedule_rate(&o->rate, step), step, factor, decays);
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
    if (!copy.to)
        return o->type->step(span, rates);
    stk__elementwise_fn convert = stk__kernels()->elementwise.convert[STK_F32][copy.dtype];
    bool is_finite = true;
    for (size_t at = 0; at < span->n; at += BLOCK) {
        struct stk__step_span block = block_of(span, at);
        is_finite &= o->type->step(&block, rates);
        convert(copy.to + at, block.weight, NULL, NULL, block.n);
    }
    return is_finite;
}
