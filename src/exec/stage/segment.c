/* SPDX-License-Identifier: Apache-2.0 */
/* segment.c: tickets of a segment: take, open, run. See exec.h for where a ticket lands. */
#include "exec/run.h"

#include <stdlib.h>
#include <string.h>

/* What the next ticket of a stage would hold. */
struct grant {
    int n;
    enum stk__end_mark end;
    struct stk__ticket *from; /* upstream ticket; NULL for sources */
};

static bool is_placed(const struct stk__exec *x, const struct stk__stage *s)
{
    return x->plan->is_direct && s->plan == &x->plan->stage[x->plan->last];
}

/* A resumed run: lets the rows pass that were used before. */
static void skip_rows(struct stk__exec *x, struct stk__stage *s)
{
    struct stk__ticket *t = NULL;
    while (s->n_skipped && (t = stk__stage_peek(x, &x->stage[s->plan->input[0]], s)) && !t->end) {
        uint64_t left = (uint64_t)(t->n - t->n_used), n = s->n_skipped < left ? s->n_skipped : left;
        t->n_used += (int)n;
        s->n_skipped -= n;
        s->n_since += n;
    }
    if (!s->n_skipped || !t || t->end != STK__END_PASS)
        return;
    s->n_skipped = 0;
    if (!stk__is_closed(s)) /* else nobody needs the rows behind them either */
        stk__end_short(x);
}

/* Lets the rows pass that the cache behind has. */
static void skip_stored(struct stk__exec *x, struct stk__stage *s)
{
    uint64_t there = stk__kept_prefix(s->plan->kept);
    struct stk__ticket *t;
    while (s->n_from < there && (t = stk__stage_peek(x, &x->stage[s->plan->input[0]], s)) &&
           !t->end) {
        uint64_t left = (uint64_t)(t->n - t->n_used), more = there - s->n_from;
        uint64_t n = more < left ? more : left;
        t->n_used += (int)n;
        s->n_from += n;
    }
}

static bool propose(struct stk__exec *x, struct stk__stage *s, struct grant *g)
{
    uint64_t n;
    *g = (struct grant){ 0 };
    if (!stk__has_room(&s->ring))
        return false;
    if (s->n_skipped)
        skip_rows(x, s);
    if (s->plan->kept)
        skip_stored(x, s);
    if (x->is_stopped)
        return false;
    if (s->plan->is_source) {
        if (s->is_exhausted)
            return false;
        n = stk__is_closed(s) ? 0 : s->plan->count - s->position;
        g->end = n ? STK__NO_END : STK__END_PASS;
    } else {
        if (!(g->from = stk__stage_peek(x, &x->stage[s->plan->input[0]], s)))
            return false;
        n = (uint64_t)(g->from->n - g->from->n_used);
        g->end = g->from->end;
    }
    uint64_t limit = (uint64_t)s->plan->ticket_rows;
    if (is_placed(x, s)) {
        uint64_t batch = (uint64_t)x->plan->batch_rows,
                 room = batch - (x->landing.taken - x->landing.take_holes) % batch;
        limit = room < limit ? room : limit; /* a ticket does not cut a batch */
    }
    g->n = g->end ? 0 : (int)(n < limit ? n : limit);
    return true;
}

static void take_from_source(struct stk__stage *s, struct stk__ticket *t, const struct grant *g)
{
    t->position = s->position;
    t->path = s->path;
    s->position += (uint64_t)g->n;
    if (g->end)
        t->level = stk__source_end_pass(s);
}

static void take_from_ring(struct stk__exec *x, struct stk__stage *s, struct stk__ticket *t,
                           const struct grant *g)
{
    struct stk__stage *input = &x->stage[s->plan->input[0]];
    t->level = g->from->level;
    t->broken = g->from->broken;
    if (g->end) {
        stk__stage_retire(x, input);
        return;
    }
    t->in = g->from->out;
    t->in->refs++;
    t->in_from = g->from->out_from + g->from->n_used;
    g->from->n_used += g->n;
    if (g->from->n_used == g->from->n)
        stk__stage_retire(x, input);
}

static struct stk__ticket *take(struct stk__exec *x, struct stk__stage *s, const struct grant *g)
{
    bool has_io = s->plan->program->n_reads > 0;
    struct stk__ticket *t = stk__push_ticket(&s->ring, g->end   ? STK__READY
                                                       : has_io ? STK__FETCHING
                                                                : STK__FETCHED);
    t->n_in = g->n;
    t->end = g->end;
    s->n_ahead += has_io && !g->end;
    x->watch.stats.tickets++;
    if (s == stk__last_stage(x)) {
        memcpy(t->begin.counter, s->counter, sizeof s->counter);
        t->begin.n_in = s->n_since;
        s->n_since += (uint64_t)g->n;
    }
    t->number = s->n_from;
    s->n_from += (uint64_t)g->n;
    if (s->plan->is_source)
        take_from_source(s, t, g);
    else
        take_from_ring(x, s, t, g);
    if (g->end == STK__END_PASS && t->level <= s->plan->kept_depth)
        s->n_from = 0;
    if (g->end == STK__END_PASS)
        stk__note_mark(x, s, t->level);
    if (s == stk__last_stage(x)) {
        t->pass = x->landing.take_pass;
        x->landing.taken += (uint64_t)g->n;
        if (g->end == STK__END_PASS && t->level <= x->plan->depth) {
            x->landing.take_pass++;
            x->landing.taken = x->landing.take_holes = 0;
        }
    }
    return t;
}

