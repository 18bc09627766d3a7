/* SPDX-License-Identifier: Apache-2.0 */
/* batcher.c: puts rows into batches in order and judges bad ones, once, in order.
 *
 * Batches open in number order, by a direct ticket or by the batcher, whoever needs one first. A
 * ticket whose rows are all good and already in place costs nothing here; other rows are moved,
 * which closes holes. What a bad row means is decided here alone, so it depends neither on the
 * number of workers nor on how far they ran ahead.
 */
#include "base/error.h"
#include "base/hash.h"
#include "base/rng.h"
#include "exec/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t stk__batch_need(const struct stk__exec *x)
{
    size_t packed = atomic_load_explicit(&x->memory.packed_bytes, memory_order_relaxed);
    return packed > x->plan->batch_bytes ? packed : x->plan->batch_bytes;
}

/* A consumer has the next batch a moment before it lets go of the last one. Where there is no room for a third
 * one, that moment is waited for, unless the consumer waits itself. */
static bool waits_for_consumer(struct stk__exec *x)
{
    bool is_first = !x->memory.batch_account.held_bytes && !x->watch.pulse.wait_began;
    return is_first && x->memory.share.is_fixed &&
           stk__depot_has_two_out(x->depot, x->batcher.n_open) &&
           stk__is_crowded(x, &x->memory.batch_account, stk__batch_need(x));
}

bool stk__open_batches(struct stk__exec *x, uint64_t end_no)
{
    while (x->batcher.opened_no < end_no) {
        if (x->batcher.n_open >= x->batcher.window.now) {
            x->watch.pulse.n_full += x->deliveries.queue_len == x->batcher.n_open;
            return false;
        }
        if (!stk__depot_has_room(x->depot, x->batcher.window.now + x->deliveries.n_held) ||
            waits_for_consumer(x) ||
            !stk__can_charge(x, &x->memory.batch_account, stk__batch_need(x)))
            return false;
        struct stk_batch *batch = stk__batch_new(x->depot);
        if (!batch) {
            stk__run_out_of_memory(x);
            return false;
        }
        stk__account_charge(x, &x->memory.batch_account, x->plan->batch_bytes);
        *stk__batch_slot(x, x->batcher.opened_no++) = batch;
        x->batcher.n_open++;
    }
    return true;
}

static void release_batch(struct stk__exec *x, uint64_t no)
{
    struct stk_batch **slot = stk__batch_slot(x, no);
    stk__batch_give_back(*slot);
    *slot = NULL;
    x->batcher.n_open--;
    stk__account_credit(x, &x->memory.batch_account, x->plan->batch_bytes);
}

static void push_delivery(struct stk__exec *x, enum stk__event kind, struct stk_batch *batch)
{
    x->deliveries
        .queue[(x->deliveries.queue_head + x->deliveries.queue_len++) % x->deliveries.queue_cap] =
        (struct stk__delivery){ kind, batch };
    x->crew.is_impatient = false;
    x->crew.patient_until = 0;
    if (x->crew.is_consumer_waiting)
        pthread_cond_signal(&x->crew.delivered);
}

/* The place behind the rows of a ticket that were used. */
static void note_used(struct stk__exec *x, const struct stk__ticket *t, int n_used)
{
    x->batcher.restart = t->begin;
    if (!stk__last_stage(x)->plan->program || n_used < t->n)
        x->batcher.restart.n_out += (uint64_t)n_used;
    else
        x->batcher.restart.n_in += (uint64_t)t->n_in;
}

static void set_bookmark(const struct stk__exec *x, struct stk__bookmark *out)
{
    out->restart = x->batcher.restart;
    out->position = x->batcher.position;
    out->n_rows = x->batcher.judge.n_rows;
    out->n_bad = x->batcher.judge.n_bad;
    memcpy(out->n_yielded, x->batcher.n_yielded, sizeof out->n_yielded);
    for (int i = 0; i < x->plan->n_gates; i++)
        out->n_gated[i] = x->batcher.gate[i].n_seen;
}

static void deliver_current(struct stk__exec *x)
{
    struct stk_batch **slot = stk__batch_slot(x, x->batcher.current_no), *batch = *slot;
    uint64_t no = x->batcher.current_no++;
    if (!stk__gates_let_through(x)) {
        release_batch(x, no);
        x->batcher.fill = 0;
        return;
    }
    *slot = NULL;
    batch->n = x->batcher.fill;
    set_bookmark(x, &batch->bookmark);
    x->batcher.position.batch++;
    x->batcher.fill = 0;
    push_delivery(x, STK__EVENT_BATCH, batch);
}

