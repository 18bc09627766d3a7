/* SPDX-License-Identifier: Apache-2.0 */
/* stage_steps.c: see stage_steps.h. What a stage makes is gathered in an open chunk, which is published when it is full, when a pass
 * ends, and when nobody downstream has anything left.
 */
#include "exec/stage/stage_steps.h"

#include "base/error.h"
#include "base/hash.h"
#include "op/op_names.h"

#include <limits.h>
#include <string.h>

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
        x->crew.has_changed = true;
    }
    return stk__has_room(&s->ring);
}

static void forget_marks(struct stk__stage *s)
{
    for (int i = 0; i < STK_MAX_INPUTS; i++)
        s->joint.seen_level[i] = INT_MAX;
    s->joint.end_level = INT_MAX;
    s->joint.has_ended = false;
}

void stk__see_mark(struct stk__exec *x, struct stk__stage *s, int i, const struct stk__ticket *t)
{
    int level = t->level < s->plan->depth ? t->level : s->plan->depth;
    s->joint.seen_level[i] = level;
    s->joint.end_level = level < s->joint.end_level ? level : s->joint.end_level;
    stk__stage_retire(x, stk__input_of(x, s, i));
}

/* Hands the break at the head of an input on. */
void stk__hand_on_break(struct stk__exec *x, struct stk__stage *s, int i,
                        const struct stk__ticket *t)
{
    if (!make_way(x, s))
        return;
    s->broken = *t->broken;
    publish_break(s);
    stk__stage_retire(x, stk__input_of(x, s, i));
}

/* Throws away what the inputs still have of a pass that is over. Inputs run ahead, so one of
 * them may have begun further passes inside the one that ended: each must come to a mark of the
 * outermost level seen. */
static bool drain_inputs(struct stk__exec *x, struct stk__stage *s)
{
    bool is_done = true;
    for (int i = 0; i < s->plan->n_inputs; i++) {
        struct stk__ticket *t;
        while (s->joint.seen_level[i] > s->joint.end_level &&
               (t = stk__stage_peek(x, stk__input_of(x, s, i), s))) {
            int before = s->joint.end_level;
            if (t->end == STK__END_PASS)
                stk__see_mark(x, s, i, t);
            else if (t->end)
                stk__stage_retire(x, stk__input_of(x, s, i)); /* errors after a pass are ignored */
            else
                t->n_used = t->n;
            if (s->joint.end_level < before)
                return drain_inputs(x, s);
        }
        is_done &= s->joint.seen_level[i] <= s->joint.end_level;
    }
    return is_done;
}

/* Ends the pass of a stage with several inputs as soon as all have come to its end. */
void stk__end_joined(struct stk__exec *x, struct stk__stage *s)
{
    if (!drain_inputs(x, s) || !make_way(x, s))
        return;
    publish_end(x, s, s->joint.end_level);
    forget_marks(s);
    x->crew.has_changed = true;
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
    return !x->crew.is_impatient && !stk__is_closed(s) && may_come(x, stk__input_of(x, s, 0));
}

static bool input_is_ready(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    w->ticket = stk__stage_peek(x, stk__input_of(x, s, 0), s);
    return w->ticket || (s->is_turning && !holds_back(x, s));
}

bool stk__source_is_ready(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    (void)x;
    w->is_closed = stk__is_closed(s);
    return !s->is_exhausted && (w->is_closed || !s->is_stuck);
}

bool stk__step_pick(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    const struct stk__stage_type *kind = s->plan->kind;
    if (s->is_busy || !stk__has_room(&s->ring) || (s->has_told && !stk__is_closed(s)) ||
        (!s->open_out && !stk__can_open_lot(x, s)))
        return false;
    if (x->crew.is_consumer_choosing && s->plan->may_block) {
        x->crew.has_declined = true;
        return false;
    }
    *w = (struct stk__work){ .kind = STK__STEP, .stage = s };
    if (!(kind->is_ready ? kind->is_ready : input_is_ready)(x, s, w))
        return false;
    if (!s->open_out && !(s->open_out = stk__lot_new(x, s)))
        return false;
    s->is_busy = true;
    return true;
}

/* ---- running, outside the lock; the busy bit keeps the stage ours ---- */

void stk__step_run(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    struct stk__stage *s = w->stage;
    const struct stk__chunk *out = s->open_out->chunk;
    int n_before = out->n;
    (void)worker;
    s->plan->kind->step(x, s, w);
    w->n_taken = w->used;
    for (int i = 0; i < s->plan->n_inputs; i++)
        w->n_taken += w->used_of[i];
    w->n_made = out->n - n_before;
}

