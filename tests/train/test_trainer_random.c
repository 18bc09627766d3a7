/* SPDX-License-Identifier: Apache-2.0 */
/* test_trainer_random.c: models by chance, against the reference in double.
 *
 * A seed makes a model (layers in any order, with parameters of any kind, in branches and in shapes such as
 * 1×1 and 1×13), a loss, an optimizer and how it is run: precision, instruction set, threads, rows of a
 * batch. Outputs, losses, gradients, statistics and the weights after a step are looked at. A model is wrong
 * if it is with each of some batches: with one of them, a maximum of two values that are all but the same may
 * go the other way.
 *
 *     STOKER_MODELS=2000 build/tests/test_trainer_random                        more of them
 *     STOKER_MODELS=1 STOKER_MODEL_SEED=77 build/tests/test_trainer_random      one again
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/stoker.h>

#include "base/hash.h"
#include "base/text.h"
#include "node_is.h"
#include "trainer_case.h"

/* ---- chance ---- */

struct maker {
    uint64_t seed, n_drawn;
    struct stk__text text;
    struct stk__shape shape;     /* of what the chain gives so far */
    struct stk__model_node last; /* names are not there any more */
    enum stk__probability end;   /* whether outputs are probabilities */
    bool is_alone;               /* the last layer stands behind the input */
    bool has_wide;               /* it has a dense layer of the wide kind */
};

static int64_t below(struct maker *m, int64_t n)
{
    uint64_t word[] = { m->seed, m->n_drawn++ };
    return (int64_t)(stk__hash_bytes(17, word, sizeof word) % (uint64_t)n);
}

static bool happens(struct maker *m, int percent)
{
    return below(m, 100) < percent;
}

#define ONE_OF(m, list) ((list)[below(m, (int64_t)(sizeof(list) / sizeof *(list)))])

/* ---- arguments ---- */

#define ADD(m, ...) stk__text_add(&(m)->text, __VA_ARGS__)

static const char *const functions[] = {
    "relu",    "relu6", "leaky_relu", "leaky_relu(0.3)", "leaky_relu(-0.5)", "gelu", "gelu(true)",
    "sigmoid", "tanh",  "softmax",    "swish",           "linear",           "relu", "relu",
};

static void add_activation(struct maker *m)
{
    if (happens(m, 50))
        ADD(m, ", activation=%s", ONE_OF(m, functions));
}

/* A number or a pair, as an argument of that name. */
static void add_size(struct maker *m, const char *name, int64_t most)
{
    ADD(m, ", %s=", name);
    if (happens(m, 40))
        ADD(m, "[%lld, %lld]", (long long)(1 + below(m, most)), (long long)(1 + below(m, most)));
    else
        ADD(m, "%lld", (long long)(1 + below(m, most)));
}

static void add_padding(struct maker *m)
{
    int64_t kind = below(m, 10);
    if (kind < 4)
        ADD(m, ", padding=same");
    else if (kind == 4)
        ADD(m, ", padding=%lld", (long long)below(m, 3));
    else if (kind == 5)
        ADD(m, ", padding=[%lld, %lld]", (long long)below(m, 3), (long long)below(m, 3));
    else if (kind == 6)
        ADD(m, ", padding=[%lld, %lld, %lld, %lld]", (long long)below(m, 3), (long long)below(m, 3),
            (long long)below(m, 3), (long long)below(m, 3));
}

static void add_steps(struct maker *m)
{
    if (happens(m, 30))
        add_size(m, "strides", 3);
    else if (happens(m, 20))
        add_size(m, "dilation_rate", 3);
}

static void add_bias(struct maker *m)
{
    if (happens(m, 20))
        ADD(m, ", use_bias=false");
}

static int64_t some_channels(struct maker *m)
{
    static const int64_t counts[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33 };
    return ONE_OF(m, counts);
}

/* ---- layers of any size ---- */

