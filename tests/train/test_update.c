/* SPDX-License-Identifier: Apache-2.0 */
/* test_update.c: records of weights: what is asked for of one holds in every way that a step may
 * go, and training with every gradient stored is training, bit by bit.
 *
 * Beside a trainer with records stands a plain one that only makes gradients, of weights that were
 * written into it; what records ask for is done to them here, by hand, a whole weight at a time.
 */
#include "train/optimizer/update.h"

#include "train/trainer/trainer.h"
#include "train_call.h"

#include <math.h>

/* Convolution, pool, statistics, branches, dropout, and a dense layer with wide weights. */
#define MODEL                                                                                      \
    "input(12, 12, 3).conv2d(8, 3, padding=same, activation=relu).maxpool(2).batchnorm()"          \
    ".residual(depthwise_conv2d(3, padding=same)).conv2d(30, 1, activation=relu).flatten()"        \
    ".dense(140, activation=relu).dropout(0.2).dense(4)"

enum { ROWS = 6, CLASSES = 4, SIDE = 12, VALUES = ROWS * SIDE * SIDE * 3, STEPS = 4 };

struct batch {
    float images[VALUES];
    int64_t labels[ROWS];
    struct stk_view image_view, label_view;
};

static void fill(struct batch *b, uint32_t seed)
{
    uint32_t word = seed * 7919 + 1;
    for (int i = 0; i < VALUES; i++) {
        word = word * 1664525u + 1013904223u;
        b->images[i] = (float)(word >> 24) / 128 - 1;
    }
    for (int i = 0; i < ROWS; i++)
        b->labels[i] = (int64_t)(i + seed) % CLASSES;
    b->image_view = stk_view_rows(b->images, STK_F32, 4, (int64_t[]){ ROWS, SIDE, SIDE, 3 });
    b->label_view = stk_view_rows(b->labels, STK_I64, 1, (int64_t[]){ ROWS });
}

static struct stk_model *model;

static int open_model(void **unused)
{
    set_up(unused);
    return stk_model_new(MODEL, &model, NULL);
}

static int close_model(void **unused)
{
    stk_model_free(model);
    return tear_down(unused);
}

/* How a step goes. */
struct way {
    const char *optimizer, *precision, *loss_scale;
    bool skips;
    int threads;
};

static const struct way ways[] = {
    { "sgd(0.1)", NULL, NULL, false, 1 },
    { "sgd(0.1, momentum=0.9)", NULL, NULL, false, 2 },
    { "sgd(0.1, momentum=0.9, nesterov=true, weight_decay=0.01)", NULL, NULL, true, 2 },
    { "sgd(step(0.1, every=2), weight_decay=0.1, form=pytorch)", NULL, "1024", false, 3 },
    { "adam(0.01)", NULL, NULL, false, 3 },
    { "adam(0.01, clipvalue=0.001)", NULL, NULL, true, 1 },
    { "adam(0.01, global_clipnorm=0.1)", NULL, NULL, false, 2 },
    { "adamw(cosine(0.01, steps=30), weight_decay=0.1)", NULL, "dynamic()", false, 2 },
    { "adamw(0.01, form=pytorch)", NULL, NULL, false, 2 },
    { "adam(0.01)", "mixed_float16", NULL, false, 2 },
    { "sgd(0.1, momentum=0.9)", "mixed_float16", NULL, false, 3 },
    { "adamw(0.01)", "mixed_float16", "none", false, 1 },
    { "adam(0.01)", "mixed_bfloat16", NULL, false, 2 },
    { "sgd(0.1, momentum=0.9)", "mixed_bfloat16", NULL, true, 2 },
};
enum { N_WAYS = sizeof ways / sizeof *ways };

/* Way i: one of those above or, behind them, an optimizer as it is in one of the precisions. False: there are no
 * more. */
static bool way_of(int i, struct way *out)
{
    static const char *const precisions[] = { "float32", "mixed_float16", "mixed_bfloat16" };
    int of = (i - N_WAYS) / 3;
    if (i < N_WAYS)
        *out = ways[i];
    else if (of < stk__optimizers.n_decls)
        *out = (struct way){ stk__arena_printf(&arena, "%s()", stk__optimizers.decl[of]->name),
                             precisions[(i - N_WAYS) % 3], NULL, i % 2 == 0, 2 };
    return i < N_WAYS || of < stk__optimizers.n_decls;
}

