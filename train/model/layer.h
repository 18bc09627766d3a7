/* SPDX-License-Identifier: Apache-2.0 */
/* layer.h: what a layer is. One const declaration per layer; its `build` adds nodes to a model.
 *
 *     struct flatten { const char *name; };
 *     static const struct stk_param rows[] = { STK__NAME_ROW(flatten), STK_ROWS_END };
 *     static int build(struct stk__build *b) { … return stk__build_node(b, &node, NULL); }
 *     const struct stk__layer stk__layer_flatten = {
 *         .decl = { "flatten", 1, "…", "…", rows, sizeof(struct flatten) }, .build = build };
 *
 * A new layer needs its file in train/layers, a row in tests/train/test_model_layers.c and, where
 * Keras has it, a model in tests/golden/make_models.py.
 */
#pragma once
#include "train/model/node_kind.h"

struct stk__names; /* of the layers so far; model.c */

/* A call that is being built into a model. */
struct stk__build {
    struct stk__model *model;
    struct stk__names *names;
    struct stk_arena *arena;
    struct stk_error *err;
    const struct stk__layer *layer;
    const struct stk__call *call;
    const void *params; /* bound */
    const char *name;   /* of the layer: given or counted; NULL where it has no row `name` */
    /* The node whose output the call takes, -1 where a model begins. stk__build_node moves it to
     * the new node: where it is in the end is what the call gives. */
    int tip;
};

struct stk__layer {
    struct stk_decl decl; /* first: a declaration of stk__layers is its layer */
    int (*build)(struct stk__build *b);
    bool begins;       /* the first call of a model, and never another */
    const char *chain; /* a known model: what it stands for, with @classes and others in it */
};

/* Layers and known models, by name: what files of train/layers declare, as a list that the build
 * makes. */
extern const struct stk__namespace stk__layers;

static inline const struct stk__layer *stk__layer_of(const struct stk_decl *decl)
{
    return (const struct stk__layer *)(const void *)decl;
}

/* ---- rows that layers share ---- */

#define STK__NAME_ROW(T)                                                                           \
    STK_TEXT_ROW(T, name, NULL, 0, "of the layer and its weights; none: counted, as conv2d_1")
#define STK__ACTIVATION_ROW(T)                                                                     \
    STK__CALLS_ROW(T, activation, &stk__activations, STK_TAKES_NONE,                               \
                   "applied to the result: relu, relu6, leaky_relu, gelu, swish, sigmoid, tanh, "  \
                   "softmax")
#define STK__INITIALIZER_ROW(T, f, otherwise)                                                      \
    STK__CALLS_ROW(T, f, &stk__initializers, STK_TAKES_NONE,                                       \
                   "what it begins with, such as he_normal or constant(0.1); none: " otherwise)
#define STK__BIAS_ROWS(T)                                                                          \
    STK_BOOL_ROW(T, use_bias, true, 0, "a value for each channel of the result is added")
#define STK__SIZE_ROW(T, f, fl, text) STK_NUMBERS_ROW(T, f, NULL, 1, 2, fl, text)
#define STK__STRIDES_ROW(T, otherwise)                                                             \
    STK__SIZE_ROW(T, strides, 0, "steps, one number or [height, width]; none: " otherwise)
#define STK__DILATION_ROW(T)                                                                       \
    STK__SIZE_ROW(T, dilation_rate, 0,                                                             \
                  "the distance of a kernel's cells, one number or [height, width]; none: 1")
#define STK__PADDING_ROW(T)                                                                        \
    STK_NUMBERS_ROW(T, padding, stk__padding_names, 1, 4, 0,                                       \
                    "same: as many results as steps fit, what is odd below and right; or numbers " \
                    "for all sides, [vertical, horizontal] or [top, bottom, left, right]; "        \
                    "none: valid")

/* "valid", "same", NULL. */
extern const char *const stk__padding_names[];

/* ---- what `build` calls; all return a status ---- */

/* Appends the node and moves the tip. Name, layer and place are filled in, the input too: the tip,
 * where n_inputs is 0. part: of the layer's name, or NULL. Fails where the shape is too large. */
int stk__build_node(struct stk__build *b, const struct stk__model_node *node, const char *part);

struct stk__weight_spec {
    enum stk__weight_role role;
    const char *part; /* of its name: "kernel" */
    int rank;
    int64_t shape[4];
    const struct stk_value *initializer;
    const char *otherwise; /* the name of the initialiser, if none is given */
};

/* Appends a weight of the node that was added last. Kernels count its multiplications. */
int stk__build_weight(struct stk__build *b, const struct stk__weight_spec *spec);

/* The bias of the node that was added last, a value for each of its channels. */
int stk__build_bias(struct stk__build *b, const struct stk_value *initializer);

/* A node for an activation, unless it is none or linear. */
int stk__build_activation(struct stk__build *b, const struct stk_value *activation);

/* Builds a nested chain on the node `from`; *end is the node it ends in, and the tip stays. */
int stk__build_chain(struct stk__build *b, const struct stk_value *chain, int from, int *end);

/* The output of the tip. */
const struct stk__shape *stk__build_input(const struct stk__build *b);

/* The input has height, width and channels; else fails and says what to do. */
int stk__build_wants_pixels(struct stk__build *b);

/* The rows of a window, as far as a layer has them. */
struct stk__window_rows {
    const struct stk_numbers *kernel, *strides, *dilation, *padding; /* NULL: has none */
    const char *kernel_name;
    int64_t kernel_otherwise; /* for a kernel of none */
    bool steps_by_kernel;     /* strides of none: as the kernel */
    bool is_pool;
};

/* Fills in the window, and the height and width of the result. */
int stk__build_window(struct stk__build *b, const struct stk__window_rows *rows,
                      struct stk__window *out, struct stk__shape *shape);

/* "conv2d_1: …", at the argument of that parameter or, where it was not given or param is NULL, at
 * the call. */
int stk__build_fail(const struct stk__build *b, const char *param, int code, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
