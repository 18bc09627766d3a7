/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c: recording intervals and samples, and handing out copies. */
#define _GNU_SOURCE
#include "exec/watch/trace.h"

#include "base/error.h"
#include "exec/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_SAMPLES = 1 << 14, SAMPLE_NS = 10000000 };

const char *stk__activity_name(enum stk__activity activity)
{
    static const char *const names[] = {
#define ACTIVITY_TEXT(name, text) text,
        STK__ACTIVITY_LIST(ACTIVITY_TEXT)
#undef ACTIVITY_TEXT
    };
    return names[activity];
}

/* ---- birth and death ---- */

void stk__tracer_free(struct stk__tracer *tracer)
{
    if (!tracer)
        return;
    for (int i = 0; tracer->log && i < tracer->n_logs; i++) {
        pthread_mutex_destroy(&tracer->log[i].lock);
        free(tracer->log[i].kept);
    }
    free(tracer->log);
    free(tracer->sample);
    free(tracer);
}

static struct stk__tracer *tracer_new(int n_logs, uint64_t cap)
{
    struct stk__tracer *tracer = calloc(1, sizeof *tracer);
    if (!tracer)
        return NULL;
    tracer->log = calloc((size_t)n_logs, sizeof *tracer->log);
    tracer->sample = calloc(KEPT_SAMPLES, sizeof *tracer->sample);
    bool has_all = tracer->log && tracer->sample;
    for (; has_all && tracer->n_logs < n_logs; tracer->n_logs++) {
        struct stk__trace_log *log = &tracer->log[tracer->n_logs];
        pthread_mutex_init(&log->lock, NULL);
        log->cap = cap;
        log->kept = calloc(cap, sizeof *log->kept);
        has_all = log->kept != NULL;
    }
    if (has_all)
        return tracer;
    stk__tracer_free(tracer);
    return NULL;
}

int stk__trace_start(struct stk__exec *x, int64_t cap, struct stk_error *err)
{
    const int64_t most = 1 << 24;
    if (cap < 1 || cap > most)
        return stk_fail(err, STK_VALUE, "a trace keeps 1 to %lld intervals per thread, not %lld",
                        (long long)most, (long long)cap);
    struct stk__tracer *tracer = tracer_new(x->crew.n_workers + 2, (uint64_t)cap);
    if (!tracer)
        return stk__out_of_memory(err);
    pthread_mutex_lock(&x->lock);
    bool is_on = atomic_load(&x->watch.tracer) != NULL;
    if (!is_on)
        atomic_store(&x->watch.tracer, tracer);
    pthread_mutex_unlock(&x->lock);
    if (!is_on)
        return STK_OK;
    stk__tracer_free(tracer);
    return stk_fail(err, STK_STATE, "this run is recorded already");
}

/* ---- recording ---- */

struct stk__trace_log *stk__trace_log_of(struct stk__exec *x, const struct stk__worker *worker)
{
    struct stk__tracer *tracer = atomic_load_explicit(&x->watch.tracer, memory_order_acquire);
    return tracer ? &tracer->log[worker - x->crew.worker] : NULL;
}

void stk__trace_add(struct stk__exec *x, struct stk__trace_log *log, struct stk__interval interval)
{
    uint64_t began_at = x->watch.decisions.began_at;
    interval.begin_ns -= began_at;
    interval.end_ns -= began_at;
    pthread_mutex_lock(&log->lock);
    log->kept[log->n_made++ % log->cap] = interval;
    pthread_mutex_unlock(&log->lock);
}

static void record_lap(void *ctx, const struct stk__meter *meter, uint64_t began, uint64_t ended)
{
    struct stk__worker *worker = ctx;
    struct stk__exec *x = worker->exec;
    const struct stk__stage *s = worker->at;
    stk__trace_add(x, stk__trace_log_of(x, worker),
                   (struct stk__interval){
                       .begin_ns = began,
                       .end_ns = ended,
                       .activity = STK__DOES_OP,
                       .stage = (int)(s - x->stage),
                       .op = (int)(meter - worker->op_meter) - s->first_meter,
                   });
}

void stk__trace_work_begin(struct stk__worker *worker)
{
    worker->watch.on_lap = record_lap;
    worker->watch.ctx = worker;
}

static uint64_t number_of(const struct stk__worker *worker, const struct stk__work *w)
{
    if (w->kind == STK__RUN)
        return w->ticket->seq;
    return stk__counted(&worker->meter->meter.calls) - 1;
}

