/* SPDX-License-Identifier: Apache-2.0 */
/* test_exec.c: random chains, random knobs, random cancellation; what is delivered must be what
 * exec_model.c says.
 *
 *     test_exec [first_seed] [n_chains] [patience]
 *
 * Each chain runs with 0, 1, 2, 3 and 8 workers under other windows, rings, tickets and budgets;
 * window and workers move while it is on. A run is compared event by event: rows, position, origin,
 * the error at the end, the errors on the way. A cancelled run must be a prefix. A run that stands
 * still for `patience` seconds is a hang: the watchdog names the seed and dumps the rings.
 */
#define _GNU_SOURCE
#include "exec/run.h"
#include "exec_model.h"
#include "exec_ops.h"
#include "sanitized.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_KEPT = 6, MAX_RESUMED = 2 };

static uint64_t current_seed;
static const struct chain *current_chain;
static struct stk__exec *current;
static int current_event;

/* One run of a chain. */
struct run {
    const struct expected *want;
    struct stk__plan *plan;
    struct stk__exec *exec;
    bool may_be_cancelled; /* by another thread */
    int stop_at;           /* cancelled by the consumer before this event; -1: never */
    struct stk_batch *kept[MAX_KEPT];
    int first;   /* event it begins with */
    int mark_at; /* event whose bookmark is kept */
    bool has_mark;
    struct stk__bookmark mark;
};

static void say_where(void)
{
    const struct chain *c = current_chain;
    struct stk__text text = { 0 };
    fprintf(stderr,
            "seed %llu, event %d: %s\n  seed=%lld epochs=%lld on_error=%d max_errors=%g rank=%lld "
            "world=%lld\n",
            (unsigned long long)current_seed, current_event, c->text, (long long)c->seed,
            (long long)c->epochs, c->on_error, c->max_errors, (long long)c->rank,
            (long long)c->world);
    if (!current)
        return;
    const struct stk__plan *plan = current->plan;
    fprintf(stderr, "  workers=%d window=%d ring=%d io_depth=%lld direct=%d spare=%lld tickets:",
            current->crew.n_workers, plan->window, plan->ring, (long long)plan->options.io_depth,
            plan->is_direct, (long long)plan->options.memory - (long long)plan->minimum_bytes);
    for (int i = 0; i < plan->n_stages; i++)
        fprintf(stderr, " %d", plan->stage[i].ticket_rows);
    stk__exec_dump(current, &text);
    fprintf(stderr, "\n%s", text.data ? text.data : "");
    stk__text_free(&text);
}

static void fail(const char *what)
{
    fprintf(stderr, "FAIL: %s\n", what);
    say_where();
    exit(1);
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
    fprintf(stderr, "HANG\n");
    say_where();
    abort();
}

/* ---- knobs ---- */

static int small_or(uint64_t small, uint64_t large)
{
    return (int)(1 + random_below(one_in(2) ? small : large));
}

/* Tickets as small as one row. Those with reads, which are planned with one row, may be larger. */
static void set_tickets(struct stk__plan *plan)
{
    for (int i = 0; i < plan->n_stages; i++) {
        struct stk__stage_plan *s = &plan->stage[i];
        if (s->kind == &stk__batching_stage || one_in(4))
            continue;
        int rows = small_or(3, 30), most = s->ticket_rows;
        if (s->program && s->program->n_reads) {
            most = i == plan->last && plan->is_direct ? (int)plan->batch_rows : 6;
            most = most < 6 ? most : 6;
        }
        rows = rows < most ? rows : most;
        if (rows > s->ticket_rows) {
            plan->minimum_bytes += s->unit_bytes * (size_t)(rows - 1);
            s->unit_bytes *= (size_t)rows;
        }
        s->ticket_rows = rows;
    }
}

static void set_knobs(struct stk__plan *plan)
{
    plan->window = small_or(2, 6);
    plan->max_window = plan->window + (int)random_below(3);
    plan->is_window_given = plan->is_workers_given = false; /* they move; see turn_knobs */
    plan->ring = small_or(2, 9);
    if (one_in(5))
        plan->is_direct = false;
    set_tickets(plan);
    int64_t spare = one_in(2)   ? (int64_t)random_below(5000)
                    : one_in(2) ? (int64_t)random_below(200000)
                                : 1 << 28;
    plan->options.memory = (int64_t)plan->minimum_bytes + spare;
}

static struct stk__plan *make_plan(const struct chain *chain, struct stk_dataset *graph,
                                   int workers)
{
    struct stk__options options = stk__options_default();
    struct stk__plan *plan;
    struct stk_error err = { 0 };
    options.workers = workers;
    options.io_depth = (int64_t)(1 + random_below(4));
    options.memory = (int64_t)1 << 30;
    options.seed = chain->seed;
    options.epochs = chain->epochs;
    options.on_error = chain->on_error;
    options.max_errors = chain->max_errors;
    options.rank = chain->rank;
    options.world = chain->world;
    if (stk__plan_new(graph, &options, &plan, &err))
        fail(err.text);
    set_knobs(plan);
    return plan;
}

