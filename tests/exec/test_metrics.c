/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c: what a run counts of itself. Counts are checked exactly, times only for what must
 * hold whatever the machine does. */
#define _GNU_SOURCE
#include "api_call.h"
#include "base/clock.h"
#include "base/latency.h"
#include "exec/run.h"

#include <time.h>

/* ---- a run with its counters ---- */

struct fixture {
    struct stk_dataset *data;
    struct stk__exec *exec;
    struct stk__metrics *metrics;
};

static void begin(struct fixture *f, const char *chain, int workers, int on_error)
{
    struct stk__options options = stk__options_default();
    struct stk__plan *plan;
    struct stk_error err;
    options.workers = workers;
    options.on_error = on_error;
    options.memory = 64 << 20;
    f->data = make_dataset(chain);
    if (stk__plan_new(f->data, &options, &plan, &err) || stk__exec_new(plan, NULL, &f->exec, &err))
        fail_msg("%s: %s", chain, err.text);
    stk__plan_unref(plan);
    f->metrics = stk__metrics_new(f->exec);
    assert_non_null(f->metrics);
}

static void end(struct fixture *f)
{
    stk__metrics_free(f->metrics);
    stk__exec_free(f->exec);
    stk_dataset_unref(f->data);
}

static int take_batches(struct fixture *f, int n)
{
    struct stk_batch *batch;
    int rc = STK_OK;
    while (n-- && !(rc = stk__exec_next(f->exec, -1, &batch, NULL)))
        stk_batch_unref(batch);
    return rc;
}

static const struct stk__metrics *finish(struct fixture *f)
{
    assert_int_equal(take_batches(f, -1), STK_END);
    stk__metrics_read(f->exec, f->metrics);
    return f->metrics;
}

static void sleep_ms(long ms)
{
    const struct timespec time = { 0, ms * 1000000 };
    nanosleep(&time, NULL);
}

/* The n-th op of that name, counted from the source. */
static const struct stk__op_metrics *op_of(const struct stk__metrics *m, const char *name, int n)
{
    for (int i = 0; i < m->n_ops; i++)
        if (!strcmp(m->op[i].node->op->decl.name, name) && n-- == 0)
            return &m->op[i];
    fail_msg("no op %s was counted", name);
    return NULL;
}

static void check_rows(const struct stk__metrics *m, const char *name, uint64_t in, uint64_t out)
{
    const struct stk__work_metrics *work = &op_of(m, name, 0)->work;
    if (work->rows_in != in || work->rows_out != out)
        fail_msg("%s: %llu rows in, %llu out", name, (unsigned long long)work->rows_in,
                 (unsigned long long)work->rows_out);
    assert_true(work->calls > 0);
}

/* ---- counts ---- */

static void test_ops_in_a_segment(void **state)
{
    (void)state;
    for (int workers = 0; workers < 4; workers++) {
        struct fixture f;
        begin(&f, "range(10000).map('x * 2').cast(int32).batch(256)", workers, STK__FAIL);
        const struct stk__metrics *m = finish(&f);
        check_rows(m, "range", 10000, 10000);
        check_rows(m, "map", 10000, 10000);
        assert_int_equal(op_of(m, "range", 0)->bytes_out, 80000);
        assert_int_equal(m->elements, 10000);
        assert_int_equal(m->batches, 40);
        assert_int_equal(m->stage[0].work.rows_in, 10000);
        assert_int_equal(m->errors, 0);
        end(&f);
    }
}

static void test_filters(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f,
          "range(900).filter('x % 3 == 0').map('x + 1').filter('x < 100').map('x * 2').batch(10)",
          2, STK__FAIL);
    const struct stk__metrics *m = finish(&f);
    check_rows(m, "filter", 900, 300);
    check_rows(m, "map", 300, 300);
    assert_int_equal(op_of(m, "filter", 1)->work.rows_in, 300);
    assert_int_equal(op_of(m, "filter", 1)->work.rows_out, 33);
    assert_int_equal(op_of(m, "map", 1)->work.rows_in, 33);
    assert_int_equal(m->elements, 33);
    end(&f);
}

static void test_parts_of_a_concatenation(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "range(300).map('x + 1').concatenate(range(700)).shuffle().batch(32)", 1, STK__FAIL);
    const struct stk__metrics *m = finish(&f);
    check_rows(m, "range", 300, 300);
    check_rows(m, "map", 300, 300);
    check_rows(m, "concatenate", 1000, 1000);
    check_rows(m, "shuffle", 1000, 1000);
    assert_int_equal(op_of(m, "range", 1)->work.rows_in, 700);
    end(&f);
}

