/* SPDX-License-Identifier: Apache-2.0 */
/* test_trainer_steps.c: what steps promise: the same bits every time, halves that are the whole, learning,
 * state that carries on, input of every kind, and errors that say what is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/stoker.h>

/* Convolution, pool, statistics, branches, dropout, and a dense layer with wide weights. */
#define MODEL                                                                                      \
    "input(12, 12, 3).conv2d(8, 3, padding=same, activation=relu).maxpool(2).batchnorm()"          \
    ".residual(depthwise_conv2d(3, padding=same)).conv2d(30, 1, activation=relu).flatten()"        \
    ".dense(140, activation=relu).dropout(0.2).dense(4)"

enum { ROWS = 6, CLASSES = 4, SIDE = 12, VALUES = ROWS * SIDE * SIDE * 3 };

struct batch {
    float images[VALUES];
    uint8_t bytes[VALUES];
    int64_t labels[ROWS];
    struct stk_view image_view, byte_view, label_view;
};

static void fill(struct batch *b, uint32_t seed)
{
    const int64_t shape[4] = { ROWS, SIDE, SIDE, 3 };
    uint32_t state = seed * 7919 + 1;
    for (int i = 0; i < VALUES; i++) {
        state = state * 1664525u + 1013904223u;
        b->bytes[i] = (uint8_t)(state >> 24);
        b->images[i] = (float)b->bytes[i] / 128 - 1;
    }
    for (int i = 0; i < ROWS; i++) {
        b->labels[i] = (int64_t)(i + seed) % CLASSES;
        for (int k = 0; k < 40; k++) { /* something to learn */
            b->images[i * SIDE * SIDE * 3 + k] = (float)b->labels[i];
            b->bytes[i * SIDE * SIDE * 3 + k] =
                (uint8_t)(b->labels[i] * 128 + 128 > 255 ? 255 : b->labels[i] * 128 + 128);
        }
    }
    b->image_view = stk_view_rows(b->images, STK_F32, 4, shape);
    b->byte_view = stk_view_rows(b->bytes, STK_U8, 4, shape);
    b->label_view = stk_view_rows(b->labels, STK_I64, 1, shape);
}

static struct stk_model *model;

static int open_model(void **unused)
{
    (void)unused;
    return stk_model_new(MODEL, &model, NULL);
}

static int close_model(void **unused)
{
    (void)unused;
    stk_model_free(model);
    return 0;
}

static struct stk_trainer *make(const struct stk_trainer_options *options)
{
    struct stk_trainer *trainer;
    struct stk_error err = { 0 };
    struct stk_trainer_options all = *options;
    all.deterministic = true;
    if (!all.max_batch)
        all.max_batch = ROWS;
    if (stk_trainer_new(model, &all, &trainer, &err))
        fail_msg("%s", err.text);
    return trainer;
}

static struct stk_step step(struct stk_trainer *trainer, const struct batch *b)
{
    struct stk_error err = { 0 };
    struct stk_step out;
    if (stk_trainer_step(trainer, &b->image_view, &b->label_view, &out, &err))
        fail_msg("%s", err.text);
    return out;
}

/* All arrays of state are the same, bit for bit. */
static void assert_same_state(struct stk_trainer *a, struct stk_trainer *b)
{
    struct stk_view x, y;
    assert_int_equal(stk_trainer_n_state(a), stk_trainer_n_state(b));
    for (int i = 0; !stk_trainer_state(a, i, &x); i++) {
        assert_int_equal(stk_trainer_state(b, i, &y), STK_OK);
        assert_string_equal(x.name, y.name);
        if (memcmp(x.data, y.data, (size_t)(x.shape[0] * x.strides[0])) != 0)
            fail_msg("%s differs", x.name);
    }
}

static void test_same_bits(void **unused)
{
    static const int threads[] = { 1, 2, 3 };
    (void)unused;
    for (int t = 0; t < 3; t++) {
        struct stk_trainer_options options = { .threads = threads[t], .seed = 3 };
        struct stk_trainer *a = make(&options), *b = make(&options);
        struct batch batch;
        for (uint32_t i = 0; i < 5; i++) {
            fill(&batch, i);
            struct stk_step x = step(a, &batch), y = step(b, &batch);
            assert_memory_equal(&x.loss, &y.loss, sizeof x.loss);
        }
        assert_same_state(a, b);
        stk_trainer_free(a);
        stk_trainer_free(b);
    }
}

