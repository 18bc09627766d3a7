/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_layers.c: every layer that is declared: its texts, its examples, its defaults and bounds.
 *
 * A new layer needs one row in `trials`. */
#include "lang/param_rows.h"
#include "train/model/layer.h"
#include "train_call.h"

/* What comes before a layer, and arguments for what it requires. */
static const struct trial {
    const char *layer, *before, *arg[2]; /* "name=value" */
} trials[] = {
    { "activation", "input(8, 8, 4).", { "activation=relu" } },
    { "avgpool", "input(8, 8, 4).", { 0 } },
    { "batchnorm", "input(8, 8, 4).", { 0 } },
    { "concat", "input(8, 8, 4).", { "chains=[identity(), conv2d(3, 1)]" } },
    { "conv2d", "input(8, 8, 4).", { "filters=4", "kernel_size=3" } },
    { "dense", "input(8).", { "units=3" } },
    { "depthwise_conv2d", "input(8, 8, 4).", { "kernel_size=3" } },
    { "dropout", "input(8, 8, 4).", { "rate=0.5" } },
    { "flatten", "input(8, 8, 4).", { 0 } },
    { "global_avgpool", "input(8, 8, 4).", { 0 } },
    { "identity", "input(8, 8, 4).", { 0 } },
    { "input", "", { "height=8", NULL } },
    { "m1", "", { 0 } },
    { "m2", "", { 0 } },
    { "m3", "", { 0 } },
    { "m4", "", { 0 } },
    { "maxpool", "input(8, 8, 4).", { 0 } },
    { "mobilenet_v2", "", { 0 } },
    { "residual", "input(8, 8, 4).", { "chain=conv2d(4, 1)" } },
    { "resnet18", "", { 0 } },
    { "separable_conv2d", "input(8, 8, 4).", { "filters=4", "kernel_size=3" } },
};

static const struct trial *trial_of(const char *layer)
{
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        if (!strcmp(trials[i].layer, layer))
            return &trials[i];
    fail_msg("%s has no row in `trials`: add one", layer);
    return NULL;
}

static struct stk__model model_of(const char *text)
{
    struct stk__model model;
    struct stk_error err = { 0 };
    if (stk__model_build(text, &arena, &model, &err))
        fail_msg("%s: %s", text, err.text);
    return model;
}

/* ---- declarations ---- */

static void test_declarations(void **state)
{
    (void)state;
    check_declarations(&stk__layers);
    check_declarations(&stk__activations);
    check_declarations(&stk__initializers);
}

/* What every kind says is there: also of one that was declared without STK__KIND. */
static void check_kinds(const struct stk__model *model)
{
    for (int i = 0; i < model->n_nodes; i++) {
        const struct stk__node_kind *kind = model->node[i].kind;
        assert_true(kind->name && kind->group && kind->probability && kind->add_onnx);
        assert_true(!model->node[i].n_weights || kind->torch);
    }
}

/* The examples of the texts are models. */
static void test_examples(void **state)
{
    (void)state;
    for (int i = 0; i < stk__layers.n_decls; i++) {
        const char *example = strstr(stk__layers.decl[i]->doc, "\n    ");
        for (; example; example = strstr(example, "\n    ")) {
            size_t len = strcspn(example += 5, "\n");
            struct stk__model model = model_of(stk__arena_text_n(&arena, example, len));
            assert_true(model.n_nodes > 1);
            check_kinds(&model);
        }
    }
}

/* ---- defaults and bounds ---- */

static bool is_given(const struct trial *trial, const char *name)
{
    for (int i = 0; i < 2 && trial->arg[i]; i++)
        if (!strncmp(trial->arg[i], name, strlen(name)) && trial->arg[i][strlen(name)] == '=')
            return true;
    return false;
}

/* A chain with the layer's required arguments, except where `name=value` is given. */
static const char *chain_of(const struct trial *trial, const char *name, const char *value)
{
    struct stk__text text = { 0 };
    const char *separator = "";
    stk__text_add(&text, "%s%s(", trial->before, trial->layer);
    for (int i = 0; i < 2 && trial->arg[i]; i++)
        if (!name || strncmp(trial->arg[i], name, strlen(name)) != 0) {
            stk__text_add(&text, "%s%s", separator, trial->arg[i]);
            separator = ", ";
        }
    if (name)
        stk__text_add(&text, "%s%s=%s", separator, name, value);
    stk__text_add(&text, ")");
    const char *kept = stk__arena_text_n(&arena, text.data, text.len);
    stk__text_free(&text);
    return kept;
}

