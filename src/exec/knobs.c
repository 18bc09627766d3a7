/* SPDX-License-Identifier: Apache-2.0 */
/* knobs.c: limits that move while a run is on, and what the consumer meets with. */
#include "exec/knobs.h"

#include "exec/exec.h"

#include <limits.h>

enum { TICK_NS = 20000000 };

void stk__knobs_begin(struct stk__exec *x)
{
    const struct stk__plan *plan = x->plan;
    bool has_fixed_window = plan->is_window_given || plan->window < 2;
    bool has_fixed_workers = plan->is_workers_given || x->n_workers < 1;
    x->window = (struct stk__knob){ .now = plan->window,
                                    .least = has_fixed_window ? plan->window : 2,
                                    .most = plan->max_window };
    x->workers = (struct stk__knob){ .now = x->n_workers,
                                     .least = has_fixed_workers ? x->n_workers : 1,
                                     .most = x->n_workers };
    x->pulse.least_ready = INT_MAX;
}

static int within(const struct stk__knob *knob, int value)
{
    return value < knob->least ? knob->least : value > knob->most ? knob->most : value;
}

void stk__set_window(struct stk__exec *x, int batches)
{
    x->window.now = within(&x->window, batches);
    stk__depot_keep(x->depot, x->window.now + 1);
    stk__wake_worker(x);
}

void stk__set_workers(struct stk__exec *x, int workers)
{
    x->workers.now = within(&x->workers, workers);
    stk__wake_worker(x);
}

void stk__exec_set_hook(struct stk__exec *x, stk__tick_fn tick, void *ctx)
{
    pthread_mutex_lock(&x->lock);
    x->hook = (struct stk__hook){ .tick = tick, .ctx = ctx };
    pthread_mutex_unlock(&x->lock);
}

void stk__hook_call(struct stk__exec *x, uint64_t now)
{
    if (!x->hook.tick || now < x->hook.due_at)
        return;
    x->hook.due_at = now + TICK_NS;
    x->hook.tick(x->hook.ctx, x, now);
    x->pulse.least_ready = INT_MAX;
}

void stk__pulse_ask(struct stk__exec *x, uint64_t now)
{
    struct stk__pulse *p = &x->pulse;
    if (!x->queue_len)
        p->wait_began = now;
    if (p->is_asking)
        return;
    p->n_asked++;
    p->n_ready += (uint64_t)x->queue_len;
    p->least_ready = x->queue_len < p->least_ready ? x->queue_len : p->least_ready;
}

void stk__pulse_wait(struct stk__exec *x)
{
    x->pulse.n_blocked += x->n_open >= x->window.now && x->n_running < x->workers.now;
}

void stk__pulse_leave(struct stk__exec *x, uint64_t now, bool has_batch)
{
    struct stk__pulse *p = &x->pulse;
    if (p->wait_began)
        p->wait_ns += now - p->wait_began;
    p->wait_began = 0;
    p->is_asking = !has_batch;
    stk__hook_call(x, now);
}