/* The update of wide weights within the pass is that behind it. */
static void test_halves(void **unused)
{
    static const char *const optimizers[] = { "adam()", "sgd(0.1, momentum=0.9)", "adamw()",
                                              "adam(clipvalue=0.001)",
                                              "adam(global_clipnorm=0.1)" };
    (void)unused;
    for (int o = 0; o < 5; o++) {
        struct stk_trainer_options options = { .threads = 2, .optimizer = optimizers[o] };
        struct stk_trainer *a = make(&options), *b = make(&options);
        struct batch batch;
        struct stk_step x, y;
        for (uint32_t i = 0; i < 3; i++) {
            fill(&batch, i);
            x = step(a, &batch);
            assert_int_equal(
                stk_trainer_gradients(b, &batch.image_view, &batch.label_view, &y, NULL), STK_OK);
            assert_int_equal(stk_trainer_update(b, &y, NULL), STK_OK);
            assert_int_equal(stk_trainer_update(b, &y, NULL), STK_STATE);
            assert_true(x.loss == y.loss && x.step == y.step && x.step == i);
        }
        assert_same_state(a, b);
        stk_trainer_free(a);
        stk_trainer_free(b);
    }
}

/* The gradient of a wide layer is used up within a step, until somebody asks for it. */
static void keep_gradients(const char *loss_scale)
{
    struct stk_trainer_options options = { .threads = 2,
                                           .optimizer = "sgd(0.1)",
                                           .loss_scale = loss_scale };
    struct stk_trainer *a = make(&options), *b = make(&options);
    struct batch batch;
    struct stk_view x, y;
    struct stk_step out;
    int wide;
    fill(&batch, 1);
    assert_int_equal(stk_trainer_find_weight(a, "dense/kernel", &wide, NULL), STK_OK);
    step(a, &batch);
    step(b, &batch);
    assert_int_equal(stk_trainer_gradient(a, 0, &x), STK_OK);
    assert_int_equal(stk_trainer_gradient(a, wide, &x), STK_STATE);
    step(a, &batch);
    assert_int_equal(stk_trainer_gradient(a, wide, &x), STK_OK);
    assert_int_equal(stk_trainer_gradients(b, &batch.image_view, &batch.label_view, &out, NULL),
                     STK_OK);
    assert_int_equal(stk_trainer_gradient(b, wide, &y), STK_OK);
    assert_memory_equal(x.data, y.data, (size_t)(x.shape[0] * x.strides[0]));
    stk_trainer_update(b, &out, NULL);
    assert_same_state(a, b);
    stk_trainer_free(a);
    stk_trainer_free(b);
}

static void test_gradients_are_kept(void **unused)
{
    (void)unused;
    keep_gradients(NULL);
    keep_gradients("1024");
}

static void test_learns(void **unused)
{
    static const struct stk_trainer_options options[] = {
        { .optimizer = "adam(0.003)" },
        { .optimizer = "sgd(0.05, momentum=0.9, nesterov=true)" },
        { .optimizer = "adamw(0.003, global_clipnorm=1.0)", .threads = 3 },
        { .optimizer = "adam(0.003)", .loss_scale = "dynamic()" },
        { .optimizer = "adam(0.003)", .loss_scale = "1024", .on_nonfinite = STK_NONFINITE_SKIP },
    };
    (void)unused;
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        struct stk_trainer *trainer = make(&options[o]);
        struct batch batch;
        struct stk_step first, last = { 0 };
        fill(&batch, 1);
        first = step(trainer, &batch);
        for (int i = 0; i < 30; i++)
            last = step(trainer, &batch);
        assert_true(last.loss < 0.5 * first.loss);
        assert_true(last.top1 >= 5 && last.top5 == ROWS && last.step == 30);
        assert_true(isnan(last.gradient_norm) == (o < 2));
        stk_trainer_free(trainer);
    }
}

