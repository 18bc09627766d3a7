/* SPDX-License-Identifier: Apache-2.0 */
/* stretch.h: what a run did between two looks at its metrics, as times and shares: what a verdict is
 * passed on. Plain numbers, so that tests make their own. */
#pragma once
#include "exec/exec.h"

enum { STK__STRETCH_OPS = 128 };

/* An op, with those it carries out too. */
struct stk__stretch_op {
    const struct stk__node *node; /* NULL in tests, and for the batcher */
    char name[96];                /* "resize(224, 224) and scale(0.0039)" */
    int stage;
    double calls, rows, bytes, wall_s, cpu_s;
};

struct stk__stretch_stage {
    char name[32];    /* of its last op */
    const char *lock; /* the library or interpreter lock that its work needs, or NULL */
    bool is_serial;   /* one worker at a time */
    bool is_source;   /* a stream: nothing comes before it */
    double work_s;    /* of all workers */
    double wait_s[STK__N_WAITS];
};

struct stk__stretch {
    double seconds;
    double elements, batches;
    int cores, workers; /* that this process may use; that the run had */
    bool has_consumer;  /* somebody did something between batches */
    /* shares of the consumer's time: nothing was ready; asleep for it; outside of next */
    double waited, blocked, outside;
    double step_s;                    /* it was outside of next for, per batch */
    double ready;                     /* batches that were ready when it asked, on average */
    double work_s;                    /* of all workers, in everything */
    double cores_used;                /* by workers */
    double queued_s;                  /* workers had work but no core; 0: not known */
    double process_cores_used;        /* by all threads of the process; 0: not known */
    double batch_p50_s, batch_p99_s;  /* from one delivery to the next */
    double reads, read_bytes, read_s; /* number, bytes, time of all of them */
    double budget_bytes, used_bytes, peak_bytes;
    double cache_hits, cache_misses, cache_rows, cache_bytes, cache_disk_bytes;
    bool is_cache_full;
    struct stk__stretch_op op[STK__STRETCH_OPS];
    int n_ops;
    struct stk__stretch_stage stage[STK__MAX_STAGES + 1];
    int n_stages;
};

/* From the first look to the last; NULL for the first: since the run began. A consumer that is back
 * within 20 µs does nothing with its batches. */
void stk__stretch_between(const struct stk__metrics *first, const struct stk__metrics *last,
                          const struct stk__plan *plan, struct stk__stretch *out);

/* Elements per second. */
double stk__stretch_rate(const struct stk__stretch *s);

/* A number of elements that a trial can go through in about a second; 64 to `most`. */
long long stk__stretch_sample(const struct stk__stretch *s, int most);

/* The op that took most of the processors, or -1 when nothing did. */
int stk__stretch_costliest(const struct stk__stretch *s);
