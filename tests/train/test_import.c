/* SPDX-License-Identifier: Apache-2.0 */
/* test_import.c: weights from files, in the order of PyTorch and in our own, and what is said where they do
 * not fit. parity/test_import.py has the state dicts of torchvision.
 *
 *     test_import --convert CHAIN STATE_DICT OUT     writes the weights under the names of the model
 */
#define _GNU_SOURCE
#include "fault_wraps.h"
#include "train/file/import.h"
#include "train_call.h"

#include <stdio.h>
#include <unistd.h>

static char path[4096] = "/tmp/stk_import_XXXXXX";

static struct stk__model model_of(const char *chain)
{
    struct stk__model model;
    struct stk_error err = { 0 };
    if (stk__model_build(chain, &arena, &model, &err))
        fail_msg("%s: %s", chain, err.text);
    return model;
}

static int import(const struct stk__model *model, const struct stk_pairs *map,
                  struct stk__weights *out, struct stk_error *err)
{
    struct stk__safetensors file;
    int rc = stk__safetensors_open(&file, path, err);
    if (rc)
        return rc;
    rc = stk__weights_new(model, out, err);
    if (!rc)
        rc = stk__import_weights(&file, map, out, err);
    stk__safetensors_close(&file);
    if (rc)
        stk__weights_free(out);
    return rc;
}

/* A state dict whose values count up from 0 in every tensor, in float32. */
struct entry {
    const char *name;
    int rank;
    int64_t shape[4];
};

static void write_dict(const struct entry *entry, int n)
{
    static float counting[4096];
    struct stk__saved_tensor tensor[16];
    struct stk_error err = { 0 };
    for (int i = 0; i < 4096; i++)
        counting[i] = (float)i;
    for (int i = 0; i < n; i++) {
        size_t bytes = sizeof(float);
        tensor[i] =
            (struct stk__saved_tensor){ entry[i].name, STK_F32, entry[i].rank, { 0 }, counting, 0 };
        for (int k = 0; k < entry[i].rank; k++)
            bytes *= (size_t)(tensor[i].shape[k] = entry[i].shape[k]);
        tensor[i].bytes = bytes;
        assert_true(bytes <= sizeof counting);
    }
    assert_int_equal(stk__safetensors_write(path, tensor, n, NULL, &err), STK_OK);
}

#define WRITE(...)                                                                                 \
    do {                                                                                           \
        const struct entry entries[] = { __VA_ARGS__ };                                            \
        write_dict(entries, (int)(sizeof entries / sizeof *entries));                              \
    } while (0)

/* ---- values ---- */

/* Every axis is told from the others by its length; the last dense layer takes an image's features. */
static void test_axes_are_turned(void **state)
{
    struct stk__model model =
        model_of("input(5, 6, 2).conv2d(3, [2, 4]).depthwise_conv2d([3, 2], depth_multiplier=2)"
                 ".flatten().dense(7)");
    struct stk__weights w;
    struct stk_error err = { 0 };
    (void)state;
    WRITE({ "a.weight", 4, { 3, 2, 2, 4 } }, { "a.bias", 1, { 3 } },
          { "b.weight", 4, { 6, 1, 3, 2 } }, { "b.bias", 1, { 6 } }, { "c.weight", 2, { 7, 24 } },
          { "c.bias", 1, { 7 } });
    if (import(&model, NULL, &w, &err))
        fail_msg("%s", err.text);
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 4; x++)
            for (int i = 0; i < 2; i++)
                for (int o = 0; o < 3; o++)
                    assert_true(w.value[0][((y * 4 + x) * 2 + i) * 3 + o] ==
                                (float)(((o * 2 + i) * 2 + y) * 4 + x));
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 2; x++)
            for (int f = 0; f < 6; f++)
                assert_true(w.value[2][(y * 2 + x) * 6 + f] == (float)((f * 3 + y) * 2 + x));
    /* the image is 2×2×6 */
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 2; x++)
            for (int c = 0; c < 6; c++)
                for (int o = 0; o < 7; o++)
                    assert_true(w.value[4][((y * 2 + x) * 6 + c) * 7 + o] ==
                                (float)(o * 24 + (c * 2 + y) * 2 + x));
    stk__weights_free(&w);
}