/* A copy of all arrays and numbers goes on as the first one does. */
static void test_state_carries_on(void **unused)
{
    struct stk_trainer_options options = { .threads = 2, .loss_scale = "dynamic(growth_steps=3)" };
    (void)unused;
    struct stk_trainer *a = make(&options);
    options.seed = 99;
    struct stk_trainer *b = make(&options);
    struct stk_trainer_counts counts;
    struct stk_view from, to;
    struct batch batch;
    for (uint32_t i = 0; i < 4; i++) {
        fill(&batch, i);
        step(a, &batch);
    }
    for (int i = 0; !stk_trainer_state(a, i, &from); i++) {
        assert_int_equal(stk_trainer_state(b, i, &to), STK_OK);
        memcpy(to.data, from.data, (size_t)(from.shape[0] * from.strides[0]));
    }
    stk_trainer_get_counts(a, &counts);
    assert_int_equal(counts.step, 4);
    assert_true(counts.loss_scale == 0x1p16f && counts.good_steps == 1);
    assert_int_equal(stk_trainer_set_counts(b, &counts, NULL), STK_OK);
    stk_trainer_changed(b);
    for (uint32_t i = 4; i < 7; i++) {
        fill(&batch, i);
        assert_true(step(a, &batch).loss == step(b, &batch).loss);
    }
    assert_same_state(a, b);
    stk_trainer_free(a);
    stk_trainer_free(b);
}

static void test_bytes(void **unused)
{
    struct stk_trainer_options options = { .threads = 2 };
    static const float scale[3] = { 1 / 128.f, 1 / 64.f, 1 }, offset[3] = { -1, 2, 0.5f };
    (void)unused;
    struct stk_trainer *trainer = make(&options);
    struct batch batch;
    struct stk_step x, y;
    float a[ROWS * CLASSES], b[ROWS * CLASSES];
    fill(&batch, 1);
    for (int i = 0; i < VALUES; i++)
        batch.images[i] = (float)batch.bytes[i] * scale[i % 3] + offset[i % 3];
    assert_int_equal(stk_trainer_affine(trainer, scale, offset, 3, NULL), STK_OK);
    assert_int_equal(stk_trainer_affine(trainer, scale, offset, 2, NULL), STK_VALUE);
    assert_int_equal(stk_trainer_predict(trainer, &batch.image_view, a, NULL), STK_OK);
    assert_int_equal(stk_trainer_predict(trainer, &batch.byte_view, b, NULL), STK_OK);
    for (int i = 0; i < ROWS * CLASSES; i++)
        assert_true(fabsf(a[i] - b[i]) <= 1e-4f * (1 + fabsf(a[i])));
    stk_trainer_gradients(trainer, &batch.image_view, &batch.label_view, &x, NULL);
    stk_trainer_eval(trainer, &batch.byte_view, &batch.label_view, &y, NULL);
    stk_trainer_eval(trainer, &batch.image_view, &batch.label_view, &x, NULL);
    assert_true(fabs(x.loss - y.loss) <= 1e-4 && x.top1 == y.top1);
    stk_trainer_free(trainer);
}

/* A row is the same whatever rows are beside it: with statistics in use, not of the batch. */
static void test_smaller_batches(void **unused)
{
    struct stk_trainer_options options = { .threads = 2, .max_batch = 9, .only_forward = true };
    (void)unused;
    struct stk_trainer *trainer = make(&options);
    struct batch batch;
    struct stk_step out;
    struct stk_error err;
    float all[ROWS * CLASSES], one[CLASSES];
    fill(&batch, 1);
    assert_int_equal(stk_trainer_predict(trainer, &batch.image_view, all, NULL), STK_OK);
    for (int i = 0; i < ROWS; i++) {
        struct stk_view view = stk_view_rows(batch.images + i * SIDE * SIDE * 3, STK_F32, 4,
                                             (int64_t[]){ 1, SIDE, SIDE, 3 });
        assert_int_equal(stk_trainer_predict(trainer, &view, one, NULL), STK_OK);
        for (int c = 0; c < CLASSES; c++)
            assert_true(fabsf(one[c] - all[i * CLASSES + c]) <= 1e-5f * (1 + fabsf(one[c])));
    }
    assert_int_equal(stk_trainer_step(trainer, &batch.image_view, &batch.label_view, &out, &err),
                     STK_STATE);
    assert_int_equal(stk_trainer_n_state(trainer), stk_trainer_n_weights(trainer));
    stk_trainer_free(trainer);
}

