/* SPDX-License-Identifier: Apache-2.0 */
/* test_optimizer.c: optimizers, at every level of the machine, against 50 steps of Keras 3 and
 * PyTorch (golden/make_optimizer.py), and what they promise beside. */
#include "base/cpu.h"
#include "golden_cases.h"
#include "kernel/kernel.h"
#include "train/optimizer/optimizer.h"
#include "train_call.h"

#include <math.h>

static struct stk__optimizer optimizer_of(const char *text)
{
    struct stk__optimizer out;
    struct stk_error err = { 0 };
    if (stk__optimizer_read(value_of(text), &arena, &out, &err))
        fail_msg("%s: %s", text, err.text);
    return out;
}

enum { MOST = 4000 };

/* Weights and state. */
struct model {
    float weight[MOST], first[MOST], second[MOST];
    uint16_t half[MOST];
    size_t n;
};

static struct stk__step_span span_of(struct model *model, const struct stk__optimizer *o,
                                     const float *gradient)
{
    int n_slots = stk__optimizer_slots(o);
    return (struct stk__step_span){ model->weight, n_slots > 0 ? model->first : NULL,
                                    n_slots > 1 ? model->second : NULL, gradient, model->n };
}

/* One step as a trainer makes it; gradients come multiplied by `scale`. */
static bool train(struct model *model, const struct stk__optimizer *o, const float *gradient,
                  int64_t step, double scale)
{
    double squares = stk__gradient_squares(gradient, model->n);
    if (!isfinite(squares))
        return false;
    double factor = stk__optimizer_factor(o, squares, 1 / scale);
    const struct stk__step_rates rates = stk__optimizer_rates(o, step, factor, true);
    struct stk__step_span span = span_of(model, o, gradient);
    assert_true(stk__optimizer_step(o, &span, &rates, (struct stk__weight_copy){ NULL, 0 }));
    return true;
}

static double greatest(const float *values, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fabs(values[i]) > most ? fabs(values[i]) : most;
    return most;
}

/* To 1e-6 of the greatest weight: what a weight has lost in rounding depends on where it has been, not
 * on where it is. */
static void compare(const char *text, int step, const float *got, const float *want, size_t n)
{
    double size = greatest(want, n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) <= 1e-6 * size))
            fail_msg("%s, %d steps, weight %zu: %.9g, the peer has %.9g (%.2g)", text, step, i,
                     got[i], want[i], fabs((double)got[i] - want[i]) / size);
}

static void run_case(const struct golden_case *c, const float *weights, const float *gradients,
                     size_t n, float scale)
{
    static const int seen[] = { 1, 10, 50 };
    struct stk__optimizer o = optimizer_of(c->text);
    struct model model = { .n = n };
    int n_seen = 0;
    float scaled[MOST];
    memcpy(model.weight, weights, n * sizeof *weights);
    for (int step = 0; step < 50; step++) {
        for (size_t i = 0; i < n; i++)
            scaled[i] = scale * gradients[(size_t)step * n + i];
        assert_true(train(&model, &o, scaled, step, scale));
        if (step + 1 == seen[n_seen]) {
            compare(c->text, step + 1, model.weight, c->array[n_seen], n);
            n_seen++;
        }
    }
    assert_int_equal(n_seen, c->n_arrays);
}

/* Also with scaled losses: powers of two change nothing. */
static void test_steps_are_as_in_peers(void **state)
{
    (void)state;
    for (int level = 0; level <= (int)stk__cpu_best(); level++) {
        struct golden golden = golden_open("tests/golden/train_optimizer.bin");
        struct golden_case inputs, c;
        struct stk_error err = { 0 };
        assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], &err), STK_OK);
        assert_true(golden_next(&golden, &inputs));
        while (golden_next(&golden, &c)) {
            run_case(&c, inputs.array[0], inputs.array[1], inputs.n[0], 1);
            run_case(&c, inputs.array[0], inputs.array[1], inputs.n[0], 0x1p15f);
        }
        golden_close(&golden);
    }
    stk_cpu_limit(stk__cpu_level_names[stk__cpu_best()], NULL);
}

static float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(int32_t)(*seed >> 8) / (1 << 23) - 1;
}

/* Any split of the weights into spans gives the same bits, and the copy is of the new weights. */
static void test_spans_and_copies(void **state)
{
    static const char *const texts[] = { "adam(0.01)", "sgd(0.1, momentum=0.9)", "sgd(0.1)" };
    (void)state;
    for (int t = 0; t < 6; t++) {
        struct stk__optimizer o = optimizer_of(texts[t / 2]);
        struct model whole = { .n = MOST - 1 }, parts;
        float gradient[MOST];
        uint16_t want[MOST];
        uint32_t seed = 7;
        int dtype = t % 2 ? STK_F16 : STK_BF16;
        for (size_t i = 0; i < whole.n; i++) {
            whole.weight[i] = noise(&seed);
            gradient[i] = noise(&seed);
        }
        parts = whole;
        const struct stk__step_rates rates = stk__optimizer_rates(&o, 0, 1, true);
        struct stk__step_span span = span_of(&whole, &o, gradient);
        stk__optimizer_step(&o, &span, &rates, (struct stk__weight_copy){ whole.half, dtype });
        for (size_t at = 0; at < whole.n; at += 16 * 37) {
            span = span_of(&parts, &o, gradient);
            span.weight += at;
            span.first = span.first ? span.first + at : NULL;
            span.second = span.second ? span.second + at : NULL;
            span.gradient += at;
            span.n = whole.n - at < 16 * 37 ? whole.n - at : 16 * 37;
            stk__optimizer_step(&o, &span, &rates, (struct stk__weight_copy){ NULL, 0 });
        }
        assert_memory_equal(whole.weight, parts.weight, sizeof whole.weight);
        assert_memory_equal(whole.first, parts.first, sizeof whole.first);
        assert_memory_equal(whole.second, parts.second, sizeof whole.second);
        stk__kernels()->elementwise.convert[STK_F32][dtype](want, whole.weight, NULL, NULL,
                                                            whole.n);
        assert_memory_equal(want, whole.half, whole.n * sizeof *want);
    }
}

