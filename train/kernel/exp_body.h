/* SPDX-License-Identifier: Apache-2.0 */
/* exp_body.h: functions made of exp, behind a vector header. NaN gives NaN. */
#pragma once
#include "train/kernel/x86/channels.h"

/* exp of numbers from -87 to 0, to 1.2e-7: 2^k · e^r with |r| below ln 2 / 2; the polynomial is Cephes'. */
INLINE vector exp_of(vector x)
{
    const vector k = nearest(times(x, spread(1.44269504f)));
    vector r = fuse_negative(k, spread(0.693359375f), x);
    r = fuse_negative(k, spread(-2.12194440e-4f), r);
    vector p = spread(1.9875691500e-4f);
    p = fuse(p, r, spread(1.3981999507e-3f));
    p = fuse(p, r, spread(8.3334519073e-3f));
    p = fuse(p, r, spread(4.1665795894e-2f));
    p = fuse(p, r, spread(1.6666665459e-1f));
    p = fuse(p, r, spread(5.0000001201e-1f));
    p = fuse(times(r, r), p, r);
    return scale_by_power(plus(p, spread(1)), k);
}

/* Of numbers up to 0; below -87 it is that of -87. */
INLINE vector exp_below(vector x)
{
    return exp_of(greatest(spread(-87), x));
}

/* A sigmoid and its slope, s · (1 - s), which would cancel if it were made of it. */
struct sigmoid {
    vector value, slope;
};

INLINE struct sigmoid sigmoid_of(vector x)
{
    const vector e = exp_below(minus(zero(), size_of(x))), one = spread(1);
    const vector part = over(one, plus(one, e)), rest = times(e, part);
    return (struct sigmoid){ choose(is_below(x, zero()), part, rest), times(part, rest) };
}

/* Below 0.625 Cephes' polynomial, above (1 - e) / (1 + e) with e = exp(-2 |x|). */
INLINE vector tanh_of(vector x)
{
    const vector size = size_of(x), square = times(x, x), one = spread(1);
    const vector e = exp_below(times(spread(-2), size));
    const vector large = with_sign(over(minus(one, e), plus(one, e)), x);
    vector p = spread(-5.70498872745e-3f);
    p = fuse(p, square, spread(2.06390887954e-2f));
    p = fuse(p, square, spread(-5.37397155531e-2f));
    p = fuse(p, square, spread(1.33314422036e-1f));
    p = fuse(p, square, spread(-3.33332819422e-1f));
    return choose(is_below(size, spread(0.625f)), large, fuse(times(p, square), x, x));
}

/* The normal distribution up to x and its density, to 2e-7: Abramowitz and Stegun, 7.1.26. */
struct normal {
    vector below, density;
};

INLINE struct normal normal_of(vector x)
{
    const vector e = exp_below(times(times(x, x), spread(-0.5f))), size = size_of(x);
    const vector t = over(spread(1), fuse(size, spread(0.23164190f), spread(1)));
    vector p = spread(0.5f * 1.061405429f);
    p = fuse(p, t, spread(0.5f * -1.453152027f));
    p = fuse(p, t, spread(0.5f * 1.421413741f));
    p = fuse(p, t, spread(0.5f * -0.284496736f));
    p = fuse(p, t, spread(0.5f * 0.254829592f));
    const vector tail = times(times(p, t), e);
    return (struct normal){ choose(is_below(x, zero()), minus(spread(1), tail), tail),
                            times(e, spread(0.39894228f)) };
}