static void test_targets(void **unused)
{
    struct stk_trainer_options options = { .threads = 2 };
    float hot[ROWS * CLASSES] = { 0 };
    uint8_t small[ROWS];
    (void)unused;
    struct stk_trainer *trainer = make(&options);
    struct batch batch;
    struct stk_step x, y, z;
    fill(&batch, 1);
    for (int i = 0; i < ROWS; i++) {
        hot[i * CLASSES + batch.labels[i]] = 1;
        small[i] = (uint8_t)batch.labels[i];
    }
    struct stk_view as_hot = stk_view_rows(hot, STK_F32, 2, (int64_t[]){ ROWS, CLASSES });
    struct stk_view as_small = stk_view_rows(small, STK_U8, 2, (int64_t[]){ ROWS, 1 });
    assert_int_equal(stk_trainer_eval(trainer, &batch.image_view, &batch.label_view, &x, NULL),
                     STK_OK);
    assert_int_equal(stk_trainer_eval(trainer, &batch.image_view, &as_hot, &y, NULL), STK_OK);
    assert_int_equal(stk_trainer_eval(trainer, &batch.image_view, &as_small, &z, NULL), STK_OK);
    assert_true(x.loss == y.loss && x.loss == z.loss && x.top1 == y.top1 && x.top1 == z.top1);
    stk_trainer_free(trainer);
}

/* ---- errors ---- */

static void assert_error(struct stk_trainer *trainer, const struct stk_view *images,
                         const struct stk_view *targets, int code, const char *text)
{
    struct stk_error err = { 0 };
    struct stk_step out;
    assert_int_equal(stk_trainer_step(trainer, images, targets, &out, &err), code);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" does not say \"%s\"", err.text, text);
}

static void test_bad_batches(void **unused)
{
    struct stk_trainer_options options = { .threads = 2 };
    (void)unused;
    struct stk_trainer *trainer = make(&options);
    struct batch batch;
    fill(&batch, 1);
    struct stk_view v = batch.image_view, t = batch.label_view;
    struct stk_view wrong =
        stk_view_rows(batch.images, STK_F32, 4, (int64_t[]){ ROWS, SIDE, SIDE / 2, 6 });
    assert_error(trainer, &wrong, &t, STK_VALUE, "6×12×6×6, and the model's input is 12×12×3");
    wrong = stk_view_rows(batch.images, STK_F32, 4, (int64_t[]){ ROWS + 1, SIDE, SIDE, 3 });
    assert_error(trainer, &wrong, &t, STK_VALUE, "7 rows; this trainer takes 1 to 6");
    wrong = stk_view_rows(batch.images, STK_F64, 4, (int64_t[]){ 1, SIDE, SIDE, 3 });
    assert_error(trainer, &wrong, &t, STK_TYPE, "float64");
    wrong = v;
    wrong.strides[1] *= 2;
    assert_error(trainer, &wrong, &t, STK_VALUE, "row after row");
    wrong = stk_view_rows(batch.labels, STK_I64, 1, (int64_t[]){ ROWS - 1 });
    assert_error(trainer, &v, &wrong, STK_VALUE, "6 images and 5 targets");
    wrong = stk_view_rows(batch.images, STK_F32, 2, (int64_t[]){ ROWS, 3 });
    assert_error(trainer, &v, &wrong, STK_VALUE, "6×3; the model has 4 outputs");
    wrong = stk_view_rows(batch.images, STK_F32, 1, (int64_t[]){ ROWS });
    assert_error(trainer, &v, &wrong, STK_TYPE, "labels are integers, not float32");
    batch.labels[4] = 4;
    assert_error(trainer, &v, &t, STK_DATA, "row 4 is 4");
    batch.labels[4] = -7;
    assert_error(trainer, &v, &t, STK_DATA, "row 4 is -7");
    t.dtype = STK_U64;
    assert_error(trainer, &v, &t, STK_DATA, "row 4 is 18446744073709551609");
    stk_trainer_free(trainer);
}

