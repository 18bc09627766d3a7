/* SPDX-License-Identifier: Apache-2.0 */
/* exec.c: choosing work, workers, next, birth and death. Rules in exec.h.
 *
 * At most `workers` threads compute at a time (knobs.h). The consumer is one of them while it waits in
 * next, so a plan that is cheaper than waking somebody needs nobody else.
 */
#define _GNU_SOURCE
#include "exec/exec.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- choosing: downstream first, except that asking for I/O costs nothing and comes early ---- */

static bool look(struct stk__exec *x, struct stk__work *w)
{
    struct stk__ticket *t = x->plan->is_inner ? NULL : stk__advance_batcher(x);
    if (x->is_stopped)
        return false;
    if (t) {
        x->is_batcher_busy = true;
        *w = (struct stk__work){ .kind = STK__MOVE,
                                 .ticket = t,
                                 .fill = x->fill,
                                 .current = *stk__batch_slot(x, x->current_no) };
        return true;
    }
    if (stk__pick_fetch(x, w))
        return true;
    for (int i = x->n_stages; i-- > 0 && !x->is_stopped;) {
        struct stk__stage *s = &x->stage[i];
        if (s->plan->kind == STK__SEGMENT ? stk__pick_segment(x, s, w) : stk__pick_serial(x, s, w))
            return true;
        if (s->plan->kind == STK__WEAVING && stk__pick_ahead(x, s, w))
            return true;
    }
    return false;
}

/* Looking may retire an empty ticket or open one that waited; then those already asked are asked
 * again. */
static bool pick(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    x->chooser = worker;
    do {
        x->has_changed = false;
        if (look(x, w))
            return true;
    } while (x->has_changed && !x->is_stopped);
    return false;
}

static bool may_work(const struct stk__exec *x)
{
    return x->n_workers == 0 || x->n_running < x->workers.now;
}

/* Somebody who may not work would only go to sleep again; those at work look when they are done. */
void stk__wake_worker(struct stk__exec *x)
{
    if (!may_work(x))
        return;
    if (x->n_sleeping)
        pthread_cond_signal(&x->work);
    else if (x->is_consumer_waiting)
        pthread_cond_signal(&x->delivered);
}

/* Runs one item, others meanwhile more if `is_shared`; called and left with the lock held. */
static void perform(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w,
                    bool is_shared)
{
    bool is_mark = (w->kind == STK__RUN || w->kind == STK__FETCH) && w->ticket->end;
    x->n_running += !is_mark;
    if (is_shared)
        stk__wake_worker(x);
    if (is_mark)
        return;
    worker->is_running = true;
    pthread_mutex_unlock(&x->lock);
    struct stk__gauge *before = stk__gauge_use(&worker->gauge);
    stk__work_begin(worker, w);
    switch (w->kind) {
    case STK__RUN:
        stk__run_segment(x, worker, w);
        break;
    case STK__FETCH:
        stk__run_fetch(x, worker, w);
        break;
    case STK__STEP:
        stk__run_step(x, w);
        break;
    case STK__MOVE:
        stk__run_move(x, worker, w);
        break;
    case STK__AHEAD:
        stk__run_ahead(w);
        break;
    }
    stk__work_end(worker, w);
    stk__gauge_use(before);
    pthread_mutex_lock(&x->lock);
    worker->is_running = false;
    if (worker->watch.on_lap)
        stk__trace_sample(x, worker->watch.ended_at);
    x->n_running--;
    switch (w->kind) {
    case STK__RUN:
        stk__scratch_end(x, w->stage, worker);
        stk__finish_segment(x, w);
        break;
    case STK__FETCH:
        break;
    case STK__STEP:
        stk__finish_step(x, w);
        break;
    case STK__MOVE:
        stk__finish_move(x, w);
        break;
    case STK__AHEAD:
        stk__finish_ahead(w);
        break;
    }
    if (is_shared && x->pulse.wait_began && x->hook.tick)
        stk__hook_call(x, stk__clock_ns());
}

