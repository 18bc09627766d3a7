/* SPDX-License-Identifier: Apache-2.0 */
/* loss_body.h: softmax and cross entropy of a row, behind a vector header and `least_exponent`:
 * below it exp is taken for 0. The last classes of a row are fewer than a vector has lanes. */
#include "train/kernel/exp_body.h"
#include "train/kernel/loss_kernel.h"

#include <math.h>

/* exp of numbers up to 0, and of -inf. */
INLINE vector exp_or_zero(vector x)
{
    return choose(is_below(x, spread(least_exponent)), exp_of(x), zero());
}

/* What is in lanes behind the row counts nothing. */
INLINE vector of_row(vector value, vector otherwise, int n)
{
    return n < LANES ? choose(some_lanes(n), otherwise, value) : value;
}

static vector greatest_of_row(const float *logits, size_t n)
{
    const vector none = spread(-INFINITY);
    vector most = none;
#define TAKE_GREATER(i, lanes) most = greatest(most, of_row(get(logits + (i), lanes), none, lanes))
    EACH_SPAN(n, TAKE_GREATER);
    return spread(greatest_lane(most));
}

static float cross_entropy(const float *logits, size_t n, float factor, float *gradient)
{
    const vector most = greatest_of_row(logits, n);
    vector exps = zero(), targets = zero(), product = zero();
#define ADD_CLASSES(i, lanes)                                                                      \
    do {                                                                                           \
        const vector below = minus(get(logits + (i), lanes), most);                                \
        const vector target = get(gradient + (i), lanes);                                          \
        exps = plus(exps, of_row(exp_or_zero(below), zero(), lanes));                              \
        targets = plus(targets, target);                                                           \
        product = fuse(target, only(is_other(target, zero()), below), product);                    \
    } while (0)
    EACH_SPAN(n, ADD_CLASSES);
    const float sum = sum_lanes(exps), all = sum_lanes(targets);
    const vector scale = spread(factor * all / sum), by = spread(factor);
#define PUT_GRADIENT(i, lanes)                                                                     \
    do {                                                                                           \
        const vector below = minus(get(logits + (i), lanes), most);                                \
        const vector target = times(by, get(gradient + (i), lanes));                               \
        put(gradient + (i), fuse_minus(scale, exp_or_zero(below), target), lanes);                 \
    } while (0)
    EACH_SPAN(n, PUT_GRADIENT);
    return all * logf(sum) - sum_lanes(product);
}

static void softmax(const float *logits, size_t n, float *out)
{
    const vector most = greatest_of_row(logits, n);
    vector exps = zero();
#define PUT_EXP(i, lanes)                                                                          \
    do {                                                                                           \
        const vector value = exp_or_zero(minus(get(logits + (i), lanes), most));                   \
        exps = plus(exps, of_row(value, zero(), lanes));                                           \
        put(out + (i), value, lanes);                                                              \
    } while (0)
    EACH_SPAN(n, PUT_EXP);
    const vector scale = spread(1 / sum_lanes(exps));
#define PUT_SHARE(i, lanes) put(out + (i), times(get(out + (i), lanes), scale), lanes)
    EACH_SPAN(n, PUT_SHARE);
}
