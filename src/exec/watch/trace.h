/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: what each thread did when, and how full things were: recorded from the moment somebody
 * asks for it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stoker/stoker.h>

struct stk__exec;

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

/* Begins to record, keeping the last `cap` intervals of each thread. Takes the lock. */
int stk__trace_start(struct stk__exec *x, int64_t cap, struct stk_error *err);

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