void stk__trace_work(struct stk__worker *worker, const struct stk__work *w)
{
    static const enum stk__activity activities[] = { [STK__RUN] = STK__DOES_RUN,
                                                     [STK__FETCH] = STK__DOES_FETCH,
                                                     [STK__STEP] = STK__DOES_STEP,
                                                     [STK__MOVE] = STK__DOES_MOVE,
                                                     [STK__AHEAD] = STK__DOES_STEP };
    struct stk__exec *x = worker->exec;
    stk__trace_add(x, stk__trace_log_of(x, worker),
                   (struct stk__interval){ .begin_ns = worker->watch.began_at,
                                           .end_ns = worker->watch.ended_at,
                                           .activity = activities[w->kind],
                                           .stage = w->stage ? (int)(w->stage - x->stage) : -1,
                                           .number = number_of(worker, w),
                                           .rows = w->n_made });
}

void stk__trace_read_done(struct stk__exec *x, uint64_t began, uint64_t ended, uint64_t bytes)
{
    struct stk__tracer *tracer = atomic_load_explicit(&x->watch.tracer, memory_order_acquire);
    if (tracer)
        stk__trace_add(x, &tracer->log[x->crew.n_workers + 1],
                       (struct stk__interval){ .begin_ns = began,
                                               .end_ns = ended,
                                               .activity = STK__DOES_READ,
                                               .stage = -1,
                                               .number = bytes });
}

void stk__trace_sample(struct stk__exec *x, uint64_t now)
{
    struct stk__tracer *tracer = atomic_load_explicit(&x->watch.tracer, memory_order_relaxed);
    if (!tracer || now < tracer->sample_due)
        return;
    tracer->sample_due = now + SAMPLE_NS;
    tracer->sample[tracer->n_sampled++ % KEPT_SAMPLES] =
        (struct stk__trace_point){ .at_ns = now - x->watch.decisions.began_at,
                                   .n_busy = x->crew.n_running,
                                   .window = x->batcher.window.now,
                                   .n_open = x->batcher.n_open,
                                   .n_ready = x->deliveries.queue_len,
                                   .n_reads = x->lane ? stk__lane_n_open(x->lane) : 0,
                                   .used_bytes = x->memory.used_bytes };
}

/* ---- copies ---- */

static void name_thread(const struct stk__exec *x, int i, char *out, size_t size)
{
    if (i < x->crew.n_workers)
        snprintf(out, size, "worker %d", i + 1);
    else
        snprintf(out, size, "%s", i == x->crew.n_workers ? "consumer" : "reads");
}

static bool copy_log(struct stk__trace_log *log, struct stk__trace_thread *out)
{
    pthread_mutex_lock(&log->lock);
    out->n = log->n_made < log->cap ? log->n_made : log->cap;
    out->n_dropped = log->n_made - out->n;
    out->interval = calloc(out->n + 1, sizeof *out->interval);
    for (uint64_t i = 0; out->interval && i < out->n; i++)
        out->interval[i] = log->kept[(out->n_dropped + i) % log->cap];
    pthread_mutex_unlock(&log->lock);
    return out->interval != NULL;
}

static bool copy_samples(struct stk__exec *x, const struct stk__tracer *tracer,
                         struct stk__trace *out)
{
    pthread_mutex_lock(&x->lock);
    uint64_t n = tracer->n_sampled < KEPT_SAMPLES ? tracer->n_sampled : KEPT_SAMPLES;
    out->sample = calloc(n + 1, sizeof *out->sample);
    for (uint64_t i = 0; out->sample && i < n; i++)
        out->sample[i] = tracer->sample[(tracer->n_sampled - n + i) % KEPT_SAMPLES];
    out->n_samples = n;
    pthread_mutex_unlock(&x->lock);
    return out->sample != NULL;
}

void stk__trace_free(struct stk__trace *trace)
{
    if (!trace)
        return;
    for (int i = 0; trace->thread && i < trace->n_threads; i++)
        free(trace->thread[i].interval);
    free(trace->thread);
    free(trace->sample);
    free(trace);
}

int stk__trace_copy(struct stk__exec *x, struct stk__trace **out, struct stk_error *err)
{
    struct stk__tracer *tracer = atomic_load_explicit(&x->watch.tracer, memory_order_acquire);
    *out = NULL;
    if (!tracer)
        return STK_OK;
    struct stk__trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return stk__out_of_memory(err);
    trace->thread = calloc((size_t)tracer->n_logs, sizeof *trace->thread);
    bool has_all = trace->thread && copy_samples(x, tracer, trace);
    for (int i = 0; has_all && i < tracer->n_logs; i++) {
        trace->n_threads = i + 1;
        name_thread(x, i, trace->thread[i].name, sizeof trace->thread[i].name);
        has_all = copy_log(&tracer->log[i], &trace->thread[i]);
    }
    if (!has_all) {
        stk__trace_free(trace);
        return stk__out_of_memory(err);
    }
    *out = trace;
    return STK_OK;
}
