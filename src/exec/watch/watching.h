/* SPDX-License-Identifier: Apache-2.0 */
/* watching.h: what a run counts of itself. */
#pragma once
#include "exec/knobs.h"
#include "exec/watch/causes.h"
#include "exec/watch/decisions.h"
#include "exec/watch/run_metrics.h"
#include "exec/watch/tracer.h"

struct stk__stage;
struct stk__work;
struct stk__worker;
struct stk__work_meter;

/* Averages of the time between and in calls of next. */
struct stk__pace {
    uint64_t left_at, outside_ns, inside_ns;
    bool is_quick; /* a batch costs the consumer less than waking somebody else */
};

struct stk__consumer {
    uint64_t left_at;   /* when next last returned; 0: not yet called */
    uint64_t polled_ns; /* in calls that gave up, since the last delivery */
    uint64_t delivered_at;
    bool has_worked;    /* itself, since next was called */
    uint64_t packed_ns; /* it brought batches together that were ready otherwise */
    struct stk__consumer_metrics metrics;
};

struct stk__watching {
    struct stk_stats stats;
    atomic_uint_fast64_t n_hits, n_misses; /* of caches; without the lock */
    struct stk__decisions decisions;
    struct stk__pace pace;
    struct stk__pulse pulse;
    struct stk__hook hook;
    struct stk__consumer consumer;
    /* waits are settled whenever somebody finds nothing to do, or goes on */
    int n_idle;             /* workers asleep, and the consumer */
    uint64_t settled_at;    /* when times of waiting were last added up */
    uint64_t process_began; /* processor time of the process by then */
    uint64_t idle_ns;       /* of workers */
    int n_op_meters;
    struct stk__causes causes; /* has a lock of its own */
    /* NULL: nobody records; written once, with the lock held, pairs with those who record */
    struct stk__tracer *_Atomic tracer;
};

/* ---- counting (metering.c) ---- */

int stk__meters_init(struct stk__exec *x, struct stk_error *err);
void stk__meters_free(struct stk__worker *worker);

/* Of a stage's tickets or steps; of asking for its reads; of the batcher (NULL). */
struct stk__work_meter *stk__work_meter_of(const struct stk__worker *worker,
                                           const struct stk__stage *stage, bool is_asking);

/* Around a piece of work, outside the lock, by the worker that does it. */
void stk__work_begin(struct stk__worker *worker, const struct stk__work *w);
void stk__work_end(struct stk__worker *worker, const struct stk__work *w);

/* The consumer comes to next, leaves with a batch, or gives up; with the lock held. */
void stk__consumer_enters(struct stk__exec *x, uint64_t now);
void stk__consumer_leaves(struct stk__exec *x, uint64_t entered, uint64_t now, bool has_batch);

/* ---- waiting (waits.c); all under the lock ---- */

/* A worker, the consumer's too, finds nothing to do; returns the time. It goes on; returns how long
 * that was. */
uint64_t stk__idle_begin(struct stk__exec *x);
uint64_t stk__idle_end(struct stk__exec *x, const struct stk__worker *worker, uint64_t began);

/* Adds up the time that stages have waited; and looks again what they wait for. */
void stk__waits_settle(struct stk__exec *x, uint64_t now);
void stk__waits_look(struct stk__exec *x, uint64_t now);