void stk__end_run(struct stk__exec *x, const struct stk_error *err)
{
    if (x->is_stopped)
        return;
    x->error = *err;
    x->is_stopped = true;
    push_delivery(x, err->code == STK_END ? STK__EVENT_END : STK__EVENT_ERROR, NULL);
    pthread_cond_broadcast(&x->crew.work);
    pthread_cond_broadcast(&x->crew.delivered);
}

void stk__run_out_of_memory(struct stk__exec *x)
{
    struct stk_error err = { .code = STK_MEMORY, .text = "out of memory" };
    stk__end_run(x, &err);
}

void stk__end_short(struct stk__exec *x)
{
    struct stk_error err;
    stk_fail(&err, STK_STATE,
             "the data ends before the place where the run was to go on: there is less of it than "
             "when the state was saved");
    stk__end_run(x, &err);
}

/* ---- ends ---- */

/* A pass that ended gives back what holes emptied. */
static void release_emptied(struct stk__exec *x, const struct stk__ticket *end)
{
    for (; x->plan->is_direct && x->batcher.current_no < end->next_batch_no;
         x->batcher.current_no++)
        release_batch(x, x->batcher.current_no);
}

void stk__drop_ticket(struct stk__exec *x, const struct stk__ticket *t)
{
    stk__count_holes(x, t, t->n);
    if (t->end == STK__END_PASS && t->level <= x->plan->depth)
        release_emptied(x, t);
}

/* The end of a level-0 pass is the end of an epoch; ends of repeats above batch only close the
 * batch and the count of bad rows. */
static void judge_end(struct stk__exec *x, struct stk__ticket *t)
{
    struct stk_error err = { .code = STK_END };
    if (t->end == STK__END_BROKEN) {
        if (x->batcher.closed_level < 0)
            stk__end_run(x, t->broken);
        stk__stage_retire(x, stk__last_stage(x));
        return;
    }
    if (x->batcher.fill && !x->plan->drops_remainder && x->batcher.closed_level < 0)
        deliver_current(x);
    x->batcher.fill = 0;
    release_emptied(x, t);
    if (x->batcher.closed_level < 0)
        stk__judge_pass(&x->batcher.judge, &err);
    stk__judge_begin(&x->batcher.judge);
    bool is_epoch = t->level == 0, is_empty = !x->batcher.n_yielded[t->level];
    if (is_empty)
        stk__end_empty(x, stk__last_stage(x), t->level);
    stk__gates_end_pass(x, t->level);
    stk__stage_retire(x, stk__last_stage(x));
    if (!is_epoch) {
        if (err.code != STK_END)
            stk__end_run(x, &err);
        return;
    }
    x->batcher.judge.epoch = ++x->batcher.position.epoch;
    x->batcher.position.batch = x->batcher.position.rows = 0;
    x->watch.stats.epochs++;
    bool is_last = x->batcher.position.epoch == (uint64_t)stk__options_end_epoch(&x->plan->options);
    bool is_futile = is_empty && x->plan->options.epochs == INT64_MAX; /* for ever, over nothing */
    if (err.code != STK_END || is_last || is_futile)
        stk__end_run(x, &err);
}

/* Rows behind the end of a gate: unjudged, but they have places in batches, which must come
 * free. */
static void discard_rows(struct stk__exec *x, int n)
{
    int64_t fill = (int64_t)x->batcher.fill + n;
    for (; fill >= x->plan->batch_rows; fill -= x->plan->batch_rows) {
        if (x->batcher.opened_no > x->batcher.current_no)
            release_batch(x, x->batcher.current_no);
        else
            x->batcher.opened_no++;
        x->batcher.current_no++;
    }
    x->batcher.fill = (int)fill;
}

static const struct stk__fault *find_fault(const struct stk__ticket *t, int row)
{
    return t->faults ? stk__fault_find(t->faults, row)
                     : stk__chunk_find_fault(t->chunk, t->out_from + row);
}

/* Bad rows that were used before were judged then. One that is bad for want of memory was not among them:
 * it stands where others were, so nothing behind it is where it was. */
