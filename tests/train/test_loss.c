/* SPDX-License-Identifier: Apache-2.0 */
/* test_loss.c: losses, gradients and metrics, at every level of the machine, against PyTorch and Keras
 * (golden/make_loss.py), against differences in double, and their faults. */
#include "base/cpu.h"
#include "golden_cases.h"
#include "train/loss/loss.h"
#include "train_call.h"

#include <math.h>

static struct stk__loss loss_of(const char *text)
{
    struct stk__loss out;
    struct stk_error err = { 0 };
    if (stk__loss_read(value_of(text), &arena, &out, &err))
        fail_msg("%s: %s", text, err.text);
    return out;
}

/* A batch of a golden case; labels become int32. */
static struct stk__loss_batch batch_of(const struct golden_case *c)
{
    struct stk__loss_batch batch = { .logits = c->array[1],
                                     .targets = { .data = c->array[2],
                                                  .dtype = STK_F32,
                                                  .is_sparse = c->array[0][2] == 1,
                                                  .rows = (int64_t)c->array[0][0],
                                                  .outputs = (int64_t)c->array[0][1] } };
    batch.gradient = stk_arena_alloc(&arena, c->n[1] * sizeof(float));
    if (batch.targets.is_sparse) {
        int32_t *labels = stk_arena_alloc(&arena, c->n[2] * sizeof *labels);
        for (size_t i = 0; i < c->n[2]; i++)
            labels[i] = (int32_t)c->array[2][i];
        batch.targets.data = labels;
        batch.targets.dtype = STK_I32;
    }
    return batch;
}

/* The mean, rows in two parts. */
static double mean_loss(const struct stk__loss *loss, const struct stk__loss_batch *batch)
{
    struct stk_error err = { 0 };
    double divisor;
    int64_t rows = batch->targets.rows;
    if (stk__loss_begin(loss, batch, &divisor, &err))
        fail_msg("%s", err.text);
    double sum = stk__loss_rows(loss, batch, 0, rows / 2, 1 / divisor);
    return (sum + stk__loss_rows(loss, batch, rows / 2, rows - rows / 2, 1 / divisor)) / divisor;
}

static void check_loss(const struct golden_case *c)
{
    struct stk__loss loss = loss_of(c->text);
    struct stk__loss_batch batch = batch_of(c);
    double mean = mean_loss(&loss, &batch), want = c->array[3][0], most = 0;
    if (!(fabs(mean - want) <= 1e-6 * fmax(1, fabs(want))))
        fail_msg("%s: %.9g, the peer has %.9g", c->text, mean, want);
    for (size_t i = 0; i < c->n[4]; i++)
        most = fmax(most, fabs(c->array[4][i]));
    for (size_t i = 0; i < c->n[4]; i++)
        if (!(fabs((double)batch.gradient[i] - c->array[4][i]) <= 1e-6 * most))
            fail_msg("%s, gradient %zu: %.9g, the peer has %.9g", c->text, i, batch.gradient[i],
                     c->array[4][i]);
}

static void check_top(const struct golden_case *c)
{
    struct stk__loss_batch batch = batch_of(c);
    int32_t labels[256];
    for (size_t i = 0; i < c->n[2]; i++)
        labels[i] = (int32_t)c->array[2][i];
    batch.targets.data = labels;
    batch.targets.dtype = STK_I32;
    batch.targets.is_sparse = true;
    int64_t n_right = stk__count_top(batch.logits, &batch.targets, (int64_t)c->array[0][2]);
    assert_true(fabs((double)n_right / (double)batch.targets.rows - c->array[3][0]) < 1e-6);
}

static void test_losses_are_as_in_peers(void **state)
{
    (void)state;
    for (int level = 0; level <= (int)stk__cpu_best(); level++) {
        struct golden golden = golden_open("tests/golden/train_loss.bin");
        struct golden_case c;
        int n_top = 0;
        assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], NULL), STK_OK);
        while (golden_next(&golden, &c)) {
            bool is_top = !strcmp(c.text, "top");
            n_top += is_top;
            is_top ? check_top(&c) : check_loss(&c);
        }
        assert_int_equal(n_top, 2);
        golden_close(&golden);
    }
    stk_cpu_limit(stk__cpu_level_names[stk__cpu_best()], NULL);
}

/* ---- gradients are what losses do when an output moves, all in double ---- */

enum { ROWS = 4, OUTPUTS = 5 };