static void test_bad_affine(void **unused)
{
    const float good[3] = { 1, 2, 3 }, bad[3] = { 1, NAN, 1 }, large[3] = { 1, 1, INFINITY };
    struct stk_trainer *trainer = make(&(struct stk_trainer_options){ .threads = 1 });
    struct stk_error err = { 0 };
    (void)unused;
    assert_int_equal(stk_trainer_affine(trainer, bad, good, 3, &err), STK_VALUE);
    assert_non_null(strstr(err.text, "of channel 1 is not finite"));
    assert_int_equal(stk_trainer_affine(trainer, good, large, 3, &err), STK_VALUE);
    assert_non_null(strstr(err.text, "of channel 2 is not finite"));
    assert_int_equal(stk_trainer_affine(trainer, good, good, 2, &err), STK_VALUE);
    assert_int_equal(stk_trainer_affine(trainer, good, good, 3, &err), STK_OK);
    stk_trainer_free(trainer);
}

static void test_bad_options(void **unused)
{
    static const struct {
        struct stk_trainer_options options;
        const char *text;
    } trials[] = {
        { { .optimizer = "adam(rate=1)" }, "optimizer: " },
        { { .loss = "cross" }, "loss: " },
        { { .loss_scale = "-1" }, "loss_scale: " },
        { { .precision = "float8" }, "precision: " },
        { { .threads = -1 }, "threads: " },
        { { .max_batch = -1 }, "max_batch: " },
        { { .on_nonfinite = 7 }, "on_nonfinite: " },
        { { .memory_bytes = -1 }, "memory_bytes: -1 is below 0" },
        { { .threads = 257 }, "threads: 257 is not from 1 to 256" },
        { { .max_batch = INT64_MAX }, "max_batch: 9223372036854775807 is not from 1 to 16777216" },
        { { .optimizer = "" }, "optimizer: the text is empty; it is a call such as adam()" },
        { { .optimizer = "adam(nan)" }, "optimizer: a learning rate is a number" },
        { { .optimizer = "adam(1e300)" }, "no larger than a float32 holds" },
        { { .optimizer = "sgd(0.1, weight_decay=1e300)" }, "weight_decay=1e+300 is outside" },
        { { .loss = " " }, "loss: the text is empty; it is a call such as cross_entropy()" },
        { { .loss_scale = "" }, "loss_scale: the text is empty; it is a call such as dynamic()" },
        { { .precision = "" }, "precision: \"\" is none of" },
        { { .loss = "cross_entropy(class_weights=[1, 2])" },
          "2 class weights, and the model has 4" },
        { { .max_batch = 5000, .memory_bytes = 5000000 }, "which is enough for batches of " },
        { { .memory_bytes = 100000 }, "not enough for one image" },
    };
    (void)unused;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        struct stk_error err = { 0 };
        struct stk_trainer *trainer;
        int rc = stk_trainer_new(model, &trials[i].options, &trainer, &err);
        if (!strstr(err.text, trials[i].text))
            fail_msg("\"%s\" does not say \"%s\"", err.text, trials[i].text);
        assert_int_not_equal(rc, STK_OK);
        assert_null(trainer);
    }
}

/* What a trainer that trains, or one that is asked for a loss, says of its model and loss. */
static int try_loss(const char *chain, const char *loss, bool only_forward, struct stk_error *err)
{
    static float values[64];
    struct stk_trainer_options options = {
        .loss = loss, .threads = 1, .max_batch = 1, .only_forward = only_forward
    };
    struct stk_model *given;
    struct stk_trainer *trainer;
    struct stk_step out;
    int64_t input[3], outputs, features[] = { 1, 4 };
    assert_int_equal(stk_model_new(chain, &given, err), STK_OK);
    int rc = stk_trainer_new(given, &options, &trainer, err);
    if (!rc && only_forward) {
        stk_trainer_shapes(trainer, input, &outputs);
        const int64_t image[] = { 1, 4, 4, 2 }, targets[] = { 1, outputs };
        bool is_flat = input[0] == 1;
        struct stk_view images = is_flat ? stk_view_rows(values, STK_F32, 2, features)
                                         : stk_view_rows(values, STK_F32, 4, image);
        struct stk_view wanted = stk_view_rows(values, STK_F32, 2, targets);
        rc = stk_trainer_eval(trainer, &images, &wanted, &out, err);
    }
    stk_trainer_free(trainer);
    stk_model_free(given);
    return rc;
}