enum opening { LOOK, OPEN, OPEN_AFTER_LOOK };

/* Reserves the destination of the ticket at the opened cursor; false if there is no room yet.
 * LOOK only says whether there is: then OPEN_AFTER_LOOK finds it. */
static bool open_next(struct stk__exec *x, struct stk__stage *s, int n, enum stk__end_mark end,
                      int level, enum opening how)
{
    uint64_t batch = (uint64_t)x->plan->batch_rows,
             land = x->landing.opened - x->landing.open_holes;
    bool is_mine = is_placed(x, s), is_direct = false;
    bool ends = end == STK__END_PASS && level <= x->plan->depth;
    if (is_mine && ends && !stk__open_batches(x, x->landing.base_no + (land + batch - 1) / batch))
        return false; /* a pass's last batch is opened before the next one's first */
    if (is_mine && !end && land >= x->landing.claimed && land % batch + (uint64_t)n <= batch) {
        is_direct = true;
        if (!stk__open_batches(x, x->landing.base_no + land / batch + 1))
            return false;
    }
    if (!end && !is_direct && how != OPEN_AFTER_LOOK && !stk__can_open_lot(x, s))
        return false;
    if (how == LOOK)
        return true;
    struct stk__ticket *t = stk__slot_at(&s->ring, s->ring.opened);
    if (is_direct) {
        t->is_direct = true;
        t->out_from = (int)(land % batch);
        t->chunk = (*stk__batch_slot(x, x->landing.base_no + land / batch))->chunk;
        x->landing.claimed = land + (uint64_t)n;
        x->watch.stats.direct_tickets++;
    } else if (!end) {
        if (!(t->out = stk__lot_new(x, s)))
            return false;
        t->chunk = t->out->chunk;
    }
    s->ring.opened++;
    if (is_mine) {
        x->landing.opened += (uint64_t)n;
        if (ends) {
            x->landing.open_pass++;
            x->landing.opened = x->landing.open_holes = x->landing.claimed = 0;
            t->next_batch_no = x->landing.base_no = x->batcher.opened_no;
        }
    }
    return true;
}

/* ---- choosing ---- */

/* The level of a source's end is known once it is taken; until then it may be any. */
static int end_level(const struct grant *g)
{
    return g->from ? g->from->level : 0;
}

static bool is_far_ahead(const struct stk__exec *x, const struct stk__stage *s)
{
    return s->n_ahead >= 2 * (x->crew.n_workers + 1) &&
           s->n_ahead * s->plan->ticket_rows >= stk__lane_most_ahead(x->lane);
}

bool stk__pick_fetch(struct stk__exec *x, struct stk__work *w)
{
    struct grant g;
    for (int i = x->n_stages; i-- > 0;) {
        struct stk__stage *s = &x->stage[i];
        s->waiting.lacks_room_to_read = false;
        if (!s->plan->program || !s->plan->program->n_reads || !stk__lane_may_ask(x->lane) ||
            is_far_ahead(x, s) || !propose(x, s, &g))
            continue;
        size_t bytes = s->memory.typical_fetch * (size_t)g.n;
        s->waiting.lacks_room_to_read = !g.end && !stk__can_charge(x, &s->memory.io_account, bytes);
        if (s->waiting.lacks_room_to_read)
            continue;
        struct stk__ticket *t = take(x, s, &g);
        *w = (struct stk__work){ .kind = STK__FETCH, .stage = s, .ticket = t, .is_mark = g.end };
        if (!g.end) {
            t->fetch_charge = bytes;
            stk__account_charge(x, &s->memory.io_account, bytes);
            x->memory.asked_bytes += bytes;
            t->n_requests = stk__count_requests(s, g.n);
            stk__lane_count(x->lane, t->n_requests);
            t->stage = s;
            t->reads.asker = t;
        }
        return true;
    }
    return false;
}

/* How far destinations must be reserved, which happens in order: for marks, which have no others to wait for, and for
 * the next fetched ticket where nothing else can be run. Not for more: what the first ones turn out to take is what
 * the others are then expected to. */
