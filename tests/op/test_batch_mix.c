/* SPDX-License-Identifier: Apache-2.0 */
/* test_batch_mix.c: mixup and cutmix on batches: pixels and labels by the share that was drawn. */
#define _GNU_SOURCE
#include "api_call.h"

#include <math.h>

enum { N = 2002, HEIGHT = 5, WIDTH = 7, N_VALUES = HEIGHT * WIDTH * 3, N_CLASSES = 4, BATCH = 4 };

static uint8_t images[N][N_VALUES];
static int32_t labels[N];

static struct stk_dataset *make(const char *calls)
{
    char text[512];
    struct stk_objects *objects = stk_objects_new();
    struct stk_array image = {
        .data = images, .dtype = STK_U8, .rank = 4, .shape = { N, HEIGHT, WIDTH, 3 }
    };
    struct stk_array label = { .data = labels, .dtype = STK_I32, .rank = 1, .shape = { N } };
    for (int i = 0; i < N; i++) {
        labels[i] = i % N_CLASSES;
        for (int k = 0; k < N_VALUES; k++)
            images[i][k] = (uint8_t)(37 * i + 11 * k + i * k);
    }
    assert_int_equal(stk_objects_add_array(objects, "image", &image, NULL), STK_OK);
    assert_int_equal(stk_objects_add_array(objects, "label", &label, NULL), STK_OK);
    snprintf(text, sizeof text, "values({image: @image, label: @label}).%s", calls);
    struct stk_dataset *data = make_dataset_with(text, objects);
    stk_objects_free(objects);
    return data;
}

static struct stk_iterator *run(const char *calls, const char *options)
{
    struct stk_dataset *data = make(calls);
    struct stk_iterator *it = start(data, options);
    stk_dataset_unref(data);
    return it;
}

/* Image i of batch b, and the one before it. */
static int before(int b, int i, int n)
{
    return b * BATCH + (i ? i - 1 : n - 1);
}

/* Checks the labels of a batch and returns the share of an image that is its own. Neighbours have
 * different labels, unless there is one image alone. */
static float check_labels(const struct stk_batch *batch, int b, int n)
{
    struct stk_view view = view_of(batch, "label");
    assert_int_equal(view.dtype, STK_F32);
    CHECK_NUMBERS(view.shape, n, N_CLASSES);
    const float *label = view.data;
    float share = label[labels[b * BATCH]], rest = label[labels[before(b, 0, n)]];
    assert_true(share >= 0 && share <= 1);
    for (int i = 0; i < n && n > 1; i++)
        for (int c = 0; c < N_CLASSES; c++) {
            float expected = (labels[before(b, i, n)] == c ? rest : 0) +
                             (labels[b * BATCH + i] == c ? share : 0);
            assert_true(label[i * N_CLASSES + c] == expected);
        }
    assert_true(fabsf(share + rest - 1) < 1e-6f);
    return share;
}

/* ---- mixup ---- */

static void test_mixup_f32(void **state)
{
    struct stk_iterator *it = run("cast(float32, field=image).batch(4)"
                                  ".mixup(num_classes=4)",
                                  "workers=0");
    (void)state;
    for (int b = 0; b * BATCH < N; b++) {
        int n = N - b * BATCH < BATCH ? N - b * BATCH : BATCH;
        struct stk_batch *batch = next(it);
        const float share = check_labels(batch, b, n), rest = (float)(1 - (double)share);
        const float *image = view_of(batch, "image").data;
        for (int i = 0; i < n * N_VALUES; i++) {
            int r = i / N_VALUES, k = i % N_VALUES;
            float expected =
                (float)images[before(b, r, n)][k] * rest + (float)images[b * BATCH + r][k] * share;
            assert_true(image[i] == expected);
        }
        stk_batch_unref(batch);
    }
    stk_iterator_free(it);
}