static struct stk_trainer *make(const struct way *way, bool stores_gradients)
{
    const struct stk_trainer_options options = { .optimizer = way->optimizer,
                                                 .precision = way->precision,
                                                 .loss_scale = way->loss_scale,
                                                 .on_nonfinite = way->skips ? STK_NONFINITE_SKIP
                                                                            : STK_NONFINITE_FAIL,
                                                 .threads = way->threads,
                                                 .max_batch = ROWS,
                                                 .deterministic = true,
                                                 .seed = 3 };
    struct stk_trainer *trainer;
    struct stk_error err = { 0 };
    if (stk__trainer_make(model, &options, stores_gradients, &trainer, &err))
        fail_msg("%s: %s", way->optimizer, err.text);
    return trainer;
}

static struct stk_step step(struct stk_trainer *trainer, uint32_t seed)
{
    static struct batch batch;
    struct stk_error err = { 0 };
    struct stk_step out;
    fill(&batch, seed);
    if (stk_trainer_step(trainer, &batch.image_view, &batch.label_view, &out, &err))
        fail_msg("%s", err.text);
    return out;
}

/* The same with a look at the gradients between its halves. */
static struct stk_step step_in_halves(struct stk_trainer *trainer, uint32_t seed)
{
    static struct batch batch;
    struct stk_error err = { 0 };
    struct stk_step out;
    fill(&batch, seed);
    if (stk_trainer_gradients(trainer, &batch.image_view, &batch.label_view, &out, &err) ||
        stk_trainer_update(trainer, &out, &err))
        fail_msg("%s", err.text);
    return out;
}

/* ---- what is asked for ---- */

/* Multiples of 1/64, but no fewer than there would be of a weight that is nowhere above 1: what a
 * value becomes depends on others. */
static void round_values(const struct stk__weight_update *of, int64_t first, int64_t n, float *to)
{
    const int64_t *n_values = of->derive_context;
    float most = 1;
    for (int64_t i = 0; i < *n_values; i++)
        most = fmaxf(most, fabsf(of->weight[i]));
    for (int64_t i = first; i < first + n; i++)
        to[i] = roundf(of->weight[i] * 64 / most) * most / 64;
}

static void *copy_of(const void *values, size_t bytes)
{
    void *copy = stk_arena_alloc(&arena, bytes);
    assert_non_null(copy);
    memcpy(copy, values, bytes);
    return copy;
}

/* Something else of each weight, several things of some; which depends on the turn. */
static void ask(struct stk_trainer *t, int turn)
{
    for (int w = 0; w < t->model->n_weights; w++) {
        struct stk__weight_update *of = &t->updates.of[w];
        const struct stk__weight *weight = &t->model->weight[w];
        int what = (w + turn) % 8;
        if (!weight->is_trainable)
            continue;
        uint8_t *mask = stk_arena_alloc(&arena, (size_t)weight->n_values);
        for (int64_t i = 0; i < weight->n_values; i++)
            mask[i] = (i * 7 + w) % 3 != 0;
        of->is_frozen = what == 1;
        of->is_undecayed = what == 2 || what == 5;
        of->rate_factor = what == 3 || what == 5 ? 0.5 : 1;
        of->mask = what >= 4 && what <= 6 ? mask : NULL;
        if (what == 0 || what == 5) {
            of->average = copy_of(of->weight, (size_t)weight->n_values * sizeof(float));
            of->average_share = 0.25f;
        }
        if (what == 6 || what == 7) {
            of->derive = round_values;
            of->derive_context = &weight->n_values;
            t->updates.used[w] = stk_arena_alloc(&arena, (size_t)weight->n_values * sizeof(float));
        }
    }
    stk_trainer_changed(t);
}

/* ---- the same by hand ---- */

struct by_hand {
    struct stk_trainer *plain;
    struct stk__weight_update *of; /* of each weight, with arrays of their own */
    struct stk__optimizer optimizer;
};

static struct by_hand begin_by_hand(const struct way *way, const struct stk_trainer *asked)
{
    int n = asked->model->n_weights;
    struct by_hand h = { make(way, false), copy_of(asked->updates.of, (size_t)n * sizeof *h.of),
                         asked->optimizer };
    for (int w = 0; w < n; w++) {
        size_t bytes = (size_t)asked->model->weight[w].n_values * sizeof(float);
        struct stk__weight_update *of = &h.of[w];
        of->weight = copy_of(of->weight, bytes);
        for (int i = 0; i < 2; i++)
            of->slot[i] = of->slot[i] ? copy_of(of->slot[i], bytes) : NULL;
        of->average = of->average ? copy_of(of->average, bytes) : NULL;
    }
    return h;
}

