/* SPDX-License-Identifier: Apache-2.0 */
/* serial.c: stages that one worker at a time carries through: sources that count or stream,
 * serial ops, and the joining of several inputs that are not indexed. */
#include "base/error.h"
#include "base/hash.h"
#include "exec/exec.h"
#include "exec/stage/batching.h"
#include "op/op_names.h"
#include "op/order/order.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct stk__stage *input_of(struct stk__exec *x, const struct stk__stage *s, int i)
{
    return &x->stage[s->plan->input[i]];
}

/* ---- publishing, under the lock ---- */

static void publish_rows(struct stk__exec *x, struct stk__stage *s)
{
    struct stk__ticket *t = stk__push_ticket(&s->ring, STK__READY);
    stk__lot_settle(x, s->open_out);
    s->ring.opened++;
    t->out = s->open_out;
    t->chunk = t->out->chunk;
    t->n = t->chunk->n;
    t->n_bad = t->chunk->n_bad;
    memcpy(t->begin.counter, s->counter, sizeof s->counter);
    t->begin.n_out = s->n_since;
    s->n_since += (uint64_t)t->n;
    s->open_out = NULL;
}

/* Tells everybody downstream that the stream broke, with s->broken. The pass goes on. */
static void publish_break(struct stk__stage *s)
{
    struct stk__ticket *t = stk__push_ticket(&s->ring, STK__READY);
    s->ring.opened++;
    t->end = STK__END_BROKEN;
    t->broken = &s->broken;
}

/* Ends the stage's pass for everybody downstream. */
static void publish_end(struct stk__exec *x, struct stk__stage *s, int level)
{
    struct stk__ticket *t = stk__push_ticket(&s->ring, STK__READY);
    s->ring.opened++;
    t->end = STK__END_PASS;
    t->level = level;
    stk__note_mark(x, s, level);
    if (s->plan->is_source)
        return;
    for (int l = level; l <= s->plan->depth; l++)
        s->pass_no[l]++;
    s->begins_pass = true;
    s->has_told = s->is_stuck = s->is_short = false;
    s->counter[level]++;
    for (int l = level + 1; l <= s->plan->depth; l++)
        s->counter[l] = 0;
}

/* ---- several inputs: what can be decided without touching rows, under the lock ---- */

/* Room for the mark, with rows that wait published before it. */
static bool make_way(struct stk__exec *x, struct stk__stage *s)
{
    if (s->open_out && s->open_out->chunk->n) {
        publish_rows(x, s);
        x->has_changed = true;
    }
    return stk__has_room(&s->ring);
}

static void forget_marks(struct stk__stage *s)
{
    for (int i = 0; i < STK_MAX_INPUTS; i++)
        s->seen_level[i] = INT_MAX;
    s->end_level = INT_MAX;
    s->has_ended = false;
    s->current = 0;
}

void stk__see_mark(struct stk__exec *x, struct stk__stage *s, int i, const struct stk__ticket *t)
{
    int level = t->level < s->plan->depth ? t->level : s->plan->depth;
    s->seen_level[i] = level;
    s->end_level = level < s->end_level ? level : s->end_level;
    stk__stage_retire(x, input_of(x, s, i));
}

/* Hands the break at the head of an input on. */
void stk__pass_break(struct stk__exec *x, struct stk__stage *s, int i, const struct stk__ticket *t)
{
    if (!make_way(x, s))
        return;
    s->broken = *t->broken;
    publish_break(s);
    stk__stage_retire(x, input_of(x, s, i));
}

/* Throws away what the inputs still have of a pass that is over. Inputs run ahead, so one of
 * them may have begun further passes inside the one that ended: each must come to a mark of the
 * outermost level seen. */
static bool drain_inputs(struct stk__exec *x, struct stk__stage *s)
{
    bool is_done = true;
    for (int i = 0; i < s->plan->n_inputs; i++) {
        struct stk__ticket *t;
        while (s->seen_level[i] > s->end_level && (t = stk__stage_peek(x, input_of(x, s, i), s))) {
            int before = s->end_level;
            if (t->end == STK__END_PASS)
                stk__see_mark(x, s, i, t);
            else if (t->end)
                stk__stage_retire(x, input_of(x, s, i)); /* errors after a pass are ignored */
            else
                t->n_used = t->n;
            if (s->end_level < before)
                return drain_inputs(x, s);
        }
        is_done &= s->seen_level[i] <= s->end_level;
    }
    return is_done;
}

