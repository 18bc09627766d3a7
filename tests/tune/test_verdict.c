/* SPDX-License-Identifier: Apache-2.0 */
/* test_verdict.c: what holds a run up, told from made-up stretches; chains taken apart; advice and
 * its model. */
#define _GNU_SOURCE
#include "api_call.h"

#include "base/memory/arena.h"
#include "tune/advice.h"

#include <stdio.h>
#include <string.h>

/* ---- stretches ---- */

/* Ten seconds of two workers on two cores: a segment, and the batcher. */
static struct stk__stretch calm(void)
{
    struct stk__stretch s = { .seconds = 10,
                              .elements = 10000,
                              .batches = 1000,
                              .cores = 2,
                              .workers = 2,
                              .waited = 0.4,
                              .outside = 0.6,
                              .has_consumer = true,
                              .step_s = 0.006,
                              .budget_bytes = 64 << 20,
                              .n_ops = 1,
                              .n_stages = 2 };
    snprintf(s.op[0].name, sizeof s.op[0].name, "decode()");
    snprintf(s.stage[0].name, sizeof s.stage[0].name, "decode");
    snprintf(s.stage[1].name, sizeof s.stage[1].name, "batcher");
    s.stage[1].is_serial = true;
    return s;
}

static void work(struct stk__stretch *s, int stage, double seconds)
{
    s->stage[stage].work_s = seconds;
    s->work_s += seconds;
    s->cores_used += seconds / s->seconds;
    s->op[0].cpu_s = s->op[0].wall_s = s->stage[0].work_s;
}

static void assert_verdict(const struct stk__stretch *s, enum stk__bound bound, const char *words)
{
    struct stk__verdict v;
    stk__verdict_of(s, &v);
    if (v.bound != bound || !strstr(v.sentence, words))
        fail_msg("%s, not %s: %s", stk__bound_name(v.bound), stk__bound_name(bound), v.sentence);
}

static void test_step(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    work(&s, 0, 8);
    s.waited = 0.01;
    assert_verdict(&s, STK__BOUND_STEP, "the step waits 1.0 % of the time");
    s.waited = 0.3;
    work(&s, 0, 19);
    assert_verdict(&s, STK__BOUND_COMPUTE,
                   "input-bound: the step waits 30 % of the time; decode()");
}

static void test_compute(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    work(&s, 0, 19);
    assert_verdict(&s, STK__BOUND_COMPUTE, "decode() uses 1.9 of 2 cores");
    s.cores = 8;
    assert_verdict(&s, STK__BOUND_WORKERS,
                   "2 workers are busy all the time, and there are 8 cores");
    s.has_consumer = false;
    s.cores = 2;
    assert_verdict(&s, STK__BOUND_COMPUTE, "input alone: 1000 elements/s");
}

