/* SPDX-License-Identifier: Apache-2.0 */
/* weaving.c: the stage of an op that opens a chain for each element as it comes, and takes from
 * several in turn.
 *
 *     elements ─▶ ┌ place 0: cursor ─▶ ┐
 *                 ├ place 1: cursor ─▶ ├ in turn ─▶ rows
 *                 └ place 2: cursor ─▶ ┘
 *
 * The order is that of nesting.c, which is the same over positions: places take turns; one whose
 * chain has ended loses its turn, and opens the next element's when it comes again. A place keeps
 * its cursor, the run of the chain, for the elements to come.
 *
 * Whoever has the stage's busy bit takes rows, and runs the cursor whose turn it is if it has none.
 * Where chains are slow other workers run the cursors of places whose turn comes later, each until
 * it is two tickets ahead (`is_hungry` until then). A place's `is_running` says that somebody runs
 * its cursor; opening and closing it need that bit too. So the order in which rows leave depends on
 * turns alone.
 *
 * A chain that breaks is a bad row in its place, and over: the next element's takes that.
 */
#include "base/error.h"
#include "base/hash.h"
#include "exec/stage/cursor.h"
#include "exec/stage/stage_steps.h"
#include "graph/nest.h"
#include "op/order/nesting.h"
#include "op/order/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 2 }; /* tickets of a cursor */

struct place {
    struct stk__exec *cursor;   /* NULL: none was made yet */
    struct stk__chunk *element; /* that the chain is open for */
    bool is_open;
    bool is_bad;             /* instead of rows it has one bad one, */
    bool has_told;           /* which was taken; */
    struct stk__fault fault; /* this is why, with its text: */
    char why[STK_ERROR_TEXT];
    struct stk__ticket *head; /* rows of the cursor that are being taken, or NULL; */
    int n_taken;              /* so many were */
    atomic_bool is_running;   /* pairs with itself: who sets it has the cursor */
    atomic_bool
        is_hungry; /* open, and not far ahead; a hint, true only while the cursor is there */
};

struct weave {
    struct stk__stage *stage;
    int64_t block_length;
    int n_places;
    int n_runners, next_ahead; /* guarded by the run's lock: cursors run by others; where to look */
    /* of this pass */
    uint64_t next_element, n_empty; /* elements one after the other that had no rows */
    bool is_last;                   /* there are no more elements */
    bool is_broken;                 /* stage->breaking is to be told */
    int n_left;                     /* places that may still have rows, the first of `order` */
    int turn;                       /* which of those has the turn */
    int64_t n_in_block;
    struct place **order;
    struct place place[];
};

/* ---- birth and death ---- */

static int begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    const struct stk__nesting *nesting = s->plan->node->state;
    const struct stk__stage_plan *outer = &x->plan->stage[s->plan->input[0]];
    size_t n = (size_t)s->plan->n_chains;
    struct weave *v = calloc(1, sizeof *v + n * sizeof *v->place);
    s->run = v;
    if (!v || !(v->order = calloc(n, sizeof *v->order)))
        return stk__out_of_memory(err);
    v->stage = s;
    v->block_length = nesting->block_length;
    for (; v->n_places < (int)n; v->n_places++) {
        struct place *place = &v->place[v->n_places];
        place->element = stk__chunk_new(outer->type, 1, stk__stage_parts(x->plan, outer));
        if (!place->element)
            return stk__out_of_memory(err);
        atomic_init(&place->is_running, false);
        atomic_init(&place->is_hungry, false);
    }
    return STK_OK;
}

static void end(struct stk__stage *s)
{
    struct weave *v = s->run;
    for (int i = 0; v && i < v->n_places; i++) {
        if (v->place[i].cursor)
            stk__exec_free(v->place[i].cursor);
        stk__chunk_free(v->place[i].element);
    }
    if (v)
        free(v->order);
    free(v);
}

/* ---- turns ---- */

static void begin_pass(struct weave *v)
{
    v->next_element = v->n_empty = 0;
    v->is_last = v->is_broken = false;
    v->n_left = v->n_places;
    v->turn = 0;
    v->n_in_block = 0;
    for (int i = 0; i < v->n_places; i++)
        v->order[i] = &v->place[i];
}

