/* SPDX-License-Identifier: Apache-2.0 */
/* waits.c: what stages wait for. Looked at only when somebody finds nothing to do, so it costs those
 * who work nothing; between two such moments a stage is taken to wait for what it waited for at the
 * first. Everything here is called with the lock held. */
#define _GNU_SOURCE
#include "base/clock.h"
#include "exec/run.h"

#include <string.h>

static bool is_done(const struct stk__stage *s)
{
    return s->plan->is_source && (s->is_exhausted || s->is_stuck);
}

/* True if one of the inputs has nothing for the stage. */
static bool is_starved(const struct stk__exec *x, const struct stk__stage *s)
{
    for (int i = 0; i < s->plan->n_inputs; i++) {
        const struct stk__ring *r = &x->stage[s->plan->input[i]].ring;
        if (r->head == r->opened || r->slot[r->head % r->cap].state != STK__READY)
            return true;
    }
    return false;
}

static bool has_state(const struct stk__ring *r, enum stk__ticket_state state)
{
    for (uint64_t seq = r->head; seq < r->tail; seq++)
        if (r->slot[seq % r->cap].state == state)
            return true;
    return false;
}

/* The window is refilled by halves: until the consumer has taken one, nobody is woken. */
static bool is_resting(const struct stk__exec *x)
{
    return x->crew.n_workers && x->crew.n_sleeping == x->crew.n_workers &&
           x->batcher.n_open > x->batcher.window.now / 2;
}

/* Where the next output would go. */
static enum stk__wait wait_for_room(struct stk__exec *x, const struct stk__stage *s)
{
    bool is_placed = x->plan->is_direct && s == stk__last_stage(x);
    if (is_placed && (x->batcher.n_open >= x->batcher.window.now || is_resting(x)))
        return STK__WAIT_SPACE;
    if (is_placed && !stk__has_room_for(x, &x->memory.batch_account, x->plan->batch_bytes))
        return STK__WAIT_MEMORY;
    if (is_placed && stk__depot_n_live(x->depot) >= x->batcher.window.now + x->deliveries.n_held)
        return STK__WAIT_SPACE;
    if (!is_placed && !s->open_out &&
        !stk__has_room_for(x, &s->memory.out_account, stk__lot_bytes(s)))
        return STK__WAIT_MEMORY;
    return STK__WAIT_NOTHING;
}

/* True if the stage is at work and nobody could do more of it: a segment is for as many as there are. */
static bool is_at_work(const struct stk__exec *x, const struct stk__stage *s)
{
    if (!s->plan->program)
        return s->is_busy;
    bool has_time = x->crew.n_running - x->memory.n_scratch_waiting < x->crew.limit.now;
    return has_state(&s->ring, STK__RUNNING) && !has_time;
}

static enum stk__wait wait_of(struct stk__exec *x, const struct stk__stage *s)
{
    const struct stk__ring *r = &s->ring;
    bool is_segment = s->plan->program, reads = is_segment && s->plan->program->n_reads;
    if (is_at_work(x, s))
        return STK__WAIT_NOTHING;
    if (is_segment && stk__is_locked(x, s))
        return STK__WAIT_LOCK;
    if (is_segment && s->waiting.lacks_scratch)
        return STK__WAIT_MEMORY;
    if (reads && has_state(r, STK__FETCHED))
        return wait_for_room(x, s);
    if (reads && has_state(r, STK__FETCHING))
        return s->waiting.lacks_room_to_read ? STK__WAIT_MEMORY : STK__WAIT_READS;
    if (!stk__has_room(r))
        return STK__WAIT_SPACE;
    if (is_done(s))
        return STK__WAIT_NOTHING;
    if (is_starved(x, s))
        return STK__WAIT_INPUT;
    return wait_for_room(x, s);
}

void stk__waits_settle(struct stk__exec *x, uint64_t now)
{
    uint64_t ns = now - x->watch.settled_at;
    x->watch.settled_at = now;
    if (!x->watch.n_idle)
        return;
    x->watch.idle_ns += ns * (uint64_t)x->crew.n_sleeping;
    for (int i = 0; i < x->n_stages; i++) {
        struct stk__stage *s = &x->stage[i];
        s->waiting.wait_ns[s->waiting.wait] += ns;
    }
}

void stk__waits_look(struct stk__exec *x, uint64_t now)
{
    stk__waits_settle(x, now);
    for (int i = 0; i < x->n_stages; i++)
        x->stage[i].waiting.wait = wait_of(x, &x->stage[i]);
}

uint64_t stk__idle_begin(struct stk__exec *x)
{
    uint64_t now = stk__clock_ns();
    stk__waits_look(x, now);
    x->watch.n_idle++;
    return now;
}

uint64_t stk__idle_end(struct stk__exec *x, const struct stk__worker *worker, uint64_t began)
{
    uint64_t now = stk__clock_ns();
    struct stk__trace_log *log = stk__trace_log_of(x, worker);
    stk__waits_settle(x, now);
    x->watch.n_idle--;
    if (log) {
        stk__trace_add(
            x, log,
            (struct stk__interval){
                .begin_ns = began, .end_ns = now, .activity = STK__DOES_WAIT, .stage = -1 });
        stk__trace_sample(x, now);
    }
    return now - began;
}
