/* SPDX-License-Identifier: Apache-2.0 */
/* test_trainer_threads.c: steps of small nets with every kind of group, by two and three threads and in every
 * precision: what they give is what one thread gives, but for the order of sums. Small, so that
 * ThreadSanitizer can run it; test_trainer has every layer and group by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include <stoker/stoker.h>

enum { ROWS = 7, SIDE = 9, CLASSES = 4, VALUES = ROWS * SIDE * SIDE * 3, STEPS = 3 };

static const char *const chains[] = {
    "input(9, 9, 3).conv2d(8, 3, padding=same, activation=relu).maxpool(2)"
    ".conv2d(6, 3, padding=same, use_bias=false).batchnorm().activation(relu)"
    ".residual(conv2d(6, 3, padding=same).batchnorm(), activation=relu)"
    ".flatten().dense(140, activation=relu).dropout(0.2).dense(4)",
    "input(9, 9, 3).conv2d(8, 3, 2, same, activation=swish).depthwise_conv2d(3, padding=same)"
    ".batchnorm(unbiased=true).activation(relu6).concat([conv2d(4, 1), maxpool(3, 1, same)])"
    ".separable_conv2d(12, 3, 2, same, activation=gelu).avgpool(2).global_avgpool().dense(4)",
};
/* How far losses may be from those of one thread. */
static const struct {
    const char *name;
    double within;
} precisions[] = { { "float32", 1e-4 }, { "mixed_float16", 2e-2 }, { "mixed_bfloat16", 5e-2 } };

static float images[VALUES];
static int32_t labels[ROWS];

static void fill(uint32_t state)
{
    for (int i = 0; i < VALUES; i++) {
        state = state * 1664525u + 1013904223u;
        images[i] = (float)(state >> 8) / (1 << 23) - 1;
    }
    for (int i = 0; i < ROWS; i++)
        labels[i] = (int32_t)((state >> 9) + (uint32_t)i) % CLASSES;
}

/* Losses of a few steps, then of evaluation. */
static void train(const struct stk_model *model, const char *precision, int threads,
                  double losses[STEPS + 1])
{
    const int64_t shape[4] = { ROWS, SIDE, SIDE, 3 };
    const struct stk_view image = stk_view_rows(images, STK_F32, 4, shape);
    const struct stk_view label = stk_view_rows(labels, STK_I32, 1, shape);
    const struct stk_trainer_options options = { .threads = threads,
                                                 .precision = precision,
                                                 .loss_scale = "1024",
                                                 .max_batch = ROWS,
                                                 .deterministic = true };
    struct stk_trainer *trainer;
    struct stk_error err = { 0 };
    struct stk_step out;
    float outputs[ROWS * CLASSES];
    if (stk_trainer_new(model, &options, &trainer, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < STEPS; i++) {
        fill((uint32_t)i);
        assert_int_equal(stk_trainer_step(trainer, &image, &label, &out, NULL), STK_OK);
        losses[i] = out.loss;
    }
    assert_int_equal(stk_trainer_gradients(trainer, &image, &label, &out, NULL), STK_OK);
    assert_int_equal(stk_trainer_update(trainer, &out, NULL), STK_OK);
    assert_int_equal(stk_trainer_eval(trainer, &image, &label, &out, NULL), STK_OK);
    assert_int_equal(stk_trainer_predict(trainer, &image, outputs, NULL), STK_OK);
    losses[STEPS] = out.loss;
    stk_trainer_free(trainer);
}

static void test_teams(void **unused)
{
    (void)unused;
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        struct stk_model *model;
        struct stk_error err = { 0 };
        if (stk_model_new(chains[c], &model, &err))
            fail_msg("%s", err.text);
        for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
            double want[STEPS + 1], got[STEPS + 1];
            train(model, precisions[p].name, 1, want);
            for (int threads = 2; threads <= 3; threads++) {
                train(model, precisions[p].name, threads, got);
                for (int i = 0; i <= STEPS; i++)
                    if (!(fabs(got[i] - want[i]) <= precisions[p].within * want[i]))
                        fail_msg("net %zu, %s, %d threads: loss %d is %.9g, not %.9g", c,
                                 precisions[p].name, threads, i, got[i], want[i]);
            }
        }
        stk_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_teams) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
