/* SPDX-License-Identifier: Apache-2.0 */
/* export.c: the graph of a model node by node; each kind of node exports itself (train/layers). */
#include "train/file/export.h"

#include "train/model/node_kind.h"

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

const char *stk__export_kernel(struct stk__exporting *e, const struct stk__model_node *node,
                               int64_t inner, int64_t outer)
{
    const struct stk__weight *kernel = stk__node_weight(e->model, node, STK__KERNEL);
    const int64_t *shape = kernel->shape;
    turn(values_of(e, kernel), shape[0] * shape[1], inner, outer, e->turned);
    stk__onnx_weight(
        &e->onnx, &(struct stk__onnx_tensor){
                      kernel->name, STK_F32, 4, { outer, inner, shape[0], shape[1] }, e->turned });
    return kernel->name;
}

const char *stk__export_weight(struct stk__exporting *e, const struct stk__model_node *node,
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

/* ---- nodes ---- */

/* Images at the model's border may have their channels elsewhere than in its middle. */
static bool is_transposed(const struct stk__exporting *e, const struct stk__model_node *node)
{
    bool is_border = node == e->model->node || node == &e->model->node[e->model->n_nodes - 1];
    return is_border && !node->shape.is_flat && !e->export->is_nchw;
}

const char *stk__export_value(struct stk__exporting *e, int which)
{
    const struct stk__model_node *node = &e->model->node[which];
    return is_transposed(e, node) ? stk__export_name(e, node->name, "nchw") : node->name;
}

void stk__export_transpose(struct stk__exporting *e, const char *name, const char *in,
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

struct stk__export_window stk__export_window(const struct stk__window *w)
{
    return (struct stk__export_window){
        .kernel = { w->kernel_height, w->kernel_width },
        .strides = { w->stride_height, w->stride_width },
        .dilations = { w->dilation_height, w->dilation_width },
        .pads = { w->pad_top, w->pad_left, w->pad_bottom, w->pad_right },
    };
}

static void add_node(struct stk__exporting *e, int which)
{
    const struct stk__model_node *node = &e->model->node[which];
    const char *out = stk__export_value(e, which);
    const char *in = node->n_inputs ? stk__export_value(e, node->input[0]) : NULL;
    node->kind->add_onnx(e, node, in, out);
    if (which > 0 && is_transposed(e, node))
        stk__export_transpose(e, node->name, out, node->name, true);
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
