/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: from a model's text to its graph, call by call; and finding things in it. */
#include "train/model/model.h"

#include "base/hash.h"
#include "lang/lexer.h"
#include "train/model/layer.h"
#include "train/model/model_names.h"

#include <stdio.h>
#include <string.h>

/* ---- calls ---- */

static int fail_first(const struct stk__build *b, const struct stk__call *call)
{
    return stk__fail_at(
        b->err, STK_TYPE, call->at, call->len,
        "a model begins with input(height, width, channels) or input(features), not "
        "with %.64s",
        call->name);
}

static int fail_again(const struct stk__build *b, const struct stk__call *call)
{
    return stk__fail_at(b->err, STK_TYPE, call->at, call->len,
                        "%.64s begins a model and cannot stand further on, nor in a nested chain, "
                        "which goes on from the input of its layer",
                        call->name);
}

static int build_call(struct stk__build *b, const struct stk__call *call)
{
    const struct stk_decl *decl = stk__namespace_find(&stk__layers, call->name);
    if (!decl)
        return stk__unknown_call(&stk__layers, call, b->err);
    b->layer = stk__layer_of(decl);
    b->call = call;
    b->name = NULL;
    if (b->tip < 0 && !b->layer->begins)
        return fail_first(b, call);
    if (b->tip >= 0 && b->layer->begins)
        return fail_again(b, call);
    void *params = stk_arena_alloc(b->arena, decl->params_size);
    if (!params)
        return stk__out_of_memory(b->err);
    b->params = params;
    int rc = stk__call_bind(call, decl, b->arena, params, b->err);
    if (!rc)
        rc = stk__names_take(b);
    return rc ? rc : b->layer->build(b);
}

int stk__build_chain(struct stk__build *b, const struct stk_value *chain, int from, int *end)
{
    struct stk__build inner = *b;
    inner.tip = from;
    for (int i = 0; i < chain->n_calls; i++) {
        int rc = build_call(&inner, &chain->call[i]);
        if (rc)
            return rc;
    }
    *end = inner.tip;
    return STK_OK;
}

/* ---- the whole text ---- */

/* A name alone is called without arguments. */
static const char *with_brackets(const char *text, struct stk_arena *arena)
{
    size_t len = strlen(text);
    return len < 64 && stk__is_name(text, len) ? stk__arena_printf(arena, "%s()", text) : text;
}

static int keep_text(const struct stk_value *chain, struct stk_arena *arena,
                     struct stk__model *model, struct stk_error *err)
{
    struct stk__text text = { 0 };
    int rc = stk__print_value(chain, &stk__layers, STK__CANONICAL, &text, err);
    if (!rc && !text.failed)
        model->text = stk__arena_text_n(arena, text.data, text.len);
    stk__text_free(&text);
    return rc || model->text ? rc : stk__out_of_memory(err);
}

int stk__model_build(const char *text, struct stk_arena *arena, struct stk__model *out,
                     struct stk_error *err)
{
    struct stk__names names = { 0 };
    struct stk__build b = { .model = out, .names = &names, .arena = arena, .err = err, .tip = -1 };
    const struct stk_value *chain;
    int end;
    *out = (struct stk__model){ 0 };
    text = with_brackets(text, arena);
    if (!text)
        return stk__out_of_memory(err);
    if (!text[strspn(text, " \t\n")])
        return stk_fail(err, STK_VALUE,
                        "the model is empty; it is a chain of layers, such as "
                        "input(28, 28, 1).flatten().dense(10)");
    int rc = stk__parse(text, NULL, arena, &chain, err);
    if (!rc && chain->kind != STK__CHAIN)
        rc = stk__fail_at(
            err, STK_TYPE, chain->at, chain->len,
            "a model is a chain of layers, such as input(28, 28, 1).flatten().dense(10)");
    if (!rc)
        rc = stk__build_chain(&b, chain, -1, &end);
    return rc ? rc : keep_text(chain, arena, out, err);
}

/* ---- looking at a model ---- */

const struct stk__weight *stk__node_weight(const struct stk__model *model,
                                           const struct stk__model_node *node,
                                           enum stk__weight_role role)
{
    for (int i = node->first_weight; i < node->first_weight + node->n_weights; i++)
        if (model->weight[i].role == role)
            return &model->weight[i];
    return NULL;
}

int stk__model_find_node(const struct stk__model *model, const char *name)
{
    for (int i = 0; i < model->n_nodes; i++)
        if (!strcmp(model->node[i].name, name))
            return i;
    return -1;
}

int stk__model_find_weight(const struct stk__model *model, const char *name)
{
    for (int i = 0; i < model->n_weights; i++)
        if (!strcmp(model->weight[i].name, name))
            return i;
    return -1;
}

enum stk__probability stk__model_output_probability(const struct stk__model *model)
{
    return model->node[model->n_nodes - 1].probability;
}

int64_t stk__shape_values(const struct stk__shape *shape)
{
    return shape->height * shape->width * shape->channels;
}

const char *stk__shape_text(const struct stk__shape *shape, char text[STK__SHAPE_TEXT])
{
    if (shape->is_flat)
        snprintf(text, STK__SHAPE_TEXT, "%lld features", (long long)shape->channels);
    else
        snprintf(text, STK__SHAPE_TEXT, "%lld×%lld×%lld", (long long)shape->height,
                 (long long)shape->width, (long long)shape->channels);
    return text;
}

/* A sum that stays at the largest number instead of passing it. */
static void add_to(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

struct stk__model_totals stk__model_totals(const struct stk__model *model)
{
    struct stk__model_totals totals = { 0 };
    for (int i = 0; i < model->n_weights; i++)
        add_to(model->weight[i].is_trainable ? &totals.trainable : &totals.statistics,
               model->weight[i].n_values);
    for (int i = 0; i < model->n_nodes; i++) {
        add_to(&totals.macs, model->node[i].macs);
        if (!model->node[i].kind->is_view)
            add_to(&totals.activation_values, stk__shape_values(&model->node[i].shape));
    }
    return totals;
}
