/* SPDX-License-Identifier: Apache-2.0 */
/* model_json.c: a model as JSON. */
#include "base/json_out.h"
#include "train/model/node_kind.h"

static void add_shape(struct stk__text *out, const struct stk__shape *shape)
{
    const int64_t sides[] = { shape->height, shape->width, shape->channels };
    stk__json_wholes(out, "shape", shape->is_flat ? sides + 2 : sides, shape->is_flat ? 1 : 3);
}

void stk__node_json_window(const struct stk__model_node *node, struct stk__text *out)
{
    const struct stk__window *w = &node->window;
    const int64_t kernel[] = { w->kernel_height, w->kernel_width };
    const int64_t strides[] = { w->stride_height, w->stride_width };
    const int64_t dilation[] = { w->dilation_height, w->dilation_width };
    const int64_t padding[] = { w->pad_top, w->pad_bottom, w->pad_left, w->pad_right };
    stk__json_wholes(out, "kernel", kernel, 2);
    stk__json_wholes(out, "strides", strides, 2);
    stk__json_wholes(out, "dilation", dilation, 2);
    stk__json_wholes(out, "padding", padding, 4);
}

static void add_weight(struct stk__text *out, const struct stk__weight *weight)
{
    stk__json_open(out, NULL, '{');
    stk__json_string(out, "name", weight->name);
    stk__json_wholes(out, "shape", weight->shape, weight->rank);
    stk__json_whole(out, "values", weight->n_values);
    stk__json_bool(out, "trainable", weight->is_trainable);
    stk__json_string(out, "initializer", weight->initializer.name);
    stk__json_close(out, '}');
}

static void add_node(struct stk__text *out, const struct stk__model *model,
                     const struct stk__model_node *node)
{
    stk__json_open(out, NULL, '{');
    stk__json_string(out, "name", node->name);
    stk__json_string(out, "kind", node->kind->name);
    stk__json_string(out, "layer", node->layer);
    stk__json_open(out, "inputs", '[');
    for (int i = 0; i < node->n_inputs; i++)
        stk__json_string(out, NULL, model->node[node->input[i]].name);
    stk__json_close(out, ']');
    add_shape(out, &node->shape);
    if (node->kind->add_json)
        node->kind->add_json(node, out);
    stk__json_open(out, "weights", '[');
    for (int i = 0; i < node->n_weights; i++)
        add_weight(out, &model->weight[node->first_weight + i]);
    stk__json_close(out, ']');
    stk__json_whole(out, "macs", node->macs);
    stk__json_close(out, '}');
}

void stk__model_json(const struct stk__model *model, int64_t batch, struct stk__text *out)
{
    struct stk__model_totals totals = stk__model_totals(model);
    int64_t bytes;
    if (__builtin_mul_overflow(totals.activation_values, batch, &bytes) ||
        __builtin_mul_overflow(bytes, 4, &bytes))
        bytes = INT64_MAX;
    stk__json_open(out, NULL, '{');
    stk__json_string(out, "text", model->text);
    stk__json_open(out, "layers", '[');
    for (int i = 0; i < model->n_nodes; i++) {
        stk__json_line(out, 1);
        add_node(out, model, &model->node[i]);
    }
    stk__json_close(out, ']');
    stk__json_whole(out, "trainable", totals.trainable);
    stk__json_whole(out, "statistics", totals.statistics);
    stk__json_whole(out, "macs", totals.macs);
    stk__json_whole(out, "batch", batch);
    stk__json_whole(out, "activation_bytes", bytes);
    stk__json_close(out, '}');
}
