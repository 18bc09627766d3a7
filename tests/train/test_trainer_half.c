/* SPDX-License-Identifier: Apache-2.0 */
/* test_trainer_half.c: training in half precision: loss scales as peers have them when gradients overflow,
 * memory of activations, and a task that is learned as in float32. */
#include "golden_cases.h"
#include "trainer_model.h"

#include <math.h>

#include <stoker/stoker.h>

static struct stk_model *model_of(const char *chain)
{
    struct stk_model *model;
    struct stk_error err = { 0 };
    if (stk_model_new(chain, &model, &err))
        fail_msg("%s: %s", chain, err.text);
    return model;
}

static struct stk_trainer *trainer_of(const struct stk_model *model,
                                      const struct stk_trainer_options *options)
{
    struct stk_trainer *trainer;
    struct stk_error err = { 0 };
    if (stk_trainer_new(model, options, &trainer, &err))
        fail_msg("%s", err.text);
    return trainer;
}

/* ---- loss scales ---- */

/* y = Σ over a map that is 0, so gradients are 0 where the target is, whatever the scale; a gradient above
 * 65504 overflows where the map's is stored, and nowhere else. */
static struct stk_trainer *overflowing_trainer(const struct stk_model *model, const char *scale)
{
    struct stk_trainer *trainer =
        trainer_of(model, &(struct stk_trainer_options){ .precision = "mixed_float16",
                                                         .loss_scale = scale,
                                                         .loss = "mse()",
                                                         .optimizer = "sgd(1.0)",
                                                         .max_batch = 2,
                                                         .threads = 1 });
    static const float values[] = { 0, 0, 1, 0 }; /* conv2d: kernel, bias; dense: kernel, bias */
    assert_int_equal(stk_trainer_n_weights(trainer), 4);
    for (int w = 0; w < 4; w++) {
        struct stk_view view;
        stk_trainer_weight(trainer, w, &view);
        for (int64_t i = 0; i < view.shape[0]; i++)
            ((float *)view.data)[i] = values[w];
    }
    stk_trainer_changed(trainer);
    return trainer;
}

