/* SPDX-License-Identifier: Apache-2.0 */
/* test_train_rules.c: schedules and loss scales against what Keras and PyTorch did, and their
 * faults. */
#include "golden_cases.h"
#include "train/loss/loss_scale.h"
#include "train/optimizer/schedule.h"
#include "train_call.h"

#include <math.h>

static struct stk__schedule schedule_of(const char *text)
{
    struct stk__schedule out;
    struct stk_error err = { 0 };
    if (stk__schedule_read(value_of(text), &arena, &out, &err))
        fail_msg("%s: %s", text, err.text);
    return out;
}

static struct stk__loss_scale scale_of(const char *text)
{
    struct stk__loss_scale out;
    struct stk_error err = { 0 };
    if (stk__loss_scale_read(value_of(text), &arena, &out, &err))
        fail_msg("%s: %s", text, err.text);
    return out;
}

static void test_schedules_are_as_in_keras(void **state)
{
    struct golden golden = golden_open("tests/golden/train_schedule.bin");
    struct golden_case c;
    (void)state;
    while (golden_next(&golden, &c)) {
        struct stk__schedule schedule = schedule_of(c.text);
        for (size_t i = 0; i < c.n[0]; i++) {
            double rate = stk__schedule_rate(&schedule, (int64_t)i);
            /* Keras computes in float32, where the last rates of a cosine lose digits. */
            if (fabs(rate - c.array[0][i]) > 1e-6 * fabs(c.array[0][i]) + 1e-7 * schedule.rate)
                fail_msg("%s, step %zu: %.9g, Keras has %.9g", c.text, i, rate, c.array[0][i]);
        }
    }
    golden_close(&golden);
}

static void test_schedules_without_a_peer(void **state)
{
    (void)state;
    struct stk__schedule s = schedule_of("0.25");
    assert_true(stk__schedule_rate(&s, 0) == 0.25 && stk__schedule_rate(&s, 1 << 20) == 0.25);
    s = schedule_of("constant(1, warmup=4)");
    assert_true(stk__schedule_rate(&s, 0) == 0 && stk__schedule_rate(&s, 3) == 0.75);
    assert_true(stk__schedule_rate(&s, 4) == 1 && stk__schedule_rate(&s, INT64_MAX) == 1);
    s = schedule_of("step(1, every=10, factor=0.5, warmup=5, start=1)");
    assert_true(stk__schedule_rate(&s, 0) == 1 && stk__schedule_rate(&s, 14) == 1);
    assert_true(stk__schedule_rate(&s, 15) == 0.5);
    s = schedule_of("piecewise([2], [4, 8], warmup=4)");
    assert_true(stk__schedule_rate(&s, 1) == 1 && stk__schedule_rate(&s, 6) == 4);
    assert_true(stk__schedule_rate(&s, 7) == 8);
}

/* Text, and part of the message. */
static const struct {
    const char *text, *part;
} bad_schedules[] = {
    { "-1", "at least 0" },
    { "'fast'", "a learning rate is a number or one call of constant, cosine" },
    { "cosin(0.1, steps=3)", "cosine" },
    { "cosine(0.1)", "steps" },
    { "cosine(0.1, steps=0)", "steps" },
    { "cosine(-0.1, steps=3)", "learning_rate" },
    { "cosine(0.1, steps=3).step(0.1, every=3)", "one call" },
    { "piecewise([1, 2], [1, 2])", "2 boundaries want 3 values, not 2" },
    { "piecewise([2, 2], [1, 2, 3])", "boundary 1 is not above" },
    { "piecewise([1], [1, -2])", "rate 1 is below 0" },
    { "piecewise([1], [1, 1e39])", "rate 1 is larger than a float32 holds" },
    { "constant(1e39)", "learning_rate=1e+39 is outside" },
    { "1e39", "no larger than a float32 holds" },
};

static void test_bad_schedules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_schedules / sizeof *bad_schedules; i++) {
        struct stk__schedule out;
        struct stk_error err = { 0 };
        assert_int_not_equal(
            stk__schedule_read(value_of(bad_schedules[i].text), &arena, &out, &err), STK_OK);
        if (!strstr(err.text, bad_schedules[i].part))
            fail_msg("%s: %s", bad_schedules[i].text, err.text);
    }
}

static void test_scales_are_as_in_peers(void **state)
{
    struct golden golden = golden_open("tests/golden/train_loss_scale.bin");
    struct golden_case c;
    size_t longest = 0;
    (void)state;
    while (golden_next(&golden, &c)) {
        struct stk__loss_scale scale = scale_of(c.text);
        double n_made = 0;
        longest = c.n[0] > longest ? c.n[0] : longest;
        for (size_t i = 0; i < c.n[0]; i++) {
            n_made += stk__loss_scale_update(&scale, c.array[0][i] == 1);
            if (scale.scale != c.array[1][i])
                fail_msg("%s, step %zu: %g, the peer has %g", c.text, i, scale.scale,
                         c.array[1][i]);
        }
        if (c.n[2])
            assert_true(n_made == c.array[2][0]);
    }
    assert_true(longest >= 5000);
    golden_close(&golden);
}

static void test_first_scales(void **state)
{
    (void)state;
    assert_true(scale_of("dynamic()").scale == 0x1p15f);
    assert_true(scale_of("dynamic(form=keras2)").scale == 0x1p15f);
    assert_true(scale_of("dynamic(form=pytorch)").scale == 0x1p16f);
    assert_int_equal(scale_of("dynamic()").growth_steps, 2000);
    struct stk__loss_scale fixed = scale_of("fixed(1024)"), number = scale_of("1024");
    for (int i = 0; i < 4000; i++) {
        assert_int_equal(stk__loss_scale_update(&fixed, i % 3), i % 3 != 0);
        assert_true(fixed.scale == 1024 && number.scale == 1024);
    }
    assert_true(stk__loss_scale_inverse(&fixed) == 0x1p-10f);
}

static const struct {
    const char *text, *part;
} bad_scales[] = {
    { "0", "above 0" },
    { "1e39", "float32" },
    { "fixed(0)", "scale" },
    { "dynamic(growth_steps=0)", "growth_steps" },
    { "dynamic(growth=0.5)", "growth" },
    { "dynamic(backoff=1.5)", "backoff" },
    { "dynamic(form=keras4)", "keras3" },
    { "[1]", "one call of dynamic, fixed" },
};

static void test_bad_scales(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_scales / sizeof *bad_scales; i++) {
        struct stk__loss_scale out;
        struct stk_error err = { 0 };
        assert_int_not_equal(stk__loss_scale_read(value_of(bad_scales[i].text), &arena, &out, &err),
                             STK_OK);
        if (!strstr(err.text, bad_scales[i].part))
            fail_msg("%s: %s", bad_scales[i].text, err.text);
    }
}

static void test_declarations(void **state)
{
    (void)state;
    check_declarations(&stk__schedules);
    check_declarations(&stk__loss_scales);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRAIN_TEST(test_schedules_are_as_in_keras),
        TRAIN_TEST(test_schedules_without_a_peer),
        TRAIN_TEST(test_bad_schedules),
        TRAIN_TEST(test_scales_are_as_in_peers),
        TRAIN_TEST(test_first_scales),
        TRAIN_TEST(test_bad_scales),
        TRAIN_TEST(test_declarations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
