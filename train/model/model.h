/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: a model as a graph of primitive layers, with every shape, weight and place known.
 *
 *     input(32, 32, 3).separable_conv2d(16, 3, activation=relu).flatten().dense(10)
 *
 *     0 input        32×32×3
 *     1 depthwise    30×30×3    in 0   separable_conv2d/depthwise_kernel    3×3×3×1
 *     2 conv         30×30×16   in 1   separable_conv2d/pointwise_kernel    1×1×3×16, …/bias 16
 *     3 activation   30×30×16   in 2
 *     4 flatten      14400      in 3
 *     5 dense        10         in 4   dense/kernel 14400×10, dense/bias 10
 *
 * Nodes stand behind their inputs, node 0 is the only input, the last node is the output, and every
 * other node is somebody's input. The inputs of a node are distinct. What a call means (Keras' names
 * and defaults, composite layers) is in train/layers; who carries a model out needs this header only.
 * A model is constant once it is made.
 */
#pragma once
#include "train/model/activation.h"
#include "train/model/initializer.h"

struct stk__node_kind; /* node_kind.h */

/* Whether values are probabilities: what makes them has been applied, and must not be again. */
enum stk__probability {
    STK__PROBABILITY_NONE,
    STK__PROBABILITY_SIGMOID, /* each by itself */
    STK__PROBABILITY_SOFTMAX, /* the channels of a pixel together */
    STK__PROBABILITY_PARTS, /* several distributions side by side, or both kinds, or beside others */
};

/* Of one element. Features are channels of one pixel: height and width are 1. */
struct stk__shape {
    int64_t height, width, channels;
    bool is_flat; /* features; flatten of height×width×channels, in this order */
};

/* How a kernel or a pool walks over its input; everything a convolution needs but the shapes. Cells of
 * the padding are 0 for convolutions, and count for nothing in pools. */
struct stk__window {
    int64_t kernel_height, kernel_width;
    int64_t stride_height, stride_width;
    int64_t dilation_height, dilation_width; /* 1 where a stride is above 1 */
    int64_t pad_top, pad_bottom, pad_left, pad_right;
    int64_t groups; /* conv; 1 elsewhere */
};

enum stk__weight_role {
    STK__KERNEL, /* conv: HWIO (I: channels of a group), depthwise: HWIM (channel i·M + m), dense: IO */
    STK__BIAS,  /* conv, depthwise, dense */
    STK__GAMMA, /* of batchnorm, as are those below; gamma and beta may be missing */
    STK__BETA,
    STK__MOVING_MEAN,
    STK__MOVING_VARIANCE,
};

struct stk__weight {
    const char *name; /* "conv2d_1/kernel": unique */
    enum stk__weight_role role;
    int node;
    int rank;
    int64_t shape[4];
    int64_t n_values;
    bool is_trainable; /* false: a statistic, which the forward pass of a training step updates */
    struct stk__initializer initializer; /* scaled */
};

struct stk__model_node {
    const struct stk__node_kind *kind;
    const char *name;  /* unique: "conv2d_1", or a part of a layer: "conv2d_1/activation" */
    const char *layer; /* what was called: "separable_conv2d" */
    uint32_t at, len;  /* the call's place in the text */
    int n_inputs;
    const int *input; /* nodes before this one */
    struct stk__shape shape;
    enum stk__probability probability; /* of its values, in use */
    int n_weights,
        first_weight; /* in the model's weights: kernel, bias; or as the roles are listed */
    int64_t macs;     /* multiplications of the forward pass, for one element */
    struct stk__window window; /* conv, depthwise, maxpool, avgpool; depthwise: groups is 1 */
    struct stk__activation activation; /* activation */
    double momentum, epsilon; /* batchnorm: moving = moving·momentum + batch·(1 - momentum) */
    bool is_unbiased; /* batchnorm: the moving variance follows n / (n - 1) of the batch's */
    double rate;      /* dropout */
    int64_t seed;     /* dropout; STK_NONE: the run's alone */
};

struct stk__model {
    int n_nodes, n_weights;
    struct stk__model_node *node;
    struct stk__weight *weight;
    const char *text; /* canonical: the same model has the same text */
};

/* Builds the graph of a model's text: a chain, a recipe that ends in one, or the name of a known model.
 * Everything is in the arena. Faults name the layer, the shapes and what would mend it, and have
 * their place in the text. */
int stk__model_build(const char *text, struct stk_arena *arena, struct stk__model *out,
                     struct stk_error *err);

/* The weight of a node with that role, or NULL. */
const struct stk__weight *stk__node_weight(const struct stk__model *model,
                                           const struct stk__model_node *node,
                                           enum stk__weight_role role);

/* Index of a node or a weight by name, or -1. */
int stk__model_find_node(const struct stk__model *model, const char *name);
int stk__model_find_weight(const struct stk__model *model, const char *name);

/* Whether outputs are probabilities, by the last layer or by one before it whose values come through. */
enum stk__probability stk__model_output_probability(const struct stk__model *model);

int64_t stk__shape_values(const struct stk__shape *shape);

/* "224×224×3", "128 features". */
enum { STK__SHAPE_TEXT = 72 };
const char *stk__shape_text(const struct stk__shape *shape, char text[STK__SHAPE_TEXT]);

struct stk__model_totals {
    int64_t trainable, statistics; /* values of weights */
    int64_t macs;                  /* forward, for one element */
    int64_t activation_values;     /* of all outputs but those of flatten, for one element */
};
struct stk__model_totals stk__model_totals(const struct stk__model *model);

/* What a public struct stk_model is. */
struct stk_model {
    struct stk_arena arena;
    struct stk__model graph;
};

/* What people and programs are shown: appended. */
void stk__model_table(const struct stk__model *model, int64_t batch, struct stk__text *out);
void stk__model_json(const struct stk__model *model, int64_t batch, struct stk__text *out);