/* Behind activations, dropout and batch normalisation the order is still that of the image. */
static void test_features_keep_their_order(void **state)
{
    struct stk__model model = model_of("input(2, 2, 3).flatten().batchnorm().activation(relu)"
                                       ".dropout(0.5).dense(1, use_bias=false)");
    struct stk__weights w;
    struct stk_error err = { 0 };
    (void)state;
    WRITE({ "n.weight", 1, { 12 } }, { "n.bias", 1, { 12 } }, { "n.running_mean", 1, { 12 } },
          { "n.running_var", 1, { 12 } }, { "n.num_batches_tracked", 0, { 0 } },
          { "z.weight", 2, { 1, 12 } });
    if (import(&model, NULL, &w, &err))
        fail_msg("%s", err.text);
    for (int pixel = 0; pixel < 4; pixel++)
        for (int c = 0; c < 3; c++)
            for (int weight = 0; weight < 5; weight++)
                assert_true(w.value[weight][pixel * 3 + c] == (float)(c * 4 + pixel));
    stk__weights_free(&w);
}

static void test_numbers_in_names_are_numbers(void **state)
{
    struct stk__model model = model_of("input(4).dense(2, use_bias=false).dense(3, use_bias=false)"
                                       ".dense(4, use_bias=false)");
    struct stk__weights w;
    struct stk_error err = { 0 };
    (void)state;
    WRITE({ "net.10.weight", 2, { 4, 3 } }, { "net.9.weight", 2, { 3, 2 } },
          { "net.2.weight", 2, { 2, 4 } });
    if (import(&model, NULL, &w, &err))
        fail_msg("%s", err.text);
    assert_true(w.value[2][1] == 3);
    stk__weights_free(&w);
}

static void test_own_names_and_other_types(void **state)
{
    static const uint16_t half[] = { 0x3c00, 0xc000, 0x3800, 0x0000 };
    static const double wide[] = { 0.5, -3 };
    struct stk__model model = model_of("input(2).dense(2)");
    const struct stk__saved_tensor tensor[] = {
        { "dense/kernel", STK_F16, 2, { 2, 2 }, half, sizeof half },
        { "dense/bias", STK_F64, 1, { 2 }, wide, sizeof wide },
        { "optimizer/first/dense/bias", STK_F64, 1, { 2 }, wide, sizeof wide },
    };
    static const float want[] = { 1, -2, 0.5f, 0 };
    struct stk__weights w;
    struct stk_error err = { 0 };
    (void)state;
    assert_int_equal(stk__safetensors_write(path, tensor, 3, NULL, &err), STK_OK);
    if (import(&model, NULL, &w, &err))
        fail_msg("%s", err.text);
    assert_memory_equal(w.value[0], want, sizeof want);
    assert_true(w.value[1][0] == 0.5f && w.value[1][1] == -3);
    stk__weights_free(&w);
}

/* ---- maps ---- */

static void test_a_map_says_what_is_what(void **state)
{
    struct stk__model model = model_of("input(3).dense(3, use_bias=false, name=x)"
                                       ".dense(3, use_bias=false, name=y).dense(3, name=z)");
    static const char *const name[] = { "y", "z/kernel", "z/bias" };
    static const char *const value[] = { "a", "odd", "b.bias" };
    const struct stk_pairs map = { name, value, 3 };
    struct stk__weights w;
    struct stk_error err = { 0 };
    (void)state;
    WRITE({ "a.weight", 2, { 3, 3 } }, { "b.bias", 1, { 3 } }, { "c.weight", 2, { 3, 3 } },
          { "odd", 2, { 3, 3 } });
    if (import(&model, &map, &w, &err))
        fail_msg("%s", err.text);
    stk__weights_free(&w);
    static const char *const wrong[] = { "q", "z/kernel", "x" };
    static const char *const told[] = { "no layer with weights", "no such tensor",
                                        "has no weight" };
    static const char *const to[] = { "a", "nothing", "nothing" };
    for (int i = 0; i < 3; i++) {
        const struct stk_pairs bad = { &wrong[i], &to[i], 1 };
        assert_int_not_equal(import(&model, &bad, &w, &err), STK_OK);
        if (!strstr(err.text, told[i]))
            fail_msg("%s", err.text);
    }
}

/* ---- what does not fit ---- */

