/* SPDX-License-Identifier: Apache-2.0 */
/* tuner.c: from the counters of a run to samples, from moves to its knobs. */
#define _GNU_SOURCE
#include "tune/tuner.h"

#include "exec/run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct stk__tuner {
    struct stk__controller controller;
    uint64_t cpu_at, others_cpu_ns; /* when CPU clocks were last read, and what */
};

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) ? 0 : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Every clock is a system call; there may be many threads. */
static void read_cpu_clocks(struct stk__tuner *tuner, const struct stk__exec *x, uint64_t now)
{
    const uint64_t interval_ns = 100000000;
    if (tuner->cpu_at && now - tuner->cpu_at < interval_ns)
        return;
    uint64_t workers = 0, all = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < x->crew.n_started; i++) {
        clockid_t clock;
        if (!pthread_getcpuclockid(x->crew.worker[i].thread, &clock))
            workers += cpu_ns(clock);
    }
    tuner->cpu_at = now;
    tuner->others_cpu_ns = all > workers ? all - workers : 0;
}

/* Time that workers were not asleep for want of work. */
static uint64_t busy_ns(struct stk__exec *x, uint64_t now)
{
    stk__waits_settle(x, now);
    return (now - x->watch.decisions.began_at) * (uint64_t)x->crew.n_started - x->watch.idle_ns;
}

static struct stk__sample sample(const struct stk__tuner *tuner, struct stk__exec *x, uint64_t now)
{
    const struct stk__pulse *p = &x->watch.pulse;
    return (struct stk__sample){
        .now_ns = now,
        .n_batches = x->watch.stats.batches,
        .wait_ns = p->wait_ns + (p->wait_began ? now - p->wait_began : 0),
        .busy_ns = busy_ns(x, now),
        .others_ns = tuner->others_cpu_ns,
        .n_full = p->n_full,
        .n_blocked = p->n_blocked,
        .least_ready = p->least_ready,
        .cores = x->crew.limit.most, /* as many as there are, unless they are given */
        .window = x->batcher.window,
        .workers = x->crew.limit,
    };
}

static void tick(void *ctx, struct stk__exec *x, uint64_t now)
{
    struct stk__tuner *tuner = ctx;
    struct stk__move move;
    if (x->watch.pace.is_quick) { /* the consumer makes its batches itself */
        tuner->controller.has_last = false;
        return;
    }
    read_cpu_clocks(tuner, x, now);
    const struct stk__sample s = sample(tuner, x, now);
    if (!stk__controller_step(&tuner->controller, &s, &move))
        return;
    if (!strcmp(move.knob, "window"))
        stk__set_window(x, move.to);
    else
        stk__set_workers(x, move.to);
    stk__decision_note(x, move.knob, move.from, move.to, "%s", move.reason);
}

static bool is_free(const struct stk__knob *knob)
{
    return knob->least < knob->most;
}

struct stk__tuner *stk__tuner_new(struct stk__exec *x)
{
    struct stk__tuner *tuner = calloc(1, sizeof *tuner);
    if (!tuner)
        return NULL;
    if (is_free(&x->batcher.window) || is_free(&x->crew.limit))
        stk__exec_set_hook(x, tick, tuner);
    return tuner;
}

void stk__tuner_free(struct stk__tuner *tuner)
{
    free(tuner);
}