/* Ends the pass of a stage with several inputs as soon as all have come to its end. */
void stk__end_joined(struct stk__exec *x, struct stk__stage *s)
{
    if (!drain_inputs(x, s) || !make_way(x, s))
        return;
    publish_end(x, s, s->end_level);
    forget_marks(s);
    x->has_changed = true;
}

static bool chain_is_ready(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    while (!s->has_ended) {
        struct stk__ticket *t = stk__stage_peek(x, input_of(x, s, s->current), s);
        if (t && t->end == STK__END_BROKEN)
            stk__pass_break(x, s, s->current, t);
        if (!t || t->end == STK__END_BROKEN)
            return false;
        if (!t->end) {
            w->ticket = t;
            return true;
        }
        stk__see_mark(x, s, s->current, t);
        s->has_ended = ++s->current == s->plan->n_inputs;
    }
    stk__end_joined(x, s);
    return false;
}

/* The first input, in order, that has ended ends the pass. */
static bool zip_ends(struct stk__exec *x, struct stk__stage *s, struct stk__work *w,
                     bool *is_starved)
{
    *is_starved = false;
    for (int i = 0; i < s->plan->n_inputs; i++) {
        struct stk__ticket *t = stk__stage_peek(x, input_of(x, s, i), s);
        if (!t) {
            *is_starved = true;
            return false;
        }
        w->ticket_of[i] = t;
        if (!t->end)
            continue;
        if (t->end == STK__END_BROKEN) {
            stk__pass_break(x, s, i, t);
            *is_starved = true;
            return false;
        }
        stk__see_mark(x, s, i, t);
        s->has_ended = true;
        stk__close_inputs(x, s, s->plan->depth);
        return true;
    }
    return false;
}

static bool zip_is_ready(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    bool is_starved = false;
    if (!s->has_ended && !zip_ends(x, s, w, &is_starved))
        return !is_starved;
    stk__end_joined(x, s);
    return false;
}

/* ---- choosing ---- */

/* Whether rows or marks may still come out of a stage. */
static bool may_come(struct stk__exec *x, const struct stk__stage *s)
{
    if (s->ring.head != s->ring.tail)
        return true;
    if (s->plan->is_source)
        return !s->is_exhausted && !s->is_stuck;
    for (int i = 0; i < s->plan->n_inputs; i++)
        if (may_come(x, &x->stage[s->plan->input[i]]))
            return true;
    return false;
}

/* A pass that drains keeps step with the next one that fills, so that there is no gap between them;
 * unless the consumer has waited for long. */
static bool holds_back(struct stk__exec *x, struct stk__stage *s)
{
    return !x->is_impatient && !stk__is_closed(s) && may_come(x, input_of(x, s, 0));
}

bool stk__pick_serial(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    if (s->is_busy || !stk__has_room(&s->ring) || (s->has_told && !stk__is_closed(s)) ||
        (!s->open_out && !stk__can_open_lot(x, s)))
        return false;
    if (x->is_consumer_choosing && s->plan->may_block) {
        x->has_declined = true;
        return false;
    }
    *w = (struct stk__work){ .kind = STK__STEP, .stage = s };
    bool is_ready;
    switch (s->plan->kind) {
    case STK__POSITIONS:
    case STK__CHOOSING:
    case STK__NESTING:
    case STK__STREAMING:
    case STK__GIVEN:
        w->is_closed = stk__is_closed(s);
        is_ready = !s->is_exhausted && (w->is_closed || !s->is_stuck);
        break;
    case STK__ZIPPING:
        is_ready = zip_is_ready(x, s, w);
        break;
    case STK__CHAINING:
        is_ready = chain_is_ready(x, s, w);
        break;
    case STK__MIXING:
        is_ready = stk__mix_is_ready(x, s, w);
        break;
    case STK__CACHING:
        is_ready = stk__cache_is_ready(x, s, w);
        break;
    case STK__WEAVING:
        is_ready = stk__weave_is_ready(x, s, w);
        break;
    default:
        w->ticket = stk__stage_peek(x, input_of(x, s, 0), s);
        is_ready = w->ticket || (s->is_turning && !holds_back(x, s));
    }
    if (!is_ready)
        return false;
    if (!s->open_out && !(s->open_out = stk__lot_new(x, s)))
        return false;
    s->is_busy = true;
    return true;
}