static void check_scales(const struct stk_model *model, const struct golden_case *c)
{
    struct stk_trainer *trainer = overflowing_trainer(model, c->text);
    struct stk_trainer_counts counts;
    stk_trainer_get_counts(trainer, &counts);
    for (size_t i = 0; i < c->n[0]; i++) {
        float images[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, before = counts.loss_scale;
        float target = c->array[0][i] == 1 || isinf(before) ? 0 : 1e7f / before;
        float targets[2] = { target, target };
        struct stk_view x = stk_view_rows(images, STK_F32, 4, (int64_t[]){ 2, 2, 2, 1 });
        struct stk_view y = stk_view_rows(targets, STK_F32, 2, (int64_t[]){ 2, 1 });
        struct stk_error err = { 0 };
        struct stk_step step;
        if (stk_trainer_step(trainer, &x, &y, &step, &err))
            fail_msg("%s, step %zu: %s", c->text, i, err.text);
        stk_trainer_get_counts(trainer, &counts);
        if (step.is_skipped != (c->array[0][i] != 1) || counts.loss_scale != c->array[1][i] ||
            step.loss_scale != before)
            fail_msg("%s, step %zu: scale %g, skipped: %d; the peer has %g", c->text, i,
                     counts.loss_scale, step.is_skipped, c->array[1][i]);
    }
    if (c->n[2])
        assert_true((double)counts.step == c->array[2][0]);
    assert_int_equal(counts.batches, c->n[0]);
    stk_trainer_free(trainer);
}

static void test_scales_when_gradients_overflow(void **state)
{
    struct golden golden = golden_open("tests/golden/train_loss_scale.bin");
    struct stk_model *model = model_of("input(2, 2, 1).conv2d(1, 1).flatten().dense(1)");
    struct golden_case c;
    (void)state;
    while (golden_next(&golden, &c))
        check_scales(model, &c);
    stk_model_free(model);
    golden_close(&golden);
}

static void check_scale_option(const char *precision, const char *scale, float first)
{
    struct stk_model *model = model_of("input(4, 4, 1).conv2d(2, 3).flatten().dense(2)");
    struct stk_trainer *trainer = trainer_of(
        model, &(struct stk_trainer_options){ .precision = precision, .loss_scale = scale });
    struct stk_trainer_options again;
    struct stk_trainer_counts counts;
    stk_trainer_get_counts(trainer, &counts);
    assert_true(counts.loss_scale == first);
    stk_trainer_options_in_force(trainer, &again);
    assert_string_equal(again.precision, precision ? precision : "float32");
    struct stk_trainer *copy = trainer_of(model, &again); /* what is in force says it all */
    stk_trainer_get_counts(copy, &counts);
    assert_true(counts.loss_scale == first);
    stk_trainer_free(copy);
    stk_trainer_free(trainer);
    stk_model_free(model);
}

static void test_scales_by_default(void **state)
{
    (void)state;
    check_scale_option(NULL, NULL, 1);
    check_scale_option("float32", "dynamic(form=pytorch)", 65536);
    check_scale_option("mixed_float16", NULL, 32768);
    check_scale_option("mixed_float16", "none", 1);
    check_scale_option("mixed_float16", "dynamic(form=pytorch)", 65536);
    check_scale_option("mixed_bfloat16", NULL, 1);
    check_scale_option("mixed_bfloat16", "128", 128);
}

static void test_unknown_precision(void **state)
{
    struct stk_model *model = model_of("input(4).dense(2)");
    struct stk_trainer *trainer;
    struct stk_error err = { 0 };
    (void)state;
    assert_int_equal(stk_trainer_new(model, &(struct stk_trainer_options){ .precision = "float16" },
                                     &trainer, &err),
                     STK_VALUE);
    assert_non_null(strstr(err.text, "mixed_bfloat16"));
    stk_model_free(model);
}

/* ---- updates that are put off ---- */

/* A wide layer's update waits until all gradients are known to be finite, and its own are not made
 * before, if a bound says that they will be: the root of the sum of all x² times that of all dy².
 * Where it does not hold they are stored as in the halves of a step. */
enum { COLUMNS = 600, OUTPUTS = 256, WIDE_ROWS = 2 };

struct wide_batch {
    float x[WIDE_ROWS][COLUMNS], target[WIDE_ROWS][OUTPUTS];
    struct stk_view images, targets;
};

/* Gradients of outputs are about `dy`, of weights x · dy, before the scale is undone. */
static void fill_wide(struct wide_batch *b, double x, double dy, double scale)
{
    for (int i = 0; i < WIDE_ROWS; i++) {
        for (int k = 0; k < COLUMNS; k++)
            b->x[i][k] = (float)(x * (1 + 0.001 * ((i * 7 + k * 3) % 100)));
        for (int k = 0; k < OUTPUTS; k++)
            b->target[i][k] = (float)(-dy / scale * OUTPUTS * (1 + 0.001 * ((i + k * 5) % 100)));
    }
    b->images = stk_view_rows(b->x, STK_F32, 2, (int64_t[]){ WIDE_ROWS, COLUMNS });
    b->targets = stk_view_rows(b->target, STK_F32, 2, (int64_t[]){ WIDE_ROWS, OUTPUTS });
}

static struct stk_trainer *wide_trainer(const struct stk_model *model, const char *precision,
                                        int threads)
{
    struct stk_trainer *trainer =
        trainer_of(model, &(struct stk_trainer_options){ .precision = precision,
                                                         .loss_scale = "2.56e15",
                                                         .loss = "mse()",
                                                         .optimizer = "sgd(1e-25)",
                                                         .max_batch = WIDE_ROWS,
                                                         .threads = threads });
    struct stk_view kernel;
    stk_trainer_weight(trainer, 0, &kernel);
    memset(kernel.data, 0, sizeof(float) * COLUMNS * OUTPUTS);
    stk_trainer_changed(trainer);
    return trainer;
}

struct wide_trial {
    double x, dy;
    bool is_put_off, is_skipped;
};

static void check_wide(const struct stk_model *model, const struct wide_trial *t,
                       const char *precision, int threads)
{
    struct stk_trainer *whole = wide_trainer(model, precision, threads);
    struct stk_trainer *halves = wide_trainer(model, precision, threads);
    static struct wide_batch b;
    struct stk_step step, half;
    struct stk_view x, y;
    fill_wide(&b, t->x, t->dy, 2.56e15);
    assert_int_equal(stk_trainer_step(whole, &b.images, &b.targets, &step, NULL), STK_OK);
    assert_int_equal(stk_trainer_gradients(halves, &b.images, &b.targets, &half, NULL), STK_OK);
    assert_int_equal(stk_trainer_update(halves, &half, NULL), STK_OK);
    assert_true(step.is_skipped == t->is_skipped && half.is_skipped == t->is_skipped);
    if (!t->is_skipped)
        assert_true(fabs(step.gradient_norm / half.gradient_norm - 1) < 1e-6);
    for (int w = 0; w < 2; w++) {
        stk_trainer_weight(whole, w, &x);
        stk_trainer_weight(halves, w, &y);
        assert_memory_equal(x.data, y.data, (size_t)(x.shape[0] * x.strides[0]));
        assert_true(isfinite(((const float *)x.data)[0]));
        assert_true((((const float *)x.data)[0] == 0) == t->is_skipped);
    }
    /* what was put off was never stored */
    assert_int_equal(stk_trainer_gradient(whole, 0, &x), t->is_put_off ? STK_STATE : STK_OK);
    stk_trainer_free(whole);
    stk_trainer_free(halves);
}

static void test_updates_that_are_put_off(void **unused)
{
    static const struct wide_trial trials[] = {
        { 1, 1e19, true, false },     /* at most 8e20 */
        { 1e17, 1e19, false, false }, /* they are up to 2e36; 8e38 would be the most */
        { 1e17, 1e22, false, true },  /* infinite */
    };
    struct stk_model *model = model_of("input(600).dense(256)");
    (void)unused;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        for (int threads = 1; threads < 4; threads++) {
            check_wide(model, &trials[i], "float32", threads);
            check_wide(model, &trials[i], "mixed_float16", threads);
        }
    stk_model_free(model);
}

/* ---- memory ---- */

static int64_t activation_bytes(const struct stk_model *model, const char *precision)
{
    struct stk_trainer *trainer = trainer_of(
        model, &(struct stk_trainer_options){
                   .precision = precision, .max_batch = 32, .threads = 2, .deterministic = true });
    struct stk_trainer_bytes bytes;
    stk_trainer_memory(trainer, &bytes);
    stk_trainer_free(trainer);
    return bytes.activations;
}

static void test_activations_take_half(void **state)
{
    static const char *const names[] = { "m1", "m2", "m3", "m4" };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct stk_model *model = model_of(names[i]);
        double whole = (double)activation_bytes(model, "float32");
        double half = (double)activation_bytes(model, "mixed_float16");
        if (half > 0.55 * whole)
            print_error("%s: %.2f MB instead of %.2f: %.3f\n", names[i], half / 1e6, whole / 1e6,
                        half / whole);
        assert_true(half <= 0.55 * whole);
        assert_true(activation_bytes(model, "mixed_bfloat16") <= (int64_t)half);
        stk_model_free(model);
    }
}