static void judge_used(struct stk__exec *x, const struct stk__ticket *t, int n)
{
    for (int i = t->n_used; t->n_bad && i < t->n_used + n; i++) {
        bool is_bad = t->chunk->mask[t->out_from + i] == STK_BAD;
        const struct stk__fault *fault = is_bad ? find_fault(t, i) : NULL;
        if (!is_bad || stk__is_elements_fault(fault))
            continue;
        stk__judge_row(&x->batcher.judge, fault, t->chunk->address[t->out_from + i]);
        stk__end_run(x, stk__judge_last(&x->batcher.judge));
        return;
    }
}

/* Rows that were used before the run was resumed. A pass that a gate has closed needs none. */
static void drop_used(struct stk__exec *x, struct stk__ticket *t)
{
    if (x->batcher.closed_level >= 0) {
        x->batcher.n_dropped = 0;
        return;
    }
    if (t->end) {
        stk__end_short(x);
        return;
    }
    uint64_t left = (uint64_t)(t->n - t->n_used),
             n = x->batcher.n_dropped < left ? x->batcher.n_dropped : left;
    judge_used(x, t, (int)n);
    t->n_used += (int)n;
    x->batcher.n_dropped -= n;
}

struct stk__ticket *stk__advance_batcher(struct stk__exec *x)
{
    struct stk__stage *last = stk__last_stage(x);
    struct stk__ticket *t;
    while (!stk__is_over(x) && !x->batcher.is_busy && (t = stk__stage_peek(x, last, NULL))) {
        stk__gates_check(x);
        if (x->batcher.n_dropped && t->end != STK__END_BROKEN) {
            drop_used(x, t);
            continue;
        }
        if (t->end) {
            judge_end(x, t);
            continue;
        }
        if (x->batcher.closed_level >= 0) {
            discard_rows(x, t->n - t->n_used);
            stk__stage_retire(x, last);
            continue;
        }
        if (!stk__open_batches(x, x->batcher.current_no + 1))
            return NULL;
        struct stk_batch *current = *stk__batch_slot(x, x->batcher.current_no);
        if (t->chunk != current->chunk || t->out_from != x->batcher.fill || t->n_bad || t->n_used)
            return t;
        x->batcher.fill += t->n;
        x->batcher.position.rows += (uint64_t)t->n;
        x->batcher.judge.n_rows += (uint64_t)t->n;
        note_used(x, t, t->n);
        stk__stage_retire(x, last);
        if (x->batcher.fill == x->plan->batch_rows)
            deliver_current(x);
    }
    return NULL;
}

/* ---- bad rows ---- */

/* Makes the row at another position of the same data in `spare_row`. STK_OK, STK_MEMORY, or
 * STK_DATA if that one is no good either. */
static int try_replacement(struct stk__exec *x, struct stk__worker *worker,
                           struct stk__address *address)
{
    struct stk__stage *last = stk__last_stage(x);
    int stage = x->plan->last;
    uint64_t position = stk__where_position(address->where), path = address->path;
    struct stk__fetched *fetched[STK__MAX_READS] = { 0 };
    struct stk__eval e = { .program = last->plan->program,
                           .thread = &worker->eval[stage],
                           .scratch = &worker->scratch,
                           .n = 1,
                           .position = &position,
                           .path = &path,
                           .out = x->batcher.spare_row };
    stk__chunk_clear(x->batcher.spare_row);
    x->batcher.spare_row->address[0] = *address;
    x->batcher.spare_row->mask[0] = STK_LIVE; /* the try before may have been a bad one */
    int rc = stk__fetch_row(x, &e, fetched);
    if (!rc)
        rc = stk__eval_run(&e);
    if (rc == STK_AGAIN)
        rc = stk__eval_again(x, &e, fetched);
    const struct stk__fault *fault = stk__fault_find(e.faults, 0);
    if (!rc && (e.n_bad || e.n_dead))
        rc = e.n_bad && (!fault || fault->code == STK_MEMORY) ? STK_MEMORY : STK_DATA;
    if (!rc && x->plan->is_bounded &&
        stk__gather_mark(x->plan->gather, x->batcher.spare_row, 0, 1,
                         x->plan->batch->op->decl.name))
        rc = STK_DATA;
    if (!rc && !stk__chunk_own(x->batcher.spare_row, 0, 1, &worker->scratch, x->pool))
        rc = STK_MEMORY;
    stk__faults_free(e.faults);
    for (int k = 0; k < e.program->n_reads; k++)
        if (fetched[k])
            stk__fetched_free(fetched[k], e.program->read[k]->n_places);
    stk__arena_reset(&worker->scratch);
    return rc;
}

