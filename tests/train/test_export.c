/* SPDX-License-Identifier: Apache-2.0 */
/* test_export.c: models as ONNX files. One with every kind of node has the bytes of a file that was
 * checked and run when it was made (golden/make_export.py); parity/test_export.py runs others.
 *
 *     test_export --write CHAIN nhwc|nchw|softmax FILE.onnx FILE.safetensors     writes a model, and its weights
 */
#define _GNU_SOURCE
#include "fault_wraps.h"
#include "train/file/export.h"
#include "train/file/safetensors.h"
#include "train_call.h"

#include <stdio.h>
#include <unistd.h>

/* Every kind of node, every activation, padding that differs on all sides. */
static const char every_kind[] =
    "input(9, 8, 3).conv2d(4, [3, 2], padding=[0, 1, 2, 1], activation=gelu)"
    ".residual(depthwise_conv2d(3, padding=same, activation=swish).batchnorm(scale=false))"
    ".conv2d(6, 3, 2, same, groups=2, use_bias=false, activation=relu6).maxpool(2, 1, same)"
    ".concat([avgpool(3, 1, same), separable_conv2d(2, 3, padding=same, depth_multiplier=2), "
    "global_avgpool(keepdims=true).conv2d(1, 1, padding=[0, 3, 4, 0], activation=sigmoid)])"
    ".batchnorm(center=false).activation(leaky_relu(0.25)).dropout(0.5)"
    ".concat([flatten(), global_avgpool()]).dense(5, activation=tanh)"
    ".dense(4, activation=gelu(approximate=true)).dense(3, use_bias=false, activation=softmax)";

/* Values that are all different, statistics as they may be. */
static void fill(const struct stk__weights *weights)
{
    for (int i = 0; i < weights->model->n_weights; i++) {
        const struct stk__weight *weight = &weights->model->weight[i];
        bool is_variance = weight->role == STK__MOVING_VARIANCE;
        for (int64_t k = 0; k < weight->n_values; k++)
            weights->value[i][k] =
                (float)((k * 37 + i * 101) % 257 - 128) / 512 + (is_variance ? 1 : 0);
    }
}

static struct stk__model model_of(const char *chain)
{
    struct stk__model model;
    struct stk_error err = { 0 };
    if (stk__model_build(chain, &arena, &model, &err))
        fail_msg("%s: %s", chain, err.text);
    return model;
}

static int write_weights(const struct stk__weights *weights, const char *path,
                         struct stk_error *err)
{
    const struct stk__model *model = weights->model;
    struct stk__saved_tensor *tensor =
        stk_arena_alloc(&arena, (size_t)model->n_weights * sizeof *tensor);
    for (int i = 0; i < model->n_weights; i++) {
        const struct stk__weight *weight = &model->weight[i];
        tensor[i] = (struct stk__saved_tensor){ weight->name,      STK_F32,
                                                weight->rank,      { 0 },
                                                weights->value[i], (size_t)weight->n_values * 4 };
        memcpy(tensor[i].shape, weight->shape, sizeof weight->shape);
    }
    return stk__safetensors_write(path, tensor, model->n_weights, NULL, err);
}

static int write_model(const struct stk__model *model, const char *form, const char *onnx,
                       const char *safetensors, struct stk_error *err)
{
    struct stk__export export = { .is_nchw = !strcmp(form, "nchw"),
                                  .has_softmax = !strcmp(form, "softmax"),
                                  .producer_version = "golden" };
    int rc = stk__weights_new(model, &export.weights, err);
    if (rc)
        return rc;
    fill(&export.weights);
    rc = stk__export_onnx(&export, onnx, err);
    if (!rc && safetensors)
        rc = write_weights(&export.weights, safetensors, err);
    stk__weights_free(&export.weights);
    return rc;
}

static size_t read_all(const char *path, char *data, size_t most)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: cannot be opened; tests run in the top directory", path);
    size_t bytes = fread(data, 1, most, file);
    fclose(file);
    return bytes;
}

static void test_bytes_as_they_were_checked(void **state)
{
    static char want[1 << 17], got[1 << 17];
    char path[] = "/tmp/stk_export_XXXXXX";
    struct stk_error err = { 0 };
    struct stk__model model = model_of(every_kind);
    (void)state;
    close(mkstemp(path));
    if (write_model(&model, "nhwc", path, NULL, &err))
        fail_msg("%s", err.text);
    size_t n = read_all(path, got, sizeof got);
    unlink(path);
    assert_int_equal(n, read_all("tests/golden/export.onnx", want, sizeof want));
    assert_memory_equal(got, want, n);
}

static int count_of(const char *what, const char *data, size_t n)
{
    int found = 0;
    const char *end = data + n;
    for (const char *at = data; (at = memmem(at, (size_t)(end - at), what, strlen(what))); at++)
        found++;
    return found;
}

