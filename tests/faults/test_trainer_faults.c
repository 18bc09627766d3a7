/* SPDX-License-Identifier: Apache-2.0 */
/* test_trainer_faults.c: a trainer is made while the n-th allocation fails, for every n: an error that says
 * so, and nothing leaked; and steps that allocate nothing at all. */
#include "fault_wraps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stoker/stoker.h>

enum { MAX_FAULTS = 500, SIDE = 10, ROWS = 4 };

static const char chain[] =
    "input(10, 10, 2).conv2d(4, 3, padding=same, activation=relu).maxpool(2).batchnorm()"
    ".residual(depthwise_conv2d(3, padding=same)).concat([conv2d(3, 1), activation(swish)])"
    ".flatten().dropout(0.1).dense(800, activation=relu).dense(3)";

static struct stk_model *open_model(void)
{
    struct stk_model *model;
    assert_int_equal(stk_model_new(chain, &model, NULL), STK_OK);
    return model;
}

static const struct stk_trainer_options options = { .threads = 2,
                                                    .max_batch = ROWS,
                                                    .deterministic = true };

static void test_making(void **unused)
{
    struct stk_model *model = open_model();
    (void)unused;
    for (long n = 1; n < MAX_FAULTS; n++) {
        struct stk_error err = { 0 };
        struct stk_trainer *trainer;
        long before = fault_live_blocks();
        fault_arm(FAULT_ALLOCATION, n, false);
        int rc = stk_trainer_new(model, &options, &trainer, &err);
        bool failed = fault_disarm();
        if (!failed) {
            assert_int_equal(rc, STK_OK);
            assert_true(n > 5);
            stk_trainer_free(trainer);
            break;
        }
        if (rc == STK_OK) /* what remembers choices does without */
            stk_trainer_free(trainer);
        else
            assert_true(rc == STK_MEMORY && !trainer);
        assert_int_equal(fault_live_blocks(), before);
    }
    stk_model_free(model);
}

static void test_no_allocation_in_steps(void **unused)
{
    static float images[ROWS * SIDE * SIDE * 2];
    static const int32_t labels[ROWS] = { 0, 1, 2, 1 };
    const int64_t shape[4] = { ROWS, SIDE, SIDE, 2 };
    struct stk_view image = stk_view_rows(images, STK_F32, 4, shape);
    struct stk_view label = stk_view_rows(labels, STK_I32, 1, shape);
    struct stk_model *model = open_model();
    struct stk_trainer *trainer;
    struct stk_step out;
    float outputs[ROWS * 3];
    (void)unused;
    assert_int_equal(stk_trainer_new(model, &options, &trainer, NULL), STK_OK);
    fault_arm(FAULT_ALLOCATION, 1, true);
    for (int i = 0; i < 3; i++)
        assert_int_equal(stk_trainer_step(trainer, &image, &label, &out, NULL), STK_OK);
    assert_int_equal(stk_trainer_gradients(trainer, &image, &label, &out, NULL), STK_OK);
    assert_int_equal(stk_trainer_update(trainer, &out, NULL), STK_OK);
    assert_int_equal(stk_trainer_eval(trainer, &image, &label, &out, NULL), STK_OK);
    assert_int_equal(stk_trainer_predict(trainer, &image, outputs, NULL), STK_OK);
    assert_false(fault_disarm());
    stk_trainer_free(trainer);
    stk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_making),
        cmocka_unit_test(test_no_allocation_in_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