static void mask_values(const struct stk__weight_update *of, int64_t n, float *values)
{
    for (int64_t i = 0; of->mask && i < n; i++)
        if (!of->mask[i])
            values[i] = 0;
}

static void write_weights(struct by_hand *h)
{
    for (int w = 0; w < h->plain->model->n_weights; w++) {
        const struct stk__weight *weight = &h->plain->model->weight[w];
        struct stk__weight_update *of = &h->of[w];
        if (!weight->is_trainable)
            continue;
        mask_values(of, weight->n_values, of->weight);
        memcpy(h->plain->weight[w], of->weight, (size_t)weight->n_values * sizeof(float));
        if (of->derive)
            of->derive(of, 0, weight->n_values, h->plain->weight[w]);
    }
    stk_trainer_changed(h->plain);
}

/* The gradient that counts, or NULL. */
static float *gradient_of(struct by_hand *h, int w)
{
    const struct stk__weight *weight = &h->plain->model->weight[w];
    struct stk_view view;
    if (!weight->is_trainable || h->of[w].is_frozen)
        return NULL;
    assert_int_equal(stk_trainer_gradient(h->plain, w, &view), STK_OK);
    float *gradient = copy_of(view.data, (size_t)weight->n_values * sizeof(float));
    mask_values(&h->of[w], weight->n_values, gradient);
    return gradient;
}

static double norm_of(struct by_hand *h)
{
    double squares = 0;
    for (int w = 0; w < h->plain->model->n_weights; w++) {
        const float *gradient = gradient_of(h, w);
        for (int64_t i = 0; gradient && i < h->plain->model->weight[w].n_values; i++)
            squares += (double)gradient[i] * gradient[i];
    }
    return sqrt(squares);
}

static void update_by_hand(struct by_hand *h, int w, int64_t number, double factor)
{
    struct stk__weight_update *of = &h->of[w];
    int64_t n = h->plain->model->weight[w].n_values;
    double rate = stk__schedule_rate(&h->optimizer.rate, number) * of->rate_factor;
    float *gradient = gradient_of(h, w);
    if (!gradient)
        return;
    struct stk__step_rates rates =
        stk__optimizer_rates_at(&h->optimizer, rate, number, factor, !of->is_undecayed);
    struct stk__step_span span = { of->weight, of->slot[0], of->slot[1], gradient, (size_t)n };
    assert_true(
        stk__optimizer_step(&h->optimizer, &span, &rates, (struct stk__weight_copy){ NULL, 0 }));
    mask_values(of, n, of->weight);
    for (int64_t i = 0; of->average && i < n; i++)
        of->average[i] += of->average_share * (of->weight[i] - of->average[i]);
}

/* Returns the norm of the gradients. */
static double step_by_hand(struct by_hand *h, uint32_t seed, int64_t number)
{
    static struct batch batch;
    struct stk_step out;
    struct stk_error err = { 0 };
    fill(&batch, seed);
    write_weights(h);
    if (stk_trainer_gradients(h->plain, &batch.image_view, &batch.label_view, &out, &err))
        fail_msg("%s", err.text);
    double norm = norm_of(h);
    double factor = stk__optimizer_factor(&h->optimizer, norm * norm, 1);
    for (int w = 0; w < h->plain->model->n_weights; w++)
        update_by_hand(h, w, number, factor);
    return norm;
}

/* ---- comparing ---- */

/* Where the norm is clipped, sums of squares have another order. */
static void compare(const struct way *way, const char *name, const float *a, const float *b,
                    int64_t n)
{
    bool is_clipped = strstr(way->optimizer, "clipnorm") != NULL;
    for (int64_t i = 0; a && i < n; i++)
        if (is_clipped ? !(fabsf(a[i] - b[i]) <= 1e-5f * (1 + fabsf(b[i])))
                       : memcmp(&a[i], &b[i], sizeof *a) != 0)
            fail_msg("%s, %s: value %lld of %s is %.9g, by hand it is %.9g", way->optimizer,
                     way->precision ? way->precision : "float32", (long long)i, name, (double)a[i],
                     (double)b[i]);
}