static void test_serial_ops(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "range(600).filter('x % 2 == 0').shuffle(50).take(100).batch(7)", 2, STK__FAIL);
    const struct stk__metrics *m = finish(&f);
    const struct stk__op_metrics *take = op_of(m, "take", 0);
    assert_int_equal(take->work.rows_out, 100);
    assert_int_equal(take->bytes_out, 800);
    assert_true(op_of(m, "shuffle", 0)->work.rows_out >= 100);
    check_rows(m, "batch", 100, 100);
    assert_int_equal(take->stage + 1, op_of(m, "batch", 0)->stage);
    end(&f);
}

/* Bytes of rows that differ in size are sampled as time is; one ticket is all there is. */
static void test_bytes_of_texts(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "lines('tests/data/metrics/words.txt').batch(4)", 0, STK__FAIL);
    const struct stk__metrics *m = finish(&f);
    assert_int_equal(op_of(m, "lines", 0)->bytes_out, 12);
    end(&f);
}

static void test_reads(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "files('tests/data/metrics/*.txt').read().repeat(5).batch(2)", 2, STK__FAIL);
    const struct stk__metrics *m = finish(&f);
    /* what was read may be delivered before whoever read it has counted it */
    for (int i = 0; i < 1000 && (m->reads.n < 5 || m->stage[0].ask.rows_in < 5); i++) {
        sleep_ms(1);
        stk__metrics_read(f.exec, f.metrics);
    }
    assert_int_equal(m->reads.n, 5);
    assert_true(m->reads.bytes >= 5 * 16);
    assert_int_equal(m->reads.n_open, 0);
    assert_int_equal(m->stage[0].ask.rows_in, 5);
    uint64_t bytes = op_of(m, "read", 0)->bytes_out;
    assert_true(bytes >= 16 && bytes <= 5 * 16);
    end(&f);
}

static void test_consumer(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "range(1000).batch(10)", 1, STK__FAIL);
    const struct stk__metrics *m = finish(&f);
    const struct stk__consumer_metrics *c = &m->consumer;
    assert_int_equal(stk__latency_n(&c->inside), 100);
    assert_int_equal(stk__latency_n(&c->step), 99);
    assert_int_equal(c->n_asked, 101);
    assert_true(c->inside_ns + c->outside_ns <= m->elapsed_ns);
    assert_true(c->blocked_ns <= c->inside_ns);
    assert_true(stk__latency_at(&c->inside, 0.5) <= stk__latency_at(&c->inside, 0.99));
    assert_true(stk__latency_at(&c->inside, 1) <= c->inside.max_ns);
    end(&f);
}

/* Texts are brought together when a batch is asked for: the pipeline's work, and not the consumer's step. */
static void test_batches_that_are_brought_together(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "values({s: ['a', 'bcd', '']}).repeat(300).batch(9)", 1, STK__FAIL);
    uint64_t before = f.exec->watch.consumer.packed_ns;
    assert_int_equal(take_batches(&f, 50), STK_OK);
    stk__metrics_read(f.exec, f.metrics);
    const struct stk__metrics *m = f.metrics;
    assert_int_equal(before, 0);
    assert_true(f.exec->watch.consumer.packed_ns > 0);
    assert_true(m->consumer.waited_ns >= f.exec->watch.consumer.packed_ns);
    assert_true(m->consumer.inside_ns >= f.exec->watch.consumer.packed_ns);
    const struct stk__work_meter *work = stk__work_meter_of(&f.exec->crew.worker[1], NULL, false);
    assert_true(stk__counted(&work->meter.calls) >= 50); /* of whoever asks */
    end(&f);
    begin(&f, "range(900).batch(9)", 1, STK__FAIL);
    finish(&f);
    assert_int_equal(f.exec->watch.consumer.packed_ns, 0);
    end(&f);
}