static void give_turn(struct weave *v)
{
    v->n_in_block = 0;
    v->turn = v->turn + 1 >= v->n_left ? 0 : v->turn + 1;
}

/* Closes up the places without a chain; the order of the others stays. */
static void close_up(struct weave *v)
{
    int n = 0, turn = 0;
    for (int i = 0; i < v->n_left; i++) {
        turn += i < v->turn && v->order[i]->is_open;
        if (v->order[i]->is_open)
            v->order[n++] = v->order[i];
    }
    v->n_left = n;
    v->turn = turn < n ? turn : 0;
}

static void end_chain(struct weave *v, struct place *place)
{
    place->is_open = false;
    place->head = NULL;
    atomic_store(&place->is_hungry, false);
    v->n_in_block = 0;
    if (v->is_last)
        close_up(v); /* it is the next one's turn, which has moved here */
    else
        give_turn(v);
}

static void count_rows(struct weave *v, int64_t n)
{
    v->n_empty = 0;
    v->n_in_block += n;
    if (v->n_in_block == v->block_length)
        give_turn(v);
}

/* ---- what goes wrong ---- */

/* Ends the run; what was taken before is handed on first. */
static int break_off(struct weave *v, const struct stk_error *err)
{
    v->stage->breaking = *err;
    v->is_broken = true;
    return err->code;
}

static bool is_of_data(int code)
{
    return code == STK_DATA || code == STK_IO || code == STK_VALUE || code == STK_TYPE ||
           code == STK_NAME;
}

/* A chain that cannot be opened or read is a bad row. */
static int spoil(struct weave *v, struct place *place, const struct stk_error *err, const char *op)
{
    if (!is_of_data(err->code))
        return break_off(v, err);
    place->is_bad = true;
    place->fault = (struct stk__fault){ .code = err->code, .op = op, .text = place->why };
    snprintf(place->why, sizeof place->why, "%s", err->text);
    return STK_OK;
}

/* A cursor that is not at the end of its pass cannot be opened again. */
static void drop_cursor(struct place *place)
{
    if (place->cursor)
        stk__exec_free(place->cursor);
    place->cursor = NULL;
    place->head = NULL;
    atomic_store(&place->is_hungry, false);
}

/* Nobody wants the rest of the pass; nobody else is at a cursor. */
static void close_all(struct weave *v)
{
    for (int i = 0; i < v->n_places; i++) {
        if (v->place[i].is_open)
            drop_cursor(&v->place[i]);
        v->place[i].is_open = false;
    }
}

/* A pass that only finds chains without rows would never end. */
static int check_progress(struct weave *v)
{
    const uint64_t most_empty = 1 << 20;
    struct stk_error err;
    if (!v->stage->plan->is_endless || v->n_empty++ <= most_empty)
        return STK_OK;
    stk_fail(&err, STK_DATA, "%s: %llu elements one after the other gave nothing",
             v->stage->plan->node->op->decl.name, (unsigned long long)v->n_empty - 1);
    return break_off(v, &err);
}

/* ---- opening ---- */

static int open_cursor(struct weave *v, struct place *place, uint64_t path)
{
    const struct stk__node *leaf = v->stage->plan->node->nest->leaf;
    const struct stk__chunk *element = place->element;
    bool has_files = leaf && !(leaf->op->flags & STK__OP_ELEMENT);
    struct stk_error err = { 0 };
    if (has_files && element->n_bad) {
        const struct stk__fault *fault = stk__chunk_find_fault(element, 0);
        place->is_bad = true;
        place->fault = fault ? *fault : (struct stk__fault){ .code = STK_MEMORY };
        snprintf(place->why, sizeof place->why, "%s", fault ? fault->text : "");
        place->fault.text = place->why;
        return STK_OK;
    }
    if (!place->cursor && stk__exec_new(v->stage->plan->inner, NULL, &place->cursor, &err))
        return break_off(v, &err);
    place->cursor->cancelled = v->stage->holder.exec->cancelled;
    const struct stk__exec *outer = v->stage->holder.exec;
    place->cursor->memory.budget_bytes = outer->memory.budget_bytes;
    stk__pool_set_most(place->cursor->pool, stk__pool_most(outer->pool));
    stk__reads_lend(place->cursor);
    if (stk__cursor_open(place->cursor, element, path, &err)) {
        drop_cursor(place);
        return spoil(v, place, &err, leaf->op->decl.name);
    }
    return STK_OK;
}