/* ---- what came ---- */

static uint64_t hash_view(uint64_t h, const struct stk_view *view)
{
    int64_t n = 1;
    if (view->kind == STK_BYTES) {
        for (int64_t i = 0; i + 1 < view->n_splits; i++)
            h = hash_text(h, (const char *)view->data + view->splits[i],
                          (size_t)(view->splits[i + 1] - view->splits[i]));
        return h;
    }
    for (int d = 0; d < view->rank; d++)
        n *= view->shape[d];
    return hash_numbers(h, view->data, n);
}

static uint64_t origin_of(const struct stk_batch *batch, int64_t row)
{
    char *text = stk_batch_origin(batch, row);
    if (!text)
        fail("a row without an origin");
    uint64_t hash = hash_text(0, text, strlen(text));
    free(text);
    return hash;
}

static void check_batch(const struct stk_batch *batch, const struct event *want)
{
    struct stk_position position;
    uint64_t hash = 0;
    stk_batch_position(batch, &position);
    if (!want->is_batch)
        fail("a batch where the run should have ended");
    if (batch->n != want->n)
        fail("another number of rows in a batch");
    if (position.epoch != want->epoch || position.batch != want->batch)
        fail("another place in the data");
    if (position.rows != want->rows || position.errors != want->errors)
        fail("another number of rows or errors judged");
    for (int f = 0; f < stk_batch_n_fields(batch); f++) {
        struct stk_view view;
        stk_batch_view_at(batch, f, &view);
        hash = hash_view(hash, &view);
    }
    if (hash != want->hash)
        fail("other contents");
    if (origin_of(batch, 0) != want->first ||
        origin_of(batch, stk_batch_n_rows(batch) - 1) != want->last)
        fail("other origins");
}

static void check_end(int code, const struct stk_error *err, const struct event *want)
{
    if (want->is_batch) {
        fprintf(stderr, "%s\n", err->text);
        fail("the run ended early");
    }
    if (code != want->code)
        fail("another code at the end");
    if (code != STK_END && strncmp(err->text, want->text, strlen(want->text))) {
        fprintf(stderr, "got:  %s\nwant: %s\n", err->text, want->text);
        fail("another error");
    }
}

static void check_verdicts(const struct stk__judge *judge, const struct verdicts *want)
{
    if (judge->n_errors != want->n_errors)
        fail("another number of errors");
    uint64_t first = want->n_errors > STK__KEPT_ERRORS ? want->n_errors - STK__KEPT_ERRORS : 0;
    for (uint64_t i = first; i < want->n_errors; i++) {
        const char *got = judge->kept[i % STK__KEPT_ERRORS].text;
        if (strcmp(got, want->error[i])) {
            fprintf(stderr, "got:  %s\nwant: %s\n", got, want->error[i]);
            fail("another error on the way");
        }
    }
}

/* The errors of all bad rows, judged in order; the last 64 are kept. A judge before other ops runs
 * ahead of what ends a run. */
static void check_errors(const struct stk__exec *x, const struct expected *want, bool is_whole)
{
    check_verdicts(&x->batcher.judge, &want->last);
    for (int i = 0; i < x->n_stages; i++)
        if (x->plan->stage[i].is_judge && is_whole && !chain_is_cut_short(current_chain))
            check_verdicts(x->plan->stage[i].kind->judge(&x->stage[i]), &want->inner);
}

/* ---- one run ---- */

static void *cancel_later(void *arg)
{
    usleep((useconds_t)(current_seed % 700));
    stk__exec_cancel(arg);
    return NULL;
}

/* Looks at the batch now or, if it is kept, once more when others have come. */
static void keep_batch(struct run *r, struct stk_batch *batch, int i)
{
    struct stk_batch **slot = &r->kept[random_below(MAX_KEPT)];
    check_batch(batch, &r->want->event[i]);
    stk_batch_unref(*slot);
    *slot = one_in(3) ? stk_batch_ref(batch) : NULL;
    stk_batch_unref(batch);
    if (one_in(40))
        usleep(200);
}

/* Moves the limits as a tuner may, at any time. */
static void turn_knobs(struct stk__exec *x)
{
    pthread_mutex_lock(&x->lock);
    if (one_in(2))
        stk__set_window(x, (int)random_below((uint64_t)x->batcher.window.most + 1));
    else
        stk__set_workers(x, (int)random_below((uint64_t)x->crew.limit.most + 1));
    pthread_mutex_unlock(&x->lock);
}