bool stk__exec_work(struct stk__exec *x)
{
    struct stk__work w;
    struct stk__worker *worker = &x->worker[x->n_workers];
    bool has_found = pick(x, worker, &w);
    if (has_found)
        perform(x, worker, &w, false);
    return has_found;
}

static void *worker_main(void *arg)
{
    struct stk__worker *worker = arg;
    struct stk__exec *x = worker->exec;
    struct stk__work w;
    pthread_setname_np(pthread_self(), "stk-worker");
    pthread_mutex_lock(&x->lock);
    while (!x->is_stopped) {
        if (may_work(x) && pick(x, worker, &w)) {
            perform(x, worker, &w, true);
            continue;
        }
        if (x->is_stopped)
            break;
        uint64_t began = stk__idle_begin(x);
        x->n_sleeping++;
        pthread_cond_wait(&x->work, &x->lock);
        stk__idle_end(x, worker, began);
        x->n_sleeping--;
    }
    pthread_mutex_unlock(&x->lock);
    return NULL;
}

bool stk__exec_is_ours(const struct stk__exec *x)
{
    return x->pid == getpid();
}

/* ---- the consumer ---- */

/* Waking a thread costs 4 to 5 us. A consumer that comes back at once and gets its batches for a
 * few us does better alone; the averages change within a few batches when either stops being
 * true. */
static void note_entry(struct stk__pace *pace, uint64_t now)
{
    uint64_t outside = pace->left_at ? now - pace->left_at : UINT32_MAX;
    pace->outside_ns += (outside >> 3) - (pace->outside_ns >> 3);
    pace->is_quick = pace->outside_ns < 5000 && pace->inside_ns < 20000;
}

static void note_exit(struct stk__pace *pace, uint64_t entered, uint64_t now)
{
    pace->inside_ns += ((now - entered) >> 3) - (pace->inside_ns >> 3);
    pace->left_at = now;
}

static void init_clocked(pthread_cond_t *cond)
{
    pthread_condattr_t how;
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC); /* stk__clock_ns */
    pthread_cond_init(cond, &how);
    pthread_condattr_destroy(&how);
}

static void wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until)
{
    const struct timespec time = { .tv_sec = (time_t)(until / 1000000000u),
                                   .tv_nsec = (long)(until % 1000000000u) };
    if (until == UINT64_MAX)
        pthread_cond_wait(cond, lock);
    else
        pthread_cond_timedwait(cond, lock, &time);
}

/* The caller of next wants to be back in time: what may block is the workers' where there are
 * any. */
static bool pick_as_consumer(struct stk__exec *x, struct stk__work *w)
{
    x->has_declined = false;
    x->is_consumer_choosing = x->n_workers > 0;
    bool has_found = pick(x, &x->worker[x->n_workers], w);
    x->is_consumer_choosing = false;
    return has_found;
}

static void note_held(struct stk__exec *x)
{
    int n_held = stk__depot_n_live(x->depot) - x->n_open;
    x->n_held = n_held < 1 ? 1 : n_held;
}

/* Waits, but no longer than a pass that drains may be held back, however often it is called. */
static void wait_patiently(struct stk__exec *x, uint64_t until)
{
    const uint64_t patience_ns = 100000000;
    bool is_patient = x->n_turning && !x->is_impatient;
    if (is_patient && !x->patient_until)
        x->patient_until = stk__clock_ns() + patience_ns;
    uint64_t end = is_patient ? x->patient_until : UINT64_MAX;
    uint64_t began = stk__idle_begin(x);
    x->is_consumer_waiting = true;
    wait_until(&x->delivered, &x->lock, end < until ? end : until);
    x->is_consumer_waiting = false;
    x->consumer.metrics.blocked_ns += stk__idle_end(x, &x->worker[x->n_workers], began);
    x->consumer.metrics.n_blocked++;
    if (!is_patient || x->queue_len || stk__clock_ns() < end)
        return;
    x->is_impatient = true;
    pthread_cond_signal(&x->work);
}