static void test_defaults(void **state)
{
    (void)state;
    for (int i = 0; i < stk__layers.n_decls; i++) {
        const struct trial *trial = trial_of(stk__layers.decl[i]->name);
        struct stk__model model = model_of(chain_of(trial, NULL, NULL));
        assert_true(model.n_nodes >= 1);
        for (const struct stk_param *row = stk__layers.decl[i]->params; row->name; row++)
            assert_true(!(row->flags & STK_REQUIRED) || is_given(trial, row->name));
    }
}

/* It can be built, or says in the layer's name what is in the way; never anything else. */
static void try_value(const struct trial *trial, const struct stk_param *row, const char *value,
                      bool must_build)
{
    const char *text = chain_of(trial, row->name, value);
    struct stk__model model;
    struct stk_error err = { 0 };
    int rc = stk__model_build(text, &arena, &model, &err);
    bool is_told = (rc == STK_VALUE || rc == STK_TYPE) && err.len &&
                   strstr(err.text, trial->layer) && err.at + err.len <= strlen(text);
    if (rc && (must_build || !is_told))
        fail_msg("%s: %d, %s", text, rc, err.text);
}

static void try_refused(const struct trial *trial, const struct stk_param *row, const char *value)
{
    const char *text = chain_of(trial, row->name, value);
    struct stk__model model;
    struct stk_error err = { 0 };
    if (!stk__model_build(text, &arena, &model, &err))
        fail_msg("%s was taken", text);
    assert_non_null(strstr(err.text, row->name));
}

static void try_numbers(const struct trial *trial, const struct stk_param *row)
{
    static const char *const good[] = { "1", "[1, 1]" };
    static const char *const bad[] = { "-1", "1.5", "4097", "[1, 1, 1]", "[1, 1, 1, 1, 1]", "[]" };
    for (int i = 0; i < 2; i++)
        try_value(trial, row, good[i], true);
    for (int i = 0; i < 6; i++)
        try_refused(trial, row, bad[i]);
    for (const char *const *word = row->choices; word && *word; word++)
        try_value(trial, row, *word, true);
}

static void try_calls(const struct trial *trial, const struct stk_param *row)
{
    for (int i = 0; i < row->calls->n_decls; i++) {
        try_value(trial, row, row->calls->decl[i]->name, true);
        try_value(trial, row, stk__arena_printf(&arena, "%s()", row->calls->decl[i]->name), true);
        try_value(trial, row, stk__arena_printf(&arena, "'%s'", row->calls->decl[i]->name), true);
    }
}

static const char *bound_of(const struct stk_param *row, bool is_min)
{
    struct stk__text text = { 0 };
    stk__row_add_bound(row, is_min, &text);
    const char *kept = stk__arena_text_n(&arena, text.data, text.len);
    stk__text_free(&text);
    return kept;
}

static void try_row(const struct trial *trial, const struct stk_param *row)
{
    bool is_input = !strcmp(trial->layer, "input") ||
                    stk__layer_of(stk__namespace_find(&stk__layers, trial->layer))->chain;
    switch (row->type) {
    case STK_ROW_INT:
    case STK_ROW_REAL:
        try_value(trial, row, bound_of(row, true), !is_input);
        try_value(trial, row, bound_of(row, false), false);
        try_refused(trial, row, "'x'");
        break;
    case STK_ROW_BOOL:
        try_value(trial, row, "true", true);
        try_value(trial, row, "false", true);
        break;
    case STK_ROW_TEXT:
        try_value(trial, row, "mine", true);
        break;
    case STK_ROW_NUMBERS:
        try_numbers(trial, row);
        break;
    case STK__ROW_VALUE:
        try_calls(trial, row);
        break;
    case STK__ROW_CHAINS:
        try_refused(trial, row, "3");
        break;
    default:
        fail_msg("%s: this test does not know the type of %s", trial->layer, row->name);
    }
}

static void test_bounds(void **state)
{
    (void)state;
    for (int i = 0; i < stk__layers.n_decls; i++)
        for (const struct stk_param *row = stk__layers.decl[i]->params; row->name; row++)
            try_row(trial_of(stk__layers.decl[i]->name), row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRAIN_TEST(test_declarations),
        TRAIN_TEST(test_examples),
        TRAIN_TEST(test_defaults),
        TRAIN_TEST(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
