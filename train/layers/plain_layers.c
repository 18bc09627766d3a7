/* SPDX-License-Identifier: Apache-2.0 */
/* plain_layers.c: layers without weights and windows: input, activation, flatten, dropout,
 * identity. */
#include "base/json_out.h"
#include "train/file/export.h"
#include "train/model/layer.h"
#include "train/plan/step_plan.h"

/* ---- input ---- */

/* Images come as the caller has them. */
static void add_input_onnx(struct stk__exporting *e, const struct stk__model_node *node,
                           const char *in, const char *out)
{
    (void)in;
    if (out != node->name)
        stk__export_transpose(e, out, node->name, out, false);
}

static const struct stk__node_kind input_kind = {
    STK__KIND("input", stk__input_group, stk__probability_none, STK__ORDER_OWN, add_input_onnx),
};

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
    struct stk__model_node node = { .kind = &input_kind,
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

/* relu and its kin change nothing that is between 0 and 1. */
static enum stk__probability behind_activation(const struct stk__model *model,
                                               const struct stk__model_node *node)
{
    switch (node->activation.kind) {
    case STK__SIGMOID:
        return STK__PROBABILITY_SIGMOID;
    case STK__SOFTMAX:
        return STK__PROBABILITY_SOFTMAX;
    case STK__LINEAR:
    case STK__RELU:
    case STK__RELU6:
    case STK__LEAKY_RELU:
        return stk__probability_kept(model, node);
    case STK__GELU:
    case STK__SWISH:
    case STK__TANH:
        break;
    }
    return STK__PROBABILITY_NONE;
}

static void add_activation_onnx(struct stk__exporting *e, const struct stk__model_node *node,
                                const char *in, const char *out)
{
    stk__export_activation(e, &node->activation, node->name, in, out);
}

static void add_activation_text(const struct stk__model_node *node, struct stk__text *out)
{
    stk__text_add(out, " ");
    stk__activation_print(&node->activation, out);
}

static void add_activation_json(const struct stk__model_node *node, struct stk__text *out)
{
    struct stk__text text = { 0 };
    stk__activation_print(&node->activation, &text);
    stk__json_string(out, "activation", text.data ? text.data : "");
    out->failed |= text.failed;
    stk__text_free(&text);
}

const struct stk__node_kind stk__node_activation = {
    STK__KIND("activation", stk__activation_group, behind_activation, STK__ORDER_KEPT,
              add_activation_onnx),
    .add_text = add_activation_text,
    .add_json = add_activation_json,
};

struct activation {
    const struct stk_value *activation;
    const char *name;
};

static const struct stk_param activation_rows[] = {
    STK__CALLS_ROW(activation, activation, &stk__activations, STK_REQUIRED,
                   "relu, relu6, leaky_relu, gelu, swish, sigmoid, tanh, softmax or linear"),
    STK__NAME_ROW(activation),
    STK_ROWS_END,
};

static int build_activation(struct stk__build *b)
{
    const struct activation *p = b->params;
    struct stk__model_node node = { .kind = &stk__node_activation, .shape = *stk__build_input(b) };
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

static enum stk__probability behind_flatten(const struct stk__model *model,
                                            const struct stk__model_node *node)
{
    const struct stk__model_node *from = &model->node[node->input[0]];
    bool are_several = from->shape.height * from->shape.width > 1;
    return from->probability == STK__PROBABILITY_SOFTMAX && are_several ? STK__PROBABILITY_PARTS
                                                                        : from->probability;
}

static void add_flatten_onnx(struct stk__exporting *e, const struct stk__model_node *node,
                             const char *in, const char *out)
{
    const struct stk__shape *from = &e->model->node[node->input[0]].shape;
    bool has_order = !from->is_flat && from->channels > 1 && from->height * from->width > 1;
    const char *ours = has_order ? stk__export_name(e, node->name, "nhwc") : in;
    if (has_order)
        stk__export_transpose(e, ours, in, ours, true);
    stk__export_node(e, &(struct stk__onnx_node){
                            "Flatten", out, { ours }, { out }, { stk__onnx_int("axis", 1) } });
}

static const struct stk__node_kind flatten_kind = {
    STK__KIND("flatten", stk__flatten_group, behind_flatten, STK__ORDER_FLATTENED,
              add_flatten_onnx),
    .is_view = true,
};

struct flatten {
    const char *name;
};

static const struct stk_param flatten_rows[] = { STK__NAME_ROW(flatten), STK_ROWS_END };

static int build_flatten(struct stk__build *b)
{
    struct stk__model_node node = {
        .kind = &flatten_kind, .shape = { 1, 1, stk__shape_values(stk__build_input(b)), true }
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

static void add_dropout_onnx(struct stk__exporting *e, const struct stk__model_node *node,
                             const char *in, const char *out)
{
    (void)node;
    stk__export_node(e, &(struct stk__onnx_node){ "Identity", out, { in }, { out }, { { 0 } } });
}

static void add_dropout_json(const struct stk__model_node *node, struct stk__text *out)
{
    stk__json_exact(out, "rate", node->rate);
    if (node->seed != STK_NONE)
        stk__json_whole(out, "seed", node->seed);
}

static const struct stk__node_kind dropout_kind = {
    STK__KIND("dropout", stk__dropout_group, stk__probability_kept, STK__ORDER_KEPT,
              add_dropout_onnx),
    .add_json = add_dropout_json,
};

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
        .kind = &dropout_kind, .shape = *stk__build_input(b), .rate = p->rate, .seed = p->seed
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
