/* SPDX-License-Identifier: Apache-2.0 */
/* loss_scalar.c: softmax and cross entropy in plain C: the reference. */
#include "train/kernel/loss_kernel.h"

#include <math.h>

static float greatest(const float *logits, size_t n)
{
    float most = logits[0];
    for (size_t i = 1; i < n; i++)
        most = logits[i] > most ? logits[i] : most;
    return most;
}

static float cross_entropy(const float *logits, size_t n, float factor, float *gradient)
{
    float most = greatest(logits, n);
    double exps = 0, targets = 0, product = 0;
    for (size_t i = 0; i < n; i++) {
        float below = logits[i] - most;
        exps += expf(below);
        targets += gradient[i];
        product += gradient[i] != 0 ? gradient[i] * below : 0;
    }
    float scale = (float)(factor * targets / exps);
    for (size_t i = 0; i < n; i++)
        gradient[i] = scale * expf(logits[i] - most) - factor * gradient[i];
    return (float)(targets * log(exps) - product);
}

static void softmax(const float *logits, size_t n, float *out)
{
    float most = greatest(logits, n);
    double exps = 0;
    for (size_t i = 0; i < n; i++)
        exps += out[i] = expf(logits[i] - most);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(out[i] / exps);
}

void stk__loss_fill_scalar(struct stk__loss_kernels *kernels)
{
    *kernels = (struct stk__loss_kernels){ cross_entropy, softmax };
}
