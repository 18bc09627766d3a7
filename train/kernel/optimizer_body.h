/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_body.h: steps of optimizers, behind a vector header. The last weights of a span are
 * fewer than a vector has lanes; nothing else is touched. */
#include "train/kernel/optimizer_kernel.h"
#include "train/kernel/x86/channels.h"

/* What both optimizers do, in every lane. */
struct rates {
    vector grad_factor, clip, pull, keep, decay;
};

INLINE struct rates spread_rates(const struct stk__step_rates *r)
{
    return (struct rates){ spread(r->grad_factor), spread(r->clip), spread(r->pull),
                           spread(r->keep), spread(r->decay) };
}

/* least and greatest give their second operand where one is NaN, so NaN stays. */
INLINE vector gradient_of(vector raw, vector weight, const struct rates *r)
{
    vector gradient = times(raw, r->grad_factor);
    gradient = greatest(minus(zero(), r->clip), least(r->clip, gradient));
    return fuse(r->pull, weight, gradient);
}

INLINE vector decayed(vector weight, const struct rates *r)
{
    return fuse_negative(r->decay, weight, times(r->keep, weight));
}

/* Adds 0, or NaN where a gradient is not finite. */
INLINE vector note_finite(vector sum, vector raw)
{
    return fuse(raw, zero(), sum);
}

/* ---- SGD ---- */

struct sgd {
    struct rates rates;
    vector momentum, push, from_first, from_gradient;
};

INLINE vector sgd_part(const struct stk__step_span *s, const struct sgd *c, size_t i, int n,
                       vector noted)
{
    const vector raw = get(s->gradient + i, n);
    vector weight = get(s->weight + i, n);
    const vector gradient = gradient_of(raw, weight, &c->rates);
    weight = fuse(c->from_gradient, gradient, decayed(weight, &c->rates));
    if (s->first) {
        vector first = get(s->first + i, n);
        first = fuse(c->momentum, first, times(c->push, gradient));
        put(s->first + i, first, n);
        weight = fuse(c->from_first, first, weight);
    }
    put(s->weight + i, weight, n);
    return note_finite(noted, raw);
}

static bool sgd(const struct stk__step_span *s, const struct stk__step_rates *r)
{
    const struct sgd c = { spread_rates(r), spread(r->momentum), spread(r->push),
                           spread(r->from_first), spread(r->from_gradient) };
    vector noted = zero();
    size_t i = 0;
    for (; i + LANES <= s->n; i += LANES)
        noted = sgd_part(s, &c, i, LANES, noted);
    if (i < s->n)
        noted = sgd_part(s, &c, i, (int)(s->n - i), noted);
    return !has_nan(noted);
}

/* ---- Adam ---- */

struct adam {
    struct rates rates;
    vector take_first, take_second, rate, epsilon;
};

INLINE vector adam_part(const struct stk__step_span *s, const struct adam *c, size_t i, int n,
                        vector noted)
{
    const vector raw = get(s->gradient + i, n), weight = get(s->weight + i, n);
    vector first = get(s->first + i, n), second = get(s->second + i, n);
    const vector gradient = gradient_of(raw, weight, &c->rates);
    first = fuse(minus(gradient, first), c->take_first, first);
    second = fuse(fuse_minus(gradient, gradient, second), c->take_second, second);
    put(s->first + i, first, n);
    put(s->second + i, second, n);
    const vector change = over(times(c->rate, first), plus(root(second), c->epsilon));
    put(s->weight + i, minus(decayed(weight, &c->rates), change), n);
    return note_finite(noted, raw);
}

static bool adam(const struct stk__step_span *s, const struct stk__step_rates *r)
{
    const struct adam c = { spread_rates(r), spread(r->take_first), spread(r->take_second),
                            spread(r->rate), spread(r->epsilon) };
    vector noted = zero();
    size_t i = 0;
    for (; i + LANES <= s->n; i += LANES)
        noted = adam_part(s, &c, i, LANES, noted);
    if (i < s->n)
        noted = adam_part(s, &c, i, (int)(s->n - i), noted);
    return !has_nan(noted);
}