/* For a row of the elements; false if somebody is still at the cursor. */
static bool open_place(struct weave *v, struct place *place, const struct stk__chunk *from, int row)
{
    if (atomic_exchange(&place->is_running, true))
        return false;
    stk__chunk_clear(place->element);
    stk__chunk_append(place->element, from, row, 1);
    place->is_open = true;
    place->is_bad = place->has_told = false;
    place->head = NULL;
    if (!check_progress(v))
        open_cursor(v, place, stk__hash_mix(stk__pass_path(v->stage), v->next_element));
    v->next_element++;
    atomic_store(&place->is_hungry, place->cursor && !place->is_bad);
    atomic_store(&place->is_running, false);
    return true;
}

/* The next element's chain, if that is there; false: it is not. */
static bool open_next(struct weave *v, struct place *place, struct stk__work *w)
{
    const struct stk__ticket *t = w->ticket;
    if (t && t->end == STK__END_PASS) {
        v->is_last = true;
        close_up(v);
        return true;
    }
    if (!t || t->end || t->n_used + w->used == t->n ||
        !open_place(v, place, t->chunk, t->out_from + t->n_used + w->used))
        return false;
    w->used++;
    return true;
}

/* ---- taking ---- */

/* Makes the cursor get its next rows; false if somebody else does already. */
static bool run_cursor(struct place *place)
{
    if (atomic_exchange(&place->is_running, true))
        return false;
    stk__cursor_run(place->cursor, 1);
    atomic_store(&place->is_running, false);
    return true;
}

/* A chain that broke is over once the bad row for it was taken. */
static bool end_broken(struct weave *v, struct place *place, const struct stk_error *why)
{
    if (atomic_exchange(&place->is_running, true))
        return false;
    const struct stk_error err = *why;
    drop_cursor(place);
    spoil(v, place, &err, NULL);
    atomic_store(&place->is_running, false);
    return true;
}

/* The mark is what whoever runs the cursor comes back for: nobody may be at it when it goes. */
static bool end_ended(struct weave *v, struct place *place)
{
    if (atomic_exchange(&place->is_running, true))
        return false;
    stk__cursor_retire(place->cursor);
    end_chain(v, place);
    atomic_store(&place->is_running, false);
    return true;
}

static void take_bad(struct weave *v, struct place *place, struct stk__chunk *out)
{
    if (place->has_told) {
        end_chain(v, place);
        return;
    }
    stk__chunk_hand_on_bad(out, place->element, 0, &place->fault);
    place->has_told = true;
    count_rows(v, 1);
}

/* Takes as much of the block as there is and fits. */
static void take_rows(struct weave *v, struct place *place, struct stk__chunk *out)
{
    struct stk__ticket *t = place->head;
    int64_t n = v->block_length - v->n_in_block, room = out->cap - out->n;
    int64_t left = t->n - place->n_taken;
    n = n < room ? n : room;
    n = n < left ? n : left;
    stk__chunk_append(out, t->chunk, t->out_from + place->n_taken, (int)n);
    place->n_taken += (int)n;
    if (place->n_taken == t->n) {
        stk__cursor_retire(place->cursor);
        place->head = NULL;
        atomic_store(&place->is_hungry, true);
    }
    count_rows(v, n);
}

/* One thing of an open place; false: nothing can be done before somebody else has. */
static bool take(struct weave *v, struct place *place, struct stk__chunk *out, bool has_rows)
{
    if (place->is_bad) {
        take_bad(v, place, out);
        return true;
    }
    struct stk__ticket *t = place->head ? place->head : stk__cursor_head(place->cursor);
    if (!t) {
        const struct stk_error failure = stk__cursor_failure(place->cursor);
        if (failure.code)
            return end_broken(v, place, &failure);
        /* what is there should not wait for what may be slow */
        return !(has_rows && v->stage->plan->reads_ahead) && run_cursor(place) &&
               stk__cursor_head(place->cursor);
    }
    if (t->end == STK__END_BROKEN)
        return end_broken(v, place, t->broken);
    if (!t->end) {
        place->n_taken = place->head ? place->n_taken : 0;
        place->head = t;
        take_rows(v, place, out);
        return true;
    }
    return end_ended(v, place);
}