/* ---- a task ---- */

enum {
    SIZE = 12,
    CLASSES = 10,
    N_TRAIN = 4800,
    N_TEST = 2000,
    BATCH = 32,
    STEPS = 1200,
    SEEDS = 5
};

struct task {
    float train[N_TRAIN][SIZE][SIZE], test[N_TEST][SIZE][SIZE];
    int32_t train_label[N_TRAIN], test_label[N_TEST];
    uint32_t state;
};

static float uniform(struct task *t)
{
    t->state = t->state * 1664525u + 1013904223u;
    return (float)(t->state >> 8) * 0x1p-24f;
}

/* A digit of seven segments, anywhere, with gaps, in noise. */
static void draw_digit(struct task *t, int digit, float image[SIZE][SIZE])
{
    static const uint8_t segments[CLASSES] = { 0x77, 0x24, 0x5d, 0x6d, 0x2e,
                                               0x6b, 0x7b, 0x25, 0x7f, 0x6f };
    static const int8_t place[7][4] = { { 0, 0, 0, 4 }, { 0, 0, 4, 0 }, { 0, 4, 4, 4 },
                                        { 4, 0, 4, 4 }, { 4, 0, 8, 0 }, { 4, 4, 8, 4 },
                                        { 8, 0, 8, 4 } };
    int top = (int)(uniform(t) * 4), left = (int)(uniform(t) * 4);
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++)
            image[y][x] = uniform(t) * 0.6f;
    for (int s = 0; s < 7; s++)
        for (int y = place[s][0]; (segments[digit] >> s & 1) && y <= place[s][2]; y++)
            for (int x = place[s][1]; x <= place[s][3]; x++)
                if (uniform(t) > 0.1f)
                    image[top + y][left + x] += 0.8f;
}

static void make_task(struct task *t, uint32_t seed)
{
    t->state = seed * 7919 + 1;
    for (int i = 0; i < N_TRAIN; i++)
        draw_digit(t, t->train_label[i] = i % CLASSES, t->train[i]);
    for (int i = 0; i < N_TEST; i++)
        draw_digit(t, t->test_label[i] = i % CLASSES, t->test[i]);
}

