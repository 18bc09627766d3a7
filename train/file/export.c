/* SPDX-License-Identifier: Apache-2.0 */
/* export.c: the graph of a model node by node; export_activation.c has the functions. */
#include "train/file/export.h"

#include <stdlib.h>
#include <string.h>

enum { OPSET = 17 };

const char *stk__export_name(struct stk__exporting *e, const char *name, const char *part)
{
    const char *text = name && part ? stk__arena_printf(&e->arena, "%s/%s", name, part) : NULL;
    e->failed |= !text;
    return text;
}

const char *stk__export_number(struct stk__exporting *e, const char *node, const char *part,
                               float value)
{
    const char *name = stk__export_name(e, node, part);
    if (name)
        stk__onnx_weight(&e->onnx, &(struct stk__onnx_tensor){ name, STK_F32, 0, { 0 }, &value });
    return name;
}

void stk__export_node(struct stk__exporting *e, const struct stk__onnx_node *node)
{
    if (!e->failed)
        stk__onnx_node(&e->onnx, node);
}

/* ---- weights ---- */

static const float *values_of(const struct stk__exporting *e, const struct stk__weight *weight)
{
    return e->export->weights.value[weight - e->model->weight];
}

/* HWIO to OIHW: our last two axes become the first, `outer` of them fastest in ours. */
static void turn(const float *from, int64_t cells, int64_t inner, int64_t outer, float *to)
{
    for (int64_t cell = 0; cell < cells; cell++)
        for (int64_t i = 0; i < inner; i++)
            for (int64_t o = 0; o < outer; o++)
                to[(o * inner + i) * cells + cell] = from[(cell * inner + i) * outer + o];
}

/* A kernel of a convolution; a depthwise one has a filter for each of its channels' results. */
static const char *add_kernel(struct stk__exporting *e, const struct stk__model_node *node)
{
    const struct stk__weight *kernel = stk__node_weight(e->model, node, STK__KERNEL);
    const int64_t *shape = kernel->shape;
    bool is_depthwise = node->kind == STK__NODE_DEPTHWISE;
    int64_t inner = is_depthwise ? 1 : shape[2];
    int64_t outer = is_depthwise ? shape[2] * shape[3] : shape[3];
    turn(values_of(e, kernel), shape[0] * shape[1], inner, outer, e->turned);
    stk__onnx_weight(
        &e->onnx, &(struct stk__onnx_tensor){
                      kernel->name, STK_F32, 4, { outer, inner, shape[0], shape[1] }, e->turned });
    return kernel->name;
}

/* A weight as it is; NULL where the node has none with this role. */
static const char *add_weight(struct stk__exporting *e, const struct stk__model_node *node,
                              enum stk__weight_role role)
{
    const struct stk__weight *weight = stk__node_weight(e->model, node, role);
    if (!weight)
        return NULL;
    struct stk__onnx_tensor tensor = { weight->name, STK_F32, weight->rank, { 0 }, NULL };
    memcpy(tensor.shape, weight->shape, sizeof weight->shape);
    tensor.data = values_of(e, weight);
    stk__onnx_weight(&e->onnx, &tensor);
    return weight->name;
}

/* The same of a batchnorm, or as many equal values where it has none. */
static const char *add_or_constant(struct stk__exporting *e, const struct stk__model_node *node,
                                   enum stk__weight_role role, const char *part, float constant)
{
    const char *name = add_weight(e, node, role);
    int64_t n = node->shape.channels;
    if (name)
        return name;
    name = stk__export_name(e, node->name, part);
    float *values = stk_arena_alloc(&e->arena, (size_t)n * sizeof *values);
    e->failed |= !values;
    if (e->failed)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        values[i] = constant;
    stk__onnx_weight(&e->onnx, &(struct stk__onnx_tensor){ name, STK_F32, 1, { n }, values });
    return name;
}

/* ---- nodes ---- */

/* Images at the model's border may have their channels elsewhere than in its middle. */
static bool is_transposed(const struct stk__exporting *e, const struct stk__model_node *node)
{
    bool is_border = node == e->model->node || node == &e->model->node[e->model->n_nodes - 1];
    return is_border && !node->shape.is_flat && !e->export->is_nchw;
}

