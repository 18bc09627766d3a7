/* SPDX-License-Identifier: Apache-2.0 */
/* plain_layers.c: layers without weights and windows: input, activation, flatten, dropout, identity. */
#include "train/model/layer.h"

/* ---- input ---- */

struct input {
    int64_t height, width, channels, features;
    const char *name;
};

static const struct stk_param input_rows[] = {
    STK_INT_ROW(input, height, STK_NONE, 1, INT32_MAX, 0, "of the images; alone: features"),
    STK_INT_ROW(input, width, STK_NONE, 1, INT32_MAX, 0, "of the images"),
    STK_INT_ROW(input, channels, STK_NONE, 1, INT32_MAX, 0, "of the images: 3 for colours"),
    STK_INT_ROW(input, features, STK_NONE, 1, INT32_MAX, 0, "numbers that are no image"),
    STK__NAME_ROW(input),
    STK_ROWS_END,
};

static int build_input(struct stk__build *b)
{
    const struct input *p = b->params;
    struct stk__model_node node = { .kind = STK__NODE_INPUT,
                                    .shape = { p->height, p->width, p->channels, false } };
    bool has[] = { p->height != STK_NONE, p->width != STK_NONE, p->channels != STK_NONE,
                   p->features != STK_NONE };
    bool is_image = has[0] && has[1] && has[2] && !has[3];
    bool is_flat = has[0] != has[3] && !has[1] && !has[2];
    if (!is_image && !is_flat)
        return stk__build_fail(
            b, NULL, STK_VALUE,
            "it takes height, width and channels, such as input(224, 224, 3), or "
            "features alone, such as input(784)");
    if (is_flat)
        node.shape = (struct stk__shape){ 1, 1, has[0] ? p->height : p->features, true };
    return stk__build_node(b, &node, NULL);
}

const struct stk__layer stk__layer_input = {
    .decl = { "input", 1, "Say what the model is given: images, or features.",
              "Every model begins with it.\n"
              "\n"
              "    input(224, 224, 3).conv2d(32, 3)\n"
              "    input(784).dense(10)",
              input_rows, sizeof(struct input) },
    .build = build_input,
    .begins = true,
};

/* ---- activation ---- */

struct activation {
    const struct stk_value *activation;
    const char *name;
};

static const struct stk_param activation_rows[] = {
    STK_CALLS_ROW(activation, activation, &stk__activations, STK_REQUIRED,
                  "relu, relu6, leaky_relu, gelu, swish, sigmoid, tanh, softmax or linear"),
    STK__NAME_ROW(activation),
    STK_ROWS_END,
};

static int build_activation(struct stk__build *b)
{
    const struct activation *p = b->params;
    struct stk__model_node node = { .kind = STK__NODE_ACTIVATION, .shape = *stk__build_input(b) };
    int rc = stk__activation_read(p->activation, b->arena, &node.activation, b->err);
    return rc ? rc : stk__build_node(b, &node, NULL);
}

const struct stk__layer stk__layer_activation = {
    .decl = { "activation", 1, "Apply a function to every value.",
              "As keras.layers.Activation. Convolutions and dense take it as activation=, which is "
              "the same. softmax goes over the channels of each pixel, or over all features.\n"
              "\n"
              "    input(32, 32, 3).conv2d(16, 3, use_bias=false).batchnorm().activation(relu)\n"
              "    input(10).dense(4).activation(leaky_relu(0.1))",
              activation_rows, sizeof(struct activation) },
    .build = build_activation,
};

/* ---- flatten ---- */

struct flatten {
    const char *name;
};

static const struct stk_param flatten_rows[] = { STK__NAME_ROW(flatten), STK_ROWS_END };

static int build_flatten(struct stk__build *b)
{
    struct stk__model_node node = {
        .kind = STK__NODE_FLATTEN, .shape = { 1, 1, stk__shape_values(stk__build_input(b)), true }
    };
    return stk__build_node(b, &node, NULL);
}

const struct stk__layer stk__layer_flatten = {
    .decl = { "flatten", 1,
              "Make features of an image: row by row, all channels of a pixel together.",
              "As keras.layers.Flatten.\n"
              "\n"
              "    input(28, 28, 1).flatten().dense(10)",
              flatten_rows, sizeof(struct flatten) },
    .build = build_flatten,
};

/* ---- dropout ---- */

struct dropout {
    double rate;
    int64_t seed;
    const char *name;
};

static const struct stk_param dropout_rows[] = {
    STK_REAL_ROW(dropout, rate, 0, 0, 1, STK_REQUIRED, "the share of values that become 0"),
    STK_INT_ROW(dropout, seed, STK_NONE, 0, INT64_MAX, 0,
                "mixed with the seed of the run; layers with one seed still draw for themselves"),
    STK__NAME_ROW(dropout),
    STK_ROWS_END,
};

static int build_dropout(struct stk__build *b)
{
    const struct dropout *p = b->params;
    struct stk__model_node node = {
        .kind = STK__NODE_DROPOUT, .shape = *stk__build_input(b), .rate = p->rate, .seed = p->seed
    };
    return stk__build_node(b, &node, NULL);
}

const struct stk__layer stk__layer_dropout = {
    .decl = { "dropout", 1, "Set values to 0 at random while training, and make up for them.",
              "As keras.layers.Dropout: what is left is divided by 1 - rate. Outside of training "
              "it "
              "does nothing.\n"
              "\n"
              "    input(784).dense(128, activation=relu).dropout(0.5).dense(10)",
              dropout_rows, sizeof(struct dropout) },
    .build = build_dropout,
};

/* ---- identity ---- */

struct identity {
    char unused;
};

static const struct stk_param identity_rows[] = { STK_ROWS_END };

static int build_identity(struct stk__build *b)
{
    (void)b;
    return STK_OK;
}

const struct stk__layer stk__layer_identity = {
    .decl = { "identity", 1, "Give the input as it is.",
              "For a branch of concat that passes its input on.\n"
              "\n"
              "    input(8, 8, 16).concat([identity(), conv2d(16, 3, padding=same)])",
              identity_rows, sizeof(struct identity) },
    .build = build_identity,
};