static void test_losses_that_do_not_fit_the_outputs(void **unused)
{
    static const struct {
        const char *chain, *loss, *says; /* NULL: taken */
    } trials[] = {
        { "input(4).dense(3)", "cross_entropy()", NULL },
        { "input(4).dense(3, activation=softmax)", "cross_entropy()", NULL },
        { "input(4).dense(3, activation=softmax)", "mse()", NULL },
        { "input(4).dense(3, activation=relu)", "cross_entropy(0.1)", NULL },
        { "input(4).dense(1, activation=sigmoid)", "binary_cross_entropy()", NULL },
        { "input(4).dense(1)", "binary_cross_entropy(0.1)", NULL },
        { "input(4, 4, 2).conv2d(3, 4)", "cross_entropy()", NULL },
        { "input(4, 4, 2).conv2d(3, 2).flatten()", "cross_entropy()", NULL },
        { "input(4, 4, 2).conv2d(3, 2)", "binary_cross_entropy()", NULL },
        { "input(4, 4, 2).conv2d(3, 2)", "mse()", NULL },
        { "input(4, 4, 2).conv2d(3, 2)", "cross_entropy()", "conv2d, puts out 3×3×3, a map" },
        { "input(4, 4, 2).conv2d(3, 2, activation=softmax)", "cross_entropy()", "flatten()" },
        { "input(4).dense(1)", "cross_entropy()", "binary_cross_entropy() is for one output" },
        { "input(4).dense(3, activation=sigmoid)", "cross_entropy()", "ends in sigmoid" },
        { "input(4).dense(3, activation=sigmoid).dropout(0.1)", "cross_entropy()",
          "loss=binary_cross_entropy()" },
        { "input(4).dense(3, activation=softmax)", "binary_cross_entropy()",
          "ends in softmax; for outputs" },
        { "input(4).dense(3, activation=softmax).activation(linear)", "cross_entropy()",
          "leave it out, or make it the last layer" },
        { "input(4).dense(3, activation=softmax).dropout(0.5)", "cross_entropy()",
          "last layer is dropout" },
        { "input(4, 4, 2).conv2d(3, 4, activation=softmax).flatten()", "cross_entropy()",
          "last layer is flatten" },
        { "input(4, 4, 2).conv2d(3, 2, activation=softmax).flatten()", "cross_entropy()",
          "by themselves already" },
        { "input(4, 4, 2).conv2d(1, 2, activation=sigmoid).flatten()", "binary_cross_entropy()",
          "applies sigmoid to outputs" },
        { "input(4).concat([dense(1, activation=sigmoid), dense(1, activation=sigmoid)])",
          "binary_cross_entropy()", "whose last layer is concat, have gone through it already" },
        { "input(4).concat([dense(1, activation=sigmoid), dense(1, activation=sigmoid)])",
          "cross_entropy()", "ends in sigmoid" },
        { "input(4).concat([dense(1, activation=sigmoid), dense(1, activation=sigmoid)])", "mse()",
          NULL },
        { "input(4).concat([dense(1), dense(1)]).activation(sigmoid)", "binary_cross_entropy()",
          NULL },
        { "input(4).concat([dense(2, activation=relu), dense(1)])", "cross_entropy()", NULL },
        { "input(4).concat([dense(2, activation=softmax), dense(3, activation=softmax)])",
          "cross_entropy()", "put activation(softmax) behind all, or none" },
        { "input(4).concat([dense(2, activation=softmax), dense(3, activation=softmax)])",
          "binary_cross_entropy()", "put activation(sigmoid) behind all, or none" },
        { "input(4).concat([dense(1, activation=sigmoid), dense(1)])", "binary_cross_entropy()",
          "by themselves already" },
        { "input(4).concat([dense(2, activation=softmax), dense(1, "
          "activation=sigmoid)]).dropout(0.1)",
          "cross_entropy()", "last layer is dropout" },
        { "input(4).concat([concat([dense(1, activation=sigmoid), dense(2, activation=sigmoid)]), "
          "dense(1, activation=sigmoid).dropout(0.2)])",
          "binary_cross_entropy()", "have gone through it already" },
        { "input(4).residual(dense(4, activation=sigmoid))", "binary_cross_entropy()", NULL },
        { "input(4).dense(3, activation=softmax).activation(relu)", "cross_entropy()",
          "have gone through it already" },
        { "input(4).dense(3, activation=sigmoid).activation(leaky_relu(0.1))",
          "binary_cross_entropy()", "have gone through it already" },
        { "input(4).dense(3, activation=sigmoid).activation(tanh)", "binary_cross_entropy()",
          NULL },
        { "input(4, 4, 2).conv2d(3, 2, activation=softmax).global_avgpool()", "cross_entropy()",
          "have gone through it already" },
        { "input(4, 4, 2).conv2d(3, 2, activation=sigmoid).maxpool(2)", "binary_cross_entropy()",
          "have gone through it already" },
        { "input(4, 4, 2).conv2d(3, 2, activation=softmax).maxpool(3).flatten()", "cross_entropy()",
          "by themselves already" },
        { "input(4, 4, 2).conv2d(3, 2, activation=relu).global_avgpool()", "cross_entropy()",
          NULL },
        { "input(4).activation(softmax)", "cross_entropy()", "have gone through it already" },
        { "input(4).activation(sigmoid)", "binary_cross_entropy()", "gone through it already" },
    };
    (void)unused;
    for (size_t i = 0; i < 2 * sizeof trials / sizeof *trials; i++) {
        const char *chain = trials[i / 2].chain, *says = trials[i / 2].says;
        struct stk_error err = { 0 };
        int rc = try_loss(chain, trials[i / 2].loss, i % 2, &err);
        if (!rc != !says || (says && !strstr(err.text, says)))
            fail_msg("%s, %s%s: \"%s\" does not say \"%s\"", chain, trials[i / 2].loss,
                     i % 2 ? ", forward" : "", err.text, says ? says : "");
    }
}

