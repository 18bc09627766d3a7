/* SPDX-License-Identifier: Apache-2.0 */
/* activation_kernel.h: activations of a span of values and their gradients, as train/model/activation.h lists
 * them. Results may be written over any operand.
 *
 * Values are within 4e-7 of the exact function of the float, relative to its size or, for gelu and swish
 * and all gradients, to the larger of it and the operand (that of dy, for gradients); below 1e-30 all
 * count as 0. NaN gives NaN. A softmax is within 1e-6 of its value, and 1.2e-7 times what its logit is below the
 * greatest.
 */
#pragma once
#include "train/kernel/map.h"

typedef void stk__activation_fn(const float *x, size_t n, float *y);
/* dx = dy · the derivative; `from` is x or y, as is said where it is used. */
typedef void stk__activation_gradient_fn(const float *from, const float *dy, size_t n, float *dx);

struct stk__activation_kernels {
    /* relu, relu6: x kept within low and high; the gradient counts where y is between. */
    void (*clamp)(const float *x, size_t n, float low, float high, float *y);
    void (*clamp_gradient)(const float *y, const float *dy, size_t n, float low, float high,
                           float *dx);
    /* The same of halves, both of one type; NULL in the scalar version. */
    void (*clamp_gradient_halves)(struct stk__read_halves y, const uint16_t *dy, size_t n,
                                  float low, float high, float *dx);
    /* leaky_relu: of x. */
    void (*leaky)(const float *x, size_t n, float slope, float *y);
    void (*leaky_gradient)(const float *x, const float *dy, size_t n, float slope, float *dx);
    stk__activation_fn *gelu, *gelu_tanh, *swish, *sigmoid, *tanh;
    stk__activation_gradient_fn *gelu_gradient, *gelu_tanh_gradient, *swish_gradient; /* of x */
    stk__activation_gradient_fn *sigmoid_gradient, *tanh_gradient;                    /* of y */
    /* Over the channels of each of n pixels; the gradient is of y. */
    void (*softmax)(const float *x, size_t n, size_t channels, float *y);
    void (*softmax_gradient)(const float *y, const float *dy, size_t n, size_t channels, float *dx);
};

void stk__activation_fill_scalar(struct stk__activation_kernels *kernels);
void stk__activation_fill_avx2(struct stk__activation_kernels *kernels);
void stk__activation_fill_avx512(struct stk__activation_kernels *kernels);
