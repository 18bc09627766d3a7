/* SPDX-License-Identifier: Apache-2.0 */
/* knobs.c: limits that move while a run is on, and what the consumer meets with. */
#define _GNU_SOURCE
#include "exec/knobs.h"

#include "exec/run.h"

#include <limits.h>
#include <string.h>
#include <time.h>

enum { TICK_NS = 20000000 };

void stk__knobs_begin(struct stk__exec *x)
{
    const struct stk__plan *plan = x->plan;
    bool has_fixed_window = plan->is_window_given || plan->window < 2;
    bool has_fixed_workers = plan->is_workers_given || x->crew.n_workers < 1;
    x->batcher.window = (struct stk__knob){ .now = plan->window,
                                            .least = has_fixed_window ? plan->window : 2,
                                            .most = plan->max_window };
    x->crew.limit = (struct stk__knob){ .now = x->crew.n_workers,
                                        .least = has_fixed_workers ? x->crew.n_workers : 1,
                                        .most = x->crew.n_workers };
    x->watch.pulse.least_ready = INT_MAX;
}

static int within(const struct stk__knob *knob, int value)
{
    return value < knob->least ? knob->least : value > knob->most ? knob->most : value;
}

void stk__set_window(struct stk__exec *x, int batches)
{
    x->batcher.window.now = within(&x->batcher.window, batches);
    stk__depot_keep(x->depot, x->batcher.window.now + 1);
    stk__wake_worker(x);
}

void stk__set_workers(struct stk__exec *x, int workers)
{
    x->crew.limit.now = within(&x->crew.limit, workers);
    stk__wake_worker(x);
}

void stk__exec_set_hook(struct stk__exec *x, stk__tick_fn tick, void *ctx)
{
    pthread_mutex_lock(&x->lock);
    x->watch.hook = (struct stk__hook){ .tick = tick, .ctx = ctx };
    pthread_mutex_unlock(&x->lock);
}

void stk__hook_call(struct stk__exec *x, uint64_t now)
{
    if (!x->watch.hook.tick || now < x->watch.hook.due_at)
        return;
    x->watch.hook.due_at = now + TICK_NS;
    x->watch.hook.tick(x->watch.hook.ctx, x, now);
    x->watch.pulse.least_ready = INT_MAX;
}

void stk__pulse_ask(struct stk__exec *x, uint64_t now)
{
    struct stk__pulse *p = &x->watch.pulse;
    if (!x->deliveries.queue_len)
        p->wait_began = now;
    if (p->is_asking)
        return;
    p->n_asked++;
    p->n_ready += (uint64_t)x->deliveries.queue_len;
    p->least_ready =
        x->deliveries.queue_len < p->least_ready ? x->deliveries.queue_len : p->least_ready;
}

void stk__pulse_wait(struct stk__exec *x)
{
    x->watch.pulse.n_blocked +=
        x->batcher.n_open >= x->batcher.window.now && x->crew.n_running < x->crew.limit.now;
}

void stk__pulse_leave(struct stk__exec *x, uint64_t now, bool has_batch)
{
    struct stk__pulse *p = &x->watch.pulse;
    if (p->wait_began)
        p->wait_ns += now - p->wait_began;
    p->wait_began = 0;
    p->is_asking = !has_batch;
    stk__hook_call(x, now);
}

/* ---- for whoever turns them ---- */

bool stk__exec_is_quick(const struct stk__exec *x)
{
    return x->watch.pace.is_quick;
}

void stk__exec_view(struct stk__exec *x, uint64_t now, struct stk__knob_view *out)
{
    stk__waits_settle(x, now);
    uint64_t alive_ns = (now - x->watch.decisions.began_at) * (uint64_t)x->crew.n_started;
    *out = (struct stk__knob_view){ .n_batches = x->watch.stats.batches,
                                    .busy_ns = alive_ns - x->watch.idle_ns,
                                    .pulse = x->watch.pulse,
                                    .window = x->batcher.window,
                                    .workers = x->crew.limit };
}

uint64_t stk__exec_cpu_ns(const struct stk__exec *x)
{
    uint64_t ns = 0;
    for (int i = 0; i < x->crew.n_started; i++) {
        clockid_t clock;
        struct timespec t;
        if (!pthread_getcpuclockid(x->crew.worker[i].thread, &clock) && !clock_gettime(clock, &t))
            ns += (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
    return ns;
}

void stk__exec_turn(struct stk__exec *x, const struct stk__move *move)
{
    if (!strcmp(move->knob, "window"))
        stk__set_window(x, move->to);
    else
        stk__set_workers(x, move->to);
    stk__decision_note(x, move->knob, move->from, move->to, "%s", move->reason);
}

static bool is_free(const struct stk__knob *knob)
{
    return knob->least < knob->most;
}

bool stk__exec_has_knobs(const struct stk__exec *x)
{
    return is_free(&x->batcher.window) || is_free(&x->crew.limit);
}
