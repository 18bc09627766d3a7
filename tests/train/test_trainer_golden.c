/* SPDX-License-Identifier: Apache-2.0 */
/* test_trainer_golden.c: nets that Keras and PyTorch trained (golden/make_trainer.py), trained again from the
 * same weights on the same batches: outputs, gradients, steps of optimizers, and the losses of 50 steps.
 *
 * Tolerances, which docs/training.md states. Everybody computes in float32 and adds in another order:
 *
 *     outputs and gradients       2e-5 of the greatest value of the array
 *     losses                      2e-5
 *     weights after 3 steps       1e-4 of the greatest, of each weight
 *     50 losses                   0.5 %, and outputs after them 1 % of the greatest
 */
#define _GNU_SOURCE
#include "base/cpu.h"
#include "golden_cases.h"

#include <math.h>

#include <stoker/stoker.h>

enum { ROWS = 8, BATCHES = 3, STEPS = 50, NAME = 64 };

/* What a case of a net says. */
struct net {
    char peer[16], *chain, *names;
    struct golden_case c;
};

enum { IMAGES, LABELS, WEIGHTS, OUTPUTS, LOSS, GRADIENTS, OF_A_NET };
enum { AFTER, LOSSES, LATE_OUTPUTS, OF_AN_OPTIMIZER };

static double greatest(const float *values, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fabs(values[i]) > most ? fabs(values[i]) : most;
    return most;
}

static void close_to(const char *what, const float *got, const float *want, size_t n, double within)
{
    double size = greatest(want, n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) <= within * size + 1e-7))
            fail_msg("%s[%zu] is %.9g, the peer has %.9g (%.2g of the greatest)", what, i, got[i],
                     want[i], fabs((double)got[i] - want[i]) / size);
}

/* Calls with each weight in the order of the names; gives how many values there were. */
typedef void visit_fn(struct stk_trainer *trainer, int index, const char *name,
                      const struct stk_view *view, float *values, const void *context);

static size_t values_of(const struct stk_view *view)
{
    size_t n = 1;
    for (int i = 0; i < view->rank; i++)
        n *= (size_t)view->shape[i];
    return n;
}

static size_t visit(const struct net *net, struct stk_trainer *trainer, const float *values,
                    visit_fn *call, const void *context)
{
    size_t at = 0;
    int length, index;
    char name[NAME];
    for (const char *rest = net->names; sscanf(rest, "%63s%n", name, &length) == 1;
         rest += length) {
        struct stk_view view;
        if (stk_trainer_find_weight(trainer, name, &index, NULL))
            fail_msg("%s: no weight %s", net->chain, name);
        stk_trainer_weight(trainer, index, &view);
        call(trainer, index, name, &view, (float *)(void *)(uintptr_t)(values + at), context);
        at += values_of(&view);
    }
    return at;
}

static void set_weight(struct stk_trainer *trainer, int index, const char *name,
                       const struct stk_view *view, float *values, const void *unused)
{
    (void)trainer, (void)index, (void)name, (void)unused;
    memcpy(view->data, values, values_of(view) * sizeof *values);
}

static void compare_weight(struct stk_trainer *trainer, int index, const char *name,
                           const struct stk_view *view, float *values, const void *within)
{
    (void)trainer, (void)index;
    close_to(name, view->data, values, values_of(view), *(const double *)within);
}

static struct stk_trainer *open_trainer(const struct net *net, const struct stk_model *model,
                                        const char *optimizer, int threads)
{
    struct stk_trainer_options options = {
        .optimizer = optimizer, .threads = threads, .deterministic = true, .max_batch = ROWS
    };
    struct stk_trainer *trainer;
    struct stk_error err = { 0 };
    if (stk_trainer_new(model, &options, &trainer, &err))
        fail_msg("%s: %s", net->chain, err.text);
    assert_int_equal(visit(net, trainer, net->c.array[WEIGHTS], set_weight, NULL),
                     net->c.n[WEIGHTS]);
    stk_trainer_changed(trainer);
    return trainer;
}

struct batch {
    struct stk_view images, labels;
    int32_t label[ROWS];
};

static void take(const struct net *net, struct stk_trainer *trainer, int step, struct batch *b)
{
    int64_t shape[4] = { ROWS }, outputs;
    size_t values = net->c.n[IMAGES] / BATCHES, at = (size_t)(step % BATCHES);
    stk_trainer_shapes(trainer, shape + 1, &outputs);
    for (size_t i = 0; i < ROWS; i++)
        b->label[i] = (int32_t)net->c.array[LABELS][at * ROWS + i];
    b->images = stk_view_rows(net->c.array[IMAGES] + at * values, STK_F32, 4, shape);
    b->labels = stk_view_rows(b->label, STK_I32, 1, shape);
}

static void check_outputs(const struct net *net, struct stk_trainer *trainer, const float *want,
                          double within)
{
    struct batch b;
    float got[256];
    assert_true(net->c.n[OUTPUTS] <= 256);
    take(net, trainer, 0, &b);
    assert_int_equal(stk_trainer_predict(trainer, &b.images, got, NULL), STK_OK);
    close_to(net->chain, got, want, net->c.n[OUTPUTS], within);
}

