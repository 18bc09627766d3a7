/* SPDX-License-Identifier: Apache-2.0 */
/* model_build.c: what layers do to a model that is being built: nodes, weights, messages. */
#include "base/error.h"
#include "train/model/layer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Far beyond any machine, and small enough that no product of two overflows unnoticed. */
enum { MAX_NODES = 10000 };
#define MAX_VALUES ((int64_t)1 << 34)

/* ---- messages ---- */

static const struct stk__arg *argument(const struct stk__build *b, const char *param)
{
    const struct stk_param *row = b->layer->decl.params;
    int position = 0;
    while (row[position].name && strcmp(row[position].name, param) != 0)
        position++;
    for (int i = 0; i < b->call->n_args; i++) {
        const struct stk__arg *arg = &b->call->arg[i];
        if (arg->name ? !strcmp(arg->name, param) : i == position)
            return arg;
    }
    return NULL;
}

int stk__build_fail(const struct stk__build *b, const char *param, int code, const char *format,
                    ...)
{
    const struct stk__arg *arg = param ? argument(b, param) : NULL;
    char text[STK_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return stk__fail_at(b->err, code, arg ? arg->value->at : b->call->at,
                        arg ? arg->value->len : b->call->len, "%.160s: %s",
                        b->name ? b->name : b->layer->decl.name, text);
}

const struct stk__shape *stk__build_input(const struct stk__build *b)
{
    return &b->model->node[b->tip].shape;
}

int stk__build_wants_pixels(struct stk__build *b)
{
    const struct stk__shape *in = stk__build_input(b);
    char text[STK__SHAPE_TEXT];
    if (!in->is_flat)
        return STK_OK;
    return stk__build_fail(b, NULL, STK_TYPE,
                           "it takes an image, but %s gives %s; it must come before flatten and "
                           "dense, and input needs height, width and channels",
                           b->model->node[b->tip].name, stk__shape_text(in, text));
}

/* ---- nodes ---- */

/* Room for one more; the capacity is the power of two that n fills. */
static void *grow(struct stk__build *b, void *items, int n, size_t size)
{
    if (n & (n - 1))
        return items;
    void *more = stk_arena_alloc(b->arena, (n ? (size_t)n * 2 : 1) * size);
    if (more && n)
        memcpy(more, items, (size_t)n * size);
    return more;
}

static bool is_too_large(const int64_t *factor, int n, int64_t *product)
{
    *product = 1;
    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(*product, factor[i], product) || *product > MAX_VALUES)
            return true;
    return false;
}

static const char *join(struct stk__build *b, const char *part)
{
    return part ? stk__arena_printf(b->arena, "%s/%s", b->name, part) : b->name;
}

enum stk__probability stk__probability_none(const struct stk__model *model,
                                            const struct stk__model_node *node)
{
    (void)model;
    (void)node;
    return STK__PROBABILITY_NONE;
}

enum stk__probability stk__probability_kept(const struct stk__model *model,
                                            const struct stk__model_node *node)
{
    return model->node[node->input[0]].probability;
}

int stk__build_node(struct stk__build *b, const struct stk__model_node *node, const char *part)
{
    struct stk__model *model = b->model;
    const int64_t sides[] = { node->shape.height, node->shape.width, node->shape.channels };
    int64_t values;
    if (is_too_large(sides, 3, &values))
        return stk__build_fail(b, NULL, STK_VALUE, "its result would have more than 2^34 values");
    if (model->n_nodes == MAX_NODES)
        return stk__build_fail(b, NULL, STK_VALUE, "a model has at most %d layers", MAX_NODES);
    int *input = stk_arena_alloc(b->arena, sizeof *input);
    struct stk__model_node *nodes = grow(b, model->node, model->n_nodes, sizeof *nodes), *added;
    const char *name = join(b, part);
    if (!input || !nodes || !name)
        return stk__out_of_memory(b->err);
    model->node = nodes;
    added = &nodes[model->n_nodes];
    *added = *node;
    added->name = name;
    added->layer = b->layer->decl.name;
    added->at = b->call->at;
    added->len = b->call->len;
    added->first_weight = model->n_weights;
    if (!node->n_inputs && b->tip >= 0) {
        *input = b->tip;
        added->input = input;
        added->n_inputs = 1;
    }
    added->probability = added->kind->probability(model, added);
    b->tip = model->n_nodes++;
    return STK_OK;
}

int stk__build_activation(struct stk__build *b, const struct stk_value *activation)
{
    struct stk__model_node node = { .kind = &stk__node_activation, .shape = *stk__build_input(b) };
    int rc = stk__activation_read(activation, b->arena, &node.activation, b->err);
    if (rc || node.activation.kind == STK__LINEAR)
        return rc;
    return stk__build_node(b, &node, "activation");
}

/* ---- weights ---- */

/* Every value of a kernel is used once for each pixel of the result. */
static int64_t macs_of(const struct stk__model_node *node, int64_t n_values)
{
    int64_t pixels = node->shape.height * node->shape.width, macs;
    return __builtin_mul_overflow(pixels, n_values, &macs) ? INT64_MAX : macs;
}

int stk__build_weight(struct stk__build *b, const struct stk__weight_spec *spec)
{
    struct stk__model *model = b->model;
    struct stk__model_node *node = &model->node[model->n_nodes - 1];
    struct stk__weight weight = { .role = spec->role,
                                  .node = model->n_nodes - 1,
                                  .rank = spec->rank,
                                  .is_trainable = spec->role <= STK__BETA };
    if (is_too_large(spec->shape, spec->rank, &weight.n_values))
        return stk__build_fail(b, NULL, STK_VALUE, "its %s would have more than 2^34 values",
                               spec->part);
    memcpy(weight.shape, spec->shape, sizeof weight.shape);
    int rc = stk__initializer_read(spec->initializer, spec->otherwise, b->arena,
                                   &weight.initializer, b->err);
    if (rc)
        return rc;
    stk__initializer_scale(&weight.initializer, weight.shape, weight.rank);
    weight.name = join(b, spec->part);
    struct stk__weight *weights = grow(b, model->weight, model->n_weights, sizeof *weights);
    if (!weight.name || !weights)
        return stk__out_of_memory(b->err);
    model->weight = weights;
    weights[model->n_weights++] = weight;
    node->n_weights++;
    if (weight.role == STK__KERNEL)
        node->macs = macs_of(node, weight.n_values);
    return STK_OK;
}

int stk__build_bias(struct stk__build *b, const struct stk_value *initializer)
{
    const struct stk__weight_spec bias = {
        STK__BIAS,   "bias", 1, { b->model->node[b->model->n_nodes - 1].shape.channels },
        initializer, "zeros"
    };
    return stk__build_weight(b, &bias);
}
