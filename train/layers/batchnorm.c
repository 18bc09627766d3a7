/* SPDX-License-Identifier: Apache-2.0 */
/* batchnorm.c: normalisation of each channel over a batch. */
#include "train/model/layer.h"

struct batchnorm {
    double momentum, epsilon;
    bool center, scale, unbiased;
    const struct stk_value *beta_initializer, *gamma_initializer, *moving_mean_initializer,
        *moving_variance_initializer;
    const char *name;
};

static const struct stk_param rows[] = {
    STK_REAL_ROW(
        batchnorm, momentum, 0.99, 0, 1, 0,
        "how much of the moving statistics is kept in a step; PyTorch's counts from 1 down"),
    STK_REAL_ROW(batchnorm, epsilon, 1e-3, 0, 1e30, 0, "added to the variance"),
    STK_BOOL_ROW(batchnorm, center, true, 0, "add beta to the result"),
    STK_BOOL_ROW(batchnorm, scale, true, 0, "multiply the result with gamma"),
    STK__INITIALIZER_ROW(batchnorm, beta_initializer, "zeros"),
    STK__INITIALIZER_ROW(batchnorm, gamma_initializer, "ones"),
    STK__INITIALIZER_ROW(batchnorm, moving_mean_initializer, "zeros"),
    STK__INITIALIZER_ROW(batchnorm, moving_variance_initializer, "ones"),
    STK_BOOL_ROW(batchnorm, unbiased, false, 0,
                 "the moving variance follows the batch's as PyTorch has it: n / (n - 1) of it"),
    STK__NAME_ROW(batchnorm),
    STK_ROWS_END,
};

static int build(struct stk__build *b)
{
    const struct batchnorm *p = b->params;
    int64_t n = stk__build_input(b)->channels;
    struct stk__model_node node = { .kind = STK__NODE_BATCHNORM,
                                    .shape = *stk__build_input(b),
                                    .momentum = p->momentum,
                                    .epsilon = p->epsilon,
                                    .is_unbiased = p->unbiased };
    const struct stk__weight_spec weights[] = {
        { STK__GAMMA, "gamma", 1, { n }, p->gamma_initializer, "ones" },
        { STK__BETA, "beta", 1, { n }, p->beta_initializer, "zeros" },
        { STK__MOVING_MEAN, "moving_mean", 1, { n }, p->moving_mean_initializer, "zeros" },
        { STK__MOVING_VARIANCE,
          "moving_variance",
          1,
          { n },
          p->moving_variance_initializer,
          "ones" },
    };
    const bool has[] = { p->scale, p->center, true, true };
    int rc = stk__build_node(b, &node, NULL);
    for (int i = 0; i < 4 && !rc; i++)
        if (has[i])
            rc = stk__build_weight(b, &weights[i]);
    return rc;
}

const struct stk__layer stk__layer_batchnorm = {
    .decl = { "batchnorm", 1, "Normalise each channel by the mean and variance of the batch.",
              "As keras.layers.BatchNormalization over the last axis. While training, the batch's "
              "mean and variance are used, and the moving ones follow; otherwise the moving ones "
              "are used.\n"
              "\n"
              "PyTorch's BatchNorm2d(momentum=0.1, eps=1e-5) is batchnorm(0.9, 1e-5, "
              "unbiased=true): "
              "it normalises by the same variance, but keeps another.\n"
              "\n"
              "    input(32, 32, 3).conv2d(16, 3, use_bias=false).batchnorm().activation(relu)\n"
              "    input(8, 8, 4).batchnorm(momentum=0.9, epsilon=1e-5, unbiased=true)",
              rows, sizeof(struct batchnorm) },
    .build = build,
};