static void add_conv(struct maker *m, int64_t channels)
{
    int64_t groups = happens(m, 25) ? 1 + below(m, channels) : 1;
    while (channels % groups)
        groups--;
    ADD(m, "conv2d(%lld", (long long)(groups * (1 + below(m, groups > 1 ? 3 : 9))));
    add_size(m, "kernel_size", happens(m, 80) ? 3 : 5);
    add_steps(m);
    add_padding(m);
    if (groups > 1)
        ADD(m, ", groups=%lld", (long long)groups);
    add_bias(m);
    add_activation(m);
    ADD(m, ")");
}

static void add_depthwise(struct maker *m)
{
    bool is_separable = happens(m, 30);
    ADD(m, is_separable ? "separable_conv2d(%lld" : "depthwise_conv2d(",
        (long long)some_channels(m));
    if (!is_separable)
        ADD(m, "%lld", (long long)(1 + below(m, 4)));
    else
        add_size(m, "kernel_size", 3);
    add_steps(m);
    add_padding(m);
    if (happens(m, 30))
        ADD(m, ", depth_multiplier=%lld", (long long)(2 + below(m, 3)));
    add_bias(m);
    add_activation(m);
    ADD(m, ")");
}

static void add_norm(struct maker *m)
{
    ADD(m, "batchnorm(%s", happens(m, 50) ? "0.9" : "0.5");
    if (happens(m, 60)) /* small variances make much of little */
        ADD(m, ", epsilon=0.1");
    if (happens(m, 20))
        ADD(m, ", center=false");
    if (happens(m, 20))
        ADD(m, ", scale=false");
    if (happens(m, 20))
        ADD(m, ", unbiased=true");
    ADD(m, ")");
}

static void add_pool(struct maker *m)
{
    ADD(m, happens(m, 60) ? "maxpool(%lld" : "avgpool(%lld", (long long)(1 + below(m, 4)));
    if (happens(m, 50))
        add_size(m, "strides", 3);
    add_padding(m);
    ADD(m, ")");
}

static void add_dropout(struct maker *m)
{
    ADD(m, happens(m, 70) ? "dropout(0.3)" : "dropout(0.5, seed=%lld)", (long long)below(m, 9));
}

static void add_dense(struct maker *m)
{
    bool is_wide = !m->has_wide && m->shape.channels > 300 && happens(m, 30);
    m->has_wide |= is_wide;
    ADD(m, "dense(%lld", (long long)(is_wide ? 140000 / m->shape.channels : 1 + below(m, 20)));
    add_bias(m);
    add_activation(m);
    ADD(m, ")");
}

/* ---- branches ---- */

/* Layers that change no height and width; returns how many channels they give. */
static int64_t add_same_size(struct maker *m, int64_t channels)
{
    int64_t more;
    switch (below(m, 7)) {
    case 0:
    case 1:
        more = some_channels(m);
        ADD(m, "conv2d(%lld, %lld, padding=same", (long long)more, (long long)(1 + below(m, 4)));
        if (happens(m, 20))
            ADD(m, ", dilation_rate=2");
        add_activation(m);
        ADD(m, ")");
        return more;
    case 2:
        more = 1 + happens(m, 20);
        ADD(m, "depthwise_conv2d(%lld, padding=same, depth_multiplier=%lld",
            (long long)(1 + below(m, 4)), (long long)more);
        add_activation(m);
        ADD(m, ")");
        return channels * more;
    case 3:
        ADD(m, happens(m, 60) ? "maxpool(%lld, 1, padding=same)" : "avgpool(%lld, 1, padding=same)",
            (long long)(1 + below(m, 4)));
        return channels;
    case 4:
        add_norm(m);
        return channels;
    case 5:
        add_dropout(m);
        return channels;
    default:
        ADD(m, "activation(%s)", ONE_OF(m, functions));
        return channels;
    }
}

static int64_t add_same_chain(struct maker *m, int64_t channels)
{
    int64_t n = 1 + below(m, 3);
    for (int64_t i = 0; i < n; i++) {
        ADD(m, "%s", i ? "." : "");
        channels = add_same_size(m, channels);
    }
    return channels;
}