static void check_gradients(const struct net *net, struct stk_trainer *trainer)
{
    struct batch b;
    struct stk_step result;
    size_t at = 0;
    int length, index;
    char name[NAME];
    take(net, trainer, 0, &b);
    assert_int_equal(stk_trainer_gradients(trainer, &b.images, &b.labels, &result, NULL), STK_OK);
    float loss = (float)result.loss;
    close_to(net->chain, &loss, net->c.array[LOSS], 1, 2e-5);
    for (const char *rest = net->names; sscanf(rest, "%63s%n", name, &length) == 1;
         rest += length) {
        struct stk_view view;
        assert_int_equal(stk_trainer_find_weight(trainer, name, &index, NULL), STK_OK);
        if (stk_trainer_gradient(trainer, index, &view))
            continue;
        close_to(name, view.data, net->c.array[GRADIENTS] + at, values_of(&view), 2e-5);
        at += values_of(&view);
    }
    assert_int_equal(at, net->c.n[GRADIENTS]);
}

static void check_net(const struct net *net, const struct stk_model *model, int threads)
{
    struct stk_trainer *trainer = open_trainer(net, model, "sgd(0.1)", threads);
    check_outputs(net, trainer, net->c.array[OUTPUTS], 2e-5);
    check_gradients(net, trainer);
    stk_trainer_free(trainer);
}

static void check_steps(const struct net *net, const struct stk_model *model,
                        const struct golden_case *c, int threads)
{
    static const double within = 1e-4;
    struct stk_trainer *trainer = open_trainer(net, model, c->text, threads);
    float losses[STEPS];
    assert_int_equal(c->n[LOSSES], STEPS);
    for (int step = 0; step < STEPS; step++) {
        struct batch b;
        struct stk_step result;
        take(net, trainer, step, &b);
        assert_int_equal(stk_trainer_step(trainer, &b.images, &b.labels, &result, NULL), STK_OK);
        losses[step] = (float)result.loss;
        if (step == 2)
            assert_int_equal(visit(net, trainer, c->array[AFTER], compare_weight, &within),
                             c->n[AFTER]);
    }
    for (int step = 0; step < STEPS; step++)
        if (!(fabs(losses[step] - c->array[LOSSES][step]) <= 0.005 * c->array[LOSSES][step]))
            fail_msg("%s %s %s: the loss of step %d is %.6g, the peer has %.6g", net->peer,
                     net->chain, c->text, step, losses[step], c->array[LOSSES][step]);
    check_outputs(net, trainer, c->array[LATE_OUTPUTS], 0.01);
    stk_trainer_free(trainer);
}

/* The three lines of a net's text; false where it is an optimizer's. */
static bool read_net(const struct golden_case *c, struct net *net)
{
    const char *first = strchr(c->text, '\n'), *second = first ? strchr(first + 1, '\n') : NULL;
    if (!second)
        return false;
    assert_int_equal(c->n_arrays, OF_A_NET);
    free(net->chain);
    free(net->names);
    *net = (struct net){ .chain = strndup(first + 1, (size_t)(second - first - 1)),
                         .names = strdup(second + 1),
                         .c = *c };
    memcpy(net->peer, c->text, (size_t)(first - c->text));
    assert_true(net->chain && net->names);
    return true;
}

static void run(const char *peer, int threads)
{
    struct golden golden = golden_open("tests/golden/trainer.bin");
    struct golden_case c;
    struct net net = { 0 };
    struct stk_model *model = NULL;
    int n_nets = 0, n_runs = 0;
    while (golden_next(&golden, &c)) {
        if (read_net(&c, &net)) {
            struct stk_error err = { 0 };
            stk_model_free(model);
            model = NULL;
            if (stk_model_new(net.chain, &model, &err))
                fail_msg("%s: %s", net.chain, err.text);
        }
        if (strcmp(net.peer, peer) != 0)
            continue;
        if (c.n_arrays == OF_A_NET) {
            check_net(&net, model, threads);
            n_nets++;
        } else {
            assert_int_equal(c.n_arrays, OF_AN_OPTIMIZER);
            check_steps(&net, model, &c, threads);
            n_runs++;
        }
    }
    assert_true(n_nets >= 3 && n_runs >= 5 * n_nets);
    stk_model_free(model);
    free(net.chain);
    free(net.names);
    golden_close(&golden);
}

static void test_keras(void **unused)
{
    (void)unused;
    run("keras", 1);
    run("keras", 2);
}

static void test_pytorch(void **unused)
{
    (void)unused;
    run("pytorch", 1);
    run("pytorch", 3);
}

/* The same with kernels of other machines. */
static void test_levels(void **unused)
{
    (void)unused;
    for (int level = 0; level < (int)stk__cpu_best(); level++) {
        assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], NULL), STK_OK);
        run("keras", 1);
        run("pytorch", 2);
    }
    stk_cpu_limit("auto", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keras),
        cmocka_unit_test(test_pytorch),
        cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