/* The value that others take for a node's output. */
static const char *value_of(struct stk__exporting *e, int which)
{
    const struct stk__model_node *node = &e->model->node[which];
    return is_transposed(e, node) ? stk__export_name(e, node->name, "nchw") : node->name;
}

static void add_transpose(struct stk__exporting *e, const char *name, const char *in,
                          const char *out, bool is_to_ours)
{
    static const int64_t to_ours[4] = { 0, 2, 3, 1 }, to_onnx[4] = { 0, 3, 1, 2 };
    stk__export_node(e, &(struct stk__onnx_node){
                            "Transpose",
                            name,
                            { in },
                            { out },
                            { stk__onnx_ints("perm", is_to_ours ? to_ours : to_onnx, 4) } });
}

/* Attributes of convolutions and pools; `list` keeps the numbers. */
struct window_numbers {
    int64_t kernel[2], strides[2], dilations[2], pads[4];
};

static struct window_numbers numbers_of(const struct stk__window *w)
{
    return (struct window_numbers){
        .kernel = { w->kernel_height, w->kernel_width },
        .strides = { w->stride_height, w->stride_width },
        .dilations = { w->dilation_height, w->dilation_width },
        .pads = { w->pad_top, w->pad_left, w->pad_bottom, w->pad_right },
    };
}

static void add_conv(struct stk__exporting *e, const struct stk__model_node *node, const char *in,
                     const char *out)
{
    const struct window_numbers n = numbers_of(&node->window);
    const char *kernel = add_kernel(e, node), *bias = add_weight(e, node, STK__BIAS);
    int64_t groups = node->kind == STK__NODE_DEPTHWISE
                         ? e->model->node[node->input[0]].shape.channels
                         : node->window.groups;
    stk__export_node(e, &(struct stk__onnx_node){ "Conv",
                                                  out,
                                                  { in, kernel, bias },
                                                  { out },
                                                  { stk__onnx_ints("dilations", n.dilations, 2),
                                                    stk__onnx_int("group", groups),
                                                    stk__onnx_ints("kernel_shape", n.kernel, 2),
                                                    stk__onnx_ints("pads", n.pads, 4),
                                                    stk__onnx_ints("strides", n.strides, 2) } });
}

static void add_pool(struct stk__exporting *e, const struct stk__model_node *node, const char *in,
                     const char *out)
{
    const struct window_numbers n = numbers_of(&node->window);
    bool is_mean = node->kind == STK__NODE_AVGPOOL;
    struct stk__onnx_node pool = { is_mean ? "AveragePool" : "MaxPool",
                                   out,
                                   { in },
                                   { out },
                                   { stk__onnx_ints("kernel_shape", n.kernel, 2),
                                     stk__onnx_ints("pads", n.pads, 4),
                                     stk__onnx_ints("strides", n.strides, 2) } };
    if (is_mean)
        pool.attribute[3] = stk__onnx_int("count_include_pad", 0);
    stk__export_node(e, &pool);
}

static void add_global_pool(struct stk__exporting *e, const struct stk__model_node *node,
                            const char *in, const char *out)
{
    const char *mean = node->shape.is_flat ? stk__export_name(e, node->name, "mean") : out;
    stk__export_node(
        e, &(struct stk__onnx_node){ "GlobalAveragePool", mean, { in }, { mean }, { { 0 } } });
    if (node->shape.is_flat)
        stk__export_node(e, &(struct stk__onnx_node){
                                "Flatten", out, { mean }, { out }, { stk__onnx_int("axis", 1) } });
}

static void add_batchnorm(struct stk__exporting *e, const struct stk__model_node *node,
                          const char *in, const char *out)
{
    const char *gamma = add_or_constant(e, node, STK__GAMMA, "gamma", 1);
    const char *beta = add_or_constant(e, node, STK__BETA, "beta", 0);
    const char *mean = add_weight(e, node, STK__MOVING_MEAN);
    const char *variance = add_weight(e, node, STK__MOVING_VARIANCE);
    stk__onnx_node(
        &e->onnx, &(struct stk__onnx_node){ "BatchNormalization",
                                            out,
                                            { in, gamma, beta, mean, variance },
                                            { out },
                                            { stk__onnx_float("epsilon", (float)node->epsilon) } });
}

