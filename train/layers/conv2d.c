/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d.c: a convolution over height and width. */
#include "train/model/layer.h"

struct conv2d {
    int64_t filters;
    struct stk_numbers kernel_size, strides, padding, dilation_rate;
    int64_t groups;
    const struct stk_value *activation;
    bool use_bias;
    const struct stk_value *kernel_initializer, *bias_initializer;
    const char *name;
};

static const struct stk_param rows[] = {
    STK_INT_ROW(conv2d, filters, 0, 1, 1 << 24, STK_REQUIRED, "channels of the result"),
    STK__SIZE_ROW(conv2d, kernel_size, STK_REQUIRED, "one number or [height, width]"),
    STK__STRIDES_ROW(conv2d, "1"),
    STK__PADDING_ROW(conv2d),
    STK__DILATION_ROW(conv2d),
    STK_INT_ROW(conv2d, groups, 1, 1, 1 << 24, 0,
                "channels are divided into so many groups, each with filters of its own"),
    STK__ACTIVATION_ROW(conv2d),
    STK__BIAS_ROWS(conv2d),
    STK__INITIALIZER_ROW(conv2d, kernel_initializer, "glorot_uniform"),
    STK__INITIALIZER_ROW(conv2d, bias_initializer, "zeros"),
    STK__NAME_ROW(conv2d),
    STK_ROWS_END,
};

static int check_groups(const struct stk__build *b, const struct conv2d *p, int64_t channels)
{
    const char *what = p->filters % p->groups ? "filters" : "channels of the input";
    int64_t n = p->filters % p->groups ? p->filters : channels;
    if (n % p->groups == 0)
        return STK_OK;
    return stk__build_fail(b, "groups", STK_VALUE, "%lld %s cannot be divided into %lld groups",
                           (long long)n, what, (long long)p->groups);
}

static int build(struct stk__build *b)
{
    const struct conv2d *p = b->params;
    const struct stk__window_rows window = { .kernel = &p->kernel_size,
                                             .strides = &p->strides,
                                             .dilation = &p->dilation_rate,
                                             .padding = &p->padding,
                                             .kernel_name = "kernel_size" };
    struct stk__model_node node = { .kind = STK__NODE_CONV };
    int rc = stk__build_wants_pixels(b);
    int64_t channels = rc ? 0 : stk__build_input(b)->channels;
    if (!rc)
        rc = stk__build_window(b, &window, &node.window, &node.shape);
    if (!rc)
        rc = check_groups(b, p, channels);
    node.window.groups = p->groups;
    node.shape.channels = p->filters;
    const struct stk__weight_spec kernel = { STK__KERNEL,
                                             "kernel",
                                             4,
                                             { node.window.kernel_height, node.window.kernel_width,
                                               channels / p->groups, p->filters },
                                             p->kernel_initializer,
                                             "glorot_uniform" };
    if (!rc)
        rc = stk__build_node(b, &node, NULL);
    if (!rc)
        rc = stk__build_weight(b, &kernel);
    if (!rc && p->use_bias)
        rc = stk__build_bias(b, p->bias_initializer);
    return rc ? rc : stk__build_activation(b, p->activation);
}

const struct stk__layer stk__layer_conv2d = {
    .decl = { "conv2d", 1, "Convolve the image with learned filters.",
              "As keras.layers.Conv2D. Where strides leave a rest, padding=same puts the odd row "
              "below and the odd column to the right, as TensorFlow does; PyTorch's padding is a "
              "number.\n"
              "\n"
              "    input(32, 32, 3).conv2d(16, 3, padding=same, activation=relu)\n"
              "    input(224, 224, 3).conv2d(64, 7, strides=2, padding=3, use_bias=false)\n"
              "    input(32, 32, 8).conv2d(16, [1, 3], groups=4, dilation_rate=2)",
              rows, sizeof(struct conv2d) },
    .build = build,
};