/* Until something is in the queue or the clock says `until`; UINT64_MAX: never. */
static void wait_for_delivery(struct stk__exec *x, uint64_t until)
{
    struct stk__work w;
    note_held(x);
    while (x->queue_len == 0 && !x->is_cancelled &&
           (until == UINT64_MAX || stk__clock_ns() < until)) {
        if (may_work(x) && pick_as_consumer(x, &w)) {
            perform(x, &x->worker[x->n_workers], &w, !x->pace.is_quick);
            x->consumer.has_worked = true;
            note_held(x);
            continue;
        }
        if (x->queue_len || x->is_cancelled)
            break;
        if (x->has_declined)
            pthread_cond_signal(&x->work);
        stk__pulse_wait(x);
        wait_patiently(x, until);
        note_held(x);
    }
}

/* Refill by halves, not one by one. */
static void ask_for_more(struct stk__exec *x)
{
    if (x->n_workers && !x->pace.is_quick && (x->n_open <= x->window.now / 2 || x->queue_len == 0))
        stk__wake_worker(x);
}

static void on_batch_back(void *waiter)
{
    struct stk__exec *x = waiter;
    pthread_mutex_lock(&x->lock);
    ask_for_more(x);
    pthread_mutex_unlock(&x->lock);
}

static void drop_queue(struct stk__exec *x)
{
    for (; x->queue_len; x->queue_len--) {
        stk__batch_give_back(x->queue[x->queue_head].batch);
        x->queue_head = (x->queue_head + 1) % x->queue_cap;
    }
}

static int end_code(const struct stk__exec *x, struct stk_error *err)
{
    if (err)
        *err = x->error;
    return x->error.code;
}

static uint64_t deadline(uint64_t now, int64_t milliseconds)
{
    const int64_t most = INT64_MAX / 4000000;
    return milliseconds < 0 || milliseconds > most ? UINT64_MAX
                                                   : now + (uint64_t)milliseconds * 1000000;
}

/* Brings the fields of a batch together, which is work of the batcher that the consumer waits for.
 * Called and left with the lock held, not held in between. */
static int pack(struct stk__exec *x, struct stk_batch *batch, struct stk_error *err)
{
    struct stk__worker *worker = &x->worker[x->n_workers];
    const struct stk__work w = { .kind = STK__MOVE };
    pthread_mutex_unlock(&x->lock);
    uint64_t began = stk__clock_ns();
    stk__work_begin(worker, &w);
    int rc = stk__batch_pack(batch, err);
    stk__work_end(worker, &w);
    uint64_t ns = stk__clock_ns() - began;
    pthread_mutex_lock(&x->lock);
    x->consumer.packed_ns += ns;
    return rc;
}

