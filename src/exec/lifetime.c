/* SPDX-License-Identifier: Apache-2.0 */
/* lifetime.c: how a run begins, at its start or at a bookmark, and how it ends. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/hash.h"
#include "exec/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- birth ---- */

static void init_clocked(pthread_cond_t *cond)
{
    pthread_condattr_t how;
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC); /* stk__clock_ns */
    pthread_cond_init(cond, &how);
    pthread_condattr_destroy(&how);
}

static int init_stage(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    const struct stk__stage_plan *plan = s->plan;
    s->ring.cap = (uint64_t)x->plan->ring;
    s->reader.over_level = -1;
    s->position = plan->first + s->position;
    s->memory.out_account.unit_bytes = plan->unit_bytes;
    s->memory.io_account.unit_bytes = s->memory.typical_fetch = 1 << 16;
    if (plan->program && plan->program->located_bytes)
        s->memory.typical_fetch = plan->program->located_bytes;
    s->memory.lot_bytes =
        stk__chunk_bytes(plan->type, plan->ticket_rows, stk__stage_parts(x->plan, plan));
    s->memory.typical_scratch = stk__scratch_guess(x->plan, plan);
    if (s->memory.typical_scratch > x->memory.typical_scratch)
        x->memory.typical_scratch = s->memory.typical_scratch;
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
    x->memory.used_bytes += plan->held_bytes;
    return stk__stage_begin(x, s, err);
}