static int replace_row(struct stk__exec *x, struct stk__worker *worker, const struct stk__ticket *t,
                       int row)
{
    enum { MAX_TRIES = 16 };
    const struct stk__stage_plan *source = stk__last_stage(x)->plan;
    while (!source->is_source)
        source = &x->plan->stage[source->input[0]];
    struct stk__address address = t->chunk->address[t->out_from + row];
    struct stk__key key = t->chunk->key[t->out_from + row];
    const uint64_t most = (uint64_t)1 << 56;
    uint64_t where = address.where & ~(most - 1);
    for (uint64_t attempt = 1; attempt <= MAX_TRIES; attempt++) {
        uint64_t word = stk__hash_mix(stk__hash_mix(key.hi, key.lo), attempt);
        uint64_t count = source->count < most ? source->count : most;
        struct stk__address other = { where | stk__below(word, count), address.path };
        int rc = try_replacement(x, worker, &other);
        if (rc == STK_OK || rc == STK_MEMORY)
            return rc;
    }
    return STK_DATA;
}

/* Returns true if a replacement stands in spare_row. */
static bool judge_row(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w, int row)
{
    const struct stk__ticket *t = w->ticket;
    struct stk__address address = t->chunk->address[t->out_from + row];
    w->is_fatal = !stk__judge_row(&x->batcher.judge, find_fault(t, row), address);
    if (w->is_fatal || x->plan->options.on_error != STK__REPLACE)
        return false;
    int rc = replace_row(x, worker, t, row);
    if (rc)
        stk__judge_end_replacing(&x->batcher.judge, rc);
    w->is_fatal = rc != STK_OK;
    return !w->is_fatal;
}

/* Outside the lock: moves rows of one ticket into one batch, judging in order. */
void stk__run_move(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    struct stk__ticket *t = w->ticket;
    struct stk__chunk *current = w->current->chunk;
    int i = t->n_used, full = (int)x->plan->batch_rows;
    if (x->plan->is_bounded && !i)
        t->n_bad += stk__gather_mark(x->plan->gather, t->chunk, t->out_from, t->n,
                                     x->plan->batch->op->decl.name);
    while (i < t->n && w->fill < full && !w->is_fatal) {
        int from = t->out_from + i, run = 1;
        if (t->n_bad && t->chunk->mask[from] == STK_BAD) {
            if (judge_row(x, worker, w, i))
                stk__chunk_copy_rows(current, w->fill++, x->batcher.spare_row, 0, 1);
            else
                w->holes++;
            i++;
            continue;
        }
        while (i + run < t->n && w->fill + run < full &&
               !(t->n_bad && t->chunk->mask[from + run] == STK_BAD))
            run++;
        if (t->chunk != current || from != w->fill)
            stk__chunk_copy_rows(current, w->fill, t->chunk, from, run);
        i += run;
        w->fill += run;
        x->batcher.judge.n_rows += (uint64_t)run;
    }
    w->n_taken = w->used = i - t->n_used;
    w->n_made = w->n_taken - w->holes;
}

void stk__count_holes(struct stk__exec *x, const struct stk__ticket *t, int n)
{
    x->landing.take_holes += t->pass == x->landing.take_pass ? (uint64_t)n : 0;
    x->landing.open_holes += t->pass == x->landing.open_pass ? (uint64_t)n : 0;
}

void stk__finish_move(struct stk__exec *x, struct stk__work *w)
{
    struct stk__ticket *t = w->ticket;
    x->batcher.is_busy = false;
    x->batcher.fill = w->fill;
    t->n_used += w->used;
    x->batcher.position.rows += (uint64_t)w->used;
    x->batcher.position.errors = x->batcher.judge.n_errors;
    note_used(x, t, t->n_used);
    stk__count_holes(x, t, w->holes);
    if (x->batcher.fill == x->plan->batch_rows)
        deliver_current(x);
    if (w->is_fatal)
        stk__end_run(x, stk__judge_last(&x->batcher.judge));
}
