/* SPDX-License-Identifier: Apache-2.0 */
/* export.h: a model with its weights as an ONNX file, for inference.
 *
 * ONNX has channels before height and width; here they are innermost. Inside the file everything is as
 * ONNX wants it, and kernels are turned when they are written. The input is declared as the
 * pipeline delivers it and transposed by the file's first node, or declared as ONNX has it; images that
 * the model puts out likewise. Where features are made of an image, they are put in our order first,
 * so that dense kernels stay as they are. The size of a batch is open.
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

/* ---- between its files ---- */

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

/* A weight as it is, or a number that is used as one. */
const char *stk__export_number(struct stk__exporting *e, const char *node, const char *part,
                               float value);

/* Adds a node, unless a name that it needs could not be made. */
void stk__export_node(struct stk__exporting *e, const struct stk__onnx_node *node);

/* From `in` to `out`; `name` is that of the node. */
void stk__export_activation(struct stk__exporting *e, const struct stk__activation *activation,
                            const char *name, const char *in, const char *out);
