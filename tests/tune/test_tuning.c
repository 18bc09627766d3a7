/* SPDX-License-Identifier: Apache-2.0 */
/* test_tuning.c: the log of decisions, and the controller on simulated runs and on one that is not. */
#include "base/hash.h"
#include "exec/run.h"
#include "tune/tuner.h"
#include "tune_model.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct stk__exec *new_log(void)
{
    struct stk__exec *x = calloc(1, sizeof *x);
    assert_non_null(x);
    stk__decisions_begin(&x->watch.decisions);
    return x;
}

static void free_log(struct stk__exec *x)
{
    stk__decisions_end(&x->watch.decisions);
    free(x);
}

static void test_decisions_are_kept(void **state)
{
    (void)state;
    struct stk__exec *x = new_log();
    struct stk_decision d, next;
    assert_false(stk__decision_at(x, 0, &d));
    stk__decision_note(x, "window", 4, 6, "the consumer waited %d %% of the time", 12);
    stk__decision_note(x, "workers", 2, 1, "one is enough");
    assert_true(stk__decision_at(x, 0, &d));
    assert_string_equal(d.knob, "window");
    assert_int_equal(d.from, 4);
    assert_int_equal(d.to, 6);
    assert_string_equal(d.reason, "the consumer waited 12 % of the time");
    assert_true(stk__decision_at(x, 1, &next));
    assert_string_equal(next.reason, "one is enough");
    assert_true(next.at_ns >= d.at_ns);
    assert_false(stk__decision_at(x, 2, &d));
    free_log(x);
}

/* The last ones stay, in order; a long reason is cut. */
static void test_decisions_are_bounded(void **state)
{
    (void)state;
    struct stk__exec *x = new_log();
    struct stk_decision d;
    for (int i = 0; i < STK__KEPT_DECISIONS + 7; i++)
        stk__decision_note(x, "window", i, i + 1, "%0*d", 2 * STK_REASON_BYTES, i);
    for (int i = 0; i < STK__KEPT_DECISIONS; i++) {
        assert_true(stk__decision_at(x, (uint64_t)i, &d));
        assert_int_equal(d.from, i + 7);
        assert_int_equal(strlen(d.reason), STK_REASON_BYTES - 1);
    }
    assert_false(stk__decision_at(x, STK__KEPT_DECISIONS, &d));
    assert_int_equal(x->watch.decisions.n_made, STK__KEPT_DECISIONS + 7);
    free_log(x);
}

/* ---- the controller ---- */

#define BATCHES .cores = 8, .window = 8, .max_window = 64, .n_tickets = 8, .ticket = 2
#define IMAGES .cores = 8, .window = 8, .max_window = 64, .n_tickets = 1, .ticket = 16

static const struct scene scenes[] = {
    { BATCHES, .name = "the input is the limit", .spread = 0.3, .step = 0.2 },
    { BATCHES, .name = "a slow device", .spread = 0.3, .step = 20 },
    { BATCHES, .name = "a step that just fits", .step = 2.3, .step_spread = 0.2 },
    { BATCHES, .name = "a step on all cores", .spread = 0.3, .step = 20, .step_threads = 8 },
    { BATCHES, .name = "batches that differ", .spread = 1, .slow_share = 0.05, .slow_factor = 12,
      .step = 4 },
    { IMAGES, .name = "one slow ticket holds all up", .slow_share = 0.1, .slow_factor = 8,
      .step = 4 },
    { BATCHES, .name = "steps in bursts", .step = 1, .pause_every = 40, .pause = 120 },
    { BATCHES, .name = "every other second costs more", .step = 6, .phase = 1000,
      .phase_factor = 2.5 },
    { BATCHES, .name = "workers are given", .spread = 0.3, .step = 5, .fixed_workers = 4 },
    { .name = "two cores, a small window",
      .cores = 2,
      .n_tickets = 32,
      .ticket = 1,
      .spread = 0.5,
      .step = 20,
      .window = 2,
      .max_window = 16 },
    { .name = "two cores, and a step that uses both",
      .cores = 2,
      .n_tickets = 32,
      .ticket = 0.2,
      .spread = 0.5,
      .step = 30,
      .step_threads = 2,
      .window = 8,
      .max_window = 16 },
};

static struct outcome tune(const struct scene *s, double milliseconds)
{
    int workers = s->fixed_workers ? s->fixed_workers : s->cores;
    return run_scene(s, workers, s->window, milliseconds, true);
}

static void assert_near_best(const struct scene *s, double milliseconds)
{
    struct outcome best = best_of_grid(s, milliseconds), tuned = tune(s, milliseconds);
    if (tuned.n_batches < 0.97 * best.n_batches)
        fail_msg("%s: %.0f batches, %d workers and a window of %d give %.0f", s->name,
                 tuned.n_batches, best.workers, best.window, best.n_batches);
}

static void test_best_of_grid(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        assert_near_best(&scenes[i], 40000);
}

