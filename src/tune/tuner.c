/* SPDX-License-Identifier: Apache-2.0 */
/* tuner.c: from the counters of a run to samples, from moves to its knobs. */
#include "tune/tuner.h"

#include "exec/exec.h"

#include <stdlib.h>

struct stk__tuner {
    struct stk__controller controller;
    uint64_t cpu_at, others_cpu_ns; /* when CPU clocks were last read, and what */
};

/* Every clock is a system call; there may be many threads. */
static void read_cpu_clocks(struct stk__tuner *tuner, const struct stk__exec *x, uint64_t now)
{
    const uint64_t interval_ns = 100000000;
    if (tuner->cpu_at && now - tuner->cpu_at < interval_ns)
        return;
    uint64_t workers = stk__exec_cpu_ns(x), all = stk__process_ns();
    tuner->cpu_at = now;
    tuner->others_cpu_ns = all > workers ? all - workers : 0;
}

static struct stk__sample sample(const struct stk__tuner *tuner, struct stk__exec *x, uint64_t now)
{
    struct stk__knob_view view;
    stk__exec_view(x, now, &view);
    const struct stk__pulse *p = &view.pulse;
    return (struct stk__sample){
        .now_ns = now,
        .n_batches = view.n_batches,
        .wait_ns = p->wait_ns + (p->wait_began ? now - p->wait_began : 0),
        .busy_ns = view.busy_ns,
        .others_ns = tuner->others_cpu_ns,
        .n_full = p->n_full,
        .n_blocked = p->n_blocked,
        .least_ready = p->least_ready,
        .cores = view.workers.most, /* as many as there are, unless they are given */
        .window = view.window,
        .workers = view.workers,
    };
}

static void tick(void *ctx, struct stk__exec *x, uint64_t now)
{
    struct stk__tuner *tuner = ctx;
    struct stk__move move;
    if (stk__exec_is_quick(x)) {
        tuner->controller.has_last = false;
        return;
    }
    read_cpu_clocks(tuner, x, now);
    const struct stk__sample s = sample(tuner, x, now);
    if (stk__controller_step(&tuner->controller, &s, &move))
        stk__exec_turn(x, &move);
}

struct stk__tuner *stk__tuner_new(struct stk__exec *x)
{
    struct stk__tuner *tuner = calloc(1, sizeof *tuner);
    if (tuner && stk__exec_has_knobs(x))
        stk__exec_set_hook(x, tick, tuner);
    return tuner;
}

void stk__tuner_free(struct stk__tuner *tuner)
{
    free(tuner);
}