static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    (void)x;
    struct weave *v = s->run;
    struct stk__chunk *out = s->open_out->chunk;
    int first = out->n;
    if (s->begins_pass)
        begin_pass(v);
    s->begins_pass = false;
    if (w->is_closed) {
        close_all(v);
        w->used = w->ticket->end ? 0 : w->ticket->n - w->ticket->n_used;
        w->is_flushed = w->ticket->end == STK__END_PASS;
        return;
    }
    bool goes_on = true;
    while (goes_on && out->n < out->cap && v->n_left && !v->is_broken) {
        struct place *place = v->order[v->turn];
        goes_on = place->is_open ? take(v, place, out, out->n > first) : open_next(v, place, w);
    }
    w->is_broken = v->is_broken;
    w->is_flushed = v->is_broken || (!v->n_left && out->n == first);
}

/* ---- choosing, under the run's lock ---- */

static bool is_ready(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    struct weave *v = s->run;
    w->is_closed = stk__is_closed(s);
    w->ticket = stk__stage_peek(x, stk__input_of(x, s, 0), s);
    if (w->is_closed)
        return w->ticket && v->n_runners == 0;
    if (s->is_stuck)
        return false;
    const struct place *place = s->begins_pass || !v->n_left ? NULL : v->order[v->turn];
    if (place && place->is_open) {
        bool has_rows = place->is_bad || place->head;
        return has_rows || !atomic_load(&place->is_running) || stk__cursor_head(place->cursor);
    }
    if (w->ticket && w->ticket->end == STK__END_BROKEN) {
        stk__hand_on_break(x, s, 0, w->ticket);
        return false;
    }
    return w->ticket && !(place && atomic_load(&place->is_running));
}

/* Rows of a chain whose turn comes later. */
static bool pick_ahead(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    struct weave *v = s->run;
    if (!s->plan->reads_ahead || x->crew.n_workers < 2 || stk__is_closed(s) ||
        (x->crew.is_consumer_choosing && s->plan->may_block))
        return false;
    for (int i = 0; i < v->n_places; i++) {
        int index = (v->next_ahead + i) % v->n_places;
        struct place *place = &v->place[index];
        if (!atomic_load(&place->is_hungry) || atomic_exchange(&place->is_running, true))
            continue;
        if (atomic_load(&place->is_hungry)) {
            *w = (struct stk__work){ .kind = STK__AHEAD, .stage = s, .n = index };
            v->next_ahead = index + 1;
            v->n_runners++;
            return true;
        }
        atomic_store(&place->is_running, false);
    }
    return false;
}

static bool pick(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    return stk__step_pick(x, s, w) || pick_ahead(x, s, w);
}

static void run(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    struct weave *v = w->stage->run;
    if (w->kind != STK__AHEAD) {
        stk__step_run(x, worker, w);
        return;
    }
    atomic_store(&v->place[w->n].is_hungry, false);
    stk__cursor_run(v->place[w->n].cursor, AHEAD);
}

static void finish(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    struct weave *v = w->stage->run;
    if (w->kind != STK__AHEAD) {
        stk__step_finish(x, worker, w);
        return;
    }
    atomic_store(&v->place[w->n].is_running, false);
    v->n_runners--;
}

/* ---- for the planner ---- */

static bool has_trace(const struct stk__plan *plan, const struct stk__stage_plan *s)
{
    (void)plan;
    return s->inner->stage[s->inner->last].has_trace;
}

/* An element and a run for each chain. */
static size_t held_bytes(const struct stk__plan *plan, const struct stk__stage_plan *s)
{
    const struct stk__stage_plan *outer = &plan->stage[s->input[0]];
    size_t element = stk__chunk_bytes(outer->type, 1, stk__stage_parts(plan, outer));
    return (size_t)s->n_chains * ((size_t)s->inner->options.memory + element);
}

const struct stk__stage_type stk__weaving_stage = {
    .name = "weaving stage",
    .keeps_traces = true,
    .reads_traces = true,
    .has_trace = has_trace,
    .held_bytes = held_bytes,
    .begin = begin,
    .end = end,
    .pick = pick,
    .run = run,
    .finish = finish,
    .is_ready = is_ready,
    .step = step,
};