/* Each piece of work is inside the run, and an op inside its stage. */
static void test_times_fit_into_each_other(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "range(200000).map('sqrt(float32(x))').shuffle().batch(1000)", 2, STK__FAIL);
    const struct stk__metrics *m = finish(&f);
    uint64_t busy = 0, ops = 0;
    for (int i = 0; i <= m->n_stages; i++)
        busy += m->stage[i].work.wall_ns + m->stage[i].ask.wall_ns;
    for (int i = 0; i < m->n_ops; i++)
        ops += m->op[i].work.wall_ns;
    assert_true(busy > 0);
    assert_true(ops > 0 && ops <= busy);
    assert_true(m->stage[0].work.cpu_ns > 0);
    assert_true(m->stage[0].work.cpu_ns <= m->stage[0].work.wall_ns);
    end(&f);
}

/* ---- waits ---- */

static void test_full_window_is_want_of_space(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "range(1000000).batch(10)", 2, STK__FAIL);
    take_batches(&f, 1);
    const struct stk__metrics *m = f.metrics;
    for (int i = 0; i < 1000 && !m->stage[0].wait_ns[STK__WAIT_SPACE]; i++) {
        sleep_ms(5);
        stk__metrics_read(f.exec, f.metrics);
    }
    assert_true(m->stage[0].wait_ns[STK__WAIT_SPACE] > 0);
    assert_int_equal(m->stage[0].wait_ns[STK__WAIT_READS], 0);
    assert_int_equal(m->stage[0].wait_ns[STK__WAIT_INPUT], 0);
    assert_true(m->n_open > 1 && m->n_open <= m->window);
    assert_true(m->idle_ns > 0);
    end(&f);
}

/* ---- memory ---- */

static void check_accounts(const struct stk__metrics *m)
{
    uint64_t sum = 0;
    for (int i = 0; i < m->n_accounts; i++)
        sum += m->account[i].is_charged ? m->account[i].held_bytes : 0;
    assert_int_equal(sum, m->used_bytes);
    assert_true(m->used_bytes <= m->peak_bytes);
}

static void test_accounts_make_up_what_is_used(void **state)
{
    static const char *const chains[] = {
        "range(100000).map('x + 1').batch(100)",
        "range(100000).filter('x % 2 == 0').shuffle(1000).batch(100)",
        "range(100000).unique().batch(100).map('x * 2')",
        "files('tests/**/*.c').read().batch(3)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct fixture f;
        begin(&f, chains[i], 2, STK__FAIL);
        take_batches(&f, 3);
        for (int k = 0; k < 20; k++) {
            stk__metrics_read(f.exec, f.metrics);
            check_accounts(f.metrics);
        }
        end(&f);
    }
}

/* ---- errors by cause ---- */

static void test_causes(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "lines('tests/data/metrics/words.txt').text_to_number(int32).batch(1)", 2, STK__SKIP);
    const struct stk__metrics *m = finish(&f);
    assert_int_equal(m->errors, 2);
    assert_int_equal(m->n_causes, 1);
    assert_int_equal(m->cause[0].n, 2);
    assert_int_equal(m->cause[0].code, STK_DATA);
    assert_string_equal(m->cause[0].op, "text_to_number");
    assert_null(strstr(m->cause[0].text, "alpha"));
    end(&f);
}

static void test_cause_text(void **state)
{
    static const char *const cases[][2] = {
        { "file 'a/7.jpg' ends at byte 12", "file '…' ends at byte #" },
        { "12.5 of \"x\" is 3", "# of \"…\" is #" },
        { "it's open", "it's open" },
        { "", "" },
    };
    char text[STK__CAUSE_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stk__cause_text(cases[i][0], text, sizeof text);
        assert_string_equal(text, cases[i][1]);
    }
    stk__cause_text("abc'x'", text, 8);
    assert_string_equal(text, "abc");
}

static void test_causes_without_end(void **state)
{
    struct stk__causes causes = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct stk__cause out[STK__MAX_CAUSES];
    uint64_t n = 0;
    (void)state;
    for (int i = 0; i < 100; i++) {
        const char text[] = { 'a', (char)('a' + i % 10), (char)('a' + i / 10), 0 };
        const struct stk__fault fault = { .code = STK_DATA, .op = "op", .text = text };
        stk__causes_add(&causes, &fault);
        stk__causes_add(&causes, &fault);
    }
    assert_int_equal(stk__causes_read(&causes, out), STK__MAX_CAUSES);
    for (int i = 0; i < STK__MAX_CAUSES; i++)
        n += out[i].n;
    assert_int_equal(n, 200);
    assert_int_equal(out[0].n, 2);
    assert_null(out[STK__MAX_CAUSES - 1].op);
}