/* ---- running, outside the lock; the busy bit keeps the stage ours ---- */

static void run_positions(struct stk__stage *s, struct stk__work *w)
{
    struct stk_chunk *out = s->open_out->chunk;
    uint64_t left = w->is_closed ? 0 : s->plan->count - s->position;
    uint64_t room = (uint64_t)(out->cap - out->n), where = stk__where(s->plan->origin, s->position);
    int n = (int)(left < room ? left : room);
    for (int i = 0; i < n; i++)
        out->address[out->n + i] = (struct stk_address){ where + (uint64_t)i, s->path };
    out->n += n;
    w->n = n;
    w->is_flushed = left == (uint64_t)n && n == 0;
}

static int next_rows(struct stk__stage *s, struct stk_chunk *out)
{
    const struct stk_source_table *source = &s->plan->node->op->source;
    if (s->begins_pass) {
        int rc = source->rewind(s->run, &s->breaking);
        if (rc)
            return rc;
        s->begins_pass = false;
    }
    return source->next(s->run, out, &s->breaking);
}

static void run_streaming(struct stk__stage *s, struct stk__work *w)
{
    struct stk_chunk *out = s->open_out->chunk;
    int first = out->n;
    int rc = w->is_closed ? STK_END : next_rows(s, out);
    uint64_t where = stk__where(s->plan->origin, s->first_row + s->position);
    for (int i = first; i < out->n; i++) {
        uint64_t index = (uint64_t)(i - first);
        out->address[i] = (struct stk_address){ where + index, s->path };
        if (out->key)
            out->key[i] = stk__key_make(s->plan->node->ordinal, s->path, s->position + index);
    }
    w->n = out->n - first;
    w->is_flushed = rc != STK_OK;
    w->is_broken = rc != STK_OK && rc != STK_END;
    if (w->is_broken) {
        s->breaking.code = rc;
        stk__error_prefix(&s->breaking, "%s: ", stk__op_said(s->plan->node->op));
    }
}

/* The element that the chain is opened for. One that is there several times is another one each time
 * for what draws. */
static void run_given(struct stk__stage *s, struct stk__work *w)
{
    struct stk_chunk *out = s->open_out->chunk;
    w->is_flushed = w->is_closed || s->position;
    if (w->is_flushed)
        return;
    stk__chunk_append(out, s->element, 0, 1);
    if (out->key)
        out->key[out->n - 1] =
            stk__key_join(out->key[out->n - 1], stk__key_make(s->plan->node->ordinal, s->path, 0));
    w->n = 1;
}

static void run_zip(struct stk__stage *s, struct stk__work *w)
{
    struct stk_chunk *out = s->open_out->chunk;
    int n = out->cap - out->n;
    for (int i = 0; i < s->plan->n_inputs; i++) {
        int left = w->ticket_of[i]->n - w->ticket_of[i]->n_used;
        n = left < n ? left : n;
    }
    for (int i = 0, first = 0; i < s->plan->n_inputs; i++) {
        struct stk__ticket *t = w->ticket_of[i];
        stk__chunk_join(out, out->n, first, t->chunk, t->out_from + t->n_used, n);
        first += t->chunk->type->n_fields;
    }
    out->n += n;
    w->used = n;
}

static void run_chain(struct stk__stage *s, struct stk__work *w)
{
    struct stk_chunk *out = s->open_out->chunk;
    struct stk__ticket *t = w->ticket;
    int n = t->n - t->n_used, room = out->cap - out->n;
    n = n < room ? n : room;
    stk_chunk_copy(out, out->n, t->chunk, t->out_from + t->n_used, n);
    out->n += n;
    w->used = n;
}

/* A pass drains by as many rows as come; they belong to the next one. Marks wait until it is over. */
static void run_turning(struct stk__stage *s, struct stk__work *w)
{
    const struct stk_serial_table *op = &s->plan->node->op->serial;
    struct stk__ticket *t = w->ticket;
    struct stk_chunk *out = s->open_out->chunk;
    int n = t && !t->end ? t->n - t->n_used : 0, cap = out->cap;
    if (n && n < cap - out->n)
        out->cap = out->n + n;
    w->is_flushed = op->flush(s->run, out);
    out->cap = cap;
    if (!w->is_flushed && n)
        w->used = op->step(s->run, t->chunk, t->out_from + t->n_used, n, out);
}

