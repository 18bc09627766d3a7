/* SPDX-License-Identifier: Apache-2.0 */
/* convolutions.c: convolutions over height and width: of all channels, of each by itself, and both
 * in turn. */
#include "base/json_out.h"
#include "train/file/export.h"
#include "train/file/import.h"
#include "train/model/layer.h"
#include "train/plan/step_plan.h"

/* ---- what both kinds do ---- */

static void add_conv(struct stk__exporting *e, const struct stk__model_node *node,
                     const char *kernel, int64_t groups, const char *in, const char *out)
{
    const struct stk__export_window n = stk__export_window(&node->window);
    const char *bias = stk__export_weight(e, node, STK__BIAS);
    stk__export_node(e, &(struct stk__onnx_node){ "Conv",
                                                  out,
                                                  { in, kernel, bias },
                                                  { out },
                                                  { stk__onnx_ints("dilations", n.dilations, 2),
                                                    stk__onnx_int("group", groups),
                                                    stk__onnx_ints("kernel_shape", n.kernel, 2),
                                                    stk__onnx_ints("pads", n.pads, 4),
                                                    stk__onnx_ints("strides", n.strides, 2) } });
}

/* ---- nodes of convolutions ---- */

static void add_conv_onnx(struct stk__exporting *e, const struct stk__model_node *node,
                          const char *in, const char *out)
{
    const int64_t *shape = stk__node_weight(e->model, node, STK__KERNEL)->shape;
    const char *kernel = stk__export_kernel(e, node, shape[2], shape[3]);
    add_conv(e, node, kernel, node->window.groups, in, out);
}

static void add_conv_json(const struct stk__model_node *node, struct stk__text *out)
{
    stk__node_json_window(node, out);
    stk__json_whole(out, "groups", node->window.groups);
}

static int conv_shape(const int64_t hwio[4], int64_t oihw[4])
{
    oihw[0] = hwio[3];
    oihw[1] = hwio[2];
    oihw[2] = hwio[0];
    oihw[3] = hwio[1];
    return 4;
}

/* OIHW to HWIO. */
static void turn_conv(const float *from, const int64_t *hwio, const struct stk__shape *image,
                      float *to)
{
    const int64_t cells = hwio[0] * hwio[1], inner = hwio[2], outer = hwio[3];
    (void)image;
    for (int64_t cell = 0; cell < cells; cell++)
        for (int64_t i = 0; i < inner; i++)
            for (int64_t o = 0; o < outer; o++)
                to[(cell * inner + i) * outer + o] = from[(o * inner + i) * cells + cell];
}

static const struct stk__torch_layer torch_conv = { STK__MODULE_CONV, conv_shape, turn_conv,
                                                    false };

const struct stk__node_kind stk__node_conv = {
    STK__KIND("conv", stk__conv_group, stk__probability_none, STK__ORDER_OWN, add_conv_onnx),
    .takes_activation = true,
    .takes_pool = true,
    .is_padded = true,
    .torch = &torch_conv,
    .add_json = add_conv_json,
};

/* ---- nodes of depthwise convolutions ---- */

/* A filter for each of a channel's results. */
static void add_depthwise_onnx(struct stk__exporting *e, const struct stk__model_node *node,
                               const char *in, const char *out)
{
    const int64_t *shape = stk__node_weight(e->model, node, STK__KERNEL)->shape;
    const char *kernel = stk__export_kernel(e, node, 1, shape[2] * shape[3]);
    add_conv(e, node, kernel, e->model->node[node->input[0]].shape.channels, in, out);
}

static int depthwise_shape(const int64_t hwim[4], int64_t theirs[4])
{
    theirs[0] = hwim[2] * hwim[3];
    theirs[1] = 1;
    theirs[2] = hwim[0];
    theirs[3] = hwim[1];
    return 4;
}

/* [C·M, 1, H, W] to HWIM. */
static void turn_depthwise(const float *from, const int64_t *hwim, const struct stk__shape *image,
                           float *to)
{
    const int64_t cells = hwim[0] * hwim[1], filters = hwim[2] * hwim[3];
    (void)image;
    for (int64_t cell = 0; cell < cells; cell++)
        for (int64_t filter = 0; filter < filters; filter++)
            to[cell * filters + filter] = from[filter * cells + cell];
}

static const struct stk__torch_layer torch_depthwise = { STK__MODULE_CONV, depthwise_shape,
                                                         turn_depthwise, false };

static const struct stk__node_kind depthwise = {
    STK__KIND("depthwise", stk__depthwise_group, stk__probability_none, STK__ORDER_OWN,
              add_depthwise_onnx),
    .takes_activation = true,
    .is_padded = true,
    .torch = &torch_depthwise,
    .add_json = stk__node_json_window,
};

/* ---- conv2d ---- */

struct conv2d {
    int64_t filters;
    struct stk_numbers kernel_size, strides, padding, dilation_rate;
    int64_t groups;
    const struct stk_value *activation;
    bool use_bias;
    const struct stk_value *kernel_initializer, *bias_initializer;
    const char *name;
};

static const struct stk_param conv2d_rows[] = {
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

static int build_conv2d(struct stk__build *b)
{
    const struct conv2d *p = b->params;
    const struct stk__window_rows window = { .kernel = &p->kernel_size,
                                             .strides = &p->strides,
                                             .dilation = &p->dilation_rate,
                                             .padding = &p->padding,
                                             .kernel_name = "kernel_size" };
    struct stk__model_node node = { .kind = &stk__node_conv };
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
              conv2d_rows, sizeof(struct conv2d) },
    .build = build_conv2d,
};

/* ---- depthwise_conv2d ---- */

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
    struct stk__model_node node = { .kind = &depthwise };
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
    struct stk__model_node node = { .kind = &stk__node_conv,
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
