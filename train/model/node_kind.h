/* SPDX-License-Identifier: Apache-2.0 */
/* node_kind.h: what a kind of node is: all that is done with its nodes, in one declaration beside
 * the layer that makes them.
 *
 *     static const struct stk__node_kind dense = {
 *         STK__KIND("dense", stk__dense_group, stk__probability_none, STK__ORDER_OWN, add_onnx),
 *         .takes_activation = true,
 *         .torch = &torch,
 *     };
 *
 * Who plans, prints, exports or imports a model asks the kind of each node. Only those that others
 * name are declared here: the two that may be carried out with the node before them, and one that
 * two layers make.
 */
#pragma once
#include "train/model/model.h"

struct stk__exporting;   /* train/file/export.h */
struct stk__torch_layer; /* train/file/import.h */
struct stk__group_type;  /* train/plan/step_plan.h */

/* Features in PyTorch, whose images have channels first. */
enum stk__feature_order {
    STK__ORDER_OWN,       /* made anew: the same in both */
    STK__ORDER_KEPT,      /* that of the first input */
    STK__ORDER_FLATTENED, /* of an image's values, where the input is one */
    STK__ORDER_JOINED,    /* those of several inputs, one behind the other */
};

typedef enum stk__probability stk__probability_fn(const struct stk__model *model,
                                                  const struct stk__model_node *node);
typedef void stk__export_fn(struct stk__exporting *exporting, const struct stk__model_node *node,
                            const char *in, const char *out);
typedef void stk__node_text_fn(const struct stk__model_node *node, struct stk__text *out);

struct stk__node_kind {
    /* What every kind says, by STK__KIND. */
    const char *name;                    /* in tables and JSON */
    const struct stk__group_type *group; /* what carries a node out, forward and backward */
    stk__probability_fn *probability;    /* whether its values are probabilities */
    enum stk__feature_order order;
    stk__export_fn *add_onnx; /* from the value `in` of its first input to `out` */

    /* What some are. */
    bool takes_activation, takes_pool; /* carries out what stands behind it, too */
    bool is_view;                      /* the values of its input in another shape */
    bool is_padded; /* reads zeros around its input, as wide as its window pads */
    /* Or NULL. */
    const struct stk__group_type *wide_group; /* instead of `group`, where its kernel is large */
    const struct stk__torch_layer *torch;     /* the module of PyTorch that has its weights */
    stk__node_text_fn *add_text;              /* behind its name in tables */
    stk__node_text_fn *add_json;              /* members that only nodes of its kind have */
};

/* Names of objects and functions, whose addresses are taken: a kind that leaves one out, or says
 * NULL, does not compile. */
#define STK__KIND(name_, group_, probability_, order_, add_onnx_)                                  \
    .name = name_, .group = &(group_), .probability = &(probability_), .order = (order_),          \
    .add_onnx = &(add_onnx_)

extern const struct stk__node_kind stk__node_activation, stk__node_conv, stk__node_maxpool;

/* Never; and as those of the first input are. */
stk__probability_fn stk__probability_none, stk__probability_kept;

/* What add_json may call: kernel, strides, dilation and padding. */
stk__node_text_fn stk__node_json_window;