/* A pass drains by as many rows as come; they belong to the next one. Marks wait until it is over. */
static void run_turning(struct stk__stage *s, const struct stk__serial_table *op,
                        struct stk__work *w)
{
    struct stk__ticket *t = w->ticket;
    struct stk__chunk *out = s->open_out->chunk;
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

bool stk__step_has_rows(struct stk__stage *s, const struct stk__serial_table *op,
                        struct stk__work *w)
{
    const struct stk__ticket *t = w->ticket;
    if (s->is_turning) {
        run_turning(s, op, w);
        return false;
    }
    if (s->begins_pass && op->next_epoch)
        op->next_epoch(s->run, stk__pass_path(s));
    s->begins_pass = false;
    if (t->end == STK__END_PASS && op->turn && !s->is_short) {
        op->turn(s->run);
        w->is_turned = true;
        return false;
    }
    if ((t->end == STK__END_BROKEN && op->is_whole) ||
        (t->end && (s->is_short || has_no_passes(s))))
        w->is_flushed = true; /* an incomplete batch is not handed on */
    else if (t->end)
        w->is_flushed = op->flush ? op->flush(s->run, s->open_out->chunk) : true;
    return !t->end;
}

/* ---- finishing, under the lock ---- */

static bool is_closed(const struct stk__stage *s)
{
    const struct stk__stage_type *kind = s->plan->kind;
    return kind->is_closed && kind->is_closed(s);
}

static void use_rows(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    if (s->plan->is_source)
        s->position += (uint64_t)w->n;
    if (w->ticket)
        w->ticket->n_used += w->used;
    if (s->plan->kind->use)
        s->plan->kind->use(x, s, w);
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

/* All that belongs before the mark at the input's head was handed on. */
static void end_pass(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    const struct stk__stage_type *kind = s->plan->kind;
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
        x->crew.n_turning--;
        publish_end(x, s, s->turn_level);
        return;
    }
    if (t->end == STK__END_BROKEN) {
        if (!is_closed(s)) { /* errors after take's end are ignored; the pass is closed already */
            s->broken = *t->broken;
            publish_break(s);
        }
        stk__stage_retire(x, stk__input_of(x, s, 0));
        return;
    }
    if (!s->has_told && kind->breaks && kind->breaks(s)) {
        s->has_told = true;
        publish_break(s); /* the end comes in the next step */
        return;
    }
    if (kind->end_pass)
        kind->end_pass(s, t->level);
    publish_end(x, s, t->level < s->plan->depth ? t->level : s->plan->depth);
    stk__stage_retire(x, stk__input_of(x, s, 0));
}

void stk__step_finish(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    struct stk__stage *s = w->stage;
    struct stk__ring *ring = &s->ring;
    (void)worker;
    s->is_busy = false;
    use_rows(x, s, w);
    const struct stk__chunk *out = s->open_out->chunk;
    if (w->is_turned) {
        s->is_turning = true;
        x->crew.n_turning++;
        s->turn_level = w->ticket->level;
        stk__stage_retire(x, stk__input_of(x, s, 0));
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
static struct stk__chunk *new_held(void *ctx, int cap)
{
    const struct stk__holder *holder = ctx;
    const struct stk__plan *plan = holder->exec->plan;
    const struct stk__stage_plan *input = &plan->stage[holder->stage->plan->input[0]];
    int parts = stk__stage_parts(plan, input);
    struct stk__chunk *chunk = stk__chunk_new(input->type, cap, parts);
    holder->stage->memory.held_chunks += chunk ? stk__chunk_bytes(input->type, cap, parts) : 0;
    return chunk;
}

static void free_held(void *ctx, struct stk__chunk *chunk)
{
    (void)ctx;
    stk__chunk_free(chunk);
}

static void charge_kept(void *ctx, size_t bytes)
{
    struct stk__exec *x = ((const struct stk__holder *)ctx)->exec;
    pthread_mutex_lock(&x->lock);
    stk__account_charge(x, &((const struct stk__holder *)ctx)->stage->memory.held_account, bytes);
    pthread_mutex_unlock(&x->lock);
}

struct stk__serial_start stk__step_begin(struct stk__exec *x, struct stk__stage *s)
{
    const struct stk__node *node = s->plan->node;
    return (struct stk__serial_start){
        .params = node->params,
        .state = node->state,
        .seed = stk__hash_mix((uint64_t)x->plan->options.seed, node->ordinal),
        .chunk_new = new_held,
        .chunk_free = free_held,
        .charge = charge_kept,
        .kept_bytes = s->plan->kept_bytes,
        .held_rows = s->plan->held_rows,
        .pool = x->pool,
        .ctx = &s->holder,
        .rank = (int)x->plan->options.rank,
        .world = (int)x->plan->options.world,
    };
}

int stk__stage_begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    s->begins_pass = true;
    s->holder = (struct stk__holder){ x, s };
    forget_marks(s);
    int rc = s->plan->kind->begin ? s->plan->kind->begin(x, s, err) : STK_OK;
    if (rc)
        stk__error_prefix(err, "%s: ", stk__op_said(s->plan->node->op));
    return rc;
}
