/* SPDX-License-Identifier: Apache-2.0 */
/* known_models.c: models that have a name, as the chains they stand for. A row is the text, in which
 * @classes, @height, @width and @channels are what the call says. */
#include "train/model/layer.h"

struct known {
    int64_t classes, height, width, channels;
};

#define ROWS(name, n, side)                                                                        \
    static const struct stk_param name##_rows[] = {                                                \
        STK_INT_ROW(known, classes, n, 1, 1 << 24, 0, "results of the last layer"),                \
        STK_INT_ROW(known, height, side, 1, 1 << 20, 0, "of the images"),                          \
        STK_INT_ROW(known, width, side, 1, 1 << 20, 0, "of the images"),                           \
        STK_INT_ROW(known, channels, 3, 1, 1 << 20, 0, "of the images"),                           \
        STK_ROWS_END,                                                                              \
    };

#define EXAMPLES(name) "\n\n    " #name "()\n    " #name "(classes=5)"
#define MODEL(name, summary, text, body)                                                           \
    {                                                                                              \
        .decl = { #name, 1, summary, text EXAMPLES(name), name##_rows, sizeof(struct known) },     \
        .build = build, .begins = true, .chain = "input(@height, @width, @channels)" body,         \
    }

/* Nodes are where the call is that the user wrote; so are faults. */
static int build(struct stk__build *b)
{
    const struct known *p = b->params;
    const struct stk__call *call = b->call;
    const struct stk__layer *layer = b->layer;
    const struct stk_value *chain;
    int first = b->model->n_nodes, end = b->tip;
    const char *text =
        stk__arena_printf(b->arena, "classes = %lld height = %lld width = %lld channels = %lld %s",
                          (long long)p->classes, (long long)p->height, (long long)p->width,
                          (long long)p->channels, layer->chain);
    if (!text)
        return stk__out_of_memory(b->err);
    int rc = stk__parse(text, NULL, b->arena, &chain, b->err);
    if (!rc)
        rc = stk__build_chain(b, chain, b->tip, &end);
    if (rc && b->err) {
        stk__error_prefix(b->err, "%s: ", layer->decl.name);
        b->err->at = call->at;
        b->err->len = call->len;
    }
    for (int i = first; i < b->model->n_nodes; i++) {
        b->model->node[i].at = call->at;
        b->model->node[i].len = call->len;
    }
    b->tip = end;
    return rc;
}

/* ---- small ones, which docs/benchmarks.md measures ---- */

ROWS(m1, 10, 224)
const struct stk__layer stk__layer_m1 =
    MODEL(m1, "Two convolutions with pooling, and two dense layers.",
          "Of its 24 million weights nearly all are those of the first dense layer.",
          ".conv2d(32, 3, activation=relu).maxpool(2)"
          ".conv2d(64, 3, activation=relu).maxpool(2)"
          ".flatten().dense(128, activation=relu).dense(@classes)");

ROWS(m2, 10, 32)
const struct stk__layer stk__layer_m2 =
    MODEL(m2, "The net of TensorFlow's tutorial on CIFAR-10.",
          "Three convolutions and two dense layers, for small images.",
          ".conv2d(32, 3, activation=relu).maxpool(2)"
          ".conv2d(64, 3, activation=relu).maxpool(2)"
          ".conv2d(64, 3, activation=relu)"
          ".flatten().dense(64, activation=relu).dense(@classes)");

#define DEPTHWISE(filters, stride)                                                                 \
    ".depthwise_conv2d(3, " #stride ", same, activation=relu).conv2d(" #filters                    \
    ", 1, activation=relu)"

ROWS(m3, 10, 224)
const struct stk__layer stk__layer_m3 = MODEL(
    m3, "A convolution and five depthwise separable blocks.",
    "As MobileNet begins, without batch normalisation.",
    ".conv2d(32, 3, 2, same, activation=relu)" DEPTHWISE(64, 1) DEPTHWISE(128, 2) DEPTHWISE(128, 1)
        DEPTHWISE(256, 2) DEPTHWISE(256, 1) ".global_avgpool().dense(@classes)");

ROWS(m4, 10, 224)
const struct stk__layer stk__layer_m4 =
    MODEL(m4, "A convolution and a depthwise separable one, both pooled.",
          "The example that answers on faster training give for separable convolutions.",
          ".conv2d(32, 3, padding=same, activation=relu).maxpool(2)"
          ".depthwise_conv2d(3, padding=same, activation=relu)"
          ".conv2d(64, 1, padding=same, activation=relu).maxpool(2)"
          ".flatten().dense(@classes)");

/* ---- torchvision's: its padding, its batch normalisation, its initialisers ---- */

#define NORM ".batchnorm(0.9, 1e-5, unbiased=true)"
#define FAN_OUT "variance_scaling(2, fan_out, untruncated_normal)"
/* A convolution of kernel size k with n filters. */
#define CONV(n, k, stride, pad)                                                                    \
    "conv2d(" #n ", " #k ", " #stride ", " #pad ", use_bias=false, kernel_initializer=" FAN_OUT ")"
#define BASIC(n, stride, shortcut)                                                                 \
    ".residual(" CONV(n, 3, stride, 1) NORM ".activation(relu)." CONV(n, 3, 1, 1) NORM shortcut    \
        ", activation=relu)"
#define DOWN(n) ", shortcut=" CONV(n, 1, 2, 0) NORM

ROWS(resnet18, 1000, 224)
const struct stk__layer stk__layer_resnet18 = MODEL(
    resnet18, "ResNet-18, as torchvision has it.",
    "He et al., Deep Residual Learning for Image Recognition, 2015: 11,689,512 weights for 1000 "
    "classes.",
    "." CONV(64, 7, 2, 3) NORM
    ".activation(relu).maxpool(3, 2, 1)" BASIC(64, 1, "") BASIC(64, 1, "") BASIC(128, 2, DOWN(128))
        BASIC(128, 1, "") BASIC(256, 2, DOWN(256)) BASIC(256, 1, "") BASIC(512, 2, DOWN(512))
            BASIC(512, 1,
                  "") ".global_avgpool().dense(@classes, "
                      "kernel_initializer=variance_scaling(1/3, fan_in, uniform), bias_initializer="
                      "random_uniform(-0.044194173824159216, 0.044194173824159216))");

#define MIDDLE(stride)                                                                             \
    "depthwise_conv2d(3, " #stride ", 1, use_bias=false, "                                         \
    "depthwise_initializer=variance_scaling(2, fan_in, untruncated_normal))" NORM                  \
    ".activation(relu6)."
#define INVERTED(wide, n, stride)                                                                  \
    CONV(wide, 1, 1, 0) NORM ".activation(relu6)." MIDDLE(stride) CONV(n, 1, 1, 0) NORM
#define SAME(wide, n) ".residual(" INVERTED(wide, n, 1) ")"

ROWS(mobilenet_v2, 1000, 224)
const struct stk__layer stk__layer_mobilenet_v2 = MODEL(
    mobilenet_v2, "MobileNetV2, as torchvision has it.",
    "Sandler et al., Inverted Residuals and Linear Bottlenecks, 2018: 3,504,872 weights for 1000 "
    "classes.",
    "." CONV(32, 3, 2, 1) NORM ".activation(relu6)." MIDDLE(1) CONV(16, 1, 1, 0) NORM
    "." INVERTED(96, 24, 2) SAME(144, 24) "." INVERTED(144, 32, 2) SAME(192, 32)
        SAME(192, 32) "." INVERTED(192, 64, 2) SAME(384, 64) SAME(384, 64)
            SAME(384, 64) "." INVERTED(384, 96, 1) SAME(576, 96)
                SAME(576, 96) "." INVERTED(576, 160, 2) SAME(960, 160)
                    SAME(960, 160) "." INVERTED(960, 320, 1) "." CONV(1280, 1, 1, 0) NORM
    ".activation(relu6)"
    ".global_avgpool().dropout(0.2).dense(@classes, kernel_initializer=random_normal(0, 0.01))");