static void test_waits(void **state)
{
    (void)state;
    static const struct {
        enum stk__wait wait;
        enum stk__bound bound;
        const char *words;
    } cases[] = {
        { STK__WAIT_READS, STK__BOUND_STORAGE,
          "a read of 100 KB takes 2.0 ms, with 2.0 in flight" },
        { STK__WAIT_MEMORY, STK__BOUND_MEMORY, "the budget of 64 MB is used up" },
        { STK__WAIT_SPACE, STK__BOUND_ORDER, "one in a hundred after 90.0 ms" },
        { STK__WAIT_LOCK, STK__BOUND_LOCK, "decode is done by one thread at a time" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk__stretch s = calm();
        work(&s, 0, 5);
        s.reads = 10000;
        s.read_bytes = 10000 * 102400.0;
        s.read_s = 20;
        s.batch_p50_s = 0.002;
        s.batch_p99_s = 0.09;
        s.stage[0].wait_s[cases[i].wait] = 4;
        s.stage[0].wait_s[STK__WAIT_INPUT] = 6; /* a consequence, never a cause */
        assert_verdict(&s, cases[i].bound, cases[i].words);
    }
}

/* One op waits while the others compute. */
static void test_lock_of_a_library(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    work(&s, 0, 19);
    s.cores_used = 1.1;
    s.op[0].cpu_s = 6;
    s.op[0].wall_s = 14;
    s.op[s.n_ops++] = (struct stk__stretch_op){ .name = "map('x')", .cpu_s = 5, .wall_s = 5 };
    assert_verdict(&s, STK__BOUND_LOCK, "decode() waits inside its library");
    s.queued_s = 7; /* it does not sleep: it has no core */
    assert_verdict(&s, STK__BOUND_COMPUTE, "of 19.0 s at work workers waited 7.0 s for a core");
    s.cores_used = 0.8;
    assert_verdict(&s, STK__BOUND_OTHERS, "other programs");
    s.queued_s = 2;
    assert_verdict(&s, STK__BOUND_LOCK, "decode() waits inside its library");
    s.op[1].wall_s = 9; /* so do the others: it is nothing about this op */
    s.cores_used = 0.8;
    assert_verdict(&s, STK__BOUND_OTHERS, "other programs");
}

/* Work that needed a second of a processor took five: somebody else has the cores. */
static void test_others(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    work(&s, 0, 19);
    s.cores_used = 0.4;
    assert_verdict(&s, STK__BOUND_OTHERS, "other programs take the cores");
}

/* The cores are with this process: its threads that read have them, or its step. */
static void test_own_threads_have_the_cores(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    work(&s, 0, 19);
    s.cores_used = 0.4;
    s.process_cores_used = 1.9;
    s.reads = 300000;
    s.read_s = 600;
    assert_verdict(&s, STK__BOUND_STORAGE, "with 60.0 in flight");
    s.read_s = 1;
    assert_verdict(&s, STK__BOUND_COMPUTE, "decode()");
    s.process_cores_used = 0.5;
    assert_verdict(&s, STK__BOUND_OTHERS, "other programs take the cores");
}

/* Decoders that wait for room sleep inside of their op; that is no lock. */
static void test_memory_inside_of_an_op(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    work(&s, 0, 19);
    s.op[0].cpu_s = 9;
    s.cores_used = 0.9;
    s.stage[0].wait_s[STK__WAIT_MEMORY] = 8;
    assert_verdict(&s, STK__BOUND_MEMORY, "the budget of 64 MB is used up");
    s.stage[0].wait_s[STK__WAIT_MEMORY] = 1;
    assert_verdict(&s, STK__BOUND_LOCK, "decode() waits inside its library");
}

/* ---- from looks at a run ---- */

/* A second of one stage. */
static void second_of(struct stk__metrics *m, struct stk__stage_metrics *stage)
{
    *m = (struct stk__metrics){ .stage = stage, .n_stages = 0, .elapsed_ns = 1000000000 };
    m->elements = m->batches = 100;
    m->consumer.inside_ns = m->consumer.waited_ns = 1000000000;
    m->consumer.n_asked = 100;
}

/* Whoever reads what it asked for sleeps for storage, not for want of a core. */
static void test_asking_that_sleeps(void **state)
{
    (void)state;
    struct stk_error err;
    struct stk_dataset *dataset;
    struct stk__options options = stk__options_default();
    struct stk__plan *plan;
    struct stk__stretch s;
    struct stk__verdict v;
    struct stk__metrics m;
    struct stk__stage_metrics stage[1] = { { .ask = { .wall_ns = 900000000,
                                                      .cpu_ns = 50000000 } } };
    assert_int_equal(stk_dataset_new("range(10).batch(2)", NULL, &dataset, &err), STK_OK);
    options.workers = 1;
    assert_int_equal(stk__plan_new(dataset, &options, &plan, &err), STK_OK);
    second_of(&m, stage);
    m.process_ns = 100000000;
    stk__stretch_between(NULL, &m, plan, &s);
    assert_true(s.work_s < 0.051 && s.process_cores_used > 0.099 && s.process_cores_used < 0.101);
    stk__verdict_of(&s, &v);
    assert_string_equal(stk__bound_name(v.bound), "storage");
    stage[0].work.wall_ns = 900000000;
    stage[0].work.cpu_ns = 100000000;
    stage[0].ask = (struct stk__work_metrics){ 0 };
    stk__stretch_between(NULL, &m, plan, &s);
    stk__verdict_of(&s, &v);
    assert_string_equal(stk__bound_name(v.bound), "others");
    stk__plan_unref(plan);
    stk_dataset_unref(dataset);
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    work(&s, 0, 3);
    s.stage[0].is_serial = s.stage[0].is_source = true;
    work(&s, 0, 9.5);
    assert_verdict(&s, STK__BOUND_SERIAL, "decode is at work 95 % of the time");
    s.stage[0].is_serial = false;
    s.stage[0].lock = "hdf5";
    assert_verdict(&s, STK__BOUND_LOCK, "the lock of hdf5");
    s.stage[0].lock = "function";
    assert_verdict(&s, STK__BOUND_LOCK, "the lock of Python");
}

static void test_tiny_batches(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    s.has_consumer = false;
    s.batches = 1e6;
    s.elements = 2e6;
    work(&s, 0, 2);
    work(&s, 1, 7);
    assert_verdict(&s, STK__BOUND_BATCHES, "batches of 2 elements take 10.0 µs each");
    s.batches = 1;
    assert_verdict(&s, STK__BOUND_NOTHING, "too little");
}

/* ---- chains ---- */

static struct stk_arena arena;

static void edit_of(struct stk__chain_edit *edit, const char *text, struct stk_dataset **dataset)
{
    struct stk_error err;
    assert_int_equal(stk_dataset_new(text, NULL, dataset, &err), STK_OK);
    assert_int_equal(stk__edit_begin(edit, *dataset, &arena), STK_OK);
}

static void test_edit(void **state)
{
    (void)state;
    struct stk_dataset *dataset;
    struct stk__chain_edit edit, copy;
    edit_of(&edit, "range(10) . shuffle( ).batch(batch_size=3, drop_remainder=true)", &dataset);
    assert_string_equal(stk__edit_text(&edit, 0, edit.n), "range(10).shuffle().batch(3, true)");
    assert_int_equal(stk__edit_find(&edit, "batch", 0), 2);
    assert_int_equal(stk__edit_find(&edit, "batch", 3), -1);
    assert_int_equal(stk__edit_copy(&copy, &edit), STK_OK);
    assert_int_equal(stk__edit_insert(&copy, 1, "take(5)"), STK_OK);
    stk__edit_remove(&copy, 2);
    stk__edit_replace(&copy, 0, stk__edit_with(&copy, 0, "100"));
    assert_string_equal(stk__edit_text(&copy, 0, copy.n), "range(10, 100).take(5).batch(3, true)");
    assert_string_equal(stk__edit_text(&edit, 0, 2), "range(10).shuffle()");
    stk_dataset_unref(dataset);
}

/* ---- advice ---- */

struct advised {
    struct stk_dataset *dataset;
    struct stk__options options;
    struct stk__verdict verdict;
    struct stk__advice advice;
};

static void advise(struct advised *a, const char *chain, const struct stk__stretch *s)
{
    struct stk_error err;
    assert_int_equal(stk_dataset_new(chain, NULL, &a->dataset, &err), STK_OK);
    a->options = stk__options_default();
    stk__verdict_of(s, &a->verdict);
    const struct stk__situation situation = { .dataset = a->dataset,
                                              .options = &a->options,
                                              .stretch = s,
                                              .verdict = &a->verdict,
                                              .arena = &arena };
    assert_int_equal(stk__advice_make(&situation, &a->advice), STK_OK);
}

static const struct stk__proposal *item_of(const struct advised *a, const char *rule)
{
    for (int i = 0; i < a->advice.n; i++)
        if (!strcmp(a->advice.item[i].rule, rule))
            return &a->advice.item[i];
    fail_msg("no advice of %s", rule);
    return NULL;
}

static void test_model(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    struct stk__verdict v;
    struct stk__time_model m;
    work(&s, 0, 19);
    stk__verdict_of(&s, &v);
    stk__model_of(&s, &v, &m);
    assert_true(m.compute > 0.00189 && m.compute < 0.00191);
    assert_true(stk__model_rate(&m) > 1050 && stk__model_rate(&m) < 1054); /* 2 / 1.9 ms */
    m.step = 0.01;
    assert_true(stk__model_rate(&m) == 100);
}

static void test_no_advice_for_a_step(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    struct advised a;
    work(&s, 0, 19);
    s.waited = 0;
    advise(&a, "range(10).map('x + 1').batch(2)", &s);
    assert_int_equal(a.advice.n, 0);
    stk_dataset_unref(a.dataset);
}

static void test_options(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    struct advised a;
    work(&s, 0, 19);
    s.cores = 8;
    advise(&a, "range(10).map('x + 1').batch(2)", &s);
    const struct stk__proposal *item = item_of(&a, "workers");
    assert_string_equal(item->option, "workers");
    assert_string_equal(item->value, "auto");
    assert_true(item->gain > 1.1); /* until the step is the bound: 600 elements/s … */
    stk_dataset_unref(a.dataset);
}

static void test_tiny_batches_are_enlarged(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    struct advised a;
    s.has_consumer = false;
    s.batches = 1e6;
    s.elements = 2e6;
    work(&s, 1, 9);
    advise(&a, "range(10).batch(2).take(3)", &s);
    const struct stk__proposal *item = item_of(&a, "batch-size");
    assert_string_equal(item->chain, "range(10).batch(256).take(3)");
    assert_string_equal(item->trial, item->chain);
    stk_dataset_unref(a.dataset);
}

/* What a trial keeps is as large as what the chain would keep, or far beyond the processor's caches. */
static void test_trial_of_a_cache(void **state)
{
    (void)state;
    static const struct {
        const char *chain, *trial;
    } cases[] = {
        { "range(5000).shuffle().map('x + 1').batch(2)",
          "range(5000).take(1000).map('x + 1').cache().repeat(5).cache().shuffle().batch(2)" },
        { "range(900).map('x + 1').batch(2)",
          "range(900).take(1000).map('x + 1').cache().batch(2)" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk__stretch s = calm();
        struct advised a;
        work(&s, 0, 19);
        advise(&a, cases[i].chain, &s);
        const struct stk__proposal *item = item_of(&a, "cache");
        assert_string_equal(item->trial, cases[i].trial);
        assert_true(item->warms_up);
        stk_dataset_unref(a.dataset);
        struct stk_error err;
        if (stk_dataset_new(item->trial, NULL, &a.dataset, &err))
            fail_msg("%s: %s", item->trial, err.text);
        stk_dataset_unref(a.dataset);
    }
}

/* What a cache would take is what its own op makes, though another one is carried out with it. */
static void test_bytes_of_a_cache(void **state)
{
    (void)state;
    static const char *const chains[] = {
        "files('tests/support/*.h').decode().resize(1024, 1024).flip(probability=0.5).batch(2)",
        "files('tests/support/*.h').decode().resize(1024, 1024).batch(2)",
        ("files('tests/support/*.h').decode().resize(1024, 1024, dtype=uint8).cast(float32)"
         ".flip(probability=0.5).batch(2)"),
    };
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct stk__stretch s = calm();
        struct advised a;
        char words[40], fewer[40];
        work(&s, 0, 19);
        advise(&a, chains[i], &s);
        long long n = stk_dataset_count(a.dataset) * 2; /* all but the last batch have two */
        const char *text = item_of(&a, "cache")->text;
        snprintf(words, sizeof words, "about %lld MB", 12 * n);
        snprintf(fewer, sizeof fewer, "about %lld MB", 12 * (n - 1));
        if (!strstr(text, words) && !strstr(text, fewer))
            fail_msg("%s: %s, not %s", chains[i], text, words);
        stk_dataset_unref(a.dataset);
    }
}

/* Small files are read and stored as they are; everything else comes behind, and can be tried. */
static void test_small_files_are_packed(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    struct advised a;
    s.stage[0].wait_s[STK__WAIT_READS] = 19;
    s.reads = 1000;
    s.read_bytes = 1000 * 1024;
    s.read_s = 19;
    advise(&a, "files('*').shuffle().decode().batch(2)", &s);
    const struct stk__proposal *item = item_of(&a, "pack-small");
    assert_string_equal(item->stored, "files('*').read()");
    assert_string_equal(item->rest, "shuffle().decode().batch(2)");
    assert_non_null(strstr(item->command, "stoker pack \"files('*').read()\" --out"));
    stk_dataset_unref(a.dataset);
}

/* A function that is shorter than the way to a helper and back gains nothing from one. */
static void test_functions_elsewhere(void **state)
{
    (void)state;
    struct stk__stretch s = calm();
    struct advised a;
    s.has_consumer = false;
    s.stage[0].lock = "function";
    work(&s, 0, 9.8);
    s.elements = 10000; /* of 1 ms */
    advise(&a, "range(10).map('x + 1').batch(2)", &s);
    const struct stk__proposal *item = item_of(&a, "processes");
    assert_true(item->gain > 1.7 && item->gain < 2 && item->is_elsewhere);
    stk_dataset_unref(a.dataset);
    s.elements = 300000; /* of 33 µs */
    advise(&a, "range(10).map('x + 1').batch(2)", &s);
    assert_true(item_of(&a, "processes")->gain < 1);
    stk_dataset_unref(a.dataset);
}

static void test_rank(void **state)
{
    (void)state;
    struct stk__advice advice = { .item = { { .gain = 1.01 }, { .gain = 1.2 }, { .gain = 3 } },
                                  .n = 3 };
    stk__advice_rank(&advice);
    assert_int_equal(advice.n, 2);
    assert_true(advice.item[0].gain == 3 && advice.item[1].gain == 1.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_compute),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_lock_of_a_library),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_tiny_batches),
        cmocka_unit_test(test_edit),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_no_advice_for_a_step),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_tiny_batches_are_enlarged),
        cmocka_unit_test(test_rank),
        cmocka_unit_test(test_own_threads_have_the_cores),
        cmocka_unit_test(test_memory_inside_of_an_op),
        cmocka_unit_test(test_asking_that_sleeps),
        cmocka_unit_test(test_trial_of_a_cache),
        cmocka_unit_test(test_bytes_of_a_cache),
        cmocka_unit_test(test_functions_elsewhere),
        cmocka_unit_test(test_small_files_are_packed),
    };
    stk__arena_init(&arena, 1 << 12);
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stk__arena_free(&arena);
    return n_failed;
}
