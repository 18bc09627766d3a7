/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_graph.c: what chains of layers become: names, places, windows, the order of nodes; what is
 * said of wrong ones, and of memory that runs out. Shapes and weights against Keras are in test_models.py. */
#include "fault_wraps.h"
#include "node_is.h"
#include "train/model/model.h"
#include "train_call.h"

#include <stoker/train.h>

static struct stk__model model_of(const char *text)
{
    struct stk__model model;
    struct stk_error err = { 0 };
    if (stk__model_build(text, &arena, &model, &err))
        fail_msg("%s: %s", text, err.text);
    return model;
}

/* ---- wrong models ---- */

static void test_faults_told(void **state)
{
    static const struct {
        const char *text, *place, *says;
    } cases[] = {
        { "conv2d(3, 3)", "conv2d", "a model begins with input(" },
        { "input(4).input(4)", "input", "begins a model" },
        { "input(4, 4, 3).residual(input(4, 4, 3))", "input", "goes on from the input" },
        { "input(4, 4)", "input", "height, width and channels" },
        { "input(4, 4, 3, features=2)", "input", "height, width and channels" },
        { "input(3).conv2d(8, 3)", "conv2d", "takes an image, but input gives 3 features" },
        { "input(4, 4, 3).conv2d(8, 3).conv2d(8, 3)", "conv2d",
          "conv2d_1: its kernel reaches over 3×3, but conv2d gives 2×2×8; padding=same" },
        { "input(9, 3, 1).maxpool([2, 4])", "maxpool", "window reaches over 2×4, but input gives" },
        { "input(9, 9, 1).conv2d(8, 3, dilation_rate=5)", "conv2d", "reaches over 11×11" },
        { "input(9, 9, 1).conv2d(8, 3, 2, dilation_rate=2)", "2", "cannot both be above 1" },
        { "input(9, 9, 1).conv2d(8, 3, padding=[1, 2, 3])", "[1, 2, 3]", "but 3 are given" },
        { "input(9, 9, 1).conv2d(8, 3, padding=sane)", "sane", "did you mean same?" },
        { "input(9, 9, 1).maxpool(2, padding=[0, 2])", "[0, 2]", "in the padding alone" },
        { "input(9, 9, 6).conv2d(8, 3, groups=4)", "4", "6 channels of the input" },
        { "input(9, 9, 8).conv2d(6, 3, groups=4)", "4", "6 filters cannot be divided into 4" },
        { "input(9, 9, 8).dense(6)", "dense", "put flatten() or global_avgpool() before it" },
        { "input(8, 8, 4).residual(conv2d(8, 3, 2, same))", "residual",
          "gives 4×4×8, but the input is 8×8×4; shortcut=conv2d(8, 1, strides=2)" },
        { "input(8, 8, 4).residual(conv2d(8, 1))", "residual", "shortcut=conv2d(8, 1) would" },
        { "input(8).residual(dense(4))", "residual", "shortcut=dense(4) would make them equal" },
        { "input(8, 8, 4).residual(conv2d(4, 3))", "residual", "both must have the same shape" },
        { "input(8, 8, 4).residual(conv2d(4, 1), shortcut=conv2d(5, 1))", "residual",
          "the chain gives 8×8×4, but the shortcut gives 8×8×5; both must" },
        { "input(8, 8, 4).residual(identity())", "identity()", "its input as it is" },
        { "input(8, 8, 4).residual([conv2d(4, 1), conv2d(4, 1)])", "[conv2d(4, 1), conv2d(4, 1)]",
          "takes one chain, but 2 are given" },
        { "input(8, 8, 4).concat(conv2d(4, 1))", "conv2d(4, 1)", "two chains or more" },
        { "input(8, 8, 4).concat([conv2d(4, 1), conv2d(4, 3)])", "concat",
          "chain 2 gives 6×6×4, but chain 1 gives 8×8×4" },
        { "input(8, 8, 4).concat([identity(), identity()])", "concat", "both give the input" },
        { "input(8, 8, 4).concat([conv2d(4, 1), flatten()])", "concat", "chain 2 gives 256 feat" },
        { "input(8, 8, 4).conv2d(4, 1, activation=rely)", "rely", "did you mean relu?" },
        { "input(8, 8, 4).conv2d(4, 1, activation=3)", "3",
          "an activation is a name or one call of gelu, leaky_relu" },
        { "input(8, 8, 4).conv2d(4, 1, kernel_initializer=he_norm)", "he_norm",
          "did you mean he_normal?" },
        { "input(8).dense(4, bias_initializer=random_uniform(1, 0))", "random_uniform",
          "minval is above maxval" },
        { "input(8).dense(4).dens(3)", "dens", "did you mean dense? There are activation, " },
        { "input(8).transformer(4)", "transformer", "; there are activation, avgpool, batchnorm" },
        { "input(8).dense(4, activation=zigzag)", "zigzag",
          "; there are gelu, leaky_relu, linear" },
        { "input(8).dense(4, unit=3)", "unit", "did you mean units?" },
        { "input(8).dense(4, name='a/b')", "'a/b'", "neither spaces nor '/'" },
        { "input(8).dense(4, name='')", "''", "1 to 128 bytes" },
        { "input(8).dense(4, name=a).dense(4, name=a)", "a", "another layer is named a" },
        { "input(8).dense(4).dense(4, name=dense)", "dense", "another layer is named dense" },
        { "input(8).dropout(1.5)", "1.5", "rate=1.5 is outside" },
        { "m1(height=4, width=4)", "m1", "m1: conv2d_1: its kernel reaches over 3×3" },
        { "x = 3", "3", "a model is a chain of layers" },
        { "input(2147483647).dense(2147483647)", "dense", "kernel would have more than 2^34" },
        { "input(2147483647, 2147483647, 2147483647)", "input", "more than 2^34 values" },
        { "input(65536, 65536, 4).conv2d(5, 1)", "conv2d", "more than 2^34 values" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk__model model;
        struct stk_error err = { 0 };
        int rc = stk__model_build(cases[i].text, &arena, &model, &err);
        if (!rc || !strstr(err.text, cases[i].says) || strlen(cases[i].place) != err.len ||
            memcmp(cases[i].text + err.at, cases[i].place, err.len) != 0)
            fail_msg("%s: '%.*s': %s", cases[i].text, (int)err.len, cases[i].text + err.at,
                     err.text);
    }
}

/* ---- names, places, nodes ---- */

static void test_names(void **state)
{
    static const char *const names[] = { "input",           "conv2d_1",
                                         "conv2d",          "conv2d_2",
                                         "residual",        "residual/activation",
                                         "conv2d_3",        "separable_conv2d/depthwise",
                                         "separable_conv2d" };
    const char *text = "input(8, 8, 4).conv2d(4, 1, name=conv2d_1).residual(conv2d(4, 1)"
                       ".conv2d(4, 1), activation=relu).conv2d(2, 1).separable_conv2d(3, 1)";
    (void)state;
    struct stk__model model = model_of(text);
    assert_int_equal(model.n_nodes, 9);
    for (int i = 0; i < 9; i++) {
        assert_string_equal(model.node[i].name, names[i]);
        assert_int_equal(stk__model_find_node(&model, names[i]), i);
        const char *call = text + model.node[i].at;
        assert_memory_equal(call, model.node[i].layer, model.node[i].len);
    }
    assert_int_equal(stk__model_find_node(&model, "conv"), -1);
    int pointwise = stk__model_find_weight(&model, "separable_conv2d/pointwise_kernel");
    assert_int_equal(model.weight[pointwise].node, 8);
    assert_ptr_equal(stk__node_weight(&model, &model.node[8], STK__KERNEL),
                     &model.weight[pointwise]);
    assert_null(stk__node_weight(&model, &model.node[7], STK__BIAS));
    assert_int_equal(stk__model_find_weight(&model, "separable_conv2d/kernel"), -1);
}

/* Nodes stand behind their inputs, and all but the last are used. */
static void check_order(const struct stk__model *model)
{
    bool *is_used = stk_arena_alloc(&arena, (size_t)model->n_nodes);
    for (int i = 0; i < model->n_nodes; i++) {
        const struct stk__model_node *node = &model->node[i];
        int wanted = node_is(node, "input") ? 0 : 1;
        assert_true(node_is(node, "add") || node_is(node, "concat") ? node->n_inputs > 1
                                                                    : node->n_inputs == wanted);
        assert_int_equal(node_is(node, "input"), i == 0);
        for (int k = 0; k < node->n_inputs; k++) {
            assert_in_range(node->input[k], 0, i - 1);
            is_used[node->input[k]] = true;
            for (int j = 0; j < k; j++)
                assert_int_not_equal(node->input[j], node->input[k]);
        }
    }
    for (int i = 0; i < model->n_nodes; i++)
        assert_int_equal(is_used[i], i < model->n_nodes - 1);
}

static void test_order(void **state)
{
    static const char *const texts[] = {
        "resnet18",
        "mobilenet_v2(classes=3)",
        "m3",
        "input(3)",
        "input(8, 8, 4).concat([residual(conv2d(4, 1)), concat([identity(), maxpool(3, 1, 1)])])",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct stk__model model = model_of(texts[i]);
        check_order(&model);
    }
}

/* Windows as they are written, in all forms. */
static void test_windows(void **state)
{
    static const struct {
        const char *call;
        struct stk__window window;
        int64_t height, width;
    } cases[] = {
        { "conv2d(2, [3, 5], [2, 1], [1, 2])", { 3, 5, 2, 1, 1, 1, 1, 1, 2, 2, 1 }, 6, 9 },
        { "conv2d(2, 3, padding=[1, 0, 2, 3])", { 3, 3, 1, 1, 1, 1, 1, 0, 2, 3, 1 }, 10, 12 },
        { "conv2d(4, 4, 2, same, groups=2)", { 4, 4, 2, 2, 1, 1, 1, 2, 1, 2, 2 }, 6, 5 },
        { "maxpool(3, 2, 1)", { 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1 }, 6, 5 },
        { "avgpool()", { 2, 2, 2, 2, 1, 1, 0, 0, 0, 0, 1 }, 5, 4 },
        { "depthwise_conv2d(2, padding=same, dilation_rate=[3, 2])",
          { 2, 2, 1, 1, 3, 2, 1, 2, 1, 1, 1 },
          11,
          9 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk__model model =
            model_of(stk__arena_printf(&arena, "input(11, 9, 4).%s", cases[i].call));
        assert_memory_equal(&model.node[1].window, &cases[i].window, sizeof cases[i].window);
        assert_int_equal(model.node[1].shape.height, cases[i].height);
        assert_int_equal(model.node[1].shape.width, cases[i].width);
    }
}

/* What is written in two ways is one model; the canonical text is a model again, the same one. */
static void test_canonical(void **state)
{
    (void)state;
    struct stk__model a = model_of("input(8, 8, 4).conv2d(4, 3, activation=relu) # remark");
    struct stk__model b =
        model_of("n = 4  input(8, 8, @n).conv2d(filters=@n, kernel_size=[3], activation=relu)");
    struct stk__model c = model_of(a.text);
    assert_string_equal(a.text, b.text);
    assert_string_equal(a.text, c.text);
    assert_string_equal(model_of("resnet18").text, model_of("resnet18(1000)").text);
}

/* ---- memory ---- */

static int make_and_describe(struct stk_error *err)
{
    struct stk_model *model;
    int rc = stk_model_new("input(8).dense(4, name=a).dens(3)", &model, err);
    assert_true(rc == STK_NAME || rc == STK_MEMORY);
    if (rc == STK_MEMORY)
        return rc;
    rc = stk_model_new("mobilenet_v2", &model, err);
    if (rc)
        return rc;
    char *table = stk_model_describe(model, 2), *json = stk_model_json(model, 2);
    char *layers = stk_layers_json(), *models = stk_models_json();
    rc = table && json && layers && models ? STK_OK : STK_MEMORY;
    stk_text_free(table);
    stk_text_free(json);
    stk_text_free(layers);
    stk_text_free(models);
    stk_model_free(model);
    return rc;
}

static void test_memory_runs_out(void **state)
{
    bool has_failed = true;
    (void)state;
    stk_model_free(NULL);
    for (long n = 1; has_failed; n++) {
        struct stk_error err = { 0 };
        long before = fault_live_blocks();
        fault_arm(FAULT_ALLOCATION, n, false);
        int rc = make_and_describe(&err);
        has_failed = fault_disarm();
        assert_int_equal(rc, has_failed ? STK_MEMORY : STK_OK);
        assert_int_equal(fault_live_blocks(), before);
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRAIN_TEST(test_faults_told), TRAIN_TEST(test_names),     TRAIN_TEST(test_order),
        TRAIN_TEST(test_windows),     TRAIN_TEST(test_canonical), TRAIN_TEST(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