static void add_flatten(struct stk__exporting *e, const struct stk__model_node *node,
                        const char *in, const char *out)
{
    const struct stk__shape *from = &e->model->node[node->input[0]].shape;
    bool has_order = !from->is_flat && from->channels > 1 && from->height * from->width > 1;
    const char *ours = has_order ? stk__export_name(e, node->name, "nhwc") : in;
    if (has_order)
        add_transpose(e, ours, in, ours, true);
    stk__export_node(e, &(struct stk__onnx_node){
                            "Flatten", out, { ours }, { out }, { stk__onnx_int("axis", 1) } });
}

static void add_dense(struct stk__exporting *e, const struct stk__model_node *node, const char *in,
                      const char *out)
{
    const char *kernel = add_weight(e, node, STK__KERNEL), *bias = add_weight(e, node, STK__BIAS);
    stk__export_node(
        e, &(struct stk__onnx_node){ "Gemm", out, { in, kernel, bias }, { out }, { { 0 } } });
}

/* Nodes of all their inputs; those of more than a node of ONNX takes are joined piece by piece. */
static void add_joined(struct stk__exporting *e, const struct stk__model_node *node,
                       const char *out)
{
    struct stk__onnx_node joined = { .name = out };
    bool is_sum = node->kind == STK__NODE_ADD;
    int n = 0;
    joined.op = is_sum ? "Sum" : "Concat";
    if (!is_sum)
        joined.attribute[0] = stk__onnx_int("axis", 1);
    for (int i = 0; i < node->n_inputs; i++) {
        joined.input[n++] = value_of(e, node->input[i]);
        bool is_last = i + 1 == node->n_inputs;
        if (!is_last && n < STK__ONNX_MAX_INPUTS)
            continue;
        const char *part = stk__arena_printf(&e->arena, "%s/first_%d", node->name, i + 1);
        e->failed |= !part;
        joined.name = joined.output[0] = is_last ? out : part;
        stk__export_node(e, &joined);
        memset(joined.input, 0, sizeof joined.input);
        joined.input[0] = part;
        n = 1;
    }
}

static void add_node(struct stk__exporting *e, int which)
{
    const struct stk__model_node *node = &e->model->node[which];
    const char *out = value_of(e, which), *in = node->n_inputs ? value_of(e, node->input[0]) : NULL;
    switch (node->kind) {
    case STK__NODE_INPUT:
        if (is_transposed(e, node))
            add_transpose(e, out, node->name, out, false);
        return;
    case STK__NODE_CONV:
    case STK__NODE_DEPTHWISE:
        add_conv(e, node, in, out);
        break;
    case STK__NODE_MAXPOOL:
    case STK__NODE_AVGPOOL:
        add_pool(e, node, in, out);
        break;
    case STK__NODE_GLOBAL_AVGPOOL:
        add_global_pool(e, node, in, out);
        break;
    case STK__NODE_BATCHNORM:
        add_batchnorm(e, node, in, out);
        break;
    case STK__NODE_ACTIVATION:
        stk__export_activation(e, &node->activation, node->name, in, out);
        break;
    case STK__NODE_FLATTEN:
        add_flatten(e, node, in, out);
        break;
    case STK__NODE_DENSE:
        add_dense(e, node, in, out);
        break;
    case STK__NODE_DROPOUT:
        stk__export_node(e,
                         &(struct stk__onnx_node){ "Identity", out, { in }, { out }, { { 0 } } });
        break;
    case STK__NODE_ADD:
    case STK__NODE_CONCAT:
        add_joined(e, node, out);
        break;
    }
    if (is_transposed(e, node))
        add_transpose(e, node->name, out, node->name, true);
}

/* ---- the whole ---- */

