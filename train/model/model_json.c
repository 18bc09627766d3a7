/* SPDX-License-Identifier: Apache-2.0 */
/* model_json.c: a model as JSON. */
#include "train/model/node_kind.h"

#include <inttypes.h>
#include <string.h>

static void add_string(struct stk__text *out, const char *name, const char *value)
{
    stk__text_add(out, "\"%s\":", name);
    stk__text_add_json(out, value, strlen(value));
}

void stk__node_json_count(struct stk__text *out, const char *name, int64_t value)
{
    stk__text_add(out, ",\"%s\":%" PRId64, name, value);
}

void stk__node_json_real(struct stk__text *out, const char *name, double value)
{
    stk__text_add(out, ",\"%s\":", name);
    stk__text_add_real(out, value);
}

static void add_numbers(struct stk__text *out, const char *name, const int64_t *item, int n)
{
    stk__text_add(out, ",\"%s\":[", name);
    for (int i = 0; i < n; i++)
        stk__text_add(out, "%s%" PRId64, i ? "," : "", item[i]);
    stk__text_add(out, "]");
}

static void add_shape(struct stk__text *out, const struct stk__shape *shape)
{
    const int64_t sides[] = { shape->height, shape->width, shape->channels };
    add_numbers(out, "shape", shape->is_flat ? sides + 2 : sides, shape->is_flat ? 1 : 3);
}

void stk__node_json_string(struct stk__text *out, const char *name, const char *value)
{
    stk__text_add(out, ",");
    add_string(out, name, value);
}

void stk__node_json_window(const struct stk__model_node *node, struct stk__text *out)
{
    const struct stk__window *w = &node->window;
    const int64_t kernel[] = { w->kernel_height, w->kernel_width };
    const int64_t strides[] = { w->stride_height, w->stride_width };
    const int64_t dilation[] = { w->dilation_height, w->dilation_width };
    const int64_t padding[] = { w->pad_top, w->pad_bottom, w->pad_left, w->pad_right };
    add_numbers(out, "kernel", kernel, 2);
    add_numbers(out, "strides", strides, 2);
    add_numbers(out, "dilation", dilation, 2);
    add_numbers(out, "padding", padding, 4);
}

static void add_weight(struct stk__text *out, const struct stk__weight *weight)
{
    stk__text_add(out, "{");
    add_string(out, "name", weight->name);
    add_numbers(out, "shape", weight->shape, weight->rank);
    stk__node_json_count(out, "values", weight->n_values);
    stk__text_add(out, ",\"trainable\":%s,", weight->is_trainable ? "true" : "false");
    add_string(out, "initializer", weight->initializer.name);
    stk__text_add(out, "}");
}

static void add_node(struct stk__text *out, const struct stk__model *model,
                     const struct stk__model_node *node)
{
    stk__text_add(out, "{");
    add_string(out, "name", node->name);
    stk__text_add(out, ",");
    add_string(out, "kind", node->kind->name);
    stk__text_add(out, ",");
    add_string(out, "layer", node->layer);
    stk__text_add(out, ",\"inputs\":[");
    for (int i = 0; i < node->n_inputs; i++) {
        const char *name = model->node[node->input[i]].name;
        stk__text_add(out, i ? "," : "");
        stk__text_add_json(out, name, strlen(name));
    }
    stk__text_add(out, "]");
    add_shape(out, &node->shape);
    if (node->kind->add_json)
        node->kind->add_json(node, out);
    stk__text_add(out, ",\"weights\":[");
    for (int i = 0; i < node->n_weights; i++) {
        stk__text_add(out, i ? "," : "");
        add_weight(out, &model->weight[node->first_weight + i]);
    }
    stk__text_add(out, "]");
    stk__node_json_count(out, "macs", node->macs);
    stk__text_add(out, "}");
}

void stk__model_json(const struct stk__model *model, int64_t batch, struct stk__text *out)
{
    struct stk__model_totals totals = stk__model_totals(model);
    int64_t bytes;
    if (__builtin_mul_overflow(totals.activation_values, batch, &bytes) ||
        __builtin_mul_overflow(bytes, 4, &bytes))
        bytes = INT64_MAX;
    stk__text_add(out, "{");
    add_string(out, "text", model->text);
    stk__text_add(out, ",\"layers\":[");
    for (int i = 0; i < model->n_nodes; i++) {
        stk__text_add(out, i ? ",\n " : "\n ");
        add_node(out, model, &model->node[i]);
    }
    stk__text_add(out, "]");
    stk__node_json_count(out, "trainable", totals.trainable);
    stk__node_json_count(out, "statistics", totals.statistics);
    stk__node_json_count(out, "macs", totals.macs);
    stk__node_json_count(out, "batch", batch);
    stk__node_json_count(out, "activation_bytes", bytes);
    stk__text_add(out, "}");
}
