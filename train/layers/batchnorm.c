/* SPDX-License-Identifier: Apache-2.0 */
/* batchnorm.c: normalisation of each channel over a batch. */
#include "base/json_out.h"
#include "train/file/export.h"
#include "train/file/import.h"
#include "train/model/layer.h"
#include "train/plan/step_plan.h"

/* The weight of a role, or as many equal values where it has none. */
static const char *add_or_constant(struct stk__exporting *e, const struct stk__model_node *node,
                                   enum stk__weight_role role, const char *part, float constant)
{
    const char *name = stk__export_weight(e, node, role);
    int64_t n = node->shape.channels;
    if (name)
        return name;
    name = stk__export_name(e, node->name, part);
    float *values = stk_arena_alloc(&e->arena, (size_t)n * sizeof *values);
    e->failed |= !values;
    if (e->failed)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        values[i] = constant;
    stk__onnx_weight(&e->onnx, &(struct stk__onnx_tensor){ name, STK_F32, 1, { n }, values });
    return name;
}

static void add_onnx(struct stk__exporting *e, const struct stk__model_node *node, const char *in,
                     const char *out)
{
    const char *gamma = add_or_constant(e, node, STK__GAMMA, "gamma", 1);
    const char *beta = add_or_constant(e, node, STK__BETA, "beta", 0);
    const char *mean = stk__export_weight(e, node, STK__MOVING_MEAN);
    const char *variance = stk__export_weight(e, node, STK__MOVING_VARIANCE);
    stk__onnx_node(
        &e->onnx, &(struct stk__onnx_node){ "BatchNormalization",
                                            out,
                                            { in, gamma, beta, mean, variance },
                                            { out },
                                            { stk__onnx_float("epsilon", (float)node->epsilon) } });
}

static void add_json(const struct stk__model_node *node, struct stk__text *out)
{
    stk__json_exact(out, "momentum", node->momentum);
    stk__json_exact(out, "epsilon", node->epsilon);
    stk__json_bool(out, "unbiased", node->is_unbiased);
}

static const struct stk__torch_layer torch = { STK__MODULE_NORM, NULL, NULL, true };

static const struct stk__node_kind kind = {
    STK__KIND("batchnorm", stk__norm_group, stk__probability_none, STK__ORDER_KEPT, add_onnx),
    .takes_activation = true,
    .torch = &torch,
    .add_json = add_json,
};

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
    struct stk__model_node node = { .kind = &kind,
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
