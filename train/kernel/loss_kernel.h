/* SPDX-License-Identifier: Apache-2.0 */
/* loss_kernel.h: softmax of a row, and cross entropy with its gradient. Versions agree to 1e-6 of a
 * probability, and of the loss or 1. */
#pragma once
#include <stddef.h>

struct stk__loss_kernels {
    /* The loss of a row against targets q, Σ q · (log Σ exp(logit) - logit), where a target of 0 counts
     * nothing whatever its logit. `gradient` comes in as the targets and goes out as factor times the
     * gradient, Σ q · softmax - q. n > 0. */
    float (*cross_entropy)(const float *logits, size_t n, float factor, float *gradient);
    void (*softmax)(const float *logits, size_t n, float *out);
};

void stk__loss_fill_scalar(struct stk__loss_kernels *kernels);
void stk__loss_fill_avx2(struct stk__loss_kernels *kernels);
void stk__loss_fill_avx512(struct stk__loss_kernels *kernels);