static void compare_all(const struct way *way, const struct stk_trainer *t, const struct by_hand *h)
{
    for (int w = 0; w < t->model->n_weights; w++) {
        const struct stk__weight *weight = &t->model->weight[w];
        const struct stk__weight_update *a = &t->updates.of[w], *b = &h->of[w];
        bool is_trained = weight->is_trainable;
        compare(way, weight->name, a->weight, is_trained ? b->weight : h->plain->weight[w],
                weight->n_values);
        compare(way, "its first state", a->slot[0], b->slot[0], weight->n_values);
        compare(way, "its second state", a->slot[1], b->slot[1], weight->n_values);
        compare(way, "its average", a->average, b->average, weight->n_values);
    }
}

static void try_records(const struct way *way, int turn, bool stores_gradients)
{
    struct stk__arena_mark mark = stk__arena_mark(&arena);
    struct stk_trainer *t = make(way, stores_gradients);
    ask(t, turn);
    struct by_hand h = begin_by_hand(way, t);
    for (int i = 0; i < STEPS; i++) {
        uint32_t seed = (uint32_t)(i + turn);
        struct stk_step out = i == 1 ? step_in_halves(t, seed) : step(t, seed);
        double norm = step_by_hand(&h, seed, i);
        assert_false(out.is_skipped);
        if (!isnan(out.gradient_norm) && !(fabs(out.gradient_norm - norm) <= 1e-5 * norm))
            fail_msg("%s: the norm is %g, by hand it is %g", way->optimizer, out.gradient_norm,
                     norm);
        compare_all(way, t, &h);
    }
    stk_trainer_free(t);
    stk_trainer_free(h.plain);
    stk__arena_rewind(&arena, mark);
}

/* Every weight has its turn with each thing that is asked for. */
static void test_records_hold_in_every_way(void **unused)
{
    (void)unused;
    struct way way;
    for (int turn = 0; turn < 8; turn++)
        for (int i = 0; turn == 0 ? way_of(i, &way) : i < N_WAYS; i++)
            try_records(turn == 0 ? &way : &ways[i], turn, (turn + i) % 2);
}

/* ---- all gradients stored ---- */

static void test_stored_gradients_change_no_bit(void **unused)
{
    (void)unused;
    struct way way;
    for (int i = 0; way_of(i, &way); i++) {
        struct stk_trainer *fused = make(&way, false), *stored = make(&way, true);
        struct stk_view a, b;
        for (int k = 0; k < 2 * STEPS; k++) {
            step(fused, (uint32_t)k);
            step(stored, (uint32_t)k);
            for (int w = 0; w < model->graph.n_weights; w++)
                if (stk_trainer_is_trainable(stored, w))
                    assert_int_equal(stk_trainer_gradient(stored, w, &a), STK_OK);
        }
        assert_int_equal(stk_trainer_n_state(fused), stk_trainer_n_state(stored));
        for (int s = 0; !stk_trainer_state(fused, s, &a); s++) {
            assert_int_equal(stk_trainer_state(stored, s, &b), STK_OK);
            if (memcmp(a.data, b.data, (size_t)(a.shape[0] * a.strides[0])) != 0)
                fail_msg("%s: %s differs", way.optimizer, a.name);
        }
        stk_trainer_free(fused);
        stk_trainer_free(stored);
    }
}

/* A part of a gradient that no update reads is never stored where steps are fused. */
static void test_fused_steps_store_less(void **unused)
{
    struct stk_trainer *fused = make(&ways[0], false);
    int n_missing = 0;
    struct stk_view view;
    (void)unused;
    step(fused, 1);
    for (int w = 0; w < model->graph.n_weights; w++)
        if (stk_trainer_is_trainable(fused, w))
            n_missing += stk_trainer_gradient(fused, w, &view) == STK_STATE;
    assert_int_equal(n_missing, 1);
    stk_trainer_free(fused);
}

/* ---- promises, one by one ---- */

static int wide_kernel(const struct stk_trainer *t)
{
    int w = stk__model_find_weight(t->model, "dense/kernel");
    assert_true(w >= 0);
    return w;
}

static void test_a_frozen_weight_does_not_move(void **unused)
{
    (void)unused;
    for (int i = 0; i < N_WAYS; i++) {
        struct stk_trainer *t = make(&ways[i], false);
        int w = wide_kernel(t);
        size_t bytes = (size_t)t->model->weight[w].n_values * sizeof(float);
        const float *before = copy_of(t->weight[w], bytes);
        t->updates.of[w].is_frozen = true;
        for (int k = 0; k < STEPS; k++)
            step(t, (uint32_t)k);
        assert_memory_equal(t->weight[w], before, bytes);
        t->updates.of[w].is_frozen = false;
        step(t, STEPS);
        assert_true(memcmp(t->weight[w], before, bytes) != 0);
        stk_trainer_free(t);
    }
}