static double draw(uint64_t seed, uint64_t what, double low, double high)
{
    double share = (double)(stk__hash_mix(seed, what) >> 11) / (double)(1ull << 53);
    return low * pow(high / low, share); /* all magnitudes alike */
}

static void test_random_scenes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        char name[32];
        snprintf(name, sizeof name, "scene %d", (int)seed);
        const struct scene s = {
            .name = name,
            .cores = (int)draw(seed, 1, 1, 17),
            .window = (int)draw(seed, 2, 2, 17),
            .max_window = 64,
            .n_tickets = (int)draw(seed, 3, 1, 65),
            .ticket = draw(seed, 4, 0.3, 30),
            .spread = draw(seed, 5, 0.01, 1),
            .slow_share = draw(seed, 6, 0.001, 0.2),
            .slow_factor = draw(seed, 7, 1, 10),
            .step = draw(seed, 8, 1, 100),
            .step_spread = draw(seed, 9, 0.01, 1),
            .step_threads = (int)draw(seed, 10, 1, 9) - 1,
        };
        assert_near_best(&s, 40000);
    }
}

/* However long it goes on, and however close to the edge. */
static void test_few_moves(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        struct outcome o = tune(&scenes[i], 600000);
        if (o.n_moves > 30)
            fail_msg("%s: %d moves in ten minutes", scenes[i].name, o.n_moves);
    }
}

static void test_shrinks_for_slow_device(void **state)
{
    (void)state;
    struct outcome o = tune(&scenes[1], 40000);
    assert_int_equal(o.workers, 2); /* 0.8 are busy */
    assert_true(o.window <= 4);
    assert_true(o.wait_share < 0.01);
}

static void test_leaves_cores(void **state)
{
    (void)state;
    struct outcome o = tune(&scenes[3], 40000);
    assert_true(o.workers <= 2); /* 0.8 are busy */
    assert_true(o.wait_share < 0.01);
    o = tune(&scenes[10], 40000);
    assert_int_equal(o.workers, 1);
}

/* Cheap for ten seconds, then two cores are not enough. */
static void test_grows_at_once(void **state)
{
    (void)state;
    const struct scene s = { BATCHES, .name = "an epoch from the cache, one from storage",
                             .step = 20, .phase = 10000, .phase_factor = 8 };
    struct outcome o = tune(&s, 40000);
    assert_true(o.mean_workers < 7); /* it shrank */
    assert_true(o.slowest_growth > 0 && o.slowest_growth < 100);
    assert_near_best(&s, 40000);
}

/* The machine sleeps for an hour, or its clock is set back. */
static void test_clock_jumps(void **state)
{
    (void)state;
    static const double jumps[] = { 3.6e6, -5000 };
    for (int i = 0; i < 2; i++) {
        struct scene s = scenes[1];
        struct outcome usual = tune(&s, 40000);
        s.jump_at = 15000;
        s.jump = jumps[i];
        struct outcome o = tune(&s, 40000);
        assert_int_equal(o.n_moves, usual.n_moves);
        assert_int_equal(o.workers, usual.workers);
        assert_int_equal(o.window, usual.window);
    }
}

/* Numbers that are given stay. */
static void test_pinned(void **state)
{
    (void)state;
    struct scene s = scenes[1];
    s.fixed_workers = 3;
    s.is_window_fixed = true;
    struct outcome o = tune(&s, 40000);
    assert_int_equal(o.workers, 3);
    assert_int_equal(o.window, s.window);
    assert_int_equal(o.n_moves, 0);
}

/* What a move says. */
static void test_reasons(void **state)
{
    (void)state;
    struct stk__controller c = { 0 };
    struct stk__move move;
    struct stk__sample s = { .now_ns = 1000000000,
                             .cores = 4,
                             .least_ready = 0,
                             .window = { 4, 2, 16 },
                             .workers = { 2, 1, 4 } };
    assert_false(stk__controller_step(&c, &s, &move));
    s.now_ns += 100000000;
    s.wait_ns += 50000000;
    s.busy_ns += 200000000;
    s.n_batches += 3;
    assert_true(stk__controller_step(&c, &s, &move));
    assert_string_equal(move.knob, "workers");
    assert_int_equal(move.from, 2);
    assert_int_equal(move.to, 4);
    assert_string_equal(move.reason, "the consumer waited 5.0 % of the last second; at its own "
                                     "pace it needs 4.0 workers");
    s.workers.now = 4;
    s.now_ns += 100000000;
    s.wait_ns += 20000000;
    assert_false(stk__controller_step(&c, &s, &move)); /* a larger window would not help */
    s.now_ns += 100000000;
    s.wait_ns += 20000000;
    s.n_blocked++;
    assert_true(stk__controller_step(&c, &s, &move));
    assert_string_equal(move.knob, "window");
    assert_int_equal(move.to, 6);
    assert_non_null(strstr(move.reason, "workers were idle"));
}