static void add_flat_chain(struct maker *m, int64_t channels, bool keeps)
{
    if (happens(m, 30))
        add_norm(m);
    else if (happens(m, 30))
        add_dropout(m);
    else
        ADD(m, "activation(%s)", ONE_OF(m, functions));
    if (happens(m, 70)) {
        ADD(m, ".dense(%lld", (long long)(keeps ? channels : 1 + below(m, 9)));
        add_activation(m);
        ADD(m, ")");
    }
}

/* Both ways make the image smaller in the same manner. */
static void add_smaller(struct maker *m)
{
    int64_t channels = some_channels(m), by = 2 + below(m, 2);
    ADD(m, "residual(conv2d(%lld, %lld, %lld, padding=same)", (long long)channels,
        (long long)(1 + below(m, 3)), (long long)by);
    if (happens(m, 50))
        ADD(m, ".batchnorm(epsilon=0.1)");
    ADD(m,
        happens(m, 50) ? ", shortcut=conv2d(%lld, 1, %lld)"
                       : ", shortcut=conv2d(%lld, 1).avgpool(1, %lld)",
        (long long)channels, (long long)by);
    add_activation(m);
    ADD(m, ")");
}

static void add_residual(struct maker *m)
{
    int64_t channels = m->shape.channels;
    if (!m->shape.is_flat && happens(m, 30)) {
        add_smaller(m);
        return;
    }
    ADD(m, "residual(");
    if (m->shape.is_flat)
        add_flat_chain(m, channels, true);
    else if (add_same_chain(m, channels) != channels)
        ADD(m, ".conv2d(%lld, 1)", (long long)channels);
    add_activation(m);
    ADD(m, ")");
}

/* Branches that end in features, or in an image of one pixel. */
static void add_ends(struct maker *m)
{
    static const char *const features[] = { "flatten()", "global_avgpool()", "flatten().dense(4)",
                                            "maxpool(2, 1, padding=same).flatten()",
                                            "conv2d(3, 3, padding=1).global_avgpool()" };
    static const char *const pixels[] = {
        "global_avgpool(keepdims=true)", "maxpool([%d, %d])", "avgpool([%d, %d])",
        "global_avgpool(keepdims=true).conv2d(4, 3, padding=same)", "conv2d(2, [%d, %d])"
    };
    bool is_flat = happens(m, 50);
    ADD(m, is_flat ? ONE_OF(m, features) : ONE_OF(m, pixels), (int)m->shape.height,
        (int)m->shape.width);
}

static void add_concat(struct maker *m)
{
    int64_t n = 1 + below(m, 4), kind = below(m, 3);
    ADD(m, "concat([");
    for (int64_t i = 0; i < n; i++) {
        ADD(m, "%s", i ? ", " : "");
        if (i == 0 && happens(m, 30))
            ADD(m, "identity()");
        else if (m->shape.is_flat)
            add_flat_chain(m, m->shape.channels, false);
        else if (kind)
            add_same_chain(m, m->shape.channels);
        else
            add_ends(m);
    }
    ADD(m, "])");
}

/* ---- models ---- */

static void add_pixel_layer(struct maker *m)
{
    static const char *const ends[] = { "global_avgpool(keepdims=true)",
                                        "global_avgpool(keepdims=true)", "global_avgpool()",
                                        "flatten()" };
    int64_t kind = below(m, 20);
    if (kind < 5)
        add_conv(m, m->shape.channels);
    else if (kind < 8)
        add_depthwise(m);
    else if (kind < 10)
        add_pool(m);
    else if (kind == 10)
        add_norm(m);
    else if (kind == 11)
        add_dropout(m);
    else if (kind == 12)
        ADD(m, "activation(%s)", ONE_OF(m, functions));
    else if (kind < 15)
        add_residual(m);
    else if (kind < 18)
        add_concat(m);
    else
        ADD(m, "%s", ONE_OF(m, ends));
}

