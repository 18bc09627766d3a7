/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_model.c: any text as a model. What is accepted is a graph in order, whose canonical text is the same
 * model again; what is refused has a message, and a place in the text.
 *
 * Bytes from 128 on stand for words of the declarations: names of layers, parameters, activations and
 * initialisers. */
#include "fuzz/words.h"
#include "train/model/layer.h"

#include <stoker/train.h>

static const struct words *dictionary(void)
{
    static struct words words;
    if (!words.n) {
        add_word(&words, "none");
        add_word(&words, "input(9, 8, 4).");
        add_namespace(&words, &stk__layers);
        add_namespace(&words, &stk__activations);
        add_namespace(&words, &stk__initializers);
    }
    return &words;
}

static void check_node(const struct stk__model *model, int i)
{
    const struct stk__model_node *node = &model->node[i];
    require(!strcmp(node->kind->name, "input") == (i == 0));
    require(node->n_inputs >= (i > 0) && stk__shape_values(&node->shape) > 0 && node->macs >= 0);
    require(!node->shape.is_flat || (node->shape.height == 1 && node->shape.width == 1));
    require(stk__model_find_node(model, node->name) == i);
    for (int k = 0; k < node->n_inputs; k++)
        require(node->input[k] >= 0 && node->input[k] < i);
    for (int k = 0; k < node->n_weights; k++)
        require(model->weight[node->first_weight + k].node == i);
}

static void check_model(const struct stk__model *model)
{
    for (int i = 0; i < model->n_nodes && i < 300; i++)
        check_node(model, i);
    for (int i = 0; i < model->n_weights && i < 300; i++) {
        const struct stk__weight *weight = &model->weight[i];
        float value;
        require(weight->n_values > 0 && stk__model_find_weight(model, weight->name) == i);
        stk__initializer_fill(&weight->initializer, 1, weight->name, weight->n_values - 1, 1,
                              &value);
    }
}

static void check_again(const struct stk_model *model)
{
    struct stk_error err = { 0 };
    struct stk_model *again;
    require(stk_model_new(model->graph.text, &again, &err) == STK_OK);
    require(again->graph.n_nodes == model->graph.n_nodes);
    require(!strcmp(again->graph.text, model->graph.text));
    stk_model_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct stk_error err = { 0 };
    struct stk_model *model;
    char *text = text_of(dictionary(), bytes, n_bytes);
    require(text != NULL);
    int rc = stk_model_new(text, &model, &err);
    require(!rc || (rc == err.code && err.text[0] && err.at <= strlen(text)));
    if (!rc) {
        check_model(&model->graph);
        if (strlen(model->graph.text) < 1 << 16)
            check_again(model);
        char *table = stk_model_describe(model, 7), *json = stk_model_json(model, INT64_MAX);
        require(table && json);
        stk_text_free(table);
        stk_text_free(json);
        stk_model_free(model);
    }
    free(text);
    return 0;
}