/* What predict goes by: heads side by side are each what they are, and nothing is applied twice. */
static void test_what_outputs_mean(void **unused)
{
    static const struct {
        const char *chain;
        enum stk_output_kind kind;
    } trials[] = {
        { "input(4).dense(3)", STK_OUTPUT_LOGITS },
        { "input(4).dense(3, activation=softmax)", STK_OUTPUT_PROBABILITIES },
        { "input(4).dense(3, activation=softmax).activation(relu)", STK_OUTPUT_PROBABILITIES },
        { "input(4).concat([dense(1), dense(2, activation=relu)])", STK_OUTPUT_LOGITS },
        { "input(4).concat([dense(1, activation=sigmoid), dense(1, activation=sigmoid)])",
          STK_OUTPUT_BINARY },
        { "input(4).concat([dense(2, activation=softmax), dense(2, activation=softmax)])",
          STK_OUTPUT_VALUES },
        { "input(4).concat([dense(2, activation=softmax), dense(1)])", STK_OUTPUT_VALUES },
    };
    const struct stk_trainer_options options = { .threads = 1,
                                                 .max_batch = 1,
                                                 .only_forward = true };
    (void)unused;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        struct stk_model *given;
        struct stk_trainer *trainer;
        assert_int_equal(stk_model_new(trials[i].chain, &given, NULL), STK_OK);
        assert_int_equal(stk_trainer_new(given, &options, &trainer, NULL), STK_OK);
        if (stk_trainer_output_kind(trainer) != trials[i].kind)
            fail_msg("%s: %d", trials[i].chain, stk_trainer_output_kind(trainer));
        stk_trainer_free(trainer);
        stk_model_free(given);
    }
}

/* A trainer that goes forward has a loss by default, which nobody asked for. */
static void test_a_map_is_predicted_without_a_loss(void **unused)
{
    static float values[4 * 4 * 2], outputs[4 * 4];
    const int64_t shape[] = { 1, 4, 4, 2 };
    struct stk_trainer_options options = { .threads = 1, .max_batch = 1, .only_forward = true };
    struct stk_view images = stk_view_rows(values, STK_F32, 4, shape);
    struct stk_model *given;
    struct stk_trainer *trainer;
    (void)unused;
    assert_int_equal(stk_model_new("input(4, 4, 2).conv2d(1, 1)", &given, NULL), STK_OK);
    assert_int_equal(stk_trainer_new(given, &options, &trainer, NULL), STK_OK);
    assert_int_equal(stk_trainer_predict(trainer, &images, outputs, NULL), STK_OK);
    stk_trainer_free(trainer);
    stk_model_free(given);
}