static void add_flat_layer(struct maker *m)
{
    int64_t kind = below(m, 8);
    if (kind < 3)
        add_dense(m);
    else if (kind == 3)
        add_norm(m);
    else if (kind == 4)
        add_dropout(m);
    else if (kind == 5)
        ADD(m, "activation(%s)", ONE_OF(m, functions));
    else if (kind == 6)
        add_residual(m);
    else
        add_concat(m);
}

static bool is_small(const struct maker *m, const struct stk__model *model)
{
    struct stk__model_totals totals = stk__model_totals(model);
    return totals.macs < (m->has_wide ? 250000 : 50000) && totals.activation_values < 9000;
}

/* Whether the text is a model that is not too large; then its shape is known. */
static bool is_model(struct maker *m)
{
    struct stk_model *model;
    if (stk_model_new(m->text.data, &model, NULL))
        return false;
    bool fits = is_small(m, &model->graph);
    m->last = model->graph.node[model->graph.n_nodes - 1];
    m->end = stk__model_output_probability(&model->graph);
    m->is_alone = m->last.n_inputs && m->last.input[0] == 0;
    m->shape = m->last.shape;
    stk_model_free(model);
    return fits;
}

/* Appends a layer, or leaves everything as it was. */
static bool try_layer(struct maker *m, void (*add)(struct maker *))
{
    struct maker before = *m;
    ADD(m, ".");
    add(m);
    if (is_model(m))
        return true;
    m->shape = before.shape;
    m->last = before.last;
    m->end = before.end;
    m->is_alone = before.is_alone;
    m->has_wide = before.has_wide;
    m->text.len = before.text.len;
    m->text.data[m->text.len] = 0;
    return false;
}

static void add_input(struct maker *m)
{
    static const int64_t sides[] = { 1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16 };
    static const int64_t channels[] = { 1, 2, 3, 4, 5, 8, 16, 17 };
    if (happens(m, 10))
        ADD(m, "input(%lld)", (long long)(1 + below(m, 40)));
    else
        ADD(m, "input(%lld, %lld, %lld)", (long long)ONE_OF(m, sides), (long long)ONE_OF(m, sides),
            (long long)ONE_OF(m, channels));
}

static void add_classes(struct maker *m)
{
    ADD(m, "%s", m->shape.is_flat ? "" : happens(m, 50) ? "flatten()." : "global_avgpool().");
    ADD(m, "dense(%lld%s)", (long long)(2 + below(m, 6)),
        happens(m, 30) ? ", activation=softmax" : "");
}

/* Whether outputs are what the loss takes: not through softmax or sigmoid yet, or through its own last. */
static bool are_logits(const struct maker *m, enum stk__activation_kind own)
{
    bool is_undone =
        node_is(&m->last, "activation") && m->last.activation.kind == own && !m->is_alone;
    return m->end == STK__PROBABILITY_NONE || is_undone;
}

static bool has_classes(const struct maker *m)
{
    return m->shape.height * m->shape.width == 1 && m->shape.channels > 1 &&
           are_logits(m, STK__SOFTMAX);
}

static void make_chain(struct maker *m)
{
    int64_t n = 1 + below(m, 7);
    add_input(m);
    is_model(m);
    for (int64_t i = 0, tries = 0; i < n && tries < 60; tries++)
        i += try_layer(m, m->shape.is_flat ? add_flat_layer : add_pixel_layer);
}

/* ---- losses ---- */

static void add_class_weights(struct maker *m, struct stk__text *loss)
{
    stk__text_add(loss, ", class_weights=[");
    for (int64_t i = 0; i < m->shape.channels; i++)
        stk__text_add(loss, "%s%g", i ? ", " : "", 0.5 + (double)below(m, 4) / 2);
    stk__text_add(loss, "], form=%s", happens(m, 50) ? "pytorch" : "keras");
}

