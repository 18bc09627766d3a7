/* SPDX-License-Identifier: Apache-2.0 */
/* branches.c: layers that bring several chains together: residual and concat. */
#include "train/file/export.h"
#include "train/model/layer.h"
#include "train/plan/step_plan.h"

#include <string.h>

/* ---- kinds of nodes ---- */

/* Of all its inputs; those of more than a node of ONNX takes are joined piece by piece. */
static void add_joined(struct stk__exporting *e, const struct stk__model_node *node,
                       struct stk__onnx_node joined, const char *out)
{
    int n = 0;
    for (int i = 0; i < node->n_inputs; i++) {
        joined.input[n++] = stk__export_value(e, node->input[i]);
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

static void add_sum_onnx(struct stk__exporting *e, const struct stk__model_node *node,
                         const char *in, const char *out)
{
    (void)in;
    add_joined(e, node, (struct stk__onnx_node){ .op = "Sum" }, out);
}

static const struct stk__node_kind add_kind = {
    STK__KIND("add", stk__add_group, stk__probability_none, STK__ORDER_KEPT, add_sum_onnx),
    .takes_activation = true,
};

/* Values of sigmoid stay what they are beside others of their kind; a softmax is one of several
 * then. */
static enum stk__probability side_by_side(const struct stk__model *model,
                                          const struct stk__model_node *node)
{
    enum stk__probability all = model->node[node->input[0]].probability;
    for (int i = 1; i < node->n_inputs; i++)
        if (model->node[node->input[i]].probability != all)
            return STK__PROBABILITY_PARTS;
    return all == STK__PROBABILITY_SOFTMAX ? STK__PROBABILITY_PARTS : all;
}

static void add_concat_onnx(struct stk__exporting *e, const struct stk__model_node *node,
                            const char *in, const char *out)
{
    (void)in;
    add_joined(e, node,
               (struct stk__onnx_node){ .op = "Concat", .attribute = { stk__onnx_int("axis", 1) } },
               out);
}

static const struct stk__node_kind concat_kind = {
    STK__KIND("concat", stk__concat_group, side_by_side, STK__ORDER_JOINED, add_concat_onnx),
};

/* ---- residual ---- */

struct residual {
    struct stk__chains chain, shortcut;
    const struct stk_value *activation;
    const char *name;
};

static const struct stk_param residual_rows[] = {
    STK__CHAINS_ROW(residual, chain, STK_REQUIRED, "layers whose result is added to the input"),
    STK__CHAINS_ROW(
        residual, shortcut, STK_TAKES_NONE,
        "layers that the input goes through before it is added; none: it stays as it is"),
    STK__ACTIVATION_ROW(residual),
    STK__NAME_ROW(residual),
    STK_ROWS_END,
};

static int branch(struct stk__build *b, const struct stk__chains *chains, const char *param,
                  int from, int *end)
{
    if (chains->n > 1)
        return stk__build_fail(b, param, STK_VALUE, "%s takes one chain, but %d are given", param,
                               chains->n);
    *end = from;
    return chains->n ? stk__build_chain(b, chains->item[0], from, end) : STK_OK;
}

static bool is_same(const struct stk__shape *a, const struct stk__shape *b)
{
    return a->height == b->height && a->width == b->width && a->channels == b->channels &&
           a->is_flat == b->is_flat;
}

/* What would make the input as large as what the chain gives. */
static void add_remedy(const struct stk__build *b, const struct stk__shape *in,
                       const struct stk__shape *out, struct stk__text *text)
{
    const struct residual *p = b->params;
    int64_t down =
        out->height && in->height > out->height ? (in->height + out->height - 1) / out->height : 1;
    bool fits = (in->height + down - 1) / down == out->height &&
                (in->width + down - 1) / down == out->width;
    if (p->shortcut.n || in->is_flat != out->is_flat || (!in->is_flat && !fits))
        stk__text_add(text, "both must have the same shape");
    else if (in->is_flat)
        stk__text_add(text, "shortcut=dense(%lld) would make them equal", (long long)out->channels);
    else if (down > 1)
        stk__text_add(text, "shortcut=conv2d(%lld, 1, strides=%lld) would make them equal",
                      (long long)out->channels, (long long)down);
    else
        stk__text_add(text, "shortcut=conv2d(%lld, 1) would make them equal",
                      (long long)out->channels);
}

static int fail_shapes(const struct stk__build *b, const struct stk__shape *chain,
                       const struct stk__shape *shortcut)
{
    const struct residual *p = b->params;
    char first[STK__SHAPE_TEXT], second[STK__SHAPE_TEXT];
    struct stk__text remedy = { 0 };
    add_remedy(b, shortcut, chain, &remedy);
    int rc = stk__build_fail(b, NULL, STK_TYPE, "the chain gives %s, but %s %s; %s",
                             stk__shape_text(chain, first),
                             p->shortcut.n ? "the shortcut gives" : "the input is",
                             stk__shape_text(shortcut, second), remedy.data ? remedy.data : "");
    stk__text_free(&remedy);
    return rc;
}

static int build_residual(struct stk__build *b)
{
    const struct residual *p = b->params;
    int from = b->tip;
    int *ends = stk_arena_alloc(b->arena, 2 * sizeof *ends);
    if (!ends)
        return stk__out_of_memory(b->err);
    int rc = branch(b, &p->chain, "chain", from, &ends[0]);
    if (!rc)
        rc = branch(b, &p->shortcut, "shortcut", from, &ends[1]);
    if (rc)
        return rc;
    const struct stk__shape *chain = &b->model->node[ends[0]].shape;
    const struct stk__shape *shortcut = &b->model->node[ends[1]].shape;
    if (ends[0] == ends[1])
        return stk__build_fail(b, "chain", STK_VALUE, "the chain gives its input as it is");
    if (!is_same(chain, shortcut))
        return fail_shapes(b, chain, shortcut);
    struct stk__model_node node = {
        .kind = &add_kind, .n_inputs = 2, .input = ends, .shape = *chain
    };
    rc = stk__build_node(b, &node, NULL);
    return rc ? rc : stk__build_activation(b, p->activation);
}

const struct stk__layer stk__layer_residual = {
    .decl = { "residual", 1, "Add what a chain of layers gives to the input.",
              "The chain goes on from the input of this call. Where it changes the shape, the "
              "shortcut must change the input in the same way.\n"
              "\n"
              "    input(8, 8, 16).residual(conv2d(16, 3, padding=same, activation=relu)"
              ".conv2d(16, 3, padding=same), activation=relu)\n"
              "    input(8, 8, 16).residual(conv2d(32, 3, 2, padding=same), "
              "shortcut=conv2d(32, 1, 2))",
              residual_rows, sizeof(struct residual) },
    .build = build_residual,
};

/* ---- concat ---- */

struct concat {
    struct stk__chains chains;
    const char *name;
};

static const struct stk_param concat_rows[] = {
    STK__CHAINS_ROW(concat, chains, STK_REQUIRED,
                    "each goes on from the input; identity() passes it on"),
    STK__NAME_ROW(concat),
    STK_ROWS_END,
};

static int check_branch(const struct stk__build *b, const int *ends, int i)
{
    const struct stk__shape *first = &b->model->node[ends[0]].shape;
    const struct stk__shape *shape = &b->model->node[ends[i]].shape;
    char a[STK__SHAPE_TEXT], c[STK__SHAPE_TEXT];
    if (shape->height != first->height || shape->width != first->width ||
        shape->is_flat != first->is_flat)
        return stk__build_fail(b, NULL, STK_TYPE,
                               "chain %d gives %s, but chain 1 gives %s; all must have the same "
                               "height and width, which padding and strides decide",
                               i + 1, stk__shape_text(shape, a), stk__shape_text(first, c));
    for (int k = 0; k < i; k++)
        if (ends[k] == ends[i])
            return stk__build_fail(b, NULL, STK_VALUE,
                                   "chains %d and %d both give the input as it is", k + 1, i + 1);
    return STK_OK;
}

static int build_concat(struct stk__build *b)
{
    const struct concat *p = b->params;
    int n = p->chains.n, from = b->tip;
    int *ends = stk_arena_alloc(b->arena, (size_t)n * sizeof *ends);
    int64_t channels = 0;
    if (!ends)
        return stk__out_of_memory(b->err);
    if (n < 2)
        return stk__build_fail(b, "chains", STK_VALUE,
                               "it takes two chains or more, in a list: concat([conv2d(8, 1), "
                               "identity()])");
    for (int i = 0; i < n; i++) {
        int rc = stk__build_chain(b, p->chains.item[i], from, &ends[i]);
        if (!rc)
            rc = check_branch(b, ends, i);
        if (rc)
            return rc;
        channels += b->model->node[ends[i]].shape.channels;
    }
    struct stk__model_node node = {
        .kind = &concat_kind, .n_inputs = n, .input = ends, .shape = b->model->node[ends[0]].shape
    };
    node.shape.channels = channels;
    return stk__build_node(b, &node, NULL);
}

const struct stk__layer stk__layer_concat = {
    .decl = { "concat", 1, "Put the channels that several chains give behind each other.",
              "As keras.layers.Concatenate over the last axis.\n"
              "\n"
              "    input(8, 8, 16).concat([conv2d(8, 1), conv2d(8, 3, padding=same), identity()])",
              concat_rows, sizeof(struct concat) },
    .build = build_concat,
};
