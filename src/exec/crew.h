/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h: who works at a run: its workers, and the consumer while it waits for a batch.
 *
 * A busy bit under the one lock stands for a stage's try-lock, so whoever leaves a stage looks again under the same
 * lock and no wake-up is lost. Whoever takes work wakes one sleeper if more is left.
 */
#pragma once
#include "base/memory/arena.h"
#include "base/memory/gauge.h"
#include "base/meter.h"
#include "exec/knobs.h"
#include "exec/plan/plan.h"

#include <pthread.h>

struct stk__exec;
struct stk__stage;
struct stk__work;

/* What a worker counts of one kind of work of one stage. */
struct stk__work_meter {
    struct stk__meter meter;
    struct stk__sampling sampling;
};

struct stk__worker {
    struct stk__exec *exec;
    pthread_t thread;
    /* stk__metrics_read looks for these: the system's number, once it has begun, and when it has
     * ended, how long it had work but no core */
    atomic_int thread_id;
    _Atomic uint64_t queued_ns;
    struct stk_arena scratch;
    struct stk__gauge gauge;            /* of scratch, and of what ops keep for the thread */
    struct stk__meter *op_meter;        /* [n_op_meters] */
    struct stk__work_meter *work_meter; /* see stk__work_meter_of */
    struct stk__work_meter *meter;      /* of what it does now */
    struct stk__stopwatch watch;
    struct stk__stage *at; /* whose work it does; NULL: the batcher's */
    struct stk__eval_thread eval[STK__MAX_STAGES];
    bool is_running;
    size_t most_scratch; /* of one ticket */
};

struct stk__crew {
    pthread_cond_t work, delivered;
    struct stk__worker *worker; /* [n_workers + 1]: the last is the consumer's */
    int n_workers, n_started;
    int n_sleeping, n_running;
    struct stk__knob limit;      /* threads that compute at a time */
    struct stk__worker *chooser; /* who is looking for work */
    bool has_changed;            /* meanwhile: looking again may find more */
    bool is_consumer_waiting;
    bool is_consumer_choosing, has_declined; /* a step that may block is left to the workers */
    int n_turning;     /* stages in which a pass drains while the next one fills; */
    bool is_impatient; /* they keep step no longer: a consumer has waited until then */
    uint64_t patient_until;
};

/* All but a worker's main is called with the lock held. */

/* Work for somebody, if there is some. Looking may retire an empty ticket or open one that waited; then those already
 * asked are asked again. */
bool stk__work_pick(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w);

/* Whether one more may compute. */
bool stk__may_work(const struct stk__exec *x);
void stk__wake_worker(struct stk__exec *x);

/* Runs one item, others meanwhile more if `is_shared`; left with the lock held, not held in between. */
void stk__work_perform(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w,
                       bool is_shared);

/* Does one piece of work, if there is one, as the consumer. */
bool stk__exec_work(struct stk__exec *x);

/* A thread that works until the run is stopped; `worker` is a stk__worker. Takes the lock itself. */
void *stk__worker_main(void *worker);