/* The input does what it can: a larger window is tried, and given up again. */
static void test_more_that_does_not_help(void **state)
{
    (void)state;
    struct stk__controller c = { 0 };
    struct stk__move move;
    struct stk__sample s = {
        .now_ns = 1000000000, .cores = 2, .window = { 4, 2, 16 }, .workers = { 2, 1, 2 }
    };
    int n_moves = 0, to[2] = { 0 };
    for (int i = 0; i < 600 && n_moves < 2; i++) {
        if (stk__controller_step(&c, &s, &move))
            s.window.now = to[n_moves++] = move.to;
        s.now_ns += 20000000;
        s.wait_ns += 18000000;
        s.busy_ns += 40000000;
        s.n_blocked++;
        s.n_batches++;
    }
    assert_int_equal(to[0], 6);
    assert_int_equal(to[1], 4);
    assert_string_equal(move.reason, "more did not help: 50.0 batches a second, and 50.0 before");
}

/* ---- a real run ---- */

static struct stk__exec *start_run(const char *chain, const char *window)
{
    struct stk_error err = { 0 };
    struct stk_dataset *graph = NULL;
    struct stk__plan *plan = NULL;
    struct stk__exec *x = NULL;
    struct stk__options options = stk__options_default();
    if (stk__options_set(&options, "window", window, &err) ||
        stk__graph_new(chain, NULL, NULL, &graph, &err) ||
        stk__plan_new(graph, &options, &plan, &err) || stk__exec_new(plan, NULL, &x, &err))
        fail_msg("%s", err.text);
    stk__plan_unref(plan);
    stk_dataset_unref(graph);
    return x;
}

static void finish_run(struct stk__exec *x)
{
    struct stk_error err;
    for (struct stk_batch *batch; !stk__exec_next(x, -1, &batch, &err);)
        stk_batch_unref(batch);
    assert_int_equal(err.code, STK_END);
    for (bool is_quiet = false; !is_quiet;
         sched_yield()) { /* workers that leave look at the clock */
        pthread_mutex_lock(&x->lock);
        is_quiet = !x->crew.n_sleeping && !x->crew.n_running;
        pthread_mutex_unlock(&x->lock);
    }
}

/* A tick as the run would make it, so many milliseconds after its end, when nobody else counts. A quick one
 * forgets what came before it: how long the run itself waited depends on the machine. */
static void tick_later(struct stk__exec *x, int milliseconds, bool is_quick)
{
    pthread_mutex_lock(&x->lock);
    x->watch.pace.is_quick = is_quick;
    uint64_t now = x->watch.settled_at + (uint64_t)milliseconds * 1000000;
    x->watch.hook.tick(x->watch.hook.ctx, x, now);
    pthread_mutex_unlock(&x->lock);
}

/* What a controller says is done, and written down. */
static void test_moves_are_carried_out(void **state)
{
    (void)state;
    struct stk__exec *x = start_run("range(1000).batch(10)", "auto");
    struct stk__tuner *tuner = stk__tuner_new(x);
    struct stk_decision d;
    finish_run(x);
    x->crew.limit.now = x->crew.limit.most;
    x->watch.pulse.wait_began = 0; /* the consumer found the end */
    tick_later(x, 900, true);
    int window = x->batcher.window.now;
    uint64_t n_made = x->watch.decisions.n_made;
    tick_later(x, 100, false);
    x->watch.pulse.wait_ns += 20000000;
    x->watch.pulse.n_blocked++;
    tick_later(x, 100, false);
    assert_int_equal(x->batcher.window.now, window + window / 2);
    assert_true(stk__decision_at(x, n_made, &d));
    assert_string_equal(d.knob, "window");
    assert_int_equal(d.from, window);
    assert_int_equal(d.to, x->batcher.window.now);
    stk__exec_free(x);
    stk__tuner_free(tuner);
}

/* With nothing left to move nobody listens. */
static void test_nothing_to_move(void **state)
{
    (void)state;
    struct stk__exec *x = start_run("range(1000).batch(10)", "3");
    x->crew.limit.least = x->crew.limit.most;
    struct stk__tuner *tuner = stk__tuner_new(x);
    assert_null(x->watch.hook.tick);
    finish_run(x);
    stk__exec_free(x);
    stk__tuner_free(tuner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions_are_kept),
        cmocka_unit_test(test_decisions_are_bounded),
        cmocka_unit_test(test_best_of_grid),
        cmocka_unit_test(test_random_scenes),
        cmocka_unit_test(test_few_moves),
        cmocka_unit_test(test_shrinks_for_slow_device),
        cmocka_unit_test(test_leaves_cores),
        cmocka_unit_test(test_grows_at_once),
        cmocka_unit_test(test_clock_jumps),
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_more_that_does_not_help),
        cmocka_unit_test(test_moves_are_carried_out),
        cmocka_unit_test(test_nothing_to_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
