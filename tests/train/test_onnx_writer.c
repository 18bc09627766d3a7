/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx_writer.c: a small net has the bytes that the onnx package gives it (golden/make_onnx.py).
 *
 *     test_onnx_writer --write FILE     writes the net, for who wants to run it
 */
#define _GNU_SOURCE
#include "temporary.h"
#include "train/file/onnx_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct stk__onnx_tensor input = { "x", STK_F32, 4, { -1, 3, 8, 8 }, NULL };
static const struct stk__onnx_tensor output = { "y", STK_F32, 2, { -1, 10 }, NULL };
static const struct stk__onnx_tensor weights[] = {
    { "conv/kernel", STK_F32, 4, { 8, 3, 3, 3 }, NULL },
    { "conv/bias", STK_F32, 1, { 8 }, NULL },
    { "depthwise/kernel", STK_F32, 4, { 8, 1, 3, 3 }, NULL },
    { "dense/kernel", STK_F32, 2, { 10, 128 }, NULL },
    { "dense/bias", STK_F32, 1, { 10 }, NULL },
};

static void add_weights(struct stk__onnx *onnx)
{
    static float data[10 * 128];
    for (int i = 0; i < 10 * 128; i++)
        data[i] = (float)((37 * i + 11) % 256 - 128) / 512;
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        struct stk__onnx_tensor tensor = weights[i];
        tensor.data = data;
        stk__onnx_weight(onnx, &tensor);
    }
}

static void add_nodes(struct stk__onnx *onnx)
{
    static const int64_t three[2] = { 3, 3 }, two[2] = { 2, 2 }, pads[4] = { 1, 1, 1, 1 };
    const struct stk__onnx_node nodes[] = {
        { "Conv",
          "conv",
          { "x", "conv/kernel", "conv/bias" },
          { "conv" },
          { stk__onnx_ints("kernel_shape", three, 2), stk__onnx_ints("pads", pads, 4) } },
        { .op = "Relu", .name = "relu", .input = { "conv" }, .output = { "relu" } },
        { "MaxPool",
          "pool",
          { "relu" },
          { "pool" },
          { stk__onnx_ints("kernel_shape", two, 2), stk__onnx_ints("strides", two, 2) } },
        { "Conv",
          "depthwise",
          { "pool", "depthwise/kernel" },
          { "depthwise" },
          { stk__onnx_text("auto_pad", "SAME_UPPER"), stk__onnx_int("group", 8) } },
        { "LeakyRelu", "leaky", { "depthwise" }, { "leaky" }, { stk__onnx_float("alpha", 0.25f) } },
        { "Flatten", "flat", { "leaky" }, { "flat" }, { stk__onnx_int("axis", 1) } },
        { "Gemm",
          "dense",
          { "flat", "dense/kernel", "dense/bias" },
          { "dense" },
          { stk__onnx_int("transB", 1) } },
        { "Softmax", "softmax", { "dense" }, { "y" }, { stk__onnx_int("axis", -1) } },
    };
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        stk__onnx_node(onnx, &nodes[i]);
}

static int write_net(const char *path, const char *version, struct stk_error *err)
{
    struct stk__onnx onnx = { .name = "net", .opset = 17, .producer_version = version };
    stk__onnx_input(&onnx, &input);
    add_weights(&onnx);
    add_nodes(&onnx);
    stk__onnx_output(&onnx, &output);
    stk__onnx_metadata(&onnx, "chain", "input(8, 8, 3).conv2d(8, 3)");
    int rc = stk__onnx_write(&onnx, path, err);
    stk__onnx_free(&onnx);
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

static void test_bytes_are_those_of_the_package(void **state)
{
    static char want[1 << 15], got[1 << 15];
    char path[TEMPORARY_PATH];
    struct stk_error err = { 0 };
    (void)state;
    assert_true(make_temporary_file(path, "stk_onnx"));
    if (write_net(path, "golden", &err))
        fail_msg("%s", err.text);
    size_t n = read_all(path, got, sizeof got);
    unlink(path);
    assert_int_equal(n, read_all("tests/golden/net.onnx", want, sizeof want));
    assert_memory_equal(got, want, n);
}

static void test_a_place_that_is_not_there(void **state)
{
    struct stk_error err = { 0 };
    (void)state;
    assert_int_equal(write_net("/nowhere/net.onnx", NULL, &err), STK_IO);
    assert_non_null(strstr(err.text, "/nowhere/net.onnx"));
}

/* A model of 2 GiB cannot be one file; nothing is written. */
static void test_a_model_that_is_too_large(void **state)
{
    struct stk_error err = { 0 };
    struct stk__onnx onnx = { .name = "net", .opset = 17 };
    (void)state;
    stk__onnx_input(&onnx, &input);
    size_t len = onnx.inputs.len;
    onnx.inputs.len = (size_t)1 << 31; /* as if so much had been added */
    assert_int_equal(stk__onnx_write(&onnx, "/nowhere/net.onnx", &err), STK_VALUE);
    assert_non_null(strstr(err.text, "below 2 GiB"));
    onnx.inputs.len = len;
    stk__onnx_free(&onnx);
}

int main(int argc, char **argv)
{
    struct stk_error err = { 0 };
    if (argc == 3 && !strcmp(argv[1], "--write")) {
        int rc = write_net(argv[2], NULL, &err);
        fputs(err.text, stderr);
        return rc != STK_OK;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_those_of_the_package),
        cmocka_unit_test(test_a_place_that_is_not_there),
        cmocka_unit_test(test_a_model_that_is_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
