/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: what each thread did when, and how full things were: recorded from the moment somebody
 * asks for it.
 *
 * A thread writes to a log of its own, the last so many intervals of it. Its lock is held by others
 * only while they copy the log. Reads, which overlap, have one log in common. While nobody records,
 * it costs a branch per piece of work.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stoker/stoker.h>

struct stk__exec;
struct stk__worker;
struct stk__work;

#define STK__ACTIVITY_LIST(X)                                                                      \
    X(RUN, "run")     /* a ticket of a segment */                                                  \
    X(FETCH, "fetch") /* asking for reads of one */                                                \
    X(STEP, "step")   /* of a serial stage */                                                      \
    X(MOVE, "move")   /* rows into a batch */                                                      \
    X(OP, "op")       /* inside a run */                                                           \
    X(READ, "read")                                                                                \
    X(WAIT, "wait") /* asleep */                                                                   \
    X(NEXT, "next")

enum stk__activity {
#define STK__ACTIVITY_ENUM(name, text) STK__DOES_##name,
    STK__ACTIVITY_LIST(STK__ACTIVITY_ENUM)
#undef STK__ACTIVITY_ENUM
};

const char *stk__activity_name(enum stk__activity activity);

struct stk__interval {
    uint64_t begin_ns, end_ns; /* since the run began */
    enum stk__activity activity;
    int stage;       /* -1: none */
    int op;          /* of an OP: number in the program of the stage */
    uint64_t number; /* of the ticket in its stage, of the step, of the batch; of a READ: bytes */
    int rows;
};

struct stk__trace_point {
    uint64_t at_ns;
    int n_busy;                  /* workers, and the consumer while it works */
    int window, n_open, n_ready; /* batches: allowed in flight, in flight, ready */
    int n_reads;
    uint64_t used_bytes;
};

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

/* Begins to record, keeping the last `cap` intervals of each thread. Takes the lock. */
int stk__trace_start(struct stk__exec *x, int64_t cap, struct stk_error *err);
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

/* ---- what was recorded ---- */

struct stk__trace {
    struct stk__trace_thread {
        char name[32];                  /* "worker 1", "consumer", "reads" */
        struct stk__interval *interval; /* [n], in the order of their ends */
        uint64_t n, n_dropped;          /* dropped: older ones that were not kept */
    } * thread;
    int n_threads;
    struct stk__trace_point *sample;
    uint64_t n_samples;
};

/* Copies it; *out is NULL where nothing is recorded. Returns new. */
int stk__trace_copy(struct stk__exec *x, struct stk__trace **out, struct stk_error *err);
void stk__trace_free(struct stk__trace *trace);
