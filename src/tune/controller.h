/* SPDX-License-Identifier: Apache-2.0 */
/* controller.h: how many batches in flight and how many workers a run needs.
 *
 * The aim is the consumer's own rate: what it would take if nothing ever kept it waiting. A
 * controller is shown samples, which carry their time, and answers with moves; it looks at no clock
 * and touches nothing, so tests drive it by a simulated run.
 *
 *            the consumer waits                          it does not, for a while
 *   workers  grow at once to what its rate calls for     shrink to what was busy, with some room
 *   window   grows if more workers cannot help, and      shrinks if batches were always left over
 *            workers were idle for want of room; back
 *            again if it did not help
 *
 * It waits before it shrinks, and where shrinking proved wrong it waits four times as long before it
 * tries again. So the number of moves grows with the logarithm of the time, whatever the run does. A
 * run whose batches have become much cheaper is a new one in this respect.
 */
#pragma once
#include "exec/exec.h"

/* A run at one moment. Counters count since it began. */
struct stk__sample {
    uint64_t now_ns;
    uint64_t n_batches;         /* delivered */
    uint64_t wait_ns;           /* the consumer waited, in next */
    uint64_t busy_ns;           /* workers were at work, summed */
    uint64_t others_ns;         /* CPU time of the process outside of workers */
    uint64_t n_full, n_blocked; /* see struct stk__pulse */
    int least_ready;            /* since the sample before */
    int cores;
    struct stk__knob window, workers;
};

/* All zero at the beginning. */
struct stk__controller {
    bool has_last;
    struct stk__sample last;
    uint64_t typical_ns; /* between samples */
    double wait_share;   /* of the consumer's last second */
    /* averages over a second or, at the beginning, less */
    double busy, waiting, rate; /* workers; share of the consumer's time; batches a second */
    double averaged_ns;
    uint64_t full_at;    /* when a whole window was last ready */
    uint64_t drained_at; /* batch from which on a window that has shrunk is what it says */
    /* since the consumer last waited, or something was changed */
    struct stk__calm {
        struct stk__sample begin;
        int least_ready;
    } calm;
    /* a window that has grown, until it is known whether that helps */
    struct stk__knob_trial {
        bool is_on;
        struct stk__sample begin;
        double rate; /* before it grew */
        uint64_t patience_ns, not_before;
    } trial;
    struct stk__caution {
        bool has_shrunk;      /* the last move of this knob */
        uint64_t patience_ns; /* to be calm for, before it shrinks */
        double cost_ns;       /* work in a batch when shrinking proved wrong; 0: it did not */
    } window, workers;
};

/* True if something should be changed, and what. */
bool stk__controller_step(struct stk__controller *c, const struct stk__sample *sample,
                          struct stk__move *move);
