/* SPDX-License-Identifier: Apache-2.0 */
/* model_api.c: the public functions of models and layers. */
#include "base/json_out.h"
#include "train/model/layer.h"

#include <stoker/train.h>

#include <stdlib.h>
#include <string.h>

int stk_model_new(const char *text, struct stk_model **out, struct stk_error *err)
{
    struct stk_model *model = calloc(1, sizeof *model);
    *out = NULL;
    if (!model)
        return stk__out_of_memory(err);
    stk__arena_init(&model->arena, 1 << 14);
    int rc = stk__model_build(text, &model->arena, &model->graph, err);
    if (rc)
        stk_model_free(model);
    else
        *out = model;
    return rc;
}

void stk_model_free(struct stk_model *model)
{
    if (!model)
        return;
    stk__arena_free(&model->arena);
    free(model);
}

char *stk_model_describe(const struct stk_model *model, int64_t batch)
{
    struct stk__text out = { 0 };
    stk__model_table(&model->graph, batch, &out);
    return stk__text_take(&out);
}

char *stk_model_json(const struct stk_model *model, int64_t batch)
{
    struct stk__text out = { .is_tight = true };
    stk__model_json(&model->graph, batch, &out);
    return stk__text_take(&out);
}

/* Declarations with or without a chain that they stand for. */
static char *declarations(bool are_known)
{
    const struct stk__namespace *ns = &stk__layers;
    struct stk__text out = { .is_tight = true };
    stk__json_open(&out, NULL, '[');
    for (int i = 0; i < ns->n_decls; i++) {
        const struct stk__layer *layer = stk__layer_of(ns->decl[i]);
        if (!layer->chain != !are_known)
            continue;
        if (out.len > 1)
            stk__json_line(&out, 1);
        stk__json_open(&out, NULL, '{');
        stk__decl_json_members(ns->decl[i], &out);
        if (are_known)
            stk__json_string(&out, "chain", layer->chain);
        stk__json_close(&out, '}');
    }
    stk__json_close(&out, ']');
    return stk__text_take(&out);
}

char *stk_layers_json(void)
{
    return declarations(false);
}

char *stk_models_json(void)
{
    return declarations(true);
}