static int init_workers(struct stk__exec *x, struct stk_error *err)
{
    x->crew.worker = calloc((size_t)x->crew.n_workers + 1, sizeof *x->crew.worker);
    if (!x->crew.worker)
        return stk__out_of_memory(err);
    for (int i = 0; i <= x->crew.n_workers; i++) {
        struct stk__worker *worker = &x->crew.worker[i];
        worker->exec = x;
        worker->gauge.grant = stk__scratch_grant;
        worker->gauge.ctx = worker;
        worker->gauge.is_unlimited = x->plan->is_inner;
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
    for (; x->crew.n_started < x->crew.n_workers; x->crew.n_started++)
        if (pthread_create(&x->crew.worker[x->crew.n_started].thread, NULL, stk__worker_main,
                           &x->crew.worker[x->crew.n_started]))
            return stk_fail(err, STK_MEMORY, "cannot start worker %d of %d", x->crew.n_started + 1,
                            x->crew.n_workers);
    return STK_OK;
}

/* Everything that begins somewhere begins there. */
static void init_places(struct stk__exec *x)
{
    struct stk__plan *plan = x->plan;
    x->batcher.position.hash = stk__hash_mix(plan->graph->hash, (uint64_t)plan->options.seed);
    x->batcher.counter[0] = x->batcher.position.epoch = (uint64_t)plan->options.epoch;
    x->batcher.position.rows = plan->stage[plan->last].first;
    x->batcher.position.batch =
        x->batcher.position.rows / (uint64_t)(plan->batch_rows ? plan->batch_rows : 1);
    for (int i = 0; i < x->n_stages; i++)
        x->stage[i].counter[0] = x->batcher.counter[0];
    x->batcher.restart.counter[0] = x->batcher.counter[0];
    x->deliveries.handed.restart = x->batcher.restart;
    x->deliveries.handed.position = x->batcher.position;
    x->deliveries.handed.position.batch--; /* it is that of the batch before the first */
}

/* Where a last stage goes on that counts positions itself. */
static uint64_t first_row(const struct stk__stage_plan *last, const struct stk__bookmark *from)
{
    uint64_t row = from->restart.n_in;
    if (!last->program->has_filter && __builtin_add_overflow(row, from->restart.n_out, &row))
        return UINT64_MAX;
    return row;
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
    if (from->restart.counter[0] != from->position.epoch)
        return stk_fail(
            err, STK_STATE,
            "the run is to go on in epoch %llu behind a batch of epoch %llu, which is no "
            "place of a run",
            (unsigned long long)from->restart.counter[0], (unsigned long long)from->position.epoch);
    if (last->program && last->is_source && first_row(last, from) > last->count)
        return stk_fail(err, STK_STATE,
                        "the run is to go on at element %llu, but there are only %llu now",
                        (unsigned long long)first_row(last, from), (unsigned long long)last->count);
    return STK_OK;
}

/* To where the run was that the bookmark is of; before the stages begin. */
static void resume_places(struct stk__exec *x, const struct stk__bookmark *from)
{
    const struct stk__plan *plan = x->plan;
    struct stk__stage *last = &x->stage[plan->last];
    struct stk__restart at = from->restart;
    bool is_segment = last->plan->program;
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
    x->batcher.n_dropped = at.n_out;
    x->batcher.restart = from->restart;
    x->batcher.position = from->position;
    x->batcher.position.batch++;
    for (int l = 0; l <= plan->depth; l++)
        x->batcher.counter[l] = at.counter[l];
    memcpy(x->batcher.n_yielded, from->n_yielded, sizeof x->batcher.n_yielded);
    x->batcher.judge.n_rows = from->n_rows;
    x->batcher.judge.n_bad = from->n_bad;
    x->batcher.judge.n_errors = from->position.errors;
    x->deliveries.handed = *from;
}

/* A row of a stream grows in blocks that are copied: half of the budget is the most that fits beside the block
 * before. A cursor is told by the run around it. */
static void limit_pool(struct stk__exec *x)
{
    const int64_t least = (int64_t)1 << 20;
    int64_t half = x->plan->options.memory / 2;
    stk__pool_limit(x->pool, (size_t)(x->plan->options.memory / 8));
    stk__pool_set_most(x->pool, (size_t)(half > least ? half : least));
}

static int init(struct stk__exec *x, const struct stk__bookmark *from, struct stk_error *err)
{
    struct stk__plan *plan = x->plan;
    x->pid = getpid();
    stk__decisions_begin(&x->watch.decisions);
    x->watch.settled_at = x->watch.decisions.began_at;
    x->watch.process_began = stk__process_ns();
    x->crew.n_workers = (int)plan->options.workers;
    x->memory.leave = (struct stk__leave){ stk__reserve_cache, x };
    x->batcher.judge.plan = plan;
    x->batcher.judge.causes = &x->watch.causes;
    x->deliveries.n_held = 1;
    x->deliveries.queue_cap = plan->max_window + 4;
    x->batcher.batch = calloc((size_t)plan->max_window, sizeof(struct stk_batch *));
    x->deliveries.queue = calloc((size_t)x->deliveries.queue_cap, sizeof *x->deliveries.queue);
    x->pool = stk__pool_new();
    if (x->pool)
        limit_pool(x);
    x->depot = x->pool ? stk__depot_new(plan, x->pool) : NULL;
    if (!x->batcher.batch || !x->deliveries.queue || !x->depot)
        return stk__out_of_memory(err);
    int rc = STK_OK;
    for (int i = 0; i < plan->n_kept && !rc; i++)
        rc = stk__kept_begin(plan->kept[i], err);
    if (rc)
        return rc;
    if (stk__accounts_begin(x, err))
        return STK_BUDGET;
    stk__depot_set_waiter(x->depot, stk__on_batch_back, x);
    stk__knobs_begin(x);
    if (plan->wanted_workers > x->crew.n_workers && !plan->is_inner)
        stk__decision_note(x, "workers", plan->wanted_workers, x->crew.n_workers,
                           "a quarter of the budget of %.1f MB holds no more threads",
                           (double)plan->options.memory / 1e6);
    if (plan->options.on_error == STK__REPLACE) {
        x->batcher.spare_row = stk__chunk_new(plan->stage[plan->last].type, 1,
                                              stk__stage_parts(plan, &plan->stage[plan->last]));
        if (!x->batcher.spare_row)
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
    x->batcher.judge.epoch = x->batcher.position.epoch;
    for (int i = 0; i < x->n_stages && !rc; i++)
        rc = init_stage(x, &x->stage[i], err);
    x->watch.stats.workers = x->crew.n_workers;
    if (!rc)
        rc = stk__gates_begin(x, err);
    if (!rc && from)
        stk__gates_resume(x, from);
    if (!rc)
        rc = init_workers(x, err);
    if (!rc)
        rc = stk__reads_begin(x, err);
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
    pthread_mutex_init(&x->watch.causes.lock, NULL);
    pthread_cond_init(&x->crew.work, NULL);
    init_clocked(&x->crew.delivered);
    pthread_cond_init(&x->memory.scratch_back, NULL);
    x->plan = stk__plan_ref(plan);
    x->cancelled = &x->is_cancelled;
    x->memory.budget_bytes = plan->options.memory;
    int rc = init(x, from, err);
    if (rc)
        stk__exec_free(x);
    else
        *out = x;
    return rc;
}

/* ---- death ---- */

static void free_stage(struct stk__stage *s)
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
    if (s->plan->kind->end)
        s->plan->kind->end(s);
}

static void free_batches(struct stk__exec *x)
{
    stk__drop_queue(x);
    stk__batch_give_back(x->deliveries.unread);
    for (int i = 0; x->batcher.batch && i < x->plan->max_window; i++)
        stk__batch_give_back(x->batcher.batch[i]);
    free(x->batcher.batch);
    free(x->deliveries.queue);
}

static void free_workers(struct stk__exec *x)
{
    for (int i = 0; x->crew.worker && i <= x->crew.n_workers; i++) {
        for (int k = 0; k < x->n_stages; k++)
            if (x->plan->stage[k].program)
                stk__eval_thread_free(&x->crew.worker[i].eval[k], x->plan->stage[k].program);
        stk__arena_free(&x->crew.worker[i].scratch);
        stk__meters_free(&x->crew.worker[i]);
    }
    free(x->crew.worker);
}

void stk__exec_free(struct stk__exec *x)
{
    if (stk__exec_is_ours(x)) {
        stk__exec_cancel(x);
        for (int i = 0; i < x->crew.n_started; i++)
            pthread_join(x->crew.worker[i].thread, NULL);
        stk__lane_free(x->lane);
    } else if (x->pid) {
        return;
    }
    size_t taken_bytes = x->memory.peak_bytes + (size_t)x->memory.own_bytes;
    if (x->depot)
        stk__depot_set_waiter(x->depot, NULL, NULL);
    stk__accounts_end(x);
    free_workers(x);
    for (int i = 0; i < x->n_stages; i++)
        free_stage(&x->stage[i]);
    for (struct stk__lot *lot = x->memory.all_lots, *next; lot; lot = next) {
        next = lot->next_all;
        stk__lot_free(lot);
    }
    stk__gates_end(x);
    stk__decisions_end(&x->watch.decisions);
    stk__tracer_free(x->watch.tracer);
    free_batches(x);
    stk__chunk_free(x->batcher.spare_row);
    if (x->depot)
        stk__depot_unref(x->depot);
    else
        stk__pool_unref(x->pool);
    stk__plan_unref(x->plan);
    pthread_cond_destroy(&x->crew.work);
    pthread_cond_destroy(&x->crew.delivered);
    pthread_cond_destroy(&x->memory.scratch_back);
    pthread_mutex_destroy(&x->lock);
    pthread_mutex_destroy(&x->watch.causes.lock);
    free(x);
    stk__accounts_forget(taken_bytes);
}
