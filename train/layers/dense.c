/* SPDX-License-Identifier: Apache-2.0 */
/* dense.c: every output from all features. */
#include "train/model/layer.h"

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
    struct stk__model_node node = { .kind = STK__NODE_DENSE, .shape = { 1, 1, p->units, true } };
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
