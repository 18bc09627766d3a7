/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_writer.c: messages of onnx.proto.
 *
 * Fields of one number are kept as they will be in the graph, so a model is its parts one behind the
 * other, and large weights are copied once.
 */
#include "train/file/onnx_writer.h"

#include "base/error.h"
#include "codec/record/wire_out.h"
#include "io/file_out.h"

#include <string.h>

/* Numbers of fields. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_PRODUCER_VERSION = 3, MODEL_GRAPH = 7 };
enum { MODEL_OPSET = 8, MODEL_METADATA = 14, OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_WEIGHT = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum { ATTR_NAME = 1, ATTR_FLOAT = 2, ATTR_INT = 3, ATTR_TEXT = 4, ATTR_INTS = 8, ATTR_TYPE = 20 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { INFO_NAME = 1, INFO_TYPE = 2, TYPE_TENSOR = 1, TYPE_ELEMENT = 1, TYPE_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_NAME = 2 };

enum { IR_VERSION = 8 }; /* of onnx 1.10, which opsets up to 18 go with */

static const uint8_t element_types[STK_N_DTYPES] = {
    [STK_F32] = 1,  [STK_U8] = 2,   [STK_I8] = 3,    [STK_U16] = 4,  [STK_I16] = 5,
    [STK_I32] = 6,  [STK_I64] = 7,  [STK_BOOL] = 9,  [STK_F16] = 10, [STK_F64] = 11,
    [STK_U32] = 12, [STK_U64] = 13, [STK_BF16] = 16,
};

static void add_attribute(const struct stk__onnx_attribute *a, struct stk__text *node)
{
    struct stk__text out = { 0 };
    stk__wire_add_text(&out, ATTR_NAME, a->name);
    if (a->kind == STK__ONNX_FLOAT)
        stk__wire_add_float(&out, ATTR_FLOAT, a->real);
    if (a->kind == STK__ONNX_INT)
        stk__wire_add_int(&out, ATTR_INT, a->integer);
    if (a->kind == STK__ONNX_TEXT)
        stk__wire_add_text(&out, ATTR_TEXT, a->text);
    for (int i = 0; a->kind == STK__ONNX_INTS && i < a->n_integers; i++)
        stk__wire_add_int(&out, ATTR_INTS, a->integers[i]);
    stk__wire_add_int(&out, ATTR_TYPE, a->kind);
    stk__wire_add_message(node, NODE_ATTRIBUTE, &out);
}

void stk__onnx_node(struct stk__onnx *onnx, const struct stk__onnx_node *node)
{
    struct stk__text out = { 0 };
    for (int i = 0; i < STK__ONNX_MAX_INPUTS && node->input[i]; i++)
        stk__wire_add_text(&out, NODE_INPUT, node->input[i]);
    for (int i = 0; i < STK__ONNX_MAX_OUTPUTS && node->output[i]; i++)
        stk__wire_add_text(&out, NODE_OUTPUT, node->output[i]);
    stk__wire_add_text(&out, NODE_NAME, node->name);
    stk__wire_add_text(&out, NODE_OP, node->op);
    for (int i = 0; i < STK__ONNX_MAX_ATTRIBUTES && node->attribute[i].name; i++)
        add_attribute(&node->attribute[i], &out);
    stk__wire_add_message(&onnx->nodes, GRAPH_NODE, &out);
}

void stk__onnx_weight(struct stk__onnx *onnx, const struct stk__onnx_tensor *tensor)
{
    struct stk__text head = { 0 };
    size_t bytes = stk_dtype_bytes(tensor->dtype);
    for (int i = 0; i < tensor->rank; i++) {
        stk__wire_add_int(&head, TENSOR_DIMS, tensor->shape[i]);
        bytes *= (size_t)tensor->shape[i];
    }
    stk__wire_add_int(&head, TENSOR_TYPE, element_types[tensor->dtype]);
    stk__wire_add_text(&head, TENSOR_NAME, tensor->name);
    stk__wire_add_head(&head, TENSOR_RAW, bytes);
    stk__wire_add_head(&onnx->weights, GRAPH_WEIGHT, head.len + bytes);
    onnx->weights.failed |= head.failed;
    if (!head.failed)
        stk__text_add_n(&onnx->weights, head.data, head.len);
    if (bytes)
        stk__text_add_n(&onnx->weights, tensor->data, bytes);
    stk__text_free(&head);
}