/* True behind a repeat(0): a mark comes, but of no pass that the op could end. */
static bool has_no_passes(const struct stk__stage *s)
{
    for (int level = 1; level <= s->plan->depth; level++)
        if (s->plan->level_count[level] == 0)
            return true;
    return false;
}

/* A row for which the op found no memory breaks the stream: with more memory there would be others from here on,
 * and an op behind that counts rows must not take it for one of them. */
static bool is_short_at(struct stk__stage *s, const struct stk_chunk *out, int row)
{
    const struct stk__node *node = s->plan->node;
    const struct stk_fault *fault =
        out->mask[row] == STK_BAD ? stk__chunk_find_fault(out, row) : NULL;
    if (out->mask[row] != STK_BAD || (fault && fault->code != STK_MEMORY))
        return false;
    if (fault && fault->op && strcmp(fault->op, node->op->decl.name))
        return false; /* it came like this */
    stk__describe_fault(s->holder.exec->plan, fault, out->address[row], s->counter[0],
                        &s->breaking);
    return true;
}

static int step_op(struct stk__stage *s, const struct stk_serial_table *op, struct stk__ticket *t)
{
    struct stk_chunk *out = s->open_out->chunk;
    int left = t->n - t->n_used, row = out->n, n_bad = out->n_bad;
    if (s->is_short)
        return left;
    int used = op->step(s->run, t->chunk, t->out_from + t->n_used, left, out);
    if (out->n_bad == n_bad || s->plan->kind != STK__SERIAL)
        return used;
    while (row < out->n && !is_short_at(s, out, row))
        row++;
    s->is_short = row < out->n;
    stk__chunk_cut(out, row);
    return s->is_short ? left : used;
}

static void run_op(struct stk__stage *s, struct stk__work *w)
{
    const struct stk_serial_table *op =
        s->plan->kind == STK__BATCHING ? &stk__batch_serial : &s->plan->node->op->serial;
    struct stk__ticket *t = w->ticket;
    struct stk_chunk *out = s->open_out->chunk;
    if (s->is_turning) {
        run_turning(s, w);
        return;
    }
    if (s->begins_pass && op->next_epoch)
        op->next_epoch(s->run, stk__pass_path(s));
    s->begins_pass = false;
    if (t->end == STK__END_PASS && op->turn && !s->is_short) {
        op->turn(s->run);
        w->is_turned = true;
        return;
    }
    if ((t->end == STK__END_BROKEN && op->is_whole) ||
        (t->end && (s->is_short || has_no_passes(s))))
        w->is_flushed = true; /* an incomplete batch is not handed on */
    else if (t->end)
        w->is_flushed = op->flush ? op->flush(s->run, out) : true;
    else
        w->used = step_op(s, op, t);
}

void stk__run_step(struct stk__exec *x, struct stk__work *w)
{
    const struct stk_chunk *out = w->stage->open_out->chunk;
    int n_before = out->n;
    switch (w->stage->plan->kind) {
    case STK__POSITIONS:
        run_positions(w->stage, w);
        break;
    case STK__STREAMING:
        run_streaming(w->stage, w);
        break;
    case STK__ZIPPING:
        run_zip(w->stage, w);
        break;
    case STK__CHAINING:
        run_chain(w->stage, w);
        break;
    case STK__MIXING:
        stk__run_mix(w->stage, w);
        break;
    case STK__CHOOSING:
        stk__run_choosing(w->stage, w);
        break;
    case STK__CACHING:
        stk__run_caching(x, w->stage, w);
        break;
    case STK__NESTING:
        stk__run_nesting(w->stage, w);
        break;
    case STK__WEAVING:
        stk__run_weaving(w->stage, w);
        break;
    case STK__GIVEN:
        run_given(w->stage, w);
        break;
    default:
        run_op(w->stage, w);
    }
    w->n_taken = w->used;
    for (int i = 0; i < w->stage->plan->n_inputs; i++)
        w->n_taken += w->used_of[i];
    w->n_made = out->n - n_before;
}

/* ---- finishing, under the lock ---- */

