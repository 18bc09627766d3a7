/* SPDX-License-Identifier: Apache-2.0 */
/* dense.c: every output from all features. */
#include "train/file/export.h"
#include "train/file/import.h"
#include "train/model/layer.h"
#include "train/plan/step_plan.h"

static void add_onnx(struct stk__exporting *e, const struct stk__model_node *node, const char *in,
                     const char *out)
{
    const char *kernel = stk__export_weight(e, node, STK__KERNEL);
    const char *bias = stk__export_weight(e, node, STK__BIAS);
    stk__export_node(
        e, &(struct stk__onnx_node){ "Gemm", out, { in, kernel, bias }, { out }, { { 0 } } });
}

static int torch_shape(const int64_t io[4], int64_t oi[4])
{
    oi[0] = io[1];
    oi[1] = io[0];
    return 2;
}

/* O×I to I×O. */
static void turn(const float *from, const int64_t *io, const struct stk__shape *image, float *to)
{
    for (int64_t i = 0; i < io[0]; i++)
        for (int64_t o = 0; o < io[1]; o++)
            to[i * io[1] + o] = from[o * io[0] + stk__torch_place(image, i)];
}

static const struct stk__torch_layer torch = { STK__MODULE_DENSE, torch_shape, turn, false };

static const struct stk__node_kind kind = {
    STK__KIND("dense", stk__dense_group, stk__probability_none, STK__ORDER_OWN, add_onnx),
    .takes_activation = true,
    .wide_group = &stk__wide_dense_group,
    .torch = &torch,
};

struct dense {
    int64_t units;
    const struct stk_value *activation;
    bool use_bias;
    const struct stk_value *kernel_initializer, *bias_initializer;
    const char *name;
};

static const struct stk_param rows[] = {
    STK_INT_ROW(dense, units, 0, 1, INT32_MAX, STK_REQUIRED, "features of the result"),
    STK__ACTIVATION_ROW(dense),
    STK__BIAS_ROWS(dense),
    STK__INITIALIZER_ROW(dense, kernel_initializer, "glorot_uniform"),
    STK__INITIALIZER_ROW(dense, bias_initializer, "zeros"),
    STK__NAME_ROW(dense),
    STK_ROWS_END,
};

static int build(struct stk__build *b)
{
    const struct dense *p = b->params;
    const struct stk__shape in = *stk__build_input(b);
    char text[STK__SHAPE_TEXT];
    if (!in.is_flat)
        return stk__build_fail(b, NULL, STK_TYPE,
                               "it takes features, but %s gives %s; put flatten() or "
                               "global_avgpool() before it, or use conv2d(%lld, 1) for each pixel",
                               b->model->node[b->tip].name, stk__shape_text(&in, text),
                               (long long)p->units);
    struct stk__model_node node = { .kind = &kind, .shape = { 1, 1, p->units, true } };
    const struct stk__weight_spec kernel = {
        STK__KERNEL, "kernel", 2, { in.channels, p->units }, p->kernel_initializer, "glorot_uniform"
    };
    int rc = stk__build_node(b, &node, NULL);
    if (!rc)
        rc = stk__build_weight(b, &kernel);
    if (!rc && p->use_bias)
        rc = stk__build_bias(b, p->bias_initializer);
    return rc ? rc : stk__build_activation(b, p->activation);
}

const struct stk__layer stk__layer_dense = {
    .decl = { "dense", 1, "Make each output a weighted sum of all features.",
              "As keras.layers.Dense. It takes features; flatten or global_avgpool make them of an "
              "image.\n"
              "\n"
              "    input(784).dense(128, activation=relu).dense(10)",
              rows, sizeof(struct dense) },
    .build = build,
};