/* ---- while it runs ---- */

static void *read_again_and_again(void *arg)
{
    struct fixture *f = arg;
    struct stk__metrics *m = stk__metrics_new(f->exec);
    struct stk__trace *trace = NULL;
    uint64_t n_batches = 0;
    while (m->batches < 2000) {
        stk__metrics_read(f->exec, m);
        assert_true(m->batches >= n_batches);
        n_batches = m->batches;
        check_accounts(m);
        assert_int_equal(stk__trace_copy(f->exec, &trace, NULL), STK_OK);
        assert_non_null(trace);
        stk__trace_free(trace);
    }
    stk__metrics_free(m);
    return NULL;
}

static void test_reading_while_it_runs(void **state)
{
    (void)state;
    struct fixture f;
    pthread_t thread;
    begin(&f, "range(20000).filter('x >= 0').map('x + 1').shuffle(100).batch(10)", 3, STK__FAIL);
    assert_int_equal(stk__trace_start(f.exec, 100, NULL), STK_OK);
    assert_int_equal(pthread_create(&thread, NULL, read_again_and_again, &f), 0);
    finish(&f);
    pthread_join(thread, NULL);
    end(&f);
}

/* ---- traces ---- */

static bool is_inside(const struct stk__interval *a, const struct stk__interval *b)
{
    return a->begin_ns >= b->begin_ns && a->end_ns <= b->end_ns;
}

static void test_ops_lie_in_their_tickets(void **state)
{
    (void)state;
    struct fixture f;
    struct stk__trace *trace;
    begin(&f, "range(1000).map('x + 1').batch(10)", 0, STK__FAIL);
    assert_int_equal(stk__trace_start(f.exec, 10000, NULL), STK_OK);
    assert_int_equal(stk__trace_start(f.exec, 10000, NULL), STK_STATE);
    finish(&f);
    assert_int_equal(stk__trace_copy(f.exec, &trace, NULL), STK_OK);
    assert_int_equal(trace->n_threads, 2);
    const struct stk__trace_thread *thread = &trace->thread[0];
    assert_string_equal(thread->name, "consumer");
    int n_runs = 0, n_ops = 0, n_inside = 0;
    for (uint64_t i = 0, first_op = 0; i < thread->n; i++) {
        const struct stk__interval *run = &thread->interval[i];
        n_ops += run->activity == STK__DOES_OP;
        if (run->activity != STK__DOES_RUN)
            continue;
        n_runs++;
        for (uint64_t k = first_op; k < i; k++)
            n_inside += thread->interval[k].activity == STK__DOES_OP &&
                        is_inside(&thread->interval[k], run);
        first_op = i + 1;
    }
    assert_int_equal(n_runs, 100);
    assert_int_equal(n_ops, 200);
    assert_int_equal(n_inside, 200);
    stk__trace_free(trace);
    end(&f);
}

static void test_the_last_intervals_are_kept(void **state)
{
    (void)state;
    struct fixture f;
    struct stk__trace *trace;
    begin(&f, "range(1000).batch(10)", 0, STK__FAIL);
    assert_int_equal(stk__trace_copy(f.exec, &trace, NULL), STK_OK);
    assert_null(trace);
    assert_int_equal(stk__trace_start(f.exec, 0, NULL), STK_VALUE);
    assert_int_equal(stk__trace_start(f.exec, 7, NULL), STK_OK);
    finish(&f);
    assert_int_equal(stk__trace_copy(f.exec, &trace, NULL), STK_OK);
    const struct stk__trace_thread *thread = &trace->thread[0];
    assert_int_equal(thread->n, 7);
    assert_int_equal(thread->n + thread->n_dropped,
                     300); /* a run, its op and next for each batch */
    for (uint64_t i = 1; i < thread->n; i++)
        assert_true(thread->interval[i].end_ns >= thread->interval[i - 1].end_ns);
    assert_int_equal(thread->interval[6].activity, STK__DOES_NEXT);
    assert_int_equal(thread->interval[6].number, 99);
    stk__trace_free(trace);
    end(&f);
}

/* ---- the pieces ---- */