struct learned {
    double loss[STEPS], accuracy;
    int n_skipped;
};

static double accuracy_of(struct stk_trainer *trainer, const struct task *t)
{
    int64_t right = 0;
    for (int at = 0; at < N_TEST; at += BATCH) {
        int n = N_TEST - at < BATCH ? N_TEST - at : BATCH;
        struct stk_view x = stk_view_rows(t->test[at], STK_F32, 4, (int64_t[]){ n, SIZE, SIZE, 1 });
        struct stk_view y = stk_view_rows(&t->test_label[at], STK_I32, 1, (int64_t[]){ n });
        struct stk_step step;
        assert_int_equal(stk_trainer_eval(trainer, &x, &y, &step, NULL), STK_OK);
        right += step.top1;
    }
    return (double)right / N_TEST;
}

static void learn(const struct task *t, const char *precision, uint64_t seed, struct learned *out)
{
    struct stk_model *model =
        model_of("input(12, 12, 1).conv2d(8, 3, padding=same, use_bias=false).batchnorm()"
                 ".activation(relu).maxpool(2).conv2d(16, 3, activation=relu).flatten()"
                 ".dense(32, activation=relu).dense(10)");
    struct stk_trainer *trainer =
        trainer_of(model, &(struct stk_trainer_options){ .precision = precision,
                                                         .optimizer = "adam(0.001)",
                                                         .max_batch = BATCH,
                                                         .threads = 2,
                                                         .seed = seed,
                                                         .deterministic = true });
    *out = (struct learned){ 0 };
    for (int i = 0; i < STEPS; i++) {
        int at = i * BATCH % N_TRAIN;
        struct stk_view x =
            stk_view_rows(t->train[at], STK_F32, 4, (int64_t[]){ BATCH, SIZE, SIZE, 1 });
        struct stk_view y = stk_view_rows(&t->train_label[at], STK_I32, 1, (int64_t[]){ BATCH });
        struct stk_step step;
        struct stk_error err = { 0 };
        if (stk_trainer_step(trainer, &x, &y, &step, &err))
            fail_msg("%s: %s", precision, err.text);
        out->loss[i] = step.loss;
        out->n_skipped += step.is_skipped;
    }
    out->accuracy = accuracy_of(trainer, t);
    stk_trainer_free(trainer);
    stk_model_free(model);
}

static void check_losses(const char *precision, int seed, const struct learned *want,
                         const struct learned *got)
{
    for (int i = 0; i < 50; i++)
        if (!(fabs(got->loss[i] - want->loss[i]) <= 0.02 * want->loss[i]))
            fail_msg("%s, seed %d: loss %d is %.5f, that of float32 %.5f", precision, seed, i,
                     got->loss[i], want->loss[i]);
    assert_int_equal(got->n_skipped, 0);
}

static void test_learns_as_in_float32(void **state)
{
    if (IS_SANITIZED) {
        print_message("under a sanitizer no task is learned: it takes minutes\n");
        skip();
    }
    static const char *const precisions[] = { "float32", "mixed_float16", "mixed_bfloat16" };
    struct task *t = malloc(sizeof *t);
    double accuracy[3] = { 0 };
    (void)state;
    assert_non_null(t);
    for (int seed = 0; seed < SEEDS; seed++) {
        struct learned learned[3];
        make_task(t, (uint32_t)seed);
        for (int p = 0; p < 3; p++) {
            learn(t, precisions[p], (uint64_t)seed, &learned[p]);
            accuracy[p] += learned[p].accuracy / SEEDS;
            if (p > 0)
                check_losses(precisions[p], seed, &learned[0], &learned[p]);
        }
    }
    print_message("accuracy: %.4f, %.4f in float16, %.4f in bfloat16\n", accuracy[0], accuracy[1],
                  accuracy[2]);
    assert_true(accuracy[0] > 0.9);
    assert_true(fabs(accuracy[1] - accuracy[0]) <= 0.003);
    assert_true(fabs(accuracy[2] - accuracy[0]) <= 0.003);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales_when_gradients_overflow),
        cmocka_unit_test(test_scales_by_default),
        cmocka_unit_test(test_unknown_precision),
        cmocka_unit_test(test_updates_that_are_put_off),
        cmocka_unit_test(test_activations_take_half),
        cmocka_unit_test(test_learns_as_in_float32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