static void test_mixup_u8(void **state)
{
    struct stk_iterator *it =
        run("batch(4, drop_remainder=true).mixup(0.4, num_classes=4)", "workers=0");
    (void)state;
    for (int b = 0; b < 20; b++) {
        struct stk_batch *batch = next(it);
        const float share = check_labels(batch, b, BATCH), rest = (float)(1 - (double)share);
        struct stk_view view = view_of(batch, "image");
        CHECK_NUMBERS(view.shape, BATCH, HEIGHT, WIDTH, 3);
        for (int i = 0; i < BATCH * N_VALUES; i++) {
            int r = i / N_VALUES, k = i % N_VALUES;
            float value = (float)images[before(b, r, BATCH)][k] * rest +
                          (float)images[b * BATCH + r][k] * share;
            assert_int_equal(((const uint8_t *)view.data)[i], (int)lrintf(value));
        }
        stk_batch_unref(batch);
    }
    stk_iterator_free(it);
}

/* ---- cutmix ---- */

/* Counts pixels of the other image; every value is one of the two's. */
static int count_others(const uint8_t *mixed, int own, int other, const int step[2])
{
    int n_other = 0;
    for (int p = 0; p < HEIGHT * WIDTH; p++) {
        bool is_own = true, is_other = true;
        for (int c = 0; c < 3; c++) {
            uint8_t value = mixed[p * step[0] + c * step[1]];
            is_own &= value == images[own][3 * p + c];
            is_other &= value == images[other][3 * p + c];
        }
        assert_true(is_own || is_other);
        n_other += is_other && !is_own;
    }
    return n_other;
}

static void check_cutmix(const char *calls, const int step[2])
{
    struct stk_iterator *it = run(calls, "workers=0");
    int n_some = 0;
    for (int b = 0; b < 100; b++) {
        struct stk_batch *batch = next(it);
        float share = check_labels(batch, b, BATCH);
        const uint8_t *mixed = view_of(batch, "image").data;
        int n_first = count_others(mixed, b * BATCH, before(b, 0, BATCH), step);
        for (int i = 1; i < BATCH; i++)
            assert_int_equal(
                count_others(mixed + i * N_VALUES, b * BATCH + i, before(b, i, BATCH), step),
                n_first);
        assert_true(fabsf(share - (1 - (float)n_first / (HEIGHT * WIDTH))) < 1e-6f);
        n_some += n_first > 0 && n_first < HEIGHT * WIDTH;
        stk_batch_unref(batch);
    }
    assert_true(n_some > 50);
    stk_iterator_free(it);
}

static void test_cutmix(void **state)
{
    (void)state;
    check_cutmix("batch(4).cutmix(num_classes=4)", (const int[2]){ 3, 1 });
    check_cutmix("layout(NCHW).batch(4).cutmix(num_classes=4, layout=NCHW)",
                 (const int[2]){ 1, HEIGHT * WIDTH });
}

/* ---- chance ---- */

/* Of Beta(a, a): mean 1/2, variance 1 / (8a + 4); five deviations of the estimates are allowed. */
static void check_shares(double alpha)
{
    char calls[128];
    enum { N_BATCHES = N / 2 };
    double sum = 0, squares = 0, variance = 1 / (8 * alpha + 4);
    snprintf(calls, sizeof calls, "batch(2).mixup(%g, num_classes=4)", alpha);
    struct stk_iterator *it = run(calls, "workers=0");
    for (int b = 0; b < N_BATCHES; b++) {
        struct stk_batch *batch = next(it);
        double share = (double)((const float *)view_of(batch, "label").data)[labels[2 * b]];
        sum += share - 0.5;
        squares += (share - 0.5) * (share - 0.5);
        stk_batch_unref(batch);
    }
    stk_iterator_free(it);
    assert_true(fabs(sum / N_BATCHES) < 5 * sqrt(variance / N_BATCHES));
    assert_true(fabs(squares / N_BATCHES - variance) < 5 * variance / sqrt(N_BATCHES));
}

static void test_shares(void **state)
{
    (void)state;
    check_shares(0.2);
    check_shares(1);
    check_shares(3);
}