/* Returns the code the run ended with, STK_OK if the consumer went away. */
static int consume(struct run *r)
{
    struct stk_batch *batch;
    struct stk_error err = { 0 };
    for (int i = r->first;; i++) {
        current_event = i;
        if (i == r->stop_at) {
            if (one_in(2))
                return STK_OK;
            stk__exec_cancel(r->exec);
        }
        if (one_in(3))
            turn_knobs(r->exec);
        int code = stk__exec_next(r->exec, -1, &batch, &err);
        if (code == STK_CANCELLED && (r->may_be_cancelled || i == r->stop_at))
            return code;
        if (i == r->want->n_events)
            fail("more than there should be");
        if (code == STK_OK) {
            if (i == r->mark_at)
                r->mark = batch->bookmark;
            r->has_mark |= i == r->mark_at;
            keep_batch(r, batch, i);
            continue;
        }
        check_end(code, &err, &r->want->event[i]);
        return code;
    }
}

/* What the last judge counts is kept in a bookmark, the messages are not. */
static void check_resumed_errors(const struct stk__exec *x, const struct expected *want)
{
    if (x->batcher.judge.n_errors != want->last.n_errors)
        fail("another number of errors");
}

/* A whole run, or what is left of one behind a bookmark; leaves a bookmark of its own for the
 * next one to begin with. */
static void check_run(const struct chain *chain, struct stk_dataset *graph, struct run *last,
                      int workers)
{
    const struct expected *want = last->want;
    const struct stk__bookmark *from = last->has_mark ? &last->mark : NULL;
    struct run r = { .want = want, .stop_at = -1, .first = from ? last->mark_at + 1 : 0 };
    struct stk_error err = { 0 };
    struct stk_batch *batch;
    pthread_t canceller;
    int left = want->n_events - r.first;
    r.plan = make_plan(chain, graph, workers);
    if (stk__exec_new(r.plan, from, &r.exec, &err))
        fail(err.text);
    current = r.exec;
    r.mark_at = r.first + (left > 0 ? (int)random_below((uint64_t)left) : 0);
    if (want->is_open || one_in(8))
        r.stop_at = r.first + (int)random_below((uint64_t)left + 1);
    r.may_be_cancelled = r.stop_at < 0 && one_in(8);
    if (r.may_be_cancelled && pthread_create(&canceller, NULL, cancel_later, r.exec))
        fail("no thread");
    int code = consume(&r);
    if (r.may_be_cancelled)
        pthread_join(canceller, NULL);
    else if (code != STK_OK && code != STK_CANCELLED) {
        if (stk__exec_next(r.exec, -1, &batch, &err) != code)
            fail("another answer after the end");
        if (!want->ends_late && from)
            check_resumed_errors(r.exec, want);
        else if (!want->ends_late)
            check_errors(r.exec, want, code == STK_END);
        if (code == STK_END && !stk__exec_is_clean(r.exec))
            fail("something is booked at the end");
    }
    current = NULL;
    stk__exec_free(r.exec);
    stk__plan_unref(r.plan);
    for (int i = 0; i < MAX_KEPT; i++)
        stk_batch_unref(r.kept[i]);
    *last = r;
}

/* ---- all ---- */

struct totals {
    uint64_t events, errors, ends_in_error, open;
};

static void check_chain(uint64_t seed, unsigned patience, struct totals *totals)
{
    static const int workers[] = { 0, 1, 2, 3, 8 };
    struct chain chain;
    struct expected want;
    struct stk_dataset *graph;
    struct stk_error err = { 0 };
    random_begin(seed);
    chain_make(&chain);
    current_chain = &chain;
    current_seed = seed;
    current_event = 0;
    alarm(patience);
    if (stk__graph_new(chain.text, NULL, NULL, &graph, &err))
        fail(err.text);
    model_run(&chain, &want);
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        alarm(patience);
        struct run r = { .want = &want };
        check_run(&chain, graph, &r, workers[i]);
        for (int k = 0; k < MAX_RESUMED && r.has_mark; k++)
            check_run(&chain, graph, &r, (int)random_below(4));
    }
    totals->events += (uint64_t)want.n_events;
    totals->errors += want.inner.n_errors + want.last.n_errors;
    totals->open += want.is_open;
    totals->ends_in_error += !want.is_open && want.event[want.n_events - 1].code != STK_END;
    stk_dataset_unref(graph);
    model_free(&want);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : IS_SANITIZED ? 300 : 700;
    unsigned patience = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 60;
    struct totals t = { 0 };
    if (test_ops_begin())
        return 1;
    signal(SIGALRM, on_alarm);
    for (uint64_t seed = first; seed < first + n; seed++)
        check_chain(seed, patience, &t);
    if (test_ops_end()) {
        fprintf(stderr, "states of threads were left open\n");
        return 1;
    }
    printf("ok: %llu chains with 5 pools: %llu events, %llu bad rows; %llu chains end in an error, "
           "%llu never\n",
           (unsigned long long)n, (unsigned long long)t.events, (unsigned long long)t.errors,
           (unsigned long long)t.ends_in_error, (unsigned long long)t.open);
    return 0;
}