static void make_entropy(struct maker *m, struct stk__text *loss)
{
    if (!has_classes(m) && !try_layer(m, add_classes)) {
        stk__text_add(loss, "mse()");
        return;
    }
    stk__text_add(loss, "cross_entropy(label_smoothing=%s", happens(m, 40) ? "0.1" : "0");
    if (happens(m, 30))
        add_class_weights(m, loss);
    stk__text_add(loss, ")");
}

static void make_loss(struct maker *m, struct stk__text *loss)
{
    int64_t kind = below(m, 5);
    if (kind < 2)
        make_entropy(m, loss);
    else if (kind == 2 && are_logits(m, STK__SIGMOID))
        stk__text_add(loss, "binary_cross_entropy(label_smoothing=%s)",
                      happens(m, 40) ? "0.1" : "0");
    else
        stk__text_add(loss, "mse()");
}

/* ---- running them ---- */

static struct setting make_setting(struct maker *m)
{
    static const char *const levels[] = { "scalar", "avx2", "avx512" };
    static const struct {
        const char *text;
        double rate;
    } optimizers[] = { { "sgd(0.1)", 0.1 },
                       { "sgd(0.1, momentum=0.9)", 0.1 },
                       { "adam(0.01)", 0.01 } };
    int64_t precision = below(m, 4), optimizer = below(m, 3);
    struct setting s = { .threads = 1 + (int)below(m, 3),
                         .max_batch = 1 + (int)below(m, 7),
                         .cpu = ONE_OF(m, levels),
                         .precision =
                             precision < 2 ? &float_precision : &half_precisions[precision - 2],
                         .optimizer = optimizers[optimizer].text,
                         .rate = optimizers[optimizer].rate,
                         .has_bytes = happens(m, 20),
                         .has_values = happens(m, 30),
                         .is_tolerant = true };
    s.rows = 1 + (int)below(m, s.max_batch);
    s.is_measured = happens(m, 25);
    return s;
}

/* Whether it is wrong with each of some batches. */
static bool is_wrong(const struct trial *trial, struct setting *s, struct stk__text *report)
{
    for (s->data = 1; s->data <= 3; s->data++)
        if (!run_case(trial, s, report))
            return false;
    return true;
}

static bool run_seed(uint64_t seed)
{
    struct maker m = { .seed = seed };
    struct stk__text loss = { 0 }, report = { 0 };
    make_chain(&m);
    make_loss(&m, &loss);
    struct setting s = make_setting(&m);
    if (stk_cpu_limit(s.cpu, NULL)) /* what the machine has not */
        stk_cpu_limit("auto", NULL);
    bool is_bad = is_wrong(&(struct trial){ m.text.data, loss.data }, &s, &report);
    if (is_bad || getenv("STOKER_MODELS_LISTED")) /* print_error() cuts long texts off */
        fprintf(stderr, "%sseed %llu: %s, %s, %s, on %s, %d threads, %d of %d rows%s%s%s, %s\n",
                is_bad ? report.data : "", (unsigned long long)seed, m.text.data, loss.data,
                s.precision->name, s.cpu, s.threads, s.rows, s.max_batch,
                s.has_bytes ? ", bytes" : "", s.has_values ? ", values" : "",
                s.is_measured ? ", measured" : "", s.optimizer);
    stk__text_free(&m.text);
    stk__text_free(&loss);
    stk__text_free(&report);
    return !is_bad;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void test_random_models(void **unused)
{
    uint64_t first = number_of("STOKER_MODEL_SEED", 1);
    uint64_t n = number_of("STOKER_MODELS", IS_SANITIZED ? 12 : 60), n_wrong = 0;
    (void)unused;
    for (uint64_t seed = first; seed < first + n; seed++)
        n_wrong += !run_seed(seed);
    stk_cpu_limit("auto", NULL);
    print_message("seeds %llu to %llu: %llu models are wrong\n", (unsigned long long)first,
                  (unsigned long long)(first + n - 1), (unsigned long long)n_wrong);
    assert_int_equal(n_wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_models) };
    setenv("XDG_CACHE_HOME", "/dev/null", 1); /* what was measured is not remembered */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