static double entropy_in_double(const struct stk__loss *loss, const double *z, const double *q)
{
    double exps = 0, sum = 0;
    int best = 0;
    for (int i = 0; i < OUTPUTS; i++) {
        exps += exp(z[i]);
        best = q[i] > q[best] ? i : best;
    }
    for (int i = 0; i < OUTPUTS; i++) {
        double target = q[i] * (1 - loss->label_smoothing) + loss->label_smoothing / OUTPUTS;
        double weight = loss->n_classes ? loss->class_weight[loss->is_pytorch ? i : best] : 1;
        sum += weight * target * (log(exps) - z[i]);
    }
    return sum;
}

static double row_in_double(const struct stk__loss *loss, const double *z, const double *q)
{
    double sum = 0;
    if (loss->type->has_classes)
        return entropy_in_double(loss, z, q);
    for (int i = 0; i < OUTPUTS; i++) {
        double target = q[i] * (1 - loss->label_smoothing) + loss->label_smoothing / 2;
        double p = 1 / (1 + exp(-z[i]));
        sum += loss->type->activation == STK__LINEAR ? (z[i] - q[i]) * (z[i] - q[i])
                                                     : -target * log(p) - (1 - target) * log(1 - p);
    }
    return sum;
}

static double noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24);
}

static void check_gradient(const char *text, uint32_t seed)
{
    static const double step = 1e-5;
    struct stk__loss loss = loss_of(text);
    double z[ROWS][OUTPUTS], q[ROWS][OUTPUTS];
    float logits[ROWS * OUTPUTS], gradient[ROWS * OUTPUTS];
    for (int i = 0; i < ROWS * OUTPUTS; i++) {
        logits[i] = (float)(6 * noise(&seed) - 3);
        z[i / OUTPUTS][i % OUTPUTS] = logits[i];
        q[i / OUTPUTS][i % OUTPUTS] = noise(&seed);
    }
    const struct stk__loss_batch batch = { logits, { q, STK_F64, false, ROWS, OUTPUTS }, gradient };
    double sum = stk__loss_rows(&loss, &batch, 0, ROWS, 3), want = 0;
    for (int row = 0; row < ROWS; row++) {
        want += row_in_double(&loss, z[row], q[row]);
        for (int i = 0; i < OUTPUTS; i++) {
            double at = z[row][i];
            z[row][i] = at + step;
            double above = row_in_double(&loss, z[row], q[row]);
            z[row][i] = at - step;
            double slope = 3 * (above - row_in_double(&loss, z[row], q[row])) / (2 * step);
            z[row][i] = at;
            if (fabs(slope - gradient[row * OUTPUTS + i]) > 2e-6 * fmax(1, fabs(slope)))
                fail_msg("%s: gradient %g, slope %g", text, gradient[row * OUTPUTS + i], slope);
        }
    }
    assert_true(fabs(sum - want) <= 2e-6 * fabs(want));
}

