/* SPDX-License-Identifier: Apache-2.0 */
/* run_metrics.h: everything a run counts, at one moment, as plain numbers: for the tuner, the profiler
 * and whoever prints them. Two snapshots subtracted are what happened in between.
 *
 *     struct stk__metrics *m = stk__metrics_new(x);
 *     stk__metrics_read(x, m);        takes the lock; may be called again and again
 *     … m->stage[i].waiting.wait_ns[STK__WAIT_READS] …
 *     stk__metrics_free(m);
 *
 * Times are nanoseconds. Counts are exact; the time of short work is sampled (base/meter.h).
 */
#pragma once
#include "base/latency.h"
#include "exec/watch/causes.h"
#include "io/read/lane.h"

struct stk__exec;
struct stk__node;

/* Why a stage does not go on though somebody has time for it. */
#define STK__WAIT_LIST(X)                                                                          \
    X(NOTHING, "nothing") /* it is at work, has work, or is done */                                \
    X(INPUT, "input")                                                                              \
    X(SPACE, "space")   /* its ring, or the window, is full: what comes after it is slower */      \
    X(MEMORY, "memory") /* the budget has no more */                                               \
    X(READS, "reads")                                                                              \
    X(LOCK, "lock") /* somebody else is inside the library that it needs */

enum stk__wait {
#define STK__WAIT_ENUM(name, text) STK__WAIT_##name,
    STK__WAIT_LIST(STK__WAIT_ENUM)
#undef STK__WAIT_ENUM
        STK__N_WAITS
};

const char *stk__wait_name(enum stk__wait wait);

struct stk__work_metrics {
    uint64_t calls, rows_in, rows_out, wall_ns, cpu_ns;
};

/* An op where it is carried out: in a segment, or as a stage of its own. */
struct stk__op_metrics {
    const struct stk__node *node; /* ops it absorbed are carried out with it: node->absorbed */
    int stage;                    /* in stage[], or n_stages: the batcher */
    struct stk__work_metrics work;
    uint64_t bytes_out; /* of the fields it made */
    uint64_t warnings;  /* rows it made although something is wrong with their data */
};

struct stk__stage_metrics {
    const char *op;   /* its last one; NULL: the batcher, which comes last */
    const char *kind; /* "segment", "serial stage", … */
    const char *lock; /* the library or interpreter lock that its work needs, or NULL */
    bool is_serial;   /* one worker at a time */
    bool is_stream;   /* reads files from front to back */
    struct stk__work_metrics work;      /* tickets or steps; its ops are a part of it */
    struct stk__work_metrics ask;       /* finding out what is to be read, and asking for it */
    uint64_t wait_ns[STK__N_WAITS];     /* while a worker was idle */
    int n_ready, n_running, n_fetching; /* tickets, now */
};

/* What is charged to the budget, and what is not but is there. */
enum stk__owner {
    STK__OWNER_CHUNKS,
    STK__OWNER_READS,
    STK__OWNER_STATE,
    STK__OWNER_BATCHES,
    STK__OWNER_SCRATCH,
    STK__OWNER_CACHE,
    STK__OWNER_UNPACKED, /* from here on: there, but not booked */
    STK__OWNER_POOL
};

const char *stk__owner_name(enum stk__owner owner);

struct stk__account_metrics {
    enum stk__owner owner;
    int stage; /* -1: of the run */
    uint64_t held_bytes;
    bool is_charged;
};

/* Of all caches of the run; what they keep is also there for others. */
struct stk__cache_metrics {
    int n;                                  /* caches */
    uint64_t hits, misses;                  /* elements that they had, or had not */
    uint64_t rows, bytes, disk_bytes, lost; /* kept: in memory, on disk; records gone from there */
    uint64_t limit_bytes;                   /* what they may take of the budget */
    bool is_full;      /* there was no room for the last one that wanted some */
    char trouble[160]; /* why no more is written to disk, or empty */
};

struct stk__consumer_metrics {
    uint64_t inside_ns, outside_ns;   /* in next, and between calls: its step */
    uint64_t n_asked;                 /* batches that were asked for */
    uint64_t waited_ns;               /* it asked and nothing was ready: it worked itself, or… */
    uint64_t n_blocked, blocked_ns;   /* …slept, because there was nothing to do either */
    uint64_t n_ready;                 /* batches that were ready when it asked, summed */
    uint64_t step_ns;                 /* from the first delivery to the last */
    struct stk__latency inside, step; /* time in next; and from one delivery to the next */
};

struct stk__metrics {
    uint64_t elapsed_ns; /* since the run began */
    uint64_t process_ns; /* processor time of the whole process, since then, of all threads */
    uint64_t queued_ns;  /* workers had work, but no core; 0 where the system does not tell */
    uint64_t elements, batches, epochs, errors, warnings, tickets, direct_tickets;
    int n_workers;
    int workers_limit;            /* that may compute at a time */
    int window, n_open, n_queued; /* batches: allowed in flight, in flight, ready */
    uint64_t idle_ns;             /* of all workers: asleep, for want of work */
    /* limit: what a run that shares the process's budget may use of it now; used: booked for what
     * is under way; there: counted where it is allocated */
    uint64_t budget_bytes, limit_bytes, used_bytes, peak_bytes, there_bytes;
    int64_t spare_bytes;
    struct stk__consumer_metrics consumer;
    struct stk__read_metrics reads;
    struct stk__cache_metrics cache;
    struct stk__op_metrics *op; /* [n_ops], sources first */
    int n_ops;
    struct stk__stage_metrics *stage; /* [n_stages + 1] */
    int n_stages;
    struct stk__account_metrics *account; /* [n_accounts] */
    int n_accounts;
    struct stk__cause cause[STK__MAX_CAUSES];
    int n_causes;
};

/* Processor time of the process. */
uint64_t stk__process_ns(void);

/* Room for the metrics of a run. Returns new, NULL when out of memory. It refers to the plan, which
 * the run keeps. */
struct stk__metrics *stk__metrics_new(const struct stk__exec *x);
void stk__metrics_free(struct stk__metrics *metrics);

/* What the caches of a run keep, and how it fared with them. With the lock held. */
struct stk__cache_metrics stk__cache_metrics_read(struct stk__exec *x);

/* Rows that ops made although something is wrong with their data. Any thread. */
uint64_t stk__warnings_read(const struct stk__exec *x);

/* Fills in what is so now. Takes the lock. */
void stk__metrics_read(struct stk__exec *x, struct stk__metrics *metrics);
