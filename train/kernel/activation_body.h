/* SPDX-License-Identifier: Apache-2.0 */
/* activation_body.h: activations of spans, behind a vector header. */
#include "train/kernel/activation_kernel.h"
#include "train/kernel/exp_body.h"

#include <math.h>

/* ---- piecewise linear ---- */

static void clamp(const float *x, size_t n, float low, float high, float *y)
{
    const vector least_value = spread(low), most = spread(high);
#define CLAMP(i, lanes) put(y + (i), within(get(x + (i), lanes), least_value, most), lanes)
    EACH_SPAN(n, CLAMP);
}

static void clamp_gradient(const float *y, const float *dy, size_t n, float low, float high,
                           float *dx)
{
    const vector least_value = spread(low), most = spread(high);
#define CLAMP_GRADIENT(i, lanes)                                                                   \
    do {                                                                                           \
        const vector value = get(y + (i), lanes);                                                  \
        put(dx + (i),                                                                              \
            only(is_both(is_above(value, least_value), is_below(value, most)),                     \
                 get(dy + (i), lanes)),                                                            \
            lanes);                                                                                \
    } while (0)
    EACH_SPAN(n, CLAMP_GRADIENT);
}

INLINE void clamp_gradient_of(const int dtype, const uint16_t *y, const uint16_t *dy, size_t n,
                              float low, float high, float *dx)
{
    const vector least_value = spread(low), most = spread(high);
#define CLAMP_HALVES(i, lanes)                                                                     \
    do {                                                                                           \
        const vector value = load_halves(dtype, y + (i), lanes);                                   \
        put(dx + (i),                                                                              \
            only(is_both(is_above(value, least_value), is_below(value, most)),                     \
                 load_halves(dtype, dy + (i), lanes)),                                             \
            lanes);                                                                                \
    } while (0)
    EACH_SPAN(n, CLAMP_HALVES);
}

static void clamp_gradient_halves(struct stk__read_halves y, const uint16_t *dy, size_t n,
                                  float low, float high, float *dx)
{
    if (y.dtype == STK_F16)
        clamp_gradient_of(STK_F16, y.at, dy, n, low, high, dx);
    else
        clamp_gradient_of(STK_BF16, y.at, dy, n, low, high, dx);
}

static void leaky(const float *x, size_t n, float slope, float *y)
{
    const vector by = spread(slope);
#define LEAKY(i, lanes)                                                                            \
    do {                                                                                           \
        const vector value = get(x + (i), lanes);                                                  \
        put(y + (i), choose(is_below(value, zero()), value, times(value, by)), lanes);             \
    } while (0)
    EACH_SPAN(n, LEAKY);
}

static void leaky_gradient(const float *x, const float *dy, size_t n, float slope, float *dx)
{
    const vector by = spread(slope);
#define LEAKY_GRADIENT(i, lanes)                                                                   \
    do {                                                                                           \
        const vector d = get(dy + (i), lanes);                                                     \
        put(dx + (i), choose(is_above(get(x + (i), lanes), zero()), times(d, by), d), lanes);      \
    } while (0)
    EACH_SPAN(n, LEAKY_GRADIENT);
}

/* ---- functions of one value ---- */

#define TANH_SCALE 0.797884561f /* sqrt(2/π) */
#define TANH_CUBE 0.044715f

INLINE vector gelu_of(vector x)
{
    return times(x, normal_of(x).below);
}

/* gelu by tanh: a sigmoid of twice what the tanh is of. */
INLINE vector gelu_argument(vector x)
{
    const vector cube = fuse(times(x, x), spread(TANH_CUBE), spread(1));
    return times(times(x, spread(2 * TANH_SCALE)), cube);
}

INLINE vector gelu_tanh_of(vector x)
{
    return times(x, sigmoid_of(gelu_argument(x)).value);
}

INLINE vector swish_of(vector x)
{
    return times(x, sigmoid_of(x).value);
}

INLINE vector plain_sigmoid_of(vector x)
{
    return sigmoid_of(x).value;
}

/* Slopes are 0 or 1 where x is large: what is above needs no product with it. */
INLINE vector gelu_slope(vector x)
{
    x = within(x, spread(-20), spread(20));
    const struct normal normal = normal_of(x);
    return fuse(x, normal.density, normal.below);
}

INLINE vector gelu_tanh_slope(vector x)
{
    x = within(x, spread(-20), spread(20));
    const struct sigmoid s = sigmoid_of(gelu_argument(x));
    const vector inner =
        fuse(times(x, x), spread(6 * TANH_SCALE * TANH_CUBE), spread(2 * TANH_SCALE));
    return fuse(times(x, s.slope), inner, s.value);
}