static void test_gradients_are_slopes(void **state)
{
    static const char *const texts[] = {
        "cross_entropy()",
        "cross_entropy(0.3)",
        "cross_entropy(0.1, class_weights=[1, 2, 0, 4, 0.5])",
        "cross_entropy(0.1, class_weights=[1, 2, 0, 4, 0.5], form=pytorch)",
        "binary_cross_entropy()",
        "binary_cross_entropy(0.2)",
        "mse()",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (uint32_t seed = 0; seed < 20; seed++)
            check_gradient(texts[i], seed * 77 + 1);
}

/* ---- odd values ---- */

static void test_odd_logits(void **state)
{
    struct stk__loss loss = loss_of("cross_entropy()");
    const int64_t label[1] = { 1 };
    float gradient[4];
    (void)state;
    for (int level = 0; level <= (int)stk__cpu_best(); level++) {
        float logits[4] = { -INFINITY, 1000, -1000, 999 };
        const struct stk__loss_batch batch = { logits, { label, STK_I64, true, 1, 4 }, gradient };
        stk_cpu_limit(stk__cpu_level_names[level], NULL);
        assert_true(fabs(mean_loss(&loss, &batch) - 0.313262) < 1e-5);
        assert_true(gradient[0] == 0 && gradient[2] == 0);
        assert_true(fabsf(gradient[1] + 0.268941f) < 1e-6f);
        logits[3] = NAN;
        assert_true(isnan(mean_loss(&loss, &batch)) && isnan(gradient[1]));
    }
    stk_cpu_limit(stk__cpu_level_names[stk__cpu_best()], NULL);
}

static void test_metrics(void **state)
{
    static const float outputs[4][3] = { { 1, 2, 3 }, { 3, 3, 1 }, { NAN, 0, 1 }, { 0, NAN, NAN } };
    static const uint8_t labels[4] = { 2, 1, 2, 1 };
    static const float soft[4][3] = { { 0, 0.4f, 0.6f }, { 0, 1, 0 }, { 0, 0, 1 }, { 0, 1, 0 } };
    const struct stk__targets sparse = { labels, STK_U8, true, 4, 3 };
    const struct stk__targets dense = { soft, STK_F32, false, 4, 3 };
    uint64_t counts[9] = { 0 };
    (void)state;
    assert_int_equal(stk__count_top(outputs[0], &sparse, 1), 2);
    assert_int_equal(stk__count_top(outputs[0], &dense, 1), 2);
    assert_int_equal(stk__count_top(outputs[0], &sparse, 2), 3);
    assert_int_equal(stk__count_top(outputs[0], &sparse, 5), 3);
    stk__count_confusion(outputs[0], &sparse, counts);
    static const uint64_t want[9] = { 0, 0, 0, 2, 0, 0, 0, 0, 2 };
    assert_memory_equal(counts, want, sizeof counts);
}

/* ---- faults ---- */

static int begin(const char *text, struct stk__targets targets, struct stk_error *err)
{
    struct stk__loss loss = loss_of(text);
    const struct stk__loss_batch batch = { .targets = targets };
    double divisor;
    return stk__loss_begin(&loss, &batch, &divisor, err);
}

static void test_bad_targets(void **state)
{
    struct stk_error err = { 0 };
    int64_t high[3] = { 0, 4, 10 }, low[3] = { 0, -1, 3 };
    uint64_t huge[1] = { UINT64_MAX };
    float values[3] = { 0 };
    (void)state;
    struct stk__targets targets = { high, STK_I64, true, 3, 10 };
    assert_int_equal(begin("cross_entropy()", targets, &err), STK_DATA);
    assert_string_equal(
        err.text, "cross_entropy: the label of row 2 is 10; with 10 classes labels are 0 to 9");
    targets.data = low;
    assert_int_equal(begin("cross_entropy()", targets, &err), STK_DATA);
    assert_non_null(strstr(err.text, "row 1 is -1"));
    targets = (struct stk__targets){ huge, STK_U64, true, 1, 10 };
    assert_int_equal(begin("cross_entropy()", targets, &err), STK_DATA);
    targets = (struct stk__targets){ values, STK_F32, true, 3, 10 };
    assert_int_equal(begin("cross_entropy()", targets, &err), STK_TYPE);
    assert_non_null(strstr(err.text, "labels are integers, not float32"));
    targets = (struct stk__targets){ values, STK_F16, false, 1, 3 };
    assert_int_equal(begin("mse()", targets, &err), STK_TYPE);
    targets = (struct stk__targets){ low, STK_I64, true, 3, 10 };
    assert_int_equal(begin("mse()", targets, &err), STK_TYPE);
    assert_non_null(strstr(err.text, "each of the 10 outputs, not labels"));
    assert_int_equal(begin("cross_entropy(class_weights=[1, 2])", targets, &err), STK_VALUE);
    assert_non_null(strstr(err.text, "2 class weights and 10 classes"));
}

static const struct {
    const char *text, *part;
} bad_calls[] = {
    { "cross_entropie()", "cross_entropy" },
    { "3", "a loss is one call of" },
    { "cross_entropy(1.5)", "label_smoothing" },
    { "cross_entropy(class_weights=[1, -1])", "the weight of class 1 is below 0" },
    { "mse(1)", "mse" },
};

static void test_bad_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_calls / sizeof *bad_calls; i++) {
        struct stk__loss out;
        struct stk_error err = { 0 };
        assert_int_not_equal(stk__loss_read(value_of(bad_calls[i].text), &arena, &out, &err),
                             STK_OK);
        if (!strstr(err.text, bad_calls[i].part))
            fail_msg("%s: %s", bad_calls[i].text, err.text);
    }
    check_declarations(&stk__losses);
    for (int i = 0; i < stk__losses.n_decls; i++) {
        const struct stk__loss_type *type = (const void *)stk__losses.decl[i];
        assert_true(type->rows && (type->activation == STK__LINEAR || type->foreign));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRAIN_TEST(test_losses_are_as_in_peers),
        TRAIN_TEST(test_gradients_are_slopes),
        TRAIN_TEST(test_odd_logits),
        TRAIN_TEST(test_metrics),
        TRAIN_TEST(test_bad_targets),
        TRAIN_TEST(test_bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