static void test_nonfinite(void **unused)
{
    struct stk_trainer_options options = { .threads = 2 };
    (void)unused;
    struct stk_trainer *trainer = make(&options);
    struct batch batch;
    struct stk_step out;
    struct stk_view gamma, before;
    char *found;
    int index;
    fill(&batch, 1);
    step(trainer, &batch);
    assert_int_equal(
        stk_trainer_find_nonfinite(trainer, &batch.image_view, &batch.label_view, &found, NULL),
        STK_OK);
    assert_null(found);
    assert_int_equal(stk_trainer_find_weight(trainer, "batchnorm/gamma", &index, NULL), STK_OK);
    assert_int_equal(stk_trainer_find_weight(trainer, "none", &index, NULL), STK_NAME);
    stk_trainer_find_weight(trainer, "batchnorm/gamma", &index, NULL);
    stk_trainer_weight(trainer, index, &gamma);
    ((float *)gamma.data)[2] = NAN;
    stk_trainer_weight(trainer, 0, &before);
    float kept = *(float *)before.data;
    assert_error(trainer, &batch.image_view, &batch.label_view, STK_DATA,
                 "step 1: the loss is nan; batchnorm: the output is not finite (row 0)");
    assert_true(*(float *)before.data == kept);
    ((float *)gamma.data)[2] = 1;
    step(trainer, &batch);
    stk_trainer_free(trainer);

    options.on_nonfinite = STK_NONFINITE_SKIP;
    trainer = make(&options);
    batch.images[700] = INFINITY;
    assert_int_equal(stk_trainer_step(trainer, &batch.image_view, &batch.label_view, &out, NULL),
                     STK_OK);
    assert_true(out.is_skipped && isnan(out.loss) && out.step == 0);
    fill(&batch, 1);
    out = step(trainer, &batch);
    assert_true(!out.is_skipped && isfinite(out.loss) && out.step == 0);
    stk_trainer_free(trainer);
}

static void test_scale_backs_off(void **unused)
{
    struct stk_trainer_options options = { .threads = 1, .loss_scale = "dynamic(initial=3e38)" };
    (void)unused;
    struct stk_trainer *trainer = make(&options);
    struct batch batch;
    struct stk_step out;
    fill(&batch, 1);
    for (int i = 0; i < VALUES; i++)
        batch.images[i] *= 100;
    int n_skipped = 0;
    do {
        out = step(trainer, &batch);
        n_skipped += out.is_skipped;
    } while (out.is_skipped && n_skipped < 60);
    assert_in_range(n_skipped, 1, 59);
    assert_true(out.step == 0 && out.loss_scale < 3e38f);
    stk_trainer_free(trainer);
}

static void test_figures(void **unused)
{
    struct stk_trainer_options options = { .threads = 2 };
    (void)unused;
    struct stk_trainer *trainer = make(&options);
    struct stk_trainer_bytes bytes;
    stk_trainer_memory(trainer, &bytes);
    assert_true(bytes.optimizer >= 2 * 140 * 1080 * 4 && bytes.activations > 0);
    char *plan = stk_trainer_plan(trainer), *times = stk_trainer_times_json(trainer);
    assert_non_null(strstr(plan, "conv2d + relu + maxpool"));
    assert_non_null(strstr(plan, "all threads together"));
    assert_string_equal(times, "[]");
    stk_text_free(times);
    struct batch batch;
    fill(&batch, 1);
    step(trainer, &batch);
    times = stk_trainer_times_json(trainer);
    assert_non_null(strstr(times, "\"name\":\"dense_1\",\"forward\":"));
    stk_text_free(times);
    stk_text_free(plan);
    stk_trainer_free(trainer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_gradients_are_kept),
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_state_carries_on),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_smaller_batches),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_bad_batches),
        cmocka_unit_test(test_bad_affine),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_losses_that_do_not_fit_the_outputs),
        cmocka_unit_test(test_what_outputs_mean),
        cmocka_unit_test(test_a_map_is_predicted_without_a_loss),
        cmocka_unit_test(test_nonfinite),
        cmocka_unit_test(test_scale_backs_off),
        cmocka_unit_test(test_figures),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
