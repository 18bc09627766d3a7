/* SPDX-License-Identifier: Apache-2.0 */
/* exec.c: choosing work and doing it. Rules in exec.h.
 *
 * At most `workers` threads compute at a time (knobs.h). The consumer is one of them while it waits in
 * next (consumer.c), so a plan that is cheaper than waking somebody needs nobody else.
 */
#define _GNU_SOURCE
#include "exec/run.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/cores.h"
#include "exec/run.h"

#include <unistd.h>

/* ---- choosing: downstream first, except that asking for I/O costs nothing and comes early ---- */

/* Who reads several inputs waits for those of which nothing is there: they come before others go
 * further ahead. */
static unsigned starved_inputs(const struct stk__exec *x, const struct stk__stage_plan *plan)
{
    unsigned starved = 0;
    for (int k = 0; k < plan->n_inputs && plan->n_inputs > 1; k++) {
        const struct stk__ring *r = &x->stage[plan->input[k]].ring;
        starved |= (unsigned)(r->head == r->tail) << k;
    }
    return starved;
}

/* Work of a stage or of what it reads. */
static bool look_at(struct stk__exec *x, int stage, struct stk__work *w)
{
    const struct stk__stage_plan *plan = x->stage[stage].plan;
    if (stk__is_over(x))
        return false;
    if (plan->kind->pick(x, &x->stage[stage], w))
        return true;
    unsigned starved = starved_inputs(x, plan);
    for (int k = 0; k < plan->n_inputs && starved; k++)
        if (starved & 1u << k && look_at(x, plan->input[k], w))
            return true;
    for (int k = plan->n_inputs; k-- > 0;)
        if (!(starved & 1u << k) && look_at(x, plan->input[k], w))
            return true;
    return false;
}

static bool look(struct stk__exec *x, struct stk__work *w)
{
    struct stk__ticket *t = x->plan->is_inner ? NULL : stk__advance_batcher(x);
    if (stk__is_over(x))
        return false;
    if (t) {
        x->batcher.is_busy = true;
        *w = (struct stk__work){ .kind = STK__MOVE,
                                 .ticket = t,
                                 .fill = x->batcher.fill,
                                 .current = *stk__batch_slot(x, x->batcher.current_no) };
        return true;
    }
    if (stk__pick_fetch(x, w))
        return true;
    return x->n_stages && look_at(x, x->plan->last, w);
}

bool stk__work_pick(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    bool has_found;
    x->crew.chooser = worker;
    do {
        x->crew.has_changed = false;
        has_found = look(x, w);
    } while (!has_found && x->crew.has_changed && !stk__is_over(x));
    x->crew.chooser = NULL;
    return has_found;
}

bool stk__may_work(const struct stk__exec *x)
{
    return x->crew.n_workers == 0 || x->crew.n_running < x->crew.limit.now;
}

/* Somebody who may not work would only go to sleep again; those at work look when they are done. */
void stk__wake_worker(struct stk__exec *x)
{
    if (!stk__may_work(x))
        return;
    if (x->crew.n_sleeping)
        pthread_cond_signal(&x->crew.work);
    else if (x->crew.is_consumer_waiting)
        pthread_cond_signal(&x->crew.delivered);
}

static void run(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    if (w->kind == STK__FETCH)
        stk__run_fetch(x, worker, w);
    else if (w->kind == STK__MOVE)
        stk__run_move(x, worker, w);
    else
        w->stage->plan->kind->run(x, worker, w);
}

static void finish(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    if (w->kind == STK__MOVE)
        stk__finish_move(x, w);
    else if (w->kind != STK__FETCH)
        w->stage->plan->kind->finish(x, worker, w);
}

void stk__work_perform(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w,
                       bool is_shared)
{
    x->crew.n_running += !w->is_mark;
    if (is_shared)
        stk__wake_worker(x);
    if (w->is_mark)
        return;
    if (w->kind != STK__RUN)
        stk__scratch_leave(x, worker);
    worker->is_running = true;
    pthread_mutex_unlock(&x->lock);
    struct stk__gauge *before = stk__gauge_use(&worker->gauge);
    const atomic_bool *around = stk__cancel_use(x->cancelled);
    stk__work_begin(worker, w);
    run(x, worker, w);
    stk__work_end(worker, w);
    stk__cancel_use(around);
    stk__gauge_use(before);
    if (worker->gauge.library_bytes)
        stk__scratch_unload(x, worker);
    if (!around) /* else the work around this, which may have no gauge now, goes on with it */
        stk__permit_return();
    pthread_mutex_lock(&x->lock);
    worker->is_running = false;
    stk__scratch_rest(x, worker);
    if (worker->watch.on_lap)
        stk__trace_sample(x, worker->watch.ended_at);
    x->crew.n_running--;
    finish(x, worker, w);
    if (is_shared && x->watch.pulse.wait_began && x->watch.hook.tick)
        stk__hook_call(x, stk__clock_ns());
}

bool stk__exec_work(struct stk__exec *x)
{
    struct stk__work w;
    struct stk__worker *worker = &x->crew.worker[x->crew.n_workers];
    bool has_found = stk__work_pick(x, worker, &w);
    if (has_found)
        stk__work_perform(x, worker, &w, false);
    return has_found;
}

void *stk__worker_main(void *arg)
{
    struct stk__worker *worker = arg;
    struct stk__exec *x = worker->exec;
    struct stk__work w;
    pthread_setname_np(pthread_self(), "stk-worker");
    atomic_store(&worker->thread_id, gettid());
    pthread_mutex_lock(&x->lock);
    while (!x->is_stopped) {
        if (stk__may_work(x) && stk__work_pick(x, worker, &w)) {
            stk__work_perform(x, worker, &w, true);
            continue;
        }
        if (x->is_stopped)
            break;
        uint64_t began = stk__idle_begin(x);
        x->crew.n_sleeping++;
        pthread_cond_wait(&x->crew.work, &x->lock);
        stk__idle_end(x, worker, began);
        x->crew.n_sleeping--;
    }
    pthread_mutex_unlock(&x->lock);
    atomic_store(&worker->queued_ns, stk__queued_ns(gettid()));
    return NULL;
}
