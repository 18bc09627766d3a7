/* SPDX-License-Identifier: Apache-2.0 */
/* knobs.h: what of a run may change while it is on, and what it shows to whoever turns them.
 *
 * Neither knob changes what is delivered. The array of open batches is made for the largest window,
 * so a window is only a limit that moves: one that shrinks lets the batches above it drain, one that
 * grows wakes somebody. Of the worker threads, all of which are there, as many compute at a time as the
 * limit says. Everything here is guarded by the lock of the run.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stoker/stoker.h>

struct stk__exec;

struct stk__knob {
    int now, least, most; /* least and most are equal where the user gave a number */
};

/* What the consumer met with since the run began. */
struct stk__pulse {
    uint64_t n_asked;    /* batches that were asked for */
    uint64_t n_ready;    /* batches that were ready when it asked, summed */
    uint64_t wait_ns;    /* it asked and nothing was ready */
    uint64_t wait_began; /* the wait that is on; 0: none is */
    int least_ready;     /* the fewest when it asked, since the last tick; INT_MAX: it did not */
    uint64_t n_full;     /* times that work was left because a whole window was ready */
    uint64_t n_blocked;  /* times that it waited, others idle, because a whole window was not */
    bool is_asking;      /* it gave up a wait and comes back for the same batch */
};

/* Called with the lock held when the consumer leaves next, and by workers while it waits there;
 * not more often than every 20 ms. */
typedef void (*stk__tick_fn)(void *ctx, struct stk__exec *x, uint64_t now);

struct stk__hook {
    stk__tick_fn tick; /* NULL: nobody listens */
    void *ctx;
    uint64_t due_at;
};

void stk__knobs_begin(struct stk__exec *x);

/* A run at one moment, for whoever turns its knobs. */
struct stk__knob_view {
    uint64_t n_batches; /* delivered */
    uint64_t busy_ns;   /* workers were not asleep for want of work, summed */
    struct stk__pulse pulse;
    struct stk__knob window, workers;
};

/* All with the lock held, as a tick is. Quick: the consumer makes its batches itself, and knobs matter little. */
bool stk__exec_is_quick(const struct stk__exec *x);
void stk__exec_view(struct stk__exec *x, uint64_t now, struct stk__knob_view *out);

/* Processor time of its workers; a system call for each. */
uint64_t stk__exec_cpu_ns(const struct stk__exec *x);

struct stk__move {
    const char *knob; /* "window" or "workers" */
    int from, to;
    char reason[STK_REASON_BYTES];
};

/* Turns a knob, and writes that down. */
void stk__exec_turn(struct stk__exec *x, const struct stk__move *move);

/* True if a knob is left to whoever turns it. Takes no lock: before the first next. */
bool stk__exec_has_knobs(const struct stk__exec *x);

/* Brought into the knob's bounds. */
void stk__set_window(struct stk__exec *x, int batches);
void stk__set_workers(struct stk__exec *x, int workers);

/* Before the first next. */
void stk__exec_set_hook(struct stk__exec *x, stk__tick_fn tick, void *ctx);
void stk__hook_call(struct stk__exec *x, uint64_t now);

/* The consumer asks, waits because nobody finds work, and leaves. */
void stk__pulse_ask(struct stk__exec *x, uint64_t now);
void stk__pulse_wait(struct stk__exec *x);
void stk__pulse_leave(struct stk__exec *x, uint64_t now, bool has_batch);