static uint64_t wanted_open(struct stk__ring *r, bool has_other)
{
    uint64_t last = r->opened;
    for (uint64_t seq = r->opened; seq < r->tail; seq++) {
        bool is_fetched = stk__slot_at(r, seq)->state == STK__FETCHED;
        if (is_fetched && has_other)
            break;
        if (stk__slot_at(r, seq)->state != STK__FETCHING)
            last = seq + 1;
        if (is_fetched)
            break;
    }
    return last;
}

/* The oldest one that is fetched and has a destination. */
static struct stk__ticket *find_fetched(struct stk__ring *r)
{
    for (uint64_t seq = r->head; seq < r->opened; seq++)
        if (stk__slot_at(r, seq)->state == STK__FETCHED)
            return stk__slot_at(r, seq);
    return NULL;
}

/* A destination that was reserved when less was expected of it; the ring's first ticket waits for nobody. */
static bool can_fill(struct stk__exec *x, struct stk__stage *s, const struct stk__ticket *t)
{
    size_t expected = stk__lot_bytes(s);
    if (!t->out || t->out->charged >= expected)
        return true;
    size_t more = expected - t->out->charged;
    if (t->seq != s->ring.head && !stk__can_charge(x, &s->memory.out_account, more))
        return false;
    stk__account_charge(x, &s->memory.out_account, more);
    t->out->charged = expected;
    return true;
}

/* The oldest fetched ticket; destinations are reserved in order as far as needed and possible. */
static struct stk__ticket *pick_fetched(struct stk__exec *x, struct stk__stage *s)
{
    struct stk__ring *r = &s->ring;
    uint64_t last = wanted_open(r, find_fetched(r));
    while (r->opened < last) {
        struct stk__ticket *t = stk__slot_at(r, r->opened);
        if (!open_next(x, s, t->n_in, t->end, t->level, OPEN))
            break;
        x->crew.has_changed = true;
    }
    struct stk__ticket *t = find_fetched(r);
    return t && can_fill(x, s, t) ? t : NULL;
}

bool stk__is_locked(const struct stk__exec *x, const struct stk__stage *s)
{
    const char *group = s->plan->program->exclusive;
    for (int i = 0; group && i < x->n_stages; i++) {
        const struct stk__program *other = x->stage[i].plan->program;
        if (x->stage[i].is_busy && other && other->exclusive && !strcmp(other->exclusive, group))
            return true;
    }
    return false;
}

static struct stk__ticket *pick_ticket(struct stk__exec *x, struct stk__stage *s)
{
    struct grant g;
    if (s->plan->program->n_reads)
        return pick_fetched(x, s);
    if (!propose(x, s, &g) || !open_next(x, s, g.n, g.end, end_level(&g), LOOK))
        return NULL;
    struct stk__ticket *t = take(x, s, &g);
    bool is_open = open_next(x, s, g.n, g.end, t->level, OPEN_AFTER_LOOK);
    return is_open ? t : NULL; /* out of memory: the run has ended */
}

static bool pick(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    s->waiting.lacks_scratch = false;
    if (s->plan->program->exclusive && stk__is_locked(x, s))
        return false;
    s->waiting.lacks_scratch = !stk__scratch_begin(x, s);
    if (s->waiting.lacks_scratch)
        return false;
    struct stk__ticket *t = pick_ticket(x, s);
    if (!t || t->end)
        stk__scratch_undo(x);
    if (!t)
        return false;
    *w = (struct stk__work){ .kind = STK__RUN, .stage = s, .ticket = t, .is_mark = t->end };
    if (!t->end) {
        t->state = STK__RUNNING;
        s->n_ahead -= s->plan->program->n_reads > 0;
        s->is_busy = true;
    }
    return true;
}

/* ---- running, outside the lock ---- */

static int fill_positions(const struct stk__ticket *t, struct stk__eval *e)
{
    size_t bytes = (size_t)t->n_in * sizeof(uint64_t);
    uint64_t *position = stk__arena_take(e->scratch, bytes),
             *path = stk__arena_take(e->scratch, bytes);
    if (!position || !path)
        return STK_MEMORY;
    const struct stk__address *from = t->in ? t->in->chunk->address + t->in_from : NULL;
    for (int i = 0; i < t->n_in; i++) {
        position[i] = from ? stk__where_position(from[i].where) : t->position + (uint64_t)i;
        path[i] = from ? from[i].path : t->path;
    }
    e->position = position;
    e->path = path;
    return STK_OK;
}

int stk__eval_prepare(struct stk__exec *x, struct stk__worker *worker, struct stk__stage *s,
                      struct stk__ticket *t, struct stk__eval *e)
{
    *e = (struct stk__eval){ .program = s->plan->program,
                             .thread = &worker->eval[s - x->stage],
                             .scratch = &worker->scratch,
                             .cancelled = x->cancelled,
                             .leave = &x->memory.leave,
                             .n = t->n_in };
    if (!s->plan->program->cut)
        return fill_positions(t, e);
    e->in = t->in->chunk;
    e->in_from = t->in_from;
    return STK_OK;
}