static void test_gradients_that_are_not_finite(void **state)
{
    static const float bad[] = { INFINITY, -INFINITY, NAN };
    struct stk__optimizer o = optimizer_of("adam(0.01)");
    const struct stk__step_rates rates = stk__optimizer_rates(&o, 0, 1, true);
    (void)state;
    for (int i = 0; i < 120; i++) {
        float gradient[40] = { 3e38f, -3e38f };
        struct model model = { .n = 40 };
        assert_true(isfinite(stk__gradient_squares(gradient, 40)));
        struct stk__step_span span = span_of(&model, &o, gradient);
        assert_true(stk__optimizer_step(&o, &span, &rates, (struct stk__weight_copy){ NULL, 0 }));
        gradient[i % 40] = bad[i / 40];
        assert_false(isfinite(stk__gradient_squares(gradient, 40)));
        assert_false(stk__optimizer_step(&o, &span, &rates, (struct stk__weight_copy){ NULL, 0 }));
    }
}

/* PyTorch adds 1e-6 to the norm. */
static void test_clipping_of_norms(void **state)
{
    struct stk__optimizer keras = optimizer_of("sgd(0.1, global_clipnorm=0.5)");
    struct stk__optimizer pytorch = optimizer_of("sgd(0.1, global_clipnorm=0.5, form=pytorch)");
    struct stk__optimizer none = optimizer_of("sgd(0.1)");
    (void)state;
    assert_true(stk__optimizer_factor(&none, 1e30, 0.25) == 0.25);
    assert_true(stk__optimizer_factor(&keras, 0.25, 1) == 1);
    assert_true(stk__optimizer_factor(&keras, 1, 1) == 0.5);
    assert_true(stk__optimizer_factor(&keras, 16, 0.25) == 0.125); /* a norm of 1, scaled by 4 */
    assert_true(fabs(stk__optimizer_factor(&pytorch, 1, 1) - 0.5 / 1.000001) < 1e-12);
    assert_true(stk__optimizer_factor(&pytorch, 0.25, 1) < 1);
    assert_true(stk__optimizer_factor(&pytorch, 0.2499, 1) == 1);
}

static void test_what_decay_leaves_alone(void **state)
{
    static const char *const texts[] = { "adamw(0.1)", "sgd(0.1, weight_decay=1)",
                                         "adamw(0.1, form=pytorch)" };
    (void)state;
    for (int t = 0; t < 3; t++) {
        struct stk__optimizer o = optimizer_of(texts[t]);
        float gradient[3] = { 0 };
        struct model model = { .weight = { 1, 2, 3 }, .n = 3 };
        struct stk__step_span span = span_of(&model, &o, gradient);
        struct stk__step_rates rates = stk__optimizer_rates(&o, 0, 1, false);
        stk__optimizer_step(&o, &span, &rates, (struct stk__weight_copy){ NULL, 0 });
        assert_true(model.weight[0] == 1 && model.weight[2] == 3);
        rates = stk__optimizer_rates(&o, 0, 1, true);
        stk__optimizer_step(&o, &span, &rates, (struct stk__weight_copy){ NULL, 0 });
        assert_true(model.weight[0] < 1 && model.weight[2] < 3);
    }
}

static const struct {
    const char *text, *part;
} bad_calls[] = {
    { "adm(0.1)", "adam" },
    { "0.1", "an optimizer is one call of adam, adamw, sgd" },
    { "sgd(0.1, nesterov=true)", "wants a momentum" },
    { "sgd(0.1, momentum=1.5)", "momentum" },
    { "adam(beta_1=1)", "beta_1" },
    { "adam(0.1, clipvalue=1, global_clipnorm=1)", "exclude each other" },
    { "adam(cosine(0.1))", "steps" },
    { "adam([1])", "a learning rate is" },
};

static void test_bad_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_calls / sizeof *bad_calls; i++) {
        struct stk__optimizer out;
        struct stk_error err = { 0 };
        assert_int_not_equal(stk__optimizer_read(value_of(bad_calls[i].text), &arena, &out, &err),
                             STK_OK);
        if (!strstr(err.text, bad_calls[i].part))
            fail_msg("%s: %s", bad_calls[i].text, err.text);
    }
}

static void test_declarations(void **state)
{
    (void)state;
    check_declarations(&stk__optimizers);
    for (int i = 0; i < stk__optimizers.n_decls; i++) {
        const struct stk__optimizer_type *type = (const void *)stk__optimizers.decl[i];
        assert_true(type->rate > 0 && type->n_slots && type->put_rates && type->step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRAIN_TEST(test_steps_are_as_in_peers),
        TRAIN_TEST(test_spans_and_copies),
        TRAIN_TEST(test_gradients_that_are_not_finite),
        TRAIN_TEST(test_clipping_of_norms),
        TRAIN_TEST(test_what_decay_leaves_alone),
        TRAIN_TEST(test_bad_calls),
        TRAIN_TEST(test_declarations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