int stk__exec_next(struct stk__exec *x, int64_t milliseconds, struct stk_batch **out,
                   struct stk_error *err)
{
    *out = NULL;
    if (!stk__exec_is_ours(x))
        return stk_fail(err, STK_STATE,
                        "this iterator was started before a fork; make a new one in the child");
    uint64_t entered = stk__clock_ns();
    pthread_mutex_lock(&x->lock);
    note_entry(&x->pace, entered);
    stk__pulse_ask(x, entered);
    stk__consumer_enters(x, entered);
    wait_for_delivery(x, deadline(entered, milliseconds));
    if (x->is_cancelled) {
        pthread_mutex_unlock(&x->lock);
        return stk_fail(err, STK_CANCELLED, "cancelled");
    }
    if (x->queue_len == 0) {
        uint64_t left = stk__clock_ns();
        stk__pulse_leave(x, left, false);
        stk__consumer_leaves(x, entered, left, false);
        pthread_mutex_unlock(&x->lock);
        return stk_fail(err, STK_AGAIN, "nothing was ready within %lld ms",
                        (long long)milliseconds);
    }
    struct stk__delivery d = x->queue[x->queue_head];
    if (d.kind != STK__EVENT_BATCH) { /* stays: next answers it for ever */
        stk__accounts_rest(x);
        int code = end_code(x, err);
        pthread_mutex_unlock(&x->lock);
        return code;
    }
    x->queue_head = (x->queue_head + 1) % x->queue_cap;
    x->queue_len--;
    stk__credit(x, &x->batch_account, x->plan->batch_bytes);
    x->n_open--;
    x->stats.batches++;
    x->stats.elements += (uint64_t)d.batch->n;
    x->handed = d.batch->bookmark;
    ask_for_more(x);
    uint64_t left = stk__clock_ns();
    note_exit(&x->pace, entered, left);
    stk__pulse_leave(x, left, true);
    int rc = STK_OK;
    if (stk__batch_is_apart(d.batch)) {
        rc = pack(x, d.batch, err);
        left = stk__clock_ns();
        atomic_store_explicit(&x->packed_bytes, d.batch->packed_bytes, memory_order_relaxed);
    }
    stk__consumer_leaves(x, entered, left, true);
    if (rc) {
        struct stk_error why = { .code = rc, .text = "a batch could not be put together" };
        drop_queue(x);
        x->is_stopped = false;
        stk__end_run(x, err ? err : &why);
    }
    pthread_mutex_unlock(&x->lock);
    if (rc)
        stk_batch_unref(d.batch);
    else
        *out = d.batch;
    return rc;
}

void stk__exec_cancel(struct stk__exec *x)
{
    if (!stk__exec_is_ours(x))
        return;
    pthread_mutex_lock(&x->lock);
    x->is_stopped = true;
    atomic_store(&x->is_cancelled, true);
    pthread_cond_broadcast(&x->work);
    pthread_cond_broadcast(&x->delivered);
    pthread_mutex_unlock(&x->lock);
}

/* ---- birth ---- */

static int init_stage(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    const struct stk__stage_plan *plan = s->plan;
    s->ring.cap = (uint64_t)x->plan->ring;
    s->over_level = -1;
    s->position = plan->first + s->position;
    s->out_account.unit_bytes = plan->unit_bytes;
    s->io_account.unit_bytes = s->typical_fetch = 1 << 16;
    if (plan->program && plan->program->located_bytes)
        s->typical_fetch = plan->program->located_bytes;
    s->lot_bytes = stk__chunk_bytes(plan->type, plan->ticket_rows, stk__stage_parts(x->plan, plan));
    s->typical_scratch = stk__scratch_guess(x->plan, plan);
    if (s->typical_scratch > x->typical_scratch)
        x->typical_scratch = s->typical_scratch;
    s->ring.slot = calloc(s->ring.cap, sizeof *s->ring.slot);
    if (!s->ring.slot)
        return stk__out_of_memory(err);
    for (uint64_t i = 0; plan->program && i < s->ring.cap; i++) {
        for (int k = 0; k < plan->program->n_reads; k++) {
            size_t n = (size_t)plan->ticket_rows * (size_t)plan->program->read[k]->n_places;
            s->ring.slot[i].fetched[k] = calloc(n, sizeof(struct stk__fetched));
            if (!s->ring.slot[i].fetched[k])
                return stk__out_of_memory(err);
        }
    }
    if (plan->is_source)
        stk__source_begin(s);
    x->used_bytes += plan->held_bytes;
    return plan->kind == STK__SEGMENT ? STK_OK : stk__serial_begin(x, s, err);
}

