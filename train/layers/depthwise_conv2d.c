/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_conv2d.c: a convolution of each channel by itself, alone or as half of a separable one. */
#include "train/model/layer.h"

struct depthwise_conv2d {
    struct stk_numbers kernel_size, strides, padding;
    int64_t depth_multiplier;
    struct stk_numbers dilation_rate;
    const struct stk_value *activation;
    bool use_bias;
    const struct stk_value *depthwise_initializer, *bias_initializer;
    const char *name;
};

#define MULTIPLIER_ROW(T)                                                                          \
    STK_INT_ROW(T, depth_multiplier, 1, 1, 1 << 16, 0, "results of each channel")

static const struct stk_param depthwise_rows[] = {
    STK__SIZE_ROW(depthwise_conv2d, kernel_size, STK_REQUIRED, "one number or [height, width]"),
    STK__STRIDES_ROW(depthwise_conv2d, "1"),
    STK__PADDING_ROW(depthwise_conv2d),
    MULTIPLIER_ROW(depthwise_conv2d),
    STK__DILATION_ROW(depthwise_conv2d),
    STK__ACTIVATION_ROW(depthwise_conv2d),
    STK__BIAS_ROWS(depthwise_conv2d),
    STK__INITIALIZER_ROW(depthwise_conv2d, depthwise_initializer, "glorot_uniform"),
    STK__INITIALIZER_ROW(depthwise_conv2d, bias_initializer, "zeros"),
    STK__NAME_ROW(depthwise_conv2d),
    STK_ROWS_END,
};

/* What both layers say of their depthwise half. */
struct half {
    struct stk__window_rows window;
    int64_t multiplier;
    const struct stk_value *initializer;
    const char *node_part, *weight_part;
};

static int build_half(struct stk__build *b, const struct half *half)
{
    struct stk__model_node node = { .kind = STK__NODE_DEPTHWISE };
    int rc = stk__build_wants_pixels(b);
    int64_t channels = rc ? 0 : stk__build_input(b)->channels;
    if (!rc)
        rc = stk__build_window(b, &half->window, &node.window, &node.shape);
    node.shape.channels = channels * half->multiplier;
    const struct stk__weight_spec kernel = { STK__KERNEL,
                                             half->weight_part,
                                             4,
                                             { node.window.kernel_height, node.window.kernel_width,
                                               channels, half->multiplier },
                                             half->initializer,
                                             "glorot_uniform" };
    if (!rc)
        rc = stk__build_node(b, &node, half->node_part);
    return rc ? rc : stk__build_weight(b, &kernel);
}

static int build_depthwise(struct stk__build *b)
{
    const struct depthwise_conv2d *p = b->params;
    const struct half half = { { .kernel = &p->kernel_size,
                                 .strides = &p->strides,
                                 .dilation = &p->dilation_rate,
                                 .padding = &p->padding,
                                 .kernel_name = "kernel_size" },
                               p->depth_multiplier,
                               p->depthwise_initializer,
                               NULL,
                               "kernel" };
    int rc = build_half(b, &half);
    if (!rc && p->use_bias)
        rc = stk__build_bias(b, p->bias_initializer);
    return rc ? rc : stk__build_activation(b, p->activation);
}

const struct stk__layer stk__layer_depthwise_conv2d = {
    .decl = { "depthwise_conv2d", 1, "Convolve each channel with filters of its own.",
              "As keras.layers.DepthwiseConv2D. A conv2d of kernel size 1 behind it mixes the "
              "channels; separable_conv2d is both.\n"
              "\n"
              "    input(32, 32, 3).depthwise_conv2d(3, padding=same).conv2d(16, 1)",
              depthwise_rows, sizeof(struct depthwise_conv2d) },
    .build = build_depthwise,
};

/* ---- separable_conv2d ---- */

struct separable_conv2d {
    int64_t filters;
    struct stk_numbers kernel_size, strides, padding, dilation_rate;
    int64_t depth_multiplier;
    const struct stk_value *activation;
    bool use_bias;
    const struct stk_value *depthwise_initializer, *pointwise_initializer, *bias_initializer;
    const char *name;
};

static const struct stk_param separable_rows[] = {
    STK_INT_ROW(separable_conv2d, filters, 0, 1, 1 << 24, STK_REQUIRED, "channels of the result"),
    STK__SIZE_ROW(separable_conv2d, kernel_size, STK_REQUIRED, "one number or [height, width]"),
    STK__STRIDES_ROW(separable_conv2d, "1"),
    STK__PADDING_ROW(separable_conv2d),
    STK__DILATION_ROW(separable_conv2d),
    MULTIPLIER_ROW(separable_conv2d),
    STK__ACTIVATION_ROW(separable_conv2d),
    STK__BIAS_ROWS(separable_conv2d),
    STK__INITIALIZER_ROW(separable_conv2d, depthwise_initializer, "glorot_uniform"),
    STK__INITIALIZER_ROW(separable_conv2d, pointwise_initializer, "glorot_uniform"),
    STK__INITIALIZER_ROW(separable_conv2d, bias_initializer, "zeros"),
    STK__NAME_ROW(separable_conv2d),
    STK_ROWS_END,
};

static int build_pointwise(struct stk__build *b, const struct separable_conv2d *p)
{
    const struct stk__shape in = *stk__build_input(b);
    struct stk__model_node node = { .kind = STK__NODE_CONV,
                                    .window = { 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1 },
                                    .shape = { in.height, in.width, p->filters, false } };
    const struct stk__weight_spec kernel = { STK__KERNEL,
                                             "pointwise_kernel",
                                             4,
                                             { 1, 1, in.channels, p->filters },
                                             p->pointwise_initializer,
                                             "glorot_uniform" };
    int rc = stk__build_node(b, &node, NULL);
    return rc ? rc : stk__build_weight(b, &kernel);
}

static int build_separable(struct stk__build *b)
{
    const struct separable_conv2d *p = b->params;
    const struct half half = { { .kernel = &p->kernel_size,
                                 .strides = &p->strides,
                                 .dilation = &p->dilation_rate,
                                 .padding = &p->padding,
                                 .kernel_name = "kernel_size" },
                               p->depth_multiplier,
                               p->depthwise_initializer,
                               "depthwise",
                               "depthwise_kernel" };
    int rc = build_half(b, &half);
    if (!rc)
        rc = build_pointwise(b, p);
    if (!rc && p->use_bias)
        rc = stk__build_bias(b, p->bias_initializer);
    return rc ? rc : stk__build_activation(b, p->activation);
}

const struct stk__layer stk__layer_separable_conv2d = {
    .decl = { "separable_conv2d", 1, "Convolve each channel by itself, then mix the channels.",
              "As keras.layers.SeparableConv2D: a depthwise convolution and one of kernel size 1, "
              "with nothing between them.\n"
              "\n"
              "    input(32, 32, 3).separable_conv2d(16, 3, padding=same, activation=relu)",
              separable_rows, sizeof(struct separable_conv2d) },
    .build = build_separable,
};
