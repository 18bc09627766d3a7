/* SPDX-License-Identifier: Apache-2.0 */
/* consumer.c: next. Whoever waits in it works, and wakes others where that pays. */
#define _GNU_SOURCE
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "exec/run.h"

#include <string.h>

/* Waking a thread costs 4 to 5 us. A consumer that comes back at once and gets its batches for a
 * few us does better alone; the averages change within a few batches when either stops being
 * true. */
static void note_entry(struct stk__pace *pace, uint64_t now)
{
    uint64_t outside = pace->left_at ? now - pace->left_at : UINT32_MAX;
    pace->outside_ns += (outside >> 3) - (pace->outside_ns >> 3);
    pace->is_quick = pace->outside_ns < 5000 && pace->inside_ns < 20000;
}

static void note_exit(struct stk__pace *pace, uint64_t entered, uint64_t now)
{
    pace->inside_ns += ((now - entered) >> 3) - (pace->inside_ns >> 3);
    pace->left_at = now;
}

static void wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until)
{
    const struct timespec time = { .tv_sec = (time_t)(until / 1000000000u),
                                   .tv_nsec = (long)(until % 1000000000u) };
    if (until == UINT64_MAX)
        pthread_cond_wait(cond, lock);
    else
        pthread_cond_timedwait(cond, lock, &time);
}

/* The caller of next wants to be back in time: what may block is the workers' where there are
 * any. */
static bool pick_as_consumer(struct stk__exec *x, struct stk__work *w)
{
    x->crew.has_declined = false;
    x->crew.is_consumer_choosing = x->crew.n_workers > 0;
    bool has_found = stk__work_pick(x, &x->crew.worker[x->crew.n_workers], w);
    x->crew.is_consumer_choosing = false;
    return has_found;
}

static void note_held(struct stk__exec *x)
{
    int n_held = stk__depot_n_live(x->depot) - x->batcher.n_open;
    x->deliveries.n_held = n_held < 1 ? 1 : n_held;
}

/* Waits, but no longer than a pass that drains may be held back, however often it is called. */
static void wait_patiently(struct stk__exec *x, uint64_t until)
{
    const uint64_t patience_ns = 100000000;
    bool is_patient = x->crew.n_turning && !x->crew.is_impatient;
    if (is_patient && !x->crew.patient_until)
        x->crew.patient_until = stk__clock_ns() + patience_ns;
    uint64_t end = is_patient ? x->crew.patient_until : UINT64_MAX;
    uint64_t began = stk__idle_begin(x);
    x->crew.is_consumer_waiting = true;
    wait_until(&x->crew.delivered, &x->lock, end < until ? end : until);
    x->crew.is_consumer_waiting = false;
    x->watch.consumer.metrics.blocked_ns +=
        stk__idle_end(x, &x->crew.worker[x->crew.n_workers], began);
    x->watch.consumer.metrics.n_blocked++;
    if (!is_patient || x->deliveries.queue_len || stk__clock_ns() < end)
        return;
    x->crew.is_impatient = true;
    pthread_cond_signal(&x->crew.work);
}

static bool is_cancelled(const struct stk__exec *x)
{
    return x->is_cancelled || stk__cancel_is_for_all();
}

/* Until something is in the queue or the clock says `until`; UINT64_MAX: never. */
static void wait_for_delivery(struct stk__exec *x, uint64_t until)
{
    struct stk__work w;
    note_held(x);
    while (x->deliveries.queue_len == 0 && !is_cancelled(x) &&
           (until == UINT64_MAX || stk__clock_ns() < until)) {
        if (stk__may_work(x) && pick_as_consumer(x, &w)) {
            stk__work_perform(x, &x->crew.worker[x->crew.n_workers], &w, !x->watch.pace.is_quick);
            x->watch.consumer.has_worked = true;
            note_held(x);
            continue;
        }
        if (x->deliveries.queue_len || is_cancelled(x))
            break;
        if (x->crew.has_declined)
            pthread_cond_signal(&x->crew.work);
        stk__pulse_wait(x);
        wait_patiently(x, until);
        note_held(x);
    }
}

/* Refill by halves, not one by one. */
static void ask_for_more(struct stk__exec *x)
{
    if (x->crew.n_workers && !x->watch.pace.is_quick &&
        (x->batcher.n_open <= x->batcher.window.now / 2 || x->deliveries.queue_len == 0))
        stk__wake_worker(x);
}

void stk__on_batch_back(void *waiter)
{
    struct stk__exec *x = waiter;
    pthread_mutex_lock(&x->lock);
    ask_for_more(x);
    pthread_mutex_unlock(&x->lock);
}

void stk__drop_queue(struct stk__exec *x)
{
    for (; x->deliveries.queue_len; x->deliveries.queue_len--) {
        stk__batch_give_back(x->deliveries.queue[x->deliveries.queue_head].batch);
        x->deliveries.queue_head = (x->deliveries.queue_head + 1) % x->deliveries.queue_cap;
    }
}

static int say_forked(struct stk_error *err)
{
    return stk_fail(err, STK_STATE,
                    "this iterator was started before a fork; make a new one in the child");
}

/* Counts a batch as the caller's. */
static void hand_out(struct stk__exec *x, const struct stk_batch *batch)
{
    x->watch.stats.batches++;
    x->watch.stats.elements += (uint64_t)batch->n;
    x->deliveries.before = x->deliveries.handed;
    x->deliveries.handed = batch->bookmark;
}