INLINE vector swish_slope(vector x)
{
    x = within(x, spread(-87), spread(87));
    const struct sigmoid s = sigmoid_of(x);
    return fuse(x, s.slope, s.value);
}

/* Of y. */
INLINE vector sigmoid_slope(vector y)
{
    return times(y, minus(spread(1), y));
}

INLINE vector tanh_slope(vector y)
{
    return fuse_negative(y, y, spread(1));
}

#define VALUES(name, function)                                                                     \
    static void name(const float *x, size_t n, float *y)                                           \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + LANES <= n; i += LANES)                                                         \
            store(y + i, function(load(x + i)));                                                   \
        if (i < n)                                                                                 \
            store_some(y + i, function(load_some(x + i, (int)(n - i))), (int)(n - i));             \
    }
VALUES(gelu, gelu_of)
VALUES(gelu_tanh, gelu_tanh_of)
VALUES(swish, swish_of)
VALUES(sigmoid, plain_sigmoid_of)
VALUES(tanh_values, tanh_of)

#define GRADIENT(name, slope)                                                                      \
    static void name(const float *from, const float *dy, size_t n, float *dx)                      \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + LANES <= n; i += LANES)                                                         \
            store(dx + i, times(load(dy + i), slope(load(from + i))));                             \
        const int left = (int)(n - i);                                                             \
        if (left)                                                                                  \
            store_some(dx + i, times(load_some(dy + i, left), slope(load_some(from + i, left))),   \
                       left);                                                                      \
    }
GRADIENT(gelu_gradient, gelu_slope)
GRADIENT(gelu_tanh_gradient, gelu_tanh_slope)
GRADIENT(swish_gradient, swish_slope)
GRADIENT(sigmoid_gradient, sigmoid_slope)
GRADIENT(tanh_gradient, tanh_slope)

/* ---- channels of a pixel ---- */

/* Lanes behind the last channel. */
INLINE vector get_or(const float *from, int n, vector other)
{
    return n >= LANES ? load(from) : choose(some_lanes(n), other, load_some(from, n));
}

static void softmax_pixel(const float *x, size_t channels, float *y)
{
    const vector none = spread(-INFINITY);
    vector most = none, sum = zero();
#define MOST_OF(i, lanes) most = greatest(most, get_or(x + (i), lanes, none))
    EACH_SPAN(channels, MOST_OF);
    most = spread(greatest_lane(most));
#define EXP_OF(i, lanes)                                                                           \
    do {                                                                                           \
        const vector e = exp_below(minus(get(x + (i), lanes), most));                              \
        sum = plus(sum, (lanes) < LANES ? only(some_lanes(lanes), e) : e);                         \
        put(y + (i), e, lanes);                                                                    \
    } while (0)
    EACH_SPAN(channels, EXP_OF);
    const vector part = spread(1 / sum_lanes(sum));
#define PART_OF(i, lanes) put(y + (i), times(get(y + (i), lanes), part), lanes)
    EACH_SPAN(channels, PART_OF);
}

static void softmax(const float *x, size_t n, size_t channels, float *y)
{
    for (; n > 0; n--, x += channels, y += channels)
        softmax_pixel(x, channels, y);
}

static void softmax_gradient(const float *y, const float *dy, size_t n, size_t channels, float *dx)
{
    for (; n > 0; n--, y += channels, dy += channels, dx += channels) {
        vector sum = zero();
#define PRODUCT(i, lanes) sum = fuse(get(y + (i), lanes), get(dy + (i), lanes), sum)
        EACH_SPAN(channels, PRODUCT);
        sum = spread(sum_lanes(sum));
#define SOFTMAX_SLOPE(i, lanes)                                                                    \
    put(dx + (i), times(get(y + (i), lanes), minus(get(dy + (i), lanes), sum)), lanes)
        EACH_SPAN(channels, SOFTMAX_SLOPE);
    }
}

static const struct stk__activation_kernels activations = {
    .clamp = clamp,
    .clamp_gradient = clamp_gradient,
    .clamp_gradient_halves = clamp_gradient_halves,
    .leaky = leaky,
    .leaky_gradient = leaky_gradient,
    .gelu = gelu,
    .gelu_tanh = gelu_tanh,
    .swish = swish,
    .sigmoid = sigmoid,
    .tanh = tanh_values,
    .gelu_gradient = gelu_gradient,
    .gelu_tanh_gradient = gelu_tanh_gradient,
    .swish_gradient = swish_gradient,
    .sigmoid_gradient = sigmoid_gradient,
    .tanh_gradient = tanh_gradient,
    .softmax = softmax,
    .softmax_gradient = softmax_gradient,
};