static uint64_t digest(const char *calls, const char *options)
{
    struct stk_iterator *it = run(calls, options);
    struct stk_batch *batch;
    uint64_t hash = 1469598103934665603u;
    while (stk_iterator_next(it, &batch, NULL) == STK_OK) {
        struct stk_view label = view_of(batch, "label"), image = view_of(batch, "image");
        size_t n_rows = (size_t)label.shape[0];
        for (size_t i = 0; i < n_rows * N_CLASSES * 4; i++)
            hash = (hash ^ ((const uint8_t *)label.data)[i]) * 1099511628211u;
        for (size_t i = 0; i < n_rows * N_VALUES; i++)
            hash = (hash ^ ((const uint8_t *)image.data)[i]) * 1099511628211u;
        stk_batch_unref(batch);
    }
    stk_iterator_free(it);
    return hash;
}

static void test_same_seed_same_batches(void **state)
{
    static const char *const calls[] = {
        "shuffle().batch(8).mixup(num_classes=4, probability=0.8)",
        "shuffle().batch(8).cutmix(num_classes=4, probability=0.8)",
        "shuffle().batch(8).mixup(num_classes=4, probability=0.8, seed=1)",
    };
    uint64_t found[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        found[i] = digest(calls[i], "workers=0");
        assert_true(found[i] == digest(calls[i], "workers=2"));
        assert_true(found[i] == digest(calls[i], "workers=3"));
    }
    assert_true(found[0] != found[1] && found[0] != found[2]);
}

/* Labels that are shares already stay so; without a chance nothing changes. */
static void test_soft_labels(void **state)
{
    struct stk_iterator *it = run("batch(4).mixup(num_classes=4).mixup(probability=0)"
                                  ".cutmix(probability=0)",
                                  "workers=0");
    struct stk_iterator *once = run("batch(4).mixup(num_classes=4)", "workers=0");
    (void)state;
    for (int b = 0; b < 10; b++) {
        struct stk_batch *batch = next(it), *expected = next(once);
        assert_memory_equal(view_of(batch, "label").data, view_of(expected, "label").data,
                            BATCH * N_CLASSES * sizeof(float));
        assert_memory_equal(view_of(batch, "image").data, view_of(expected, "image").data,
                            BATCH * N_VALUES);
        stk_batch_unref(batch);
        stk_batch_unref(expected);
    }
    stk_iterator_free(it);
    stk_iterator_free(once);
}

/* ---- messages ---- */

static void refused(const char *chain, const char *message)
{
    struct stk_dataset *data = NULL;
    struct stk_error err;
    assert_int_not_equal(stk_dataset_new(chain, NULL, &data, &err), STK_OK);
    if (!strstr(err.text, message))
        fail_msg("%s: the message is \"%s\", without \"%s\"", chain, err.text, message);
}

static void test_refused(void **state)
{
    struct stk_batch *batch;
    struct stk_error err;
    (void)state;
    refused("range(4).batch(2).mixup(num_classes=3)", "a batch of images");
    refused("values({x: [[[[1.5]]], [[[2.5]]]], y: [1, 2]}).batch(2).mixup()", "num_classes");
    refused("values({x: [[[[1.5]]], [[[2.5]]]], y: [1.5, 2]}).batch(2).mixup(num_classes=3)",
            "whole numbers");
    refused("values({x: [[[[1.5]]], [[[2.5]]]], y: [1, 2]}).mixup(num_classes=3)", "images");
    struct stk_iterator *it = run("batch(4).mixup(num_classes=3)", "workers=0");
    assert_int_equal(stk_iterator_next(it, &batch, &err), STK_DATA);
    assert_non_null(strstr(err.text, "label 3 of image 3 is not from 0 to 2 (num_classes)"));
    stk_iterator_free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixup_f32),   cmocka_unit_test(test_mixup_u8),
        cmocka_unit_test(test_cutmix),      cmocka_unit_test(test_shares),
        cmocka_unit_test(test_soft_labels), cmocka_unit_test(test_same_seed_same_batches),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