static struct stk__onnx_tensor border_of(const struct stk__exporting *e,
                                         const struct stk__model_node *node)
{
    const struct stk__shape *s = &node->shape;
    if (s->is_flat)
        return (struct stk__onnx_tensor){ node->name, STK_F32, 2, { -1, s->channels }, NULL };
    if (e->export->is_nchw)
        return (struct stk__onnx_tensor){
            node->name, STK_F32, 4, { -1, s->channels, s->height, s->width }, NULL
        };
    return (struct stk__onnx_tensor){
        node->name, STK_F32, 4, { -1, s->height, s->width, s->channels }, NULL
    };
}

/* Outputs that are probabilities already only get the name. */
static void add_probabilities(struct stk__exporting *e, struct stk__onnx_tensor *output)
{
    bool is_softmax = stk__model_output_probability(e->model) == STK__PROBABILITY_SOFTMAX;
    bool is_nchw = output->rank == 4 && e->export->is_nchw;
    struct stk__onnx_node node = { is_softmax ? "Identity" : "Softmax",
                                   "/probabilities",
                                   { output->name },
                                   { "probabilities" },
                                   { { 0 } } };
    if (!is_softmax)
        node.attribute[0] = stk__onnx_int("axis", is_nchw ? 1 : -1);
    stk__export_node(e, &node);
    output->name = "probabilities";
}

static void add_output(struct stk__exporting *e)
{
    struct stk__onnx_tensor output = border_of(e, &e->model->node[e->model->n_nodes - 1]);
    if (e->export->has_softmax)
        add_probabilities(e, &output);
    stk__onnx_output(&e->onnx, &output);
}

/* Whether the outputs can be made probabilities of classes. */
static int check_softmax(const struct stk__model *model, struct stk_error *err)
{
    const struct stk__model_node *last = &model->node[model->n_nodes - 1];
    if (stk__model_find_node(model, "probabilities") >= 0)
        return stk_fail(err, STK_NAME,
                        "a layer of the model is named probabilities, as softmax=true names the "
                        "output; another name= for the layer, or no softmax");
    if (stk__model_output_probability(model) == STK__PROBABILITY_SIGMOID)
        return stk_fail(err, STK_VALUE,
                        "the model ends in sigmoid, so each of its outputs is a probability by "
                        "itself; export it without softmax");
    if (stk__model_output_probability(model) == STK__PROBABILITY_PARTS)
        return stk_fail(err, STK_VALUE,
                        "parts of the model's outputs, behind %s, are probabilities by themselves "
                        "already; export it without softmax",
                        last->name);
    if (last->shape.channels == 1)
        return stk_fail(err, STK_VALUE,
                        "the model's last layer, %s, has one output, whose softmax is always 1; "
                        "export it without softmax",
                        last->name);
    return STK_OK;
}

/* Values of the largest kernel, which is turned before it is written. */
static size_t largest_weight(const struct stk__model *model)
{
    int64_t most = 1;
    for (int i = 0; i < model->n_weights; i++)
        most = model->weight[i].n_values > most ? model->weight[i].n_values : most;
    return (size_t)most;
}

int stk__export_onnx(const struct stk__export *export, const char *path, struct stk_error *err)
{
    const struct stk__model *model = export->weights.model;
    struct stk__exporting e = {
        .export = export,
        .model = model,
        .onnx = { .name = "stoker", .opset = OPSET, .producer_version = export->producer_version }
    };
    if (model->n_nodes == 1)
        return stk_fail(err, STK_VALUE, "the model has no layers behind its input");
    int rc = export->has_softmax ? check_softmax(model, err) : STK_OK;
    if (rc)
        return rc;
    stk__arena_init(&e.arena, 1 << 14);
    e.turned = malloc(largest_weight(model) * sizeof *e.turned);
    e.failed = !e.turned;
    struct stk__onnx_tensor input = border_of(&e, &model->node[0]);
    stk__onnx_input(&e.onnx, &input);
    for (int i = 0; i < model->n_nodes && !e.failed; i++)
        add_node(&e, i);
    add_output(&e);
    stk__onnx_metadata(&e.onnx, "model", model->text);
    rc = e.failed ? stk__out_of_memory(err) : stk__onnx_write(&e.onnx, path, err);
    stk__onnx_free(&e.onnx);
    stk__arena_free(&e.arena);
    free(e.turned);
    return rc;
}