/* True if the stage needs no more rows of its pass. */
static bool is_closed(const struct stk__stage *s)
{
    const struct stk_serial_table *op = &s->plan->node->op->serial;
    if (s->plan->kind == STK__BATCHING)
        return stk__batching_is_broken(s->run);
    return s->plan->kind == STK__SERIAL &&
           (s->is_short || (op->is_closed && op->is_closed(s->run)));
}

/* Rows that wait for others of their value: how many there are shows only as they come. */
static void settle_held(struct stk__exec *x, struct stk__stage *s)
{
    size_t held = stk__batching_held(s->run), had = s->held_account.held_bytes;
    held = held > s->plan->held_bytes ? held - s->plan->held_bytes : 0;
    if (held > had)
        stk__account_charge(x, &s->held_account, held - had);
    else
        stk__account_credit(x, &s->held_account, had - held);
}

static void use_rows(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    if (s->plan->is_source)
        s->position += (uint64_t)w->n;
    if (s->plan->kind == STK__CACHING)
        stk__finish_caching(x, s, w);
    for (int i = 0; s->plan->kind == STK__ZIPPING && i < s->plan->n_inputs; i++)
        w->ticket_of[i]->n_used += w->used;
    for (int i = 0; s->plan->kind == STK__MIXING && i < s->plan->n_inputs; i++)
        if (w->ticket_of[i])
            w->ticket_of[i]->n_used += w->used_of[i];
    if (w->ticket)
        w->ticket->n_used += w->used;
    if (s->plan->kind == STK__BATCHING)
        settle_held(x, s);
    if (is_closed(s))
        stk__close_inputs(x, s, s->plan->depth); /* nobody needs the rest */
}

static void end_source_pass(struct stk__exec *x, struct stk__stage *s, const struct stk__work *w)
{
    s->is_stuck = w->is_broken;
    if (w->is_broken) {
        s->broken = s->breaking;
        publish_break(s);
    } else
        publish_end(x, s, stk__source_end_pass(s));
}

/* At the end of a pass: whether the stage breaks the stream, for want of memory or as a judge. A batching that
 * is none has seen no bad row but one for which there was no room. */
static bool has_verdict(struct stk__stage *s)
{
    if (s->is_short)
        s->broken = s->breaking;
    if (s->plan->kind != STK__BATCHING)
        return s->is_short;
    struct stk__judge *judge = stk__batching_judge(s->run);
    if (stk__batching_is_broken(s->run)) {
        s->broken = *stk__judge_last(judge);
        return true;
    }
    return !stk__judge_pass(judge, &s->broken);
}

/* All that belongs before the mark at the input's head was handed on. */
static void end_pass(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    struct stk__ticket *t = w->ticket;
    if (s->plan->is_source) {
        end_source_pass(x, s, w);
        return;
    }
    if (w->is_broken) { /* by the stage itself; it waits until the pass is closed */
        s->broken = s->breaking;
        s->is_stuck = true;
        publish_break(s);
        return;
    }
    if (s->is_turning) {
        s->is_turning = false;
        x->n_turning--;
        publish_end(x, s, s->turn_level);
        return;
    }
    if (t->end == STK__END_BROKEN) {
        if (!is_closed(s)) { /* errors after take's end are ignored; the pass is closed already */
            s->broken = *t->broken;
            publish_break(s);
        }
        stk__stage_retire(x, input_of(x, s, 0));
        return;
    }
    if (!s->has_told && has_verdict(s)) {
        s->has_told = true;
        publish_break(s); /* the end comes in the next step */
        return;
    }
    if (s->plan->kind == STK__BATCHING) {
        struct stk__judge *judge = stk__batching_judge(s->run);
        judge->epoch += t->level == 0;
        stk__judge_begin(judge);
    }
    publish_end(x, s, t->level < s->plan->depth ? t->level : s->plan->depth);
    stk__stage_retire(x, input_of(x, s, 0));
}

void stk__finish_step(struct stk__exec *x, struct stk__work *w)
{
    struct stk__stage *s = w->stage;
    struct stk__ring *ring = &s->ring;
    s->is_busy = false;
    use_rows(x, s, w);
    const struct stk_chunk *out = s->open_out->chunk;
    if (w->is_turned) {
        s->is_turning = true;
        x->n_turning++;
        s->turn_level = w->ticket->level;
        stk__stage_retire(x, input_of(x, s, 0));
    }
    if (w->is_flushed && out->n == 0)
        end_pass(x, s, w);
    else if (out->n &&
             (w->is_flushed || ring->head == ring->tail || stk__lot_is_full(s->open_out))) {
        /* A source that ended with rows ends its pass at the next step: the same call says so
         * again. */
        publish_rows(x, s);
    }
}

