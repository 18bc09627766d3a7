/* SPDX-License-Identifier: Apache-2.0 */
/* run.h: a run of a plan from the inside: what belongs to it, part by part. Whoever only wants to have one run
 * includes exec.h.
 *
 *      stage/    stages, each with the ring it writes to          stage.h, stage_type.h
 *      crew.h    who works
 *      memory/   what is booked of the budget                     run_memory.h
 *      batch/    where rows land, become batches, are delivered   batcher.h
 *      watch/    what is counted                                  watching.h
 *
 * One mutex; work is chosen and booked under it and computed outside it.
 */
#pragma once
#include "exec/batch/batcher.h"
#include "exec/batch/depot.h"
#include "exec/crew.h"
#include "exec/exec.h"
#include "exec/stage/stage.h"
#include "exec/watch/watching.h"

struct stk__exec {
    struct stk__plan *plan;
    struct stk__pool *pool;
    struct stk__depot *depot;
    struct stk__lane *lane;       /* NULL: the run reads nothing by request */
    pid_t pid;                    /* of the process whose threads have the lock */
    atomic_bool is_cancelled;     /* written without the lock; ops that take long look at it, */
    const atomic_bool *cancelled; /* or at that of the run that this one is a cursor of */
    pthread_mutex_t lock;         /* guards all that follows; taken before a lane's */
    bool is_stopped;
    struct stk_error error; /* how the run ended */
    struct stk__stage stage[STK__MAX_STAGES];
    int n_stages;
    struct stk__crew crew;
    struct stk__run_memory memory;
    struct stk__landing landing;
    struct stk__batcher batcher;
    struct stk__deliveries deliveries;
    struct stk__watching watch;
};

/* Nobody waits for more. A cancelled run shows it before whoever cancelled it gets the lock. */
static inline bool stk__is_over(const struct stk__exec *x)
{
    return x->is_stopped || atomic_load_explicit(x->cancelled, memory_order_relaxed);
}

static inline struct stk__stage *stk__last_stage(struct stk__exec *x)
{
    return &x->stage[x->plan->last];
}

/* Where batch number `no` is while it is open. */
static inline struct stk_batch **stk__batch_slot(const struct stk__exec *x, uint64_t no)
{
    return &x->batcher.batch[no % (uint64_t)x->plan->max_window];
}

/* A batch came back to the depot: there may be room for more. `exec` is a stk__exec; takes the lock itself. */
void stk__on_batch_back(void *exec);

/* Gives back what is ready and was not handed out. */
void stk__drop_queue(struct stk__exec *x);