/* softmax=true gives probabilities once, whatever the model ends in. */
static void test_softmax_is_applied_once(void **state)
{
    static const char *const chains[] = {
        "input(4).dense(3)",
        "input(4).dense(3, activation=relu)",
        "input(4).dense(3, activation=softmax)",
        "input(4).dense(3).activation(softmax).activation(linear)",
        "input(4).dense(3, activation=softmax).dropout(0.5)",
        "input(4, 4, 2).conv2d(3, 4, activation=softmax).flatten()",
        "input(4, 4, 2).conv2d(3, 2, activation=softmax)",
        "input(4, 4, 2).conv2d(3, 2, activation=softmax).global_avgpool()",
        "input(4).concat([dense(2, activation=relu), dense(1)])",
    };
    static char got[1 << 17];
    char path[] = "/tmp/stk_export_XXXXXX";
    (void)state;
    close(mkstemp(path));
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct stk__model model = model_of(chains[i]);
        struct stk_error err = { 0 };
        if (write_model(&model, "softmax", path, NULL, &err))
            fail_msg("%s: %s", chains[i], err.text);
        size_t n = read_all(path, got, sizeof got);
        if (count_of("\"\7Softmax", got, n) != 1 || count_of("probabilities", got, n) < 2)
            fail_msg("%s: %d nodes of softmax", chains[i], count_of("\"\7Softmax", got, n));
    }
    unlink(path);
}

static void test_models_that_cannot_be_written(void **state)
{
    static const struct {
        const char *chain, *form, *path;
        int code;
        const char *says;
    } cases[] = {
        { "input(4)", "nhwc", "/tmp/x.onnx", STK_VALUE, "no layers" },
        { "input(4).dense(3, name=probabilities).dense(2)", "softmax", "/tmp/x.onnx", STK_NAME,
          "named probabilities" },
        { "input(4).dense(3, activation=sigmoid)", "softmax", "/tmp/x.onnx", STK_VALUE,
          "ends in sigmoid" },
        { "input(4, 4, 1).conv2d(2, 1, activation=sigmoid).flatten()", "softmax", "/tmp/x.onnx",
          STK_VALUE, "export it without softmax" },
        { "input(4).concat([dense(1, activation=sigmoid), dense(2, activation=sigmoid)])",
          "softmax", "/tmp/x.onnx", STK_VALUE, "ends in sigmoid" },
        { "input(4).concat([dense(2, activation=softmax), dense(2, activation=softmax)])",
          "softmax", "/tmp/x.onnx", STK_VALUE, "probabilities by themselves already" },
        { "input(4).concat([dense(2, activation=softmax), dense(2)])", "softmax", "/tmp/x.onnx",
          STK_VALUE, "probabilities by themselves already" },
        { "input(4, 4, 1).conv2d(2, 1, activation=softmax).flatten()", "softmax", "/tmp/x.onnx",
          STK_VALUE, "probabilities by themselves already" },
        { "input(4).dense(1)", "softmax", "/tmp/x.onnx", STK_VALUE, "dense, has one output" },
        { "input(4).dense(3)", "nhwc", "/nowhere/x.onnx", STK_IO, "/nowhere/x.onnx" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk__model model = model_of(cases[i].chain);
        struct stk_error err = { 0 };
        assert_int_equal(write_model(&model, cases[i].form, cases[i].path, NULL, &err),
                         cases[i].code);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].chain, err.text);
    }
}

static void test_memory_that_runs_out(void **state)
{
    char path[] = "/tmp/stk_export_XXXXXX";
    struct stk__model model = model_of(every_kind);
    bool has_failed = true;
    long before = fault_live_blocks(), n = 1;
    (void)state;
    close(mkstemp(path));
    for (; has_failed; n++) {
        struct stk_error err = { 0 };
        fault_arm(FAULT_ALLOCATION, n, false);
        int rc = write_model(&model, "nhwc", path, NULL, &err);
        has_failed = fault_disarm();
        assert_int_equal(rc, has_failed ? STK_MEMORY : STK_OK);
        assert_int_equal(fault_live_blocks(), before);
    }
    unlink(path);
    assert_true(n > 20);
}

int main(int argc, char **argv)
{
    struct stk_error err = { 0 };
    if (argc == 6 && !strcmp(argv[1], "--write")) {
        set_up(NULL);
        struct stk__model model = model_of(strcmp(argv[2], "every_kind") ? argv[2] : every_kind);
        int rc = write_model(&model, argv[3], argv[4], argv[5], &err);
        fputs(err.text, stderr);
        return rc != STK_OK;
    }
    const struct CMUnitTest tests[] = {
        TRAIN_TEST(test_bytes_as_they_were_checked),
        TRAIN_TEST(test_softmax_is_applied_once),
        TRAIN_TEST(test_models_that_cannot_be_written),
        TRAIN_TEST(test_memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