static int init_workers(struct stk__exec *x, struct stk_error *err)
{
    x->worker = calloc((size_t)x->n_workers + 1, sizeof *x->worker);
    if (!x->worker)
        return stk__out_of_memory(err);
    for (int i = 0; i <= x->n_workers; i++) {
        struct stk__worker *worker = &x->worker[i];
        worker->exec = x;
        worker->gauge.grant = stk__scratch_grant;
        worker->gauge.ctx = worker;
        stk__arena_init(&worker->scratch, STK__SCRATCH_BLOCK);
        stk__gauge_use(&worker->gauge);
        stk__gauge_join(&worker->scratch);
        stk__gauge_use(NULL);
        for (int k = 0; k < x->n_stages; k++)
            if (x->plan->stage[k].program &&
                stk__eval_thread_init(&worker->eval[k], x->plan->stage[k].program))
                return stk__out_of_memory(err);
    }
    return stk__meters_init(x, err);
}

static int start_workers(struct stk__exec *x, struct stk_error *err)
{
    for (; x->n_started < x->n_workers; x->n_started++)
        if (pthread_create(&x->worker[x->n_started].thread, NULL, worker_main,
                           &x->worker[x->n_started]))
            return stk_fail(err, STK_MEMORY, "cannot start worker %d of %d", x->n_started + 1,
                            x->n_workers);
    return STK_OK;
}

/* Everything that begins somewhere begins there. */
static void init_places(struct stk__exec *x)
{
    struct stk__plan *plan = x->plan;
    x->position.hash = stk__mix(plan->graph->hash, (uint64_t)plan->options.seed);
    x->counter[0] = x->position.epoch = (uint64_t)plan->options.epoch;
    x->position.rows = plan->stage[plan->last].first;
    x->position.batch = x->position.rows / (uint64_t)(plan->batch_rows ? plan->batch_rows : 1);
    for (int i = 0; i < x->n_stages; i++)
        x->stage[i].counter[0] = x->counter[0];
    x->restart.counter[0] = x->counter[0];
    x->handed.restart = x->restart;
    x->handed.position = x->position;
    x->handed.position.batch--; /* it is that of the batch before the first */
}

static int check_bookmark(const struct stk__exec *x, const struct stk__bookmark *from,
                          struct stk_error *err)
{
    const struct stk__stage_plan *last = &x->plan->stage[x->plan->last];
    int64_t end = stk__options_end_epoch(&x->plan->options);
    if (from->restart.counter[0] >= (uint64_t)end)
        return stk_fail(err, STK_STATE,
                        "the run is to go on in epoch %llu, but ends before epoch %lld; ask for "
                        "more epochs",
                        (unsigned long long)from->restart.counter[0], (long long)end);
    if (last->kind == STK__SEGMENT && last->is_source && from->restart.n_in > last->count)
        return stk_fail(err, STK_STATE,
                        "the run is to go on at element %llu, but there are only %llu now",
                        (unsigned long long)from->restart.n_in, (unsigned long long)last->count);
    return STK_OK;
}

/* To where the run was that the bookmark is of; before the stages begin. */
static void resume_places(struct stk__exec *x, const struct stk__bookmark *from)
{
    const struct stk__plan *plan = x->plan;
    struct stk__stage *last = &x->stage[plan->last];
    struct stk__restart at = from->restart;
    bool is_segment = last->plan->kind == STK__SEGMENT;
    if (is_segment && !last->plan->program->has_filter) { /* what comes out is what goes in */
        at.n_in += at.n_out;
        at.n_out = 0;
    }
    for (int i = 0; i < x->n_stages; i++)
        for (int l = 0; l <= plan->restart_level; l++)
            x->stage[i].counter[l] = at.counter[l];
    if (is_segment && last->plan->is_source)
        last->position = last->n_since = at.n_in;
    else if (is_segment)
        last->n_skipped = at.n_in;
    x->n_dropped = at.n_out;
    x->restart = from->restart;
    x->position = from->position;
    x->position.batch++;
    for (int l = 0; l <= plan->depth; l++)
        x->counter[l] = at.counter[l];
    memcpy(x->n_yielded, from->n_yielded, sizeof x->n_yielded);
    x->judge.n_rows = from->n_rows;
    x->judge.n_bad = from->n_bad;
    x->judge.n_errors = from->position.errors;
    x->handed = *from;
}