static void add_info(struct stk__text *graph, int number, const struct stk__onnx_tensor *tensor)
{
    struct stk__text shape = { 0 }, element = { 0 }, type = { 0 }, info = { 0 };
    for (int i = 0; i < tensor->rank; i++) {
        struct stk__text dim = { 0 };
        if (tensor->shape[i] < 0)
            stk__wire_add_text(&dim, DIM_NAME, "N");
        else
            stk__wire_add_int(&dim, DIM_VALUE, tensor->shape[i]);
        stk__wire_add_message(&shape, SHAPE_DIM, &dim);
    }
    stk__wire_add_int(&element, TYPE_ELEMENT, element_types[tensor->dtype]);
    stk__wire_add_message(&element, TYPE_SHAPE, &shape);
    stk__wire_add_message(&type, TYPE_TENSOR, &element);
    stk__wire_add_text(&info, INFO_NAME, tensor->name);
    stk__wire_add_message(&info, INFO_TYPE, &type);
    stk__wire_add_message(graph, number, &info);
}

void stk__onnx_input(struct stk__onnx *onnx, const struct stk__onnx_tensor *tensor)
{
    add_info(&onnx->inputs, GRAPH_INPUT, tensor);
}

void stk__onnx_output(struct stk__onnx *onnx, const struct stk__onnx_tensor *tensor)
{
    add_info(&onnx->outputs, GRAPH_OUTPUT, tensor);
}

void stk__onnx_metadata(struct stk__onnx *onnx, const char *key, const char *value)
{
    struct stk__text entry = { 0 };
    stk__wire_add_text(&entry, ENTRY_KEY, key);
    stk__wire_add_text(&entry, ENTRY_VALUE, value);
    stk__wire_add_message(&onnx->metadata, MODEL_METADATA, &entry);
}

/* ---- the file ---- */

/* Parts of the file, in this order. */
enum { HEAD, NODES, NAME, WEIGHTS, INPUTS, OUTPUTS, TAIL, N_PARTS };

static void add_head(const struct stk__onnx *onnx, size_t graph_bytes, struct stk__text *out)
{
    const char *version = onnx->producer_version ? onnx->producer_version : stk_version();
    stk__wire_add_int(out, MODEL_IR, IR_VERSION);
    stk__wire_add_text(out, MODEL_PRODUCER, "stoker");
    stk__wire_add_text(out, MODEL_PRODUCER_VERSION, version);
    stk__wire_add_head(out, MODEL_GRAPH, graph_bytes);
}

static void add_tail(const struct stk__onnx *onnx, struct stk__text *out)
{
    struct stk__text opset = { 0 };
    stk__wire_add_text(&opset, OPSET_DOMAIN, "");
    stk__wire_add_int(&opset, OPSET_VERSION, onnx->opset);
    stk__wire_add_message(out, MODEL_OPSET, &opset);
    if (onnx->metadata.len)
        stk__text_add_n(out, onnx->metadata.data, onnx->metadata.len);
}

static int write_parts(const struct stk__text *const *part, const char *path, struct stk_error *err)
{
    struct stk__file_out file;
    int rc = stk__file_out_open(&file, path, err);
    for (int i = 0; i < N_PARTS && !rc; i++)
        if (part[i]->len)
            rc = stk__file_out_write(&file, part[i]->data, part[i]->len, err);
    if (!rc)
        rc = stk__file_out_sync(&file, err);
    if (!rc)
        rc = stk__file_out_commit(&file, err);
    stk__file_out_discard(&file);
    return rc;
}

int stk__onnx_write(const struct stk__onnx *onnx, const char *path, struct stk_error *err)
{
    struct stk__text head = { 0 }, name = { 0 }, tail = { 0 };
    const struct stk__text *const part[N_PARTS] = {
        &head, &onnx->nodes, &name, &onnx->weights, &onnx->inputs, &onnx->outputs, &tail,
    };
    size_t bytes = 0;
    stk__wire_add_text(&name, GRAPH_NAME, onnx->name);
    for (int i = NODES; i <= OUTPUTS; i++)
        bytes += part[i]->len;
    add_head(onnx, bytes, &head);
    add_tail(onnx, &tail);
    bool has_failed = onnx->metadata.failed;
    for (int i = 0; i < N_PARTS; i++)
        has_failed |= part[i]->failed;
    int rc = has_failed ? stk__out_of_memory(err) : STK_OK;
    if (!rc && head.len + bytes + tail.len > STK__WIRE_MOST_BYTES)
        rc = stk_fail(err, STK_VALUE,
                      "cannot write %s: the model has %zu bytes, and ONNX files end below 2 GiB",
                      path, head.len + bytes + tail.len);
    if (!rc)
        rc = write_parts(part, path, err);
    stk__text_free(&head);
    stk__text_free(&name);
    stk__text_free(&tail);
    return rc;
}

void stk__onnx_free(struct stk__onnx *onnx)
{
    stk__text_free(&onnx->nodes);
    stk__text_free(&onnx->weights);
    stk__text_free(&onnx->inputs);
    stk__text_free(&onnx->outputs);
    stk__text_free(&onnx->metadata);
}
