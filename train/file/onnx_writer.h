/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_writer.h: ONNX models, put together node by node.
 *
 *     struct stk__onnx onnx = { .name = "net", .opset = 17 };
 *     stk__onnx_input(&onnx, &(struct stk__onnx_tensor){ "x", STK_F32, 4, { -1, 3, 32, 32 }, NULL });
 *     stk__onnx_weight(&onnx, &(struct stk__onnx_tensor){ "w", STK_F32, 4, { 8, 3, 3, 3 }, data });
 *     stk__onnx_node(&onnx, &(struct stk__onnx_node){ .op = "Conv", .name = "conv", … });
 *     stk__onnx_output(…);
 *     stk__onnx_write(&onnx, "net.onnx", &err);       stk__onnx_free(&onnx);
 *
 * Nothing fails before the writing. The bytes are those of the onnx package for the same model.
 */
#pragma once
#include "base/text.h"

#include <stoker/op.h>

/* A model that grows; borrows its texts. */
struct stk__onnx {
    const char *name;
    int opset;
    const char *producer_version; /* NULL: the library's */
    struct stk__text nodes, weights, inputs, outputs, metadata;
};

enum stk__onnx_kind {
    STK__ONNX_FLOAT = 1,
    STK__ONNX_INT = 2,
    STK__ONNX_TEXT = 3,
    STK__ONNX_INTS = 7
};

struct stk__onnx_attribute {
    const char *name;
    enum stk__onnx_kind kind;
    int64_t integer;
    float real;
    const char *text;
    const int64_t *integers;
    int n_integers;
};

static inline struct stk__onnx_attribute stk__onnx_int(const char *name, int64_t value)
{
    return (struct stk__onnx_attribute){ .name = name, .kind = STK__ONNX_INT, .integer = value };
}

static inline struct stk__onnx_attribute stk__onnx_float(const char *name, float value)
{
    return (struct stk__onnx_attribute){ .name = name, .kind = STK__ONNX_FLOAT, .real = value };
}

static inline struct stk__onnx_attribute stk__onnx_text(const char *name, const char *value)
{
    return (struct stk__onnx_attribute){ .name = name, .kind = STK__ONNX_TEXT, .text = value };
}

static inline struct stk__onnx_attribute stk__onnx_ints(const char *name, const int64_t *values,
                                                        int n)
{
    return (struct stk__onnx_attribute){
        .name = name, .kind = STK__ONNX_INTS, .integers = values, .n_integers = n
    };
}

enum { STK__ONNX_MAX_INPUTS = 16, STK__ONNX_MAX_OUTPUTS = 4, STK__ONNX_MAX_ATTRIBUTES = 8 };

/* Lists end with NULL, attributes with a NULL name, or where they are full. */
struct stk__onnx_node {
    const char *op, *name;
    const char *input[STK__ONNX_MAX_INPUTS];
    const char *output[STK__ONNX_MAX_OUTPUTS];
    struct stk__onnx_attribute attribute[STK__ONNX_MAX_ATTRIBUTES];
};

struct stk__onnx_tensor {
    const char *name;
    int dtype, rank;
    int64_t shape[STK_MAX_RANK]; /* inputs and outputs: below 0, the size of the batch */
    const void *data;            /* weights */
};

/* Nodes in an order in which each comes behind those whose outputs it takes. */
void stk__onnx_node(struct stk__onnx *onnx, const struct stk__onnx_node *node);
void stk__onnx_weight(struct stk__onnx *onnx, const struct stk__onnx_tensor *tensor);
void stk__onnx_input(struct stk__onnx *onnx, const struct stk__onnx_tensor *tensor);
void stk__onnx_output(struct stk__onnx *onnx, const struct stk__onnx_tensor *tensor);

/* A text that the model carries along. */
void stk__onnx_metadata(struct stk__onnx *onnx, const char *key, const char *value);

/* Writes the file, whole or not at all. Fails where an addition had no memory, and where the model has
 * 2 GiB or more. */
int stk__onnx_write(const struct stk__onnx *onnx, const char *path, struct stk_error *err);
void stk__onnx_free(struct stk__onnx *onnx);