static int init(struct stk__exec *x, const struct stk__bookmark *from, struct stk_error *err)
{
    struct stk__plan *plan = x->plan;
    x->pid = getpid();
    stk__decisions_begin(&x->decisions);
    x->settled_at = x->decisions.began_at;
    x->n_workers = (int)plan->options.workers;
    x->leave = (struct stk__leave){ stk__reserve_cache, x };
    x->judge.plan = plan;
    x->judge.causes = &x->causes;
    x->n_held = 1;
    x->queue_cap = plan->max_window + 4;
    x->batch = calloc((size_t)plan->max_window, sizeof(struct stk_batch *));
    x->queue = calloc((size_t)x->queue_cap, sizeof *x->queue);
    x->pool = stk__pool_new();
    if (x->pool)
        stk__pool_limit(x->pool, (size_t)(plan->options.memory / 8));
    x->depot = x->pool ? stk__depot_new(plan, x->pool) : NULL;
    if (!x->batch || !x->queue || !x->depot)
        return stk__out_of_memory(err);
    int rc = STK_OK;
    for (int i = 0; i < plan->n_kept && !rc; i++)
        rc = stk__kept_begin(plan->kept[i], err);
    if (rc)
        return rc;
    if (stk__accounts_begin(x, err))
        return STK_BUDGET;
    stk__depot_set_waiter(x->depot, on_batch_back, x);
    stk__knobs_begin(x);
    if (plan->options.on_error == STK__REPLACE) {
        x->spare_row = stk__chunk_new(plan->stage[plan->last].type, 1,
                                      stk__stage_parts(plan, &plan->stage[plan->last]));
        if (!x->spare_row)
            return stk__out_of_memory(err);
    }
    x->n_stages = plan->n_stages;
    for (int i = 0; i < x->n_stages; i++)
        x->stage[i].plan = &plan->stage[i];
    init_places(x);
    if (from)
        rc = check_bookmark(x, from, err);
    if (!rc && from)
        resume_places(x, from);
    x->judge.epoch = x->position.epoch;
    for (int i = 0; i < x->n_stages && !rc; i++)
        rc = init_stage(x, &x->stage[i], err);
    x->stats.workers = x->n_workers;
    if (!rc)
        rc = stk__gates_begin(x, err);
    if (!rc && from)
        stk__gates_resume(x, from);
    if (!rc)
        rc = init_workers(x, err);
    if (!rc)
        rc = stk__io_start(x, err);
    if (!rc && plan->options.trace)
        rc = stk__trace_start(x, plan->options.trace, err);
    return rc ? rc : start_workers(x, err);
}

int stk__exec_new(struct stk__plan *plan, const struct stk__bookmark *from, struct stk__exec **out,
                  struct stk_error *err)
{
    struct stk__exec *x = calloc(1, sizeof *x);
    if (!x)
        return stk__out_of_memory(err);
    pthread_mutex_init(&x->lock, NULL);
    pthread_mutex_init(&x->io_lock, NULL);
    pthread_mutex_init(&x->causes.lock, NULL);
    pthread_cond_init(&x->work, NULL);
    init_clocked(&x->delivered);
    pthread_cond_init(&x->io_work, NULL);
    pthread_cond_init(&x->scratch_back, NULL);
    x->plan = stk__plan_ref(plan);
    x->cancelled = &x->is_cancelled;
    int rc = init(x, from, err);
    if (rc)
        stk__exec_free(x);
    else
        *out = x;
    return rc;
}

/* ---- death ---- */

static void free_stage(struct stk__exec *x, struct stk__stage *s)
{
    for (uint64_t i = 0; s->ring.slot && i < s->ring.cap; i++) {
        struct stk__ticket *t = &s->ring.slot[i];
        stk__faults_free(t->faults);
        stk__buffer_unref(t->wanted);
        for (int k = 0; k < STK__MAX_READS; k++) {
            if (t->fetched[k])
                stk__fetched_free(t->fetched[k],
                                  s->plan->ticket_rows * s->plan->program->read[k]->n_places);
            free(t->fetched[k]);
        }
    }
    free(s->ring.slot);
    if (s->plan->kind != STK__SEGMENT)
        stk__serial_end(x, s);
}