static void test_percentiles(void **state)
{
    (void)state;
    struct stk__latency latency = { 0 };
    assert_int_equal(stk__latency_at(&latency, 0.5), 0);
    for (uint64_t i = 1; i <= 1000; i++)
        stk__latency_add(&latency, i * 1000);
    const double shares[] = { 0.01, 0.1, 0.5, 0.9, 0.99 };
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double expected = shares[i] * 1e6, found = (double)stk__latency_at(&latency, shares[i]);
        assert_true(found > 0.93 * expected && found < 1.07 * expected);
    }
    assert_int_equal(stk__latency_at(&latency, 1), 1000000);
    assert_int_equal(stk__latency_n(&latency), 1000);
}

static void test_every_time_has_a_bucket(void **state)
{
    (void)state;
    unsigned last = 0;
    for (int bit = 0; bit < 64; bit++)
        for (uint64_t k = 8; k < 16; k++) {
            uint64_t ns = bit < 3 ? (uint64_t)bit : k << (bit - 3);
            unsigned bucket = stk__latency_bucket(ns);
            assert_true(bucket >= last && bucket < STK__LATENCY_BUCKETS);
            last = bucket;
        }
    assert_int_equal(stk__latency_bucket(UINT64_MAX), STK__LATENCY_BUCKETS - 1);
}

/* Every piece of work is stood for by one that is timed, except those since the last one that was. */
static void test_weights(void **state)
{
    (void)state;
    struct stk__sampling sampling = { 0 };
    struct stk__stopwatch watch = { 0 };
    struct stk__meter meter = { 0 }, part = { 0 };
    uint64_t weights = 0;
    for (int i = 0; i < 10000; i++) {
        stk__watch_begin(&watch, &sampling);
        if (!stk__watch_is_on(&watch))
            continue;
        weights += watch.weight;
        stk__watch_lap(&watch, &part);
        stk__watch_end(&watch, &sampling, &meter);
    }
    assert_int_equal(weights + sampling.n_skipped, 10000);
    assert_true(stk__counted(&part.wall_ns) <= stk__counted(&meter.wall_ns));
}

static uint64_t cpu_now(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void work_shortly(struct stk__stopwatch *watch, struct stk__sampling *sampling,
                         struct stk__meter *meter, int n)
{
    while (n--) {
        stk__watch_begin(watch, sampling);
        if (stk__watch_is_on(watch))
            stk__watch_end(watch, sampling, meter);
    }
}

/* Until the next piece of work is timed. */
static void begin_timed(struct stk__stopwatch *watch, struct stk__sampling *sampling)
{
    do
        stk__watch_begin(watch, sampling);
    while (!stk__watch_is_on(watch));
}

/* A long piece of work among short ones counts for what it took of the processor, be it all or nothing. */
static void test_long_work_among_short(void **state)
{
    (void)state;
    const uint64_t long_ns = 60000000;
    struct stk__sampling sampling = { 0 };
    struct stk__stopwatch watch = { 0 };
    struct stk__meter brief = { 0 }, busy = { 0 }, asleep = { 0 };
    work_shortly(&watch, &sampling, &brief, 1000);
    begin_timed(&watch, &sampling);
    uint64_t weight = watch.weight, until = cpu_now() + long_ns;
    while (cpu_now() < until)
        continue;
    stk__watch_end(&watch, &sampling, &busy);
    assert_true(stk__counted(&busy.cpu_ns) > weight * long_ns / 2);
    work_shortly(&watch, &sampling, &brief, 1000);
    begin_timed(&watch, &sampling);
    sleep_ms(60);
    stk__watch_end(&watch, &sampling, &asleep);
    assert_true(stk__counted(&asleep.cpu_ns) < stk__counted(&asleep.wall_ns) / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops_in_a_segment),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_parts_of_a_concatenation),
        cmocka_unit_test(test_serial_ops),
        cmocka_unit_test(test_bytes_of_texts),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_consumer),
        cmocka_unit_test(test_batches_that_are_brought_together),
        cmocka_unit_test(test_times_fit_into_each_other),
        cmocka_unit_test(test_full_window_is_want_of_space),
        cmocka_unit_test(test_accounts_make_up_what_is_used),
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_cause_text),
        cmocka_unit_test(test_causes_without_end),
        cmocka_unit_test(test_reading_while_it_runs),
        cmocka_unit_test(test_ops_lie_in_their_tickets),
        cmocka_unit_test(test_the_last_intervals_are_kept),
        cmocka_unit_test(test_percentiles),
        cmocka_unit_test(test_every_time_has_a_bucket),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_long_work_among_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