/* ---- birth and death ---- */

/* Both only while nobody else looks at the stage: when the run begins and ends. */
static struct stk_chunk *new_held(void *ctx, int cap)
{
    const struct stk__holder *holder = ctx;
    const struct stk__plan *plan = holder->exec->plan;
    const struct stk__stage_plan *input = &plan->stage[holder->stage->plan->input[0]];
    int parts = stk__stage_parts(plan, input);
    struct stk_chunk *chunk = stk__chunk_new(input->type, cap, parts);
    holder->stage->held_chunks += chunk ? stk__chunk_bytes(input->type, cap, parts) : 0;
    return chunk;
}

static void free_held(void *ctx, struct stk_chunk *chunk)
{
    (void)ctx;
    stk__chunk_free(chunk);
}

static void charge_kept(void *ctx, size_t bytes)
{
    struct stk__exec *x = ((const struct stk__holder *)ctx)->exec;
    pthread_mutex_lock(&x->lock);
    stk__account_charge(x, &((const struct stk__holder *)ctx)->stage->held_account, bytes);
    pthread_mutex_unlock(&x->lock);
}

int stk__serial_begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    const struct stk__node *node = s->plan->node;
    s->begins_pass = true;
    s->holder = (struct stk__holder){ x, s };
    forget_marks(s);
    int rc = STK_OK;
    if (s->plan->kind == STK__STREAMING && !s->plan->opened)
        rc = node->op->source.begin(
            &(struct stk_source_begin){ node->params, node->state, x->pool }, &s->run, err);
    if (s->plan->kind == STK__BATCHING)
        rc = stk__batching_begin(x->plan, s->plan, x->pool, &s->run, err);
    if (!rc && s->plan->kind == STK__BATCHING) {
        stk__batching_judge(s->run)->epoch = s->counter[0]; /* not the first, if it is resumed */
        stk__batching_judge(s->run)->causes = &x->causes;
    }
    if (s->plan->kind == STK__NESTING)
        rc = stk__nesting_begin(s, err);
    if (s->plan->kind == STK__WEAVING)
        rc = stk__weaving_begin(x, s, err);
    bool has_choice = s->plan->kind == STK__MIXING || s->plan->kind == STK__CHOOSING;
    if (s->plan->kind == STK__SERIAL || has_choice) {
        const struct stk_serial_begin begin = { .params = node->params,
                                                .state = node->state,
                                                .seed = stk__hash_mix(
                                                    (uint64_t)x->plan->options.seed, node->ordinal),
                                                .chunk_new = new_held,
                                                .chunk_free = free_held,
                                                .charge = charge_kept,
                                                .kept_bytes = s->plan->kept_bytes,
                                                .held_rows = s->plan->held_rows,
                                                .pool = x->pool,
                                                .ctx = &s->holder,
                                                .rank = (int)x->plan->options.rank,
                                                .world = (int)x->plan->options.world };
        rc = has_choice ? node->op->choice.begin(&begin, &s->run, err)
                        : node->op->serial.begin(&begin, &s->run, err);
    }
    if (rc)
        stk__error_prefix(err, "%s: ", stk__op_said(node->op));
    return rc;
}

void stk__serial_end(struct stk__exec *x, struct stk__stage *s)
{
    (void)x;
    const struct stk_op *op = s->plan->node->op;
    if (!s->run)
        return;
    if (s->plan->kind == STK__STREAMING && op->source.end)
        op->source.end(s->run);
    if (s->plan->kind == STK__BATCHING)
        stk__batch_serial.end(s->run);
    if (s->plan->kind == STK__NESTING)
        stk__nesting_end(s->run);
    if (s->plan->kind == STK__WEAVING)
        stk__weaving_end(s->run);
    if (s->plan->kind == STK__SERIAL && op->serial.end)
        op->serial.end(s->run);
    if (s->plan->kind == STK__MIXING || s->plan->kind == STK__CHOOSING)
        op->choice.end(s->run);
}