static void free_batches(struct stk__exec *x)
{
    drop_queue(x);
    for (int i = 0; x->batch && i < x->plan->max_window; i++)
        stk__batch_give_back(x->batch[i]);
    free(x->batch);
    free(x->queue);
}

static void free_workers(struct stk__exec *x)
{
    for (int i = 0; x->worker && i <= x->n_workers; i++) {
        for (int k = 0; k < x->n_stages; k++)
            if (x->plan->stage[k].program)
                stk__eval_thread_free(&x->worker[i].eval[k], x->plan->stage[k].program);
        stk__arena_free(&x->worker[i].scratch);
        stk__meters_free(&x->worker[i]);
    }
    free(x->worker);
}

void stk__exec_free(struct stk__exec *x)
{
    if (stk__exec_is_ours(x)) {
        stk__exec_cancel(x);
        for (int i = 0; i < x->n_started; i++)
            pthread_join(x->worker[i].thread, NULL);
        stk__io_stop(x);
    } else if (x->pid) {
        return;
    }
    if (x->depot)
        stk__depot_set_waiter(x->depot, NULL, NULL);
    stk__accounts_end(x);
    free_workers(x);
    for (int i = 0; i < x->n_stages; i++)
        free_stage(x, &x->stage[i]);
    for (struct stk__lot *lot = x->all_lots, *next; lot; lot = next) {
        next = lot->next_all;
        stk__chunk_free(lot->chunk);
        free(lot);
    }
    stk__gates_end(x);
    stk__decisions_end(&x->decisions);
    stk__tracer_free(x->tracer);
    free_batches(x);
    stk__chunk_free(x->spare_row);
    if (x->depot)
        stk__depot_unref(x->depot);
    else
        stk__pool_unref(x->pool);
    stk__plan_unref(x->plan);
    pthread_cond_destroy(&x->work);
    pthread_cond_destroy(&x->delivered);
    pthread_cond_destroy(&x->io_work);
    pthread_cond_destroy(&x->scratch_back);
    pthread_mutex_destroy(&x->lock);
    pthread_mutex_destroy(&x->io_lock);
    pthread_mutex_destroy(&x->causes.lock);
    free(x);
}

/* ---- for tests ---- */

bool stk__exec_is_clean(struct stk__exec *x)
{
    size_t batch = x->opened_no > x->current_no ? x->plan->batch_bytes : 0;
    bool is_clean = x->batch_account.held_bytes <= batch;
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__stage *s = &x->stage[i];
        size_t open = s->open_out ? s->open_out->charged : 0;
        is_clean &= s->out_account.held_bytes == open && s->io_account.held_bytes == 0;
    }
    return is_clean;
}

/* Reads without the lock: for a watchdog, when everything stands still. */
void stk__exec_dump(struct stk__exec *x, struct stk__text *out)
{
    stk__text_add(
        out,
        "open %d opened_no %llu current_no %llu fill %d queue %d spare %lld stopped %d asleep %d\n",
        x->n_open, (unsigned long long)x->opened_no, (unsigned long long)x->current_no, x->fill,
        x->queue_len, (long long)x->spare_bytes, x->is_stopped, x->n_sleeping);
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__stage *s = &x->stage[i];
        stk__text_add(
            out,
            "stage %d %s kind %d busy %d head %llu opened %llu tail %llu held %zu/%zu end %d\n", i,
            s->plan->node->op->decl.name, s->plan->kind, s->is_busy,
            (unsigned long long)s->ring.head, (unsigned long long)s->ring.opened,
            (unsigned long long)s->ring.tail, s->out_account.held_bytes, s->io_account.held_bytes,
            s->is_exhausted);
    }
}