static void test_what_does_not_fit_is_listed(void **state)
{
    struct stk__model model =
        model_of("input(8, 8, 3).conv2d(4, 3).batchnorm().flatten().dense(5)");
    struct stk__weights w;
    struct stk_error err = { 0 };
    (void)state;
    WRITE({ "c.weight", 4, { 4, 3, 5, 5 } }, { "c.bias", 1, { 4 } }, { "n.running_mean", 1, { 4 } },
          { "n.running_var", 1, { 4 } }, { "n.weight", 1, { 4 } }, { "f.weight", 2, { 5, 144 } },
          { "f.bias", 1, { 5 } }, { "g.weight", 2, { 5, 5 } }, { "alone", 0, { 0 } });
    assert_int_equal(import(&model, NULL, &w, &err), STK_TYPE);
    const char *const parts[] = { path, "n has no bias for batchnorm/beta",
                                  "c.weight is 4×3×5×5, but conv2d/kernel would be 4×3×3×3",
                                  "no weight of the model is alone", "g.weight" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(err.text, parts[i]))
            fail_msg("%s: not in: %s", parts[i], err.text);
    WRITE({ "dense/kernel", 2, { 5, 5 } });
    assert_int_equal(import(&model, NULL, &w, &err), STK_TYPE);
    assert_non_null(strstr(err.text, "it has no conv2d/kernel"));
    assert_non_null(strstr(err.text, "and 4 more"));
    model = model_of("input(4).dense(5)");
    assert_int_equal(import(&model, NULL, &w, &err), STK_TYPE);
    assert_non_null(strstr(err.text, "it has no dense/bias; dense/kernel is 5×5, but dense/kernel "
                                     "would be 4×5"));
    model =
        model_of("input(2, 2, 2).concat([flatten(), global_avgpool()]).dense(1, use_bias=false)");
    WRITE({ "f.weight", 2, { 1, 10 } });
    assert_int_equal(import(&model, NULL, &w, &err), STK_TYPE);
    assert_non_null(strstr(err.text, "whose order in PyTorch is not known"));
}

static void test_memory_that_runs_out(void **state)
{
    struct stk__model model = model_of("input(4).dense(2).batchnorm().dense(3)");
    long before = fault_live_blocks(), n = 1;
    (void)state;
    WRITE({ "a.weight", 2, { 2, 4 } }, { "a.bias", 1, { 2 } }, { "b.weight", 1, { 2 } },
          { "b.bias", 1, { 2 } }, { "b.running_mean", 1, { 2 } }, { "b.running_var", 1, { 2 } },
          { "c.weight", 2, { 3, 2 } }, { "c.bias", 1, { 3 } });
    for (bool has_failed = true; has_failed; n++) {
        struct stk__weights w = { 0 };
        struct stk_error err = { 0 };
        fault_arm(FAULT_ALLOCATION, n, false);
        int rc = import(&model, NULL, &w, &err);
        has_failed = fault_disarm();
        if (!rc)
            stk__weights_free(&w);
        assert_int_equal(rc != STK_OK, has_failed);
        assert_int_equal(fault_live_blocks(), before);
    }
    assert_true(n > 5);
}

/* ---- the program ---- */

static int convert(char **argv)
{
    struct stk_error err = { 0 };
    struct stk__weights w;
    set_up(NULL);
    struct stk__model model = model_of(argv[2]);
    struct stk__saved_tensor *tensor =
        stk_arena_alloc(&arena, (size_t)model.n_weights * sizeof *tensor);
    snprintf(path, sizeof path, "%s", argv[3]);
    int rc = strlen(argv[3]) < sizeof path ? import(&model, NULL, &w, &err) : STK_VALUE;
    for (int i = 0; i < model.n_weights && !rc; i++) {
        const struct stk__weight *weight = &model.weight[i];
        tensor[i] =
            (struct stk__saved_tensor){ weight->name, STK_F32,    weight->rank,
                                        { 0 },        w.value[i], (size_t)weight->n_values * 4 };
        memcpy(tensor[i].shape, weight->shape, sizeof weight->shape);
    }
    if (!rc)
        rc = stk__safetensors_write(argv[4], tensor, model.n_weights, NULL, &err);
    fputs(err.text, stderr);
    return rc != STK_OK;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--convert"))
        return convert(argv);
    const struct CMUnitTest tests[] = {
        TRAIN_TEST(test_axes_are_turned),
        TRAIN_TEST(test_features_keep_their_order),
        TRAIN_TEST(test_numbers_in_names_are_numbers),
        TRAIN_TEST(test_own_names_and_other_types),
        TRAIN_TEST(test_a_map_says_what_is_what),
        TRAIN_TEST(test_what_does_not_fit_is_listed),
        TRAIN_TEST(test_memory_that_runs_out),
    };
    close(mkstemp(path));
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return rc;
}
