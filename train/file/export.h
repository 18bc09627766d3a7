/* SPDX-License-Identifier: Apache-2.0 */
/* export.h: a model with its weights as an ONNX file, for inference.
 *
 * ONNX has channels before height and width; here they are innermost. Inside the file everything is
 * as ONNX wants it, and kernels are turned when they are written. The input is declared as the
 * pipeline delivers it and transposed by the file's first node, or declared as ONNX has it; images
 * that the model puts out likewise. Where features are made of an image, they are put in our order
 * first, so that dense kernels stay as they are. The size of a batch is open.
 */
#pragma once
#include "train/file/onnx_writer.h"
#include "train/model/weights.h"

struct stk__export {
    struct stk__weights weights;
    bool is_nchw;     /* images come and go as [N, C, H, W]; else as [N, H, W, C] */
    bool has_softmax; /* the output is "probabilities": softmax is added, unless it is there */
    const char *producer_version; /* NULL: the library's */
};

/* Writes the file, whole or not at all. */
int stk__export_onnx(const struct stk__export *export, const char *path, struct stk_error *err);

/* ---- what kinds of nodes export themselves with ---- */

/* A file that is being made. Names are in the arena. */
struct stk__exporting {
    const struct stk__export *export;
    const struct stk__model *model;
    struct stk__onnx onnx;
    struct stk_arena arena;
    float *turned; /* room for the largest kernel */
    bool failed;   /* an allocation did */
};

/* "name/part", or NULL. */
const char *stk__export_name(struct stk__exporting *e, const char *name, const char *part);

/* A number that is used as a weight. */
const char *stk__export_number(struct stk__exporting *e, const char *node, const char *part,
                               float value);

/* A weight of the node as it is; NULL where it has none with this role. */
const char *stk__export_weight(struct stk__exporting *e, const struct stk__model_node *node,
                               enum stk__weight_role role);

/* The kernel of a convolution as OIHW, `outer` filters of `inner` channels, which are its last two
 * axes. */
const char *stk__export_kernel(struct stk__exporting *e, const struct stk__model_node *node,
                               int64_t inner, int64_t outer);

/* The value that others take for a node's output. */
const char *stk__export_value(struct stk__exporting *e, int node);

/* What ONNX' attributes of convolutions and pools point to. */
struct stk__export_window {
    int64_t kernel[2], strides[2], dilations[2], pads[4];
};
struct stk__export_window stk__export_window(const struct stk__window *window);

/* To channels last, or to channels first. */
void stk__export_transpose(struct stk__exporting *e, const char *name, const char *in,
                           const char *out, bool is_to_ours);

/* Adds a node, unless a name that it needs could not be made. */
void stk__export_node(struct stk__exporting *e, const struct stk__onnx_node *node);

/* From `in` to `out`; `name` is that of the node. */
void stk__export_activation(struct stk__exporting *e, const struct stk__activation *activation,
                            const char *name, const char *in, const char *out);