static void write_addresses(const struct stk__stage *s, const struct stk__ticket *t)
{
    struct stk__address *out = t->chunk->address + t->out_from;
    if (t->in) {
        memcpy(out, t->in->chunk->address + t->in_from, sizeof *out * (size_t)t->n_in);
        if (t->in->chunk->trace && t->chunk->trace)
            stk__spans_copy(t->chunk->trace + t->out_from, t->in->chunk->trace + t->in_from,
                            t->n_in);
        return;
    }
    uint64_t where = stk__where(s->plan->origin, t->position);
    for (int i = 0; i < t->n_in; i++)
        out[i] = (struct stk__address){ where + (uint64_t)i, t->path };
}

/* No memory to evaluate with: the rows are there, and bad. */
static void fail_rows(struct stk__ticket *t, int code)
{
    /* what was found before counts no more: keys and columns were not written */
    stk__faults_free(t->faults);
    t->faults = NULL;
    for (int i = 0; i < t->n_in; i++) {
        t->chunk->mask[t->out_from + i] = STK_BAD;
        stk__fault_add(&t->faults, i, code, NULL, stk_status_text(code));
    }
    t->n = t->n_bad = t->n_in;
}

/* A staged ticket has its chunk for itself: faults, masks and bytes become the chunk's. */
static void settle_staged(struct stk__exec *x, struct stk_arena *scratch, struct stk__ticket *t,
                          bool has_dead)
{
    struct stk__chunk *chunk = t->chunk;
    if (!stk__chunk_own(chunk, 0, t->n, scratch, x->pool)) {
        stk__chunk_drop(chunk, 0, t->n);
        fail_rows(t, STK_MEMORY);
        has_dead = false;
    }
    chunk->faults = t->faults;
    t->faults = NULL;
    chunk->n_bad = t->n_bad;
    if (has_dead)
        t->n = stk__chunk_compact(chunk, t->n);
    chunk->n = t->n;
}

int stk__eval_again(struct stk__exec *x, struct stk__eval *e, struct stk__fetched **fetched)
{
    int rc = STK_AGAIN;
    for (int tries = 0; rc == STK_AGAIN && tries < 4; tries++) {
        stk__faults_free(e->faults);
        e->faults = NULL;
        rc = stk__fetch_rows(x, e, fetched);
        if (!rc)
            rc = stk__eval_run(e);
    }
    return rc == STK_AGAIN ? STK_IO : rc;
}

static void run(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    const struct stk__program *program = w->stage->plan->program;
    struct stk__ticket *t = w->ticket;
    struct stk__eval e;
    write_addresses(w->stage, t);
    int rc = stk__eval_prepare(x, worker, w->stage, t, &e);
    e.out = t->chunk;
    e.out_from = t->out_from;
    e.meter = &worker->op_meter[w->stage->first_meter];
    e.watch = &worker->watch;
    for (int k = 0; k < program->n_reads; k++)
        e.fetched[k] = t->fetched[k];
    if (!rc)
        rc = stk__eval_run(&e);
    if (rc == STK_AGAIN)
        rc = stk__eval_again(x, &e, t->fetched);
    if (program->n_kept) {
        atomic_fetch_add_explicit(&x->watch.n_hits, (uint64_t)e.n_hits, memory_order_relaxed);
        atomic_fetch_add_explicit(&x->watch.n_misses, (uint64_t)e.n_misses, memory_order_relaxed);
    }
    t->n = t->n_in;
    t->n_bad = e.n_bad;
    t->faults = e.faults;
    if (rc)
        fail_rows(t, rc);
    if (!t->is_direct)
        settle_staged(x, &worker->scratch, t, !rc && e.n_dead > 0);
    w->n_taken = t->n_in;
    w->n_made = t->n;
    stk__arena_reset(&worker->scratch);
    for (int k = 0; k < program->n_reads; k++)
        stk__fetched_free(t->fetched[k], t->n_in * program->read[k]->n_places);
    stk__buffer_unref(t->wanted);
    t->wanted = NULL;
}

static void finish(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    struct stk__ticket *t = w->ticket;
    struct stk__stage *s = w->stage;
    stk__scratch_end(x, s, worker);
    stk__lot_unref(x, t->in);
    t->in = NULL;
    stk__account_credit(x, &s->memory.io_account, t->fetch_charge);
    t->fetch_charge = 0;
    if (t->out)
        stk__lot_settle(x, t->out);
    t->state = STK__READY;
    s->is_busy = false;
}

const struct stk__stage_type stk__segment_stage = {
    .name = "segment",
    .pick = pick,
    .run = run,
    .finish = finish,
};
