/* SPDX-License-Identifier: Apache-2.0 */
/* activation_scalar.c: activations in plain C, by the C library: the reference. */
#include "train/kernel/activation_kernel.h"

#include <math.h>

static void clamp(const float *x, size_t n, float low, float high, float *y)
{
    for (size_t i = 0; i < n; i++) {
        float value = x[i] < low ? low : x[i];
        y[i] = value > high ? high : value;
    }
}

static void clamp_gradient(const float *y, const float *dy, size_t n, float low, float high,
                           float *dx)
{
    for (size_t i = 0; i < n; i++)
        dx[i] = y[i] > low && y[i] < high ? dy[i] : 0;
}

static void leaky(const float *x, size_t n, float slope, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? x[i] * slope : x[i];
}

static void leaky_gradient(const float *x, const float *dy, size_t n, float slope, float *dx)
{
    for (size_t i = 0; i < n; i++)
        dx[i] = x[i] > 0 ? dy[i] : dy[i] * slope;
}

/* ---- functions of one value ---- */

#define ROOT_HALF 0.70710678f   /* sqrt(1/2) */
#define NORMAL_PEAK 0.39894228f /* 1 / sqrt(2π) */
#define TANH_SCALE 0.797884561f /* sqrt(2/π) */
#define TANH_CUBE 0.044715f

static float sigmoid_of(float x)
{
    return 1 / (1 + expf(-x));
}

/* The sigmoid of 2u: half of 1 + tanh u, without what cancels in it. */
static float gelu_argument(float x)
{
    return 2 * TANH_SCALE * (x + TANH_CUBE * x * x * x);
}

static float gelu_slope(float x)
{
    return 0.5f * erfcf(-x * ROOT_HALF) + x * NORMAL_PEAK * expf(-0.5f * x * x);
}

/* Beyond 20 it is 0 or 1, and x * x might not be finite. */
static float gelu_tanh_slope(float x)
{
    x = x > 20 ? 20 : x < -20 ? -20 : x;
    float s = sigmoid_of(gelu_argument(x));
    return s + x * s * sigmoid_of(-gelu_argument(x)) * 2 * TANH_SCALE * (1 + 3 * TANH_CUBE * x * x);
}

static float swish_slope(float x)
{
    float s = sigmoid_of(x);
    return s + x * s * sigmoid_of(-x);
}

#define VALUES(name, value)                                                                        \
    static void name(const float *from, size_t n, float *to)                                       \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            float x = from[i];                                                                     \
            to[i] = value;                                                                         \
        }                                                                                          \
    }
VALUES(gelu, x * 0.5f * erfcf(-x * ROOT_HALF))
VALUES(gelu_tanh, x *sigmoid_of(gelu_argument(x)))
VALUES(swish, x *sigmoid_of(x))
VALUES(sigmoid, sigmoid_of(x))
VALUES(tanh_values, tanhf(x))

#define GRADIENT(name, slope)                                                                      \
    static void name(const float *from, const float *dy, size_t n, float *dx)                      \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            float x = from[i];                                                                     \
            dx[i] = dy[i] * (slope);                                                               \
        }                                                                                          \
    }
GRADIENT(gelu_gradient, gelu_slope(x))
GRADIENT(gelu_tanh_gradient, gelu_tanh_slope(x))
GRADIENT(swish_gradient, swish_slope(x))
GRADIENT(sigmoid_gradient, x *(1 - x))
GRADIENT(tanh_gradient, 1 - x * x)

/* ---- channels of a pixel ---- */

static void softmax(const float *x, size_t n, size_t channels, float *y)
{
    for (; n > 0; n--, x += channels, y += channels) {
        float most = x[0], sum = 0;
        for (size_t c = 1; c < channels; c++)
            most = x[c] > most ? x[c] : most;
        for (size_t c = 0; c < channels; c++)
            sum += y[c] = expf(x[c] - most);
        for (size_t c = 0; c < channels; c++)
            y[c] /= sum;
    }
}

static void softmax_gradient(const float *y, const float *dy, size_t n, size_t channels, float *dx)
{
    for (; n > 0; n--, y += channels, dy += channels, dx += channels) {
        float sum = 0;
        for (size_t c = 0; c < channels; c++)
            sum += y[c] * dy[c];
        for (size_t c = 0; c < channels; c++)
            dx[c] = y[c] * (dy[c] - sum);
    }
}

void stk__activation_fill_scalar(struct stk__activation_kernels *kernels)
{
    *kernels = (struct stk__activation_kernels){
        .clamp = clamp,
        .clamp_gradient = clamp_gradient,
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
}