static struct stk_batch *read_again(struct stk__exec *x)
{
    struct stk_batch *batch = x->deliveries.unread;
    x->deliveries.unread = NULL;
    hand_out(x, batch);
    return batch;
}

int stk__exec_unread(struct stk__exec *x, struct stk_batch *batch, struct stk_error *err)
{
    if (!stk__exec_is_ours(x))
        return say_forked(err);
    pthread_mutex_lock(&x->lock);
    bool is_last = !x->deliveries.unread && x->watch.stats.batches && batch->depot == x->depot &&
                   !memcmp(&batch->bookmark, &x->deliveries.handed, sizeof x->deliveries.handed);
    if (is_last) {
        x->watch.stats.batches--;
        x->watch.stats.elements -= (uint64_t)batch->n;
        x->deliveries.handed = x->deliveries.before;
        x->deliveries.unread = batch;
    }
    pthread_mutex_unlock(&x->lock);
    return is_last ? STK_OK
                   : stk_fail(err, STK_STATE, "only the batch that came last can be given back");
}

static int end_code(const struct stk__exec *x, struct stk_error *err)
{
    if (err)
        *err = x->error;
    return x->error.code;
}

static uint64_t deadline(uint64_t now, int64_t milliseconds)
{
    const int64_t most = INT64_MAX / 4000000;
    return milliseconds < 0 || milliseconds > most ? UINT64_MAX
                                                   : now + (uint64_t)milliseconds * 1000000;
}

/* Brings the fields of a batch together, which is work of the batcher that the consumer waits for.
 * Called and left with the lock held, not held in between. */
static int pack(struct stk__exec *x, struct stk_batch *batch, struct stk_error *err)
{
    struct stk__worker *worker = &x->crew.worker[x->crew.n_workers];
    const struct stk__work w = { .kind = STK__MOVE };
    pthread_mutex_unlock(&x->lock);
    uint64_t began = stk__clock_ns();
    stk__work_begin(worker, &w);
    int rc = stk__batch_pack(batch, err);
    stk__work_end(worker, &w);
    uint64_t ns = stk__clock_ns() - began;
    pthread_mutex_lock(&x->lock);
    x->watch.consumer.packed_ns += ns;
    return rc;
}

int stk__exec_next(struct stk__exec *x, int64_t milliseconds, struct stk_batch **out,
                   struct stk_error *err)
{
    *out = NULL;
    if (!stk__exec_is_ours(x))
        return say_forked(err);
    uint64_t entered = stk__clock_ns();
    pthread_mutex_lock(&x->lock);
    if (x->deliveries.unread && !is_cancelled(x)) {
        *out = read_again(x);
        pthread_mutex_unlock(&x->lock);
        return STK_OK;
    }
    note_entry(&x->watch.pace, entered);
    stk__pulse_ask(x, entered);
    stk__consumer_enters(x, entered);
    wait_for_delivery(x, deadline(entered, milliseconds));
    if (is_cancelled(x)) {
        pthread_mutex_unlock(&x->lock);
        return stk_fail(err, STK_CANCELLED, "cancelled");
    }
    if (x->deliveries.queue_len == 0) {
        uint64_t left = stk__clock_ns();
        stk__pulse_leave(x, left, false);
        stk__consumer_leaves(x, entered, left, false);
        pthread_mutex_unlock(&x->lock);
        return stk_fail(err, STK_AGAIN, "nothing was ready within %lld ms",
                        (long long)milliseconds);
    }
    struct stk__delivery d = x->deliveries.queue[x->deliveries.queue_head];
    if (d.kind != STK__EVENT_BATCH) { /* stays: next answers it for ever */
        stk__accounts_rest(x);
        int code = end_code(x, err);
        pthread_mutex_unlock(&x->lock);
        return code;
    }
    x->deliveries.queue_head = (x->deliveries.queue_head + 1) % x->deliveries.queue_cap;
    x->deliveries.queue_len--;
    stk__account_credit(x, &x->memory.batch_account, x->plan->batch_bytes);
    x->batcher.n_open--;
    hand_out(x, d.batch);
    ask_for_more(x);
    uint64_t left = stk__clock_ns();
    note_exit(&x->watch.pace, entered, left);
    stk__pulse_leave(x, left, true);
    int rc = STK_OK;
    if (stk__batch_is_apart(d.batch)) {
        rc = pack(x, d.batch, err);
        left = stk__clock_ns();
        atomic_store_explicit(&x->memory.packed_bytes, d.batch->packed_bytes, memory_order_relaxed);
    }
    stk__consumer_leaves(x, entered, left, true);
    if (rc) {
        struct stk_error why = { .code = rc, .text = "a batch could not be put together" };
        stk__drop_queue(x);
        x->is_stopped = false;
        stk__end_run(x, err ? err : &why);
    }
    pthread_mutex_unlock(&x->lock);
    if (rc)
        stk_batch_unref(d.batch);
    else
        *out = d.batch;
    return rc;
}

/* Whoever has the lock may be busy with passes that yield nothing, one after the other: the flag is set
 * first, so that they stop and let go of it. */
void stk__exec_cancel(struct stk__exec *x)
{
    if (!stk__exec_is_ours(x))
        return;
    atomic_store(&x->is_cancelled, true);
    pthread_mutex_lock(&x->lock);
    x->is_stopped = true;
    pthread_cond_broadcast(&x->crew.work);
    pthread_cond_broadcast(&x->crew.delivered);
    pthread_mutex_unlock(&x->lock);
}