/* Also those that were written by somebody, and those that still have momentum. */
static void test_a_masked_value_stays_0(void **unused)
{
    (void)unused;
    for (int i = 0; i < N_WAYS; i++) {
        struct stk_trainer *t = make(&ways[i], false);
        int w = wide_kernel(t);
        int64_t n = t->model->weight[w].n_values;
        uint8_t *mask = stk_arena_alloc(&arena, (size_t)n);
        for (int64_t k = 0; k < n; k++)
            mask[k] = k % 2;
        step(t, 0);
        t->updates.of[w].mask = mask;
        for (uint32_t k = 1; k < STEPS; k++) {
            t->weight[w][2] = NAN;
            stk_trainer_changed(t);
            step(t, k);
            for (int64_t v = 0; v < n; v++)
                assert_true(mask[v] ? isfinite(t->weight[w][v]) : t->weight[w][v] == 0);
        }
        stk_trainer_free(t);
    }
}

static void test_half_a_rate_is_half_a_step(void **unused)
{
    const struct way whole = { "sgd(0.125)", NULL, NULL, false, 2 };
    const struct way half = { "sgd(0.0625)", NULL, NULL, false, 2 };
    struct stk_trainer *a = make(&whole, false), *b = make(&half, false);
    (void)unused;
    for (int w = 0; w < a->model->n_weights; w++)
        a->updates.of[w].rate_factor = 0.5;
    step(a, 1);
    step(b, 1);
    for (int w = 0; w < a->model->n_weights; w++)
        assert_memory_equal(a->weight[w], b->weight[w],
                            (size_t)a->model->weight[w].n_values * sizeof(float));
    stk_trainer_free(a);
    stk_trainer_free(b);
}

/* ---- gradients that count for nothing ---- */

struct one {
    float weight[5], first[5], second[5], gradient[5];
    struct stk__optimizer optimizer;
    struct stk__weight_update of;
    struct stk__updates updates;
};

static void begin_one(struct one *one, const char *optimizer)
{
    struct stk_error err = { 0 };
    *one = (struct one){ .weight = { 1, 2, 3, 4, 5 }, .gradient = { 1, NAN, INFINITY, 1, 1 } };
    assert_int_equal(stk__optimizer_read(value_of(optimizer), &arena, &one->optimizer, &err),
                     STK_OK);
    one->of = stk__update_of(one->weight, one->first, one->second);
    one->updates = (struct stk__updates){ &one->optimizer, 1, &one->of, NULL };
}

static void test_what_counts_for_nothing_may_be_anything(void **unused)
{
    static const uint8_t mask[5] = { 1, 0, 0, 1, 1 };
    static const char *const optimizers[] = { "sgd()", "sgd(momentum=0.9)", "adam()",
                                              "adamw(weight_decay=0.5)" };
    (void)unused;
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        struct one one;
        begin_one(&one, optimizers[i]);
        const struct stk__gradient_span span = { 0, 0, 5, one.gradient };
        one.of.mask = mask;
        stk__updates_begin(&one.updates, 0, 1);
        assert_true(stk__update_squares(&one.updates, &span) == 3);
        assert_true(stk__update_span(&one.updates, &span));
        for (int k = 0; k < 5; k++)
            assert_true(mask[k] ? isfinite(one.weight[k]) && one.weight[k] != (float)(k + 1)
                                : one.weight[k] == 0);
        begin_one(&one, optimizers[i]);
        one.of.is_frozen = true;
        stk__updates_begin(&one.updates, 0, 1);
        assert_true(stk__update_squares(&one.updates, &span) == 0);
        assert_true(stk__update_span(&one.updates, &span));
        assert_true(one.weight[1] == 2 && one.first[1] == 0);
        one.of.is_frozen = false;
        assert_false(isfinite(stk__update_squares(&one.updates, &span)));
        assert_false(stk__update_span(&one.updates, &span));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_hold_in_every_way),
        cmocka_unit_test(test_stored_gradients_change_no_bit),
        cmocka_unit_test(test_fused_steps_store_less),
        cmocka_unit_test(test_a_frozen_weight_does_not_move),
        cmocka_unit_test(test_a_masked_value_stays_0),
        cmocka_unit_test(test_half_a_rate_is_half_a_step),
        cmocka_unit_test(test_what_counts_for_nothing_may_be_anything),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
