/* SPDX-License-Identifier: Apache-2.0 */
/* metering.c: counting what workers and the consumer do. Each worker has meters of its own. */
#include "base/error.h"
#include "exec/run.h"

#include <stdlib.h>

/* ---- workers ---- */

static int n_work_meters(const struct stk__exec *x)
{
    return 2 * x->n_stages + 1;
}

int stk__meters_init(struct stk__exec *x, struct stk_error *err)
{
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__program *program = x->plan->stage[i].program;
        x->stage[i].first_meter = x->watch.n_op_meters;
        x->watch.n_op_meters += program ? program->n_nodes : 0;
    }
    for (int i = 0; i <= x->crew.n_workers; i++) {
        struct stk__worker *worker = &x->crew.worker[i];
        worker->op_meter = calloc((size_t)x->watch.n_op_meters + 1, sizeof *worker->op_meter);
        worker->work_meter = calloc((size_t)n_work_meters(x), sizeof *worker->work_meter);
        if (!worker->op_meter || !worker->work_meter)
            return stk__out_of_memory(err);
    }
    return STK_OK;
}

void stk__meters_free(struct stk__worker *worker)
{
    free(worker->op_meter);
    free(worker->work_meter);
}

struct stk__work_meter *stk__work_meter_of(const struct stk__worker *worker,
                                           const struct stk__stage *stage, bool is_asking)
{
    const struct stk__exec *x = worker->exec;
    return &worker->work_meter[stage ? 2 * (stage - x->stage) + is_asking : 2 * x->n_stages];
}

/* In fields whose rows differ in size, by a step. */
static uint64_t made_bytes(const struct stk__work *w)
{
    const struct stk__chunk *chunk = w->stage->open_out->chunk;
    uint64_t bytes = 0;
    for (int f = 0; f < chunk->type->n_fields; f++)
        if (chunk->column[f].span)
            bytes += stk__span_bytes(chunk->column[f].span + chunk->n - w->n_made, w->n_made);
    return bytes;
}

void stk__work_begin(struct stk__worker *worker, const struct stk__work *w)
{
    worker->meter = stk__work_meter_of(worker, w->stage, w->kind == STK__FETCH);
    worker->at = w->stage;
    if (atomic_load_explicit(&worker->exec->watch.tracer, memory_order_relaxed)) {
        worker->meter->sampling.n_to_skip = 0;
        stk__trace_work_begin(worker);
    }
    stk__watch_begin(&worker->watch, &worker->meter->sampling);
}

void stk__work_end(struct stk__worker *worker, const struct stk__work *w)
{
    struct stk__work_meter *meter = worker->meter;
    stk__meter_add(&meter->meter.calls, 1);
    stk__meter_add(&meter->meter.rows_in, (uint64_t)w->n_taken);
    stk__meter_add(&meter->meter.rows_out, (uint64_t)w->n_made);
    if (!stk__watch_is_on(&worker->watch))
        return;
    if (w->kind == STK__STEP)
        stk__meter_add(&meter->meter.span_bytes, made_bytes(w) * worker->watch.weight);
    stk__watch_end(&worker->watch, &meter->sampling, &meter->meter);
    if (worker->watch.on_lap)
        stk__trace_work(worker, w);
}

/* ---- the consumer ---- */

void stk__consumer_enters(struct stk__exec *x, uint64_t now)
{
    struct stk__consumer *c = &x->watch.consumer;
    if (c->left_at)
        c->metrics.outside_ns += now - c->left_at;
}

static void trace_next(struct stk__exec *x, uint64_t entered, uint64_t now, bool has_batch)
{
    stk__trace_add(x, stk__trace_log_of(x, &x->crew.worker[x->crew.n_workers]),
                   (struct stk__interval){ .begin_ns = entered,
                                           .end_ns = now,
                                           .activity = STK__DOES_NEXT,
                                           .stage = -1,
                                           .number = x->watch.stats.batches - has_batch });
    stk__trace_sample(x, now);
}

void stk__consumer_leaves(struct stk__exec *x, uint64_t entered, uint64_t now, bool has_batch)
{
    const uint64_t stale_ns = 1000000;
    struct stk__consumer *c = &x->watch.consumer;
    uint64_t inside = now - entered;
    c->metrics.inside_ns += inside;
    c->left_at = now;
    c->polled_ns += inside;
    if (has_batch) {
        stk__latency_add(&c->metrics.inside, c->polled_ns);
        if (c->delivered_at) {
            stk__latency_add(&c->metrics.step, now - c->delivered_at);
            c->metrics.step_ns += now - c->delivered_at;
        }
        c->delivered_at = now;
        c->polled_ns = 0;
    }
    bool was_busy = c->has_worked && !x->watch.pace.is_quick; /* what others saw is no longer so */
    if (x->watch.n_idle && (was_busy || now - x->watch.settled_at > stale_ns))
        stk__waits_look(x, now);
    c->has_worked = false;
    if (atomic_load_explicit(&x->watch.tracer, memory_order_relaxed))
        trace_next(x, entered, now, has_batch);
}
