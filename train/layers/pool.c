/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: maxima and means, of windows or of a whole image. */
#include "train/file/export.h"
#include "train/model/layer.h"
#include "train/plan/step_plan.h"

/* ---- kinds of nodes ---- */

static struct stk__onnx_node onnx_pool(const struct stk__export_window *n, const char *op,
                                       const char *in, const char *out)
{
    return (struct stk__onnx_node){ op,
                                    out,
                                    { in },
                                    { out },
                                    { stk__onnx_ints("kernel_shape", n->kernel, 2),
                                      stk__onnx_ints("pads", n->pads, 4),
                                      stk__onnx_ints("strides", n->strides, 2) } };
}

static void add_max_onnx(struct stk__exporting *e, const struct stk__model_node *node,
                         const char *in, const char *out)
{
    const struct stk__export_window n = stk__export_window(&node->window);
    struct stk__onnx_node pool = onnx_pool(&n, "MaxPool", in, out);
    stk__export_node(e, &pool);
}

/* Of several distributions the largest values are none. */
static enum stk__probability behind_max(const struct stk__model *model,
                                        const struct stk__model_node *node)
{
    enum stk__probability before = model->node[node->input[0]].probability;
    return before == STK__PROBABILITY_SOFTMAX ? STK__PROBABILITY_PARTS : before;
}

const struct stk__node_kind stk__node_maxpool = {
    STK__KIND("maxpool", stk__maxpool_group, behind_max, STK__ORDER_OWN, add_max_onnx),
    .add_json = stk__node_json_window,
};

static void add_mean_onnx(struct stk__exporting *e, const struct stk__model_node *node,
                          const char *in, const char *out)
{
    const struct stk__export_window n = stk__export_window(&node->window);
    struct stk__onnx_node pool = onnx_pool(&n, "AveragePool", in, out);
    pool.attribute[3] = stk__onnx_int("count_include_pad", 0);
    stk__export_node(e, &pool);
}

/* A mean of probabilities is one. */
static const struct stk__node_kind avgpool = {
    STK__KIND("avgpool", stk__avgpool_group, stk__probability_kept, STK__ORDER_OWN, add_mean_onnx),
    .add_json = stk__node_json_window,
};

static void add_global_onnx(struct stk__exporting *e, const struct stk__model_node *node,
                            const char *in, const char *out)
{
    const char *mean = node->shape.is_flat ? stk__export_name(e, node->name, "mean") : out;
    stk__export_node(
        e, &(struct stk__onnx_node){ "GlobalAveragePool", mean, { in }, { mean }, { { 0 } } });
    if (node->shape.is_flat)
        stk__export_node(e, &(struct stk__onnx_node){
                                "Flatten", out, { mean }, { out }, { stk__onnx_int("axis", 1) } });
}

static const struct stk__node_kind global_avgpool = {
    STK__KIND("global_avgpool", stk__mean_group, stk__probability_kept, STK__ORDER_OWN,
              add_global_onnx),
};

/* ---- windows ---- */

struct pool {
    struct stk_numbers pool_size, strides, padding;
    const char *name;
};

static const struct stk_param pool_rows[] = {
    STK__SIZE_ROW(pool, pool_size, 0, "one number or [height, width]; none: 2"),
    STK__STRIDES_ROW(pool, "pool_size"),
    STK__PADDING_ROW(pool),
    STK__NAME_ROW(pool),
    STK_ROWS_END,
};

static int build_pool(struct stk__build *b, const struct stk__node_kind *kind)
{
    const struct pool *p = b->params;
    const struct stk__window_rows window = { .kernel = &p->pool_size,
                                             .strides = &p->strides,
                                             .padding = &p->padding,
                                             .kernel_name = "pool_size",
                                             .kernel_otherwise = 2,
                                             .steps_by_kernel = true,
                                             .is_pool = true };
    struct stk__model_node node = { .kind = kind };
    int rc = stk__build_wants_pixels(b);
    if (!rc)
        rc = stk__build_window(b, &window, &node.window, &node.shape);
    if (rc)
        return rc;
    node.shape.channels = stk__build_input(b)->channels;
    return stk__build_node(b, &node, NULL);
}

static int build_maxpool(struct stk__build *b)
{
    return build_pool(b, &stk__node_maxpool);
}

const struct stk__layer stk__layer_maxpool = {
    .decl = { "maxpool", 1, "Take the largest value of each window.",
              "As keras.layers.MaxPooling2D.\n"
              "\n"
              "    input(32, 32, 3).maxpool()\n"
              "    input(112, 112, 64).maxpool(3, strides=2, padding=1)",
              pool_rows, sizeof(struct pool) },
    .build = build_maxpool,
};

static int build_avgpool(struct stk__build *b)
{
    return build_pool(b, &avgpool);
}

const struct stk__layer stk__layer_avgpool = {
    .decl = { "avgpool", 1, "Take the mean of each window.",
              "As keras.layers.AveragePooling2D. What padding adds counts for nothing.\n"
              "\n"
              "    input(32, 32, 3).avgpool(2)",
              pool_rows, sizeof(struct pool) },
    .build = build_avgpool,
};

/* ---- the whole image ---- */

struct global_pool {
    bool keepdims;
    const char *name;
};

static const struct stk_param global_rows[] = {
    STK_BOOL_ROW(global_pool, keepdims, false, 0, "an image of one pixel, instead of features"),
    STK__NAME_ROW(global_pool),
    STK_ROWS_END,
};

static int build_global(struct stk__build *b)
{
    const struct global_pool *p = b->params;
    int rc = stk__build_wants_pixels(b);
    if (rc)
        return rc;
    struct stk__model_node node = {
        .kind = &global_avgpool, .shape = { 1, 1, stk__build_input(b)->channels, !p->keepdims }
    };
    return stk__build_node(b, &node, NULL);
}

const struct stk__layer stk__layer_global_avgpool = {
    .decl = { "global_avgpool", 1, "Take the mean of each channel.",
              "As keras.layers.GlobalAveragePooling2D.\n"
              "\n"
              "    input(7, 7, 256).global_avgpool().dense(10)",
              global_rows, sizeof(struct global_pool) },
    .build = build_global,
};
