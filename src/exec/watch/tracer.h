/* SPDX-License-Identifier: Apache-2.0 */
/* tracer.h: recording for trace.h.
 *
 * A thread writes to a log of its own, the last so many intervals of it. Its lock is held by others
 * only while they copy the log. Reads, which overlap, have one log in common. While nobody records,
 * it costs a branch per piece of work.
 */
#pragma once
#include "exec/watch/trace.h"

#include <pthread.h>

struct stk__worker;
struct stk__work;

/* Of one thread; guarded by its lock. */
struct stk__trace_log {
    pthread_mutex_t lock;
    struct stk__interval *kept; /* [cap], interval i at i % cap */
    uint64_t cap, n_made;
};

struct stk__tracer {
    struct stk__trace_log *log; /* [n_logs]: workers, the consumer, reads */
    int n_logs;
    struct stk__trace_point *sample; /* guarded by the lock of the run */
    uint64_t n_sampled, sample_due;
};

void stk__tracer_free(struct stk__tracer *tracer);

/* Where a thread writes; NULL while nothing is recorded. */
struct stk__trace_log *stk__trace_log_of(struct stk__exec *x, const struct stk__worker *worker);

/* A piece of work begins: its laps are recorded. It has ended, outside the lock. */
void stk__trace_work_begin(struct stk__worker *worker);
void stk__trace_work(struct stk__worker *worker, const struct stk__work *w);

/* Anything else; times as the clock says. */
void stk__trace_add(struct stk__exec *x, struct stk__trace_log *log, struct stk__interval interval);
void stk__trace_read_done(struct stk__exec *x, uint64_t began, uint64_t ended, uint64_t bytes);

/* Takes a sample if one is due, about every 10 ms; with the lock held. */
void stk__trace_sample(struct stk__exec *x, uint64_t now);
