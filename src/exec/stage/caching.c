/* SPDX-License-Identifier: Apache-2.0 */
/* caching.c: the stage of a cache whose rows come in order only: a row's number is its place in the
 * pass.
 *
 *     kept    0 1 2 3 4 5 6 . . .      rows 0 to 6 are served, and the input's are dropped;
 *     input   0 1 2 3 4 5 6 7 8 …      from 7 on they come from there, and are kept
 *
 * What feeds the stage drops rows that are there before it evaluates them, if it can tell them by
 * counting (`kept` in plan.h); so its tickets say which number they begin with. Where all
 * rows of a pass the input's pass is closed as it begins.
 */
#include "base/error.h"
#include "base/hash.h"
#include "exec/plan/plan_parts.h"
#include "exec/stage/stage_steps.h"
#include "graph/cache_key.h"

#include <stdlib.h>

struct caching {
    bool is_served; /* the input's pass was closed, since all of it is there */
};

static int begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    (void)x;
    s->run = calloc(1, sizeof(struct caching));
    return s->run ? STK_OK : stk__out_of_memory(err);
}

static void end(struct stk__stage *s)
{
    free(s->run);
}

/* A segment that makes a row of each it takes need not make those that the cache behind it has. */
static int open_cache(struct stk__plan *plan, struct stk__stage_plan *s, struct stk_error *err)
{
    const struct stk__cache_way way = { .seed = (uint64_t)plan->options.seed,
                                        .rank = (int)plan->options.rank,
                                        .world = (int)plan->options.world,
                                        .type = s->type,
                                        .made_by = stk__cache_made_by(s->node),
                                        .origin = s->first_origin,
                                        .parts = stk__stage_parts(plan, s) };
    struct stk__stage_plan *in = &plan->stage[s->input[0]];
    int rc = stk__cache_open(s->node, &way, &s->kept, err);
    if (in->program && !in->is_source && !in->program->has_filter) {
        in->kept = s->kept;
        in->kept_depth = s->depth;
    }
    return rc ? rc : stk__plan_add_kept(plan, s->kept, err);
}

static bool is_fed(struct stk__exec *x, const struct stk__stage *s)
{
    const struct stk__stage_plan *input = stk__input_of(x, s, 0)->plan;
    return input->program && input->kept;
}

/* ---- choosing, under the lock ---- */

/* The number of the next row of the input; of a mark, how many came before it. */
static uint64_t next_number(struct stk__exec *x, const struct stk__stage *s,
                            const struct stk__ticket *t)
{
    return is_fed(x, s) ? t->number + (uint64_t)t->n_used : s->n_from;
}

/* The pass is over, whatever the input still has of it. */
static void end_early(struct stk__exec *x, struct stk__stage *s)
{
    stk__close_inputs(x, s, s->plan->depth);
    s->joint.has_ended = true;
    s->joint.end_level = s->plan->depth;
}

/* The input's pass came to its end; if nobody closed it, those were all rows there are. */
static void end_with(struct stk__exec *x, struct stk__stage *s, const struct stk__ticket *t)
{
    if (!stk__is_closed(s) && next_number(x, s, t) == stk__kept_prefix(s->plan->kept))
        stk__kept_set_whole(s->plan->kept);
    stk__see_mark(x, s, 0, t);
    s->joint.has_ended = true;
}

/* Drops rows that were served already. */
static void drop_known(struct stk__exec *x, struct stk__stage *s, struct stk__ticket *t)
{
    uint64_t number = next_number(x, s, t), left = (uint64_t)(t->n - t->n_used);
    uint64_t known = number < s->position ? s->position - number : 0;
    known = known < left ? known : left;
    t->n_used += (int)known;
    s->n_from += known;
}

/* What was counted on when rows of the input were left out, or its pass was closed, is gone. */
static bool is_gap(struct stk__exec *x, const struct stk__stage *s, const struct stk__ticket *t)
{
    const struct caching *c = s->run;
    if (stk__is_closed(s))
        return false;
    return t->end ? c->is_served && !stk__kept_is_whole(s->plan->kept)
                  : next_number(x, s, t) > s->position;
}

static void end_lost(struct stk__exec *x)
{
    stk__end_run(x, &(struct stk_error){
                        .code = STK_IO,
                        .text = "cache: an element that was kept on disk cannot be read any more, "
                                "and those before it are over; run again" });
}

/* Rows of the input that are not there; false if there are none now. */
static bool has_rows(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    while (!s->joint.has_ended) {
        struct stk__ticket *t = stk__stage_peek(x, stk__input_of(x, s, 0), s);
        if (t && t->end == STK__END_BROKEN)
            stk__hand_on_break(x, s, 0, t);
        if (!t || t->end == STK__END_BROKEN)
            return false;
        if (is_gap(x, s, t)) {
            end_lost(x);
            return false;
        }
        if (t->end) {
            end_with(x, s, t);
            break;
        }
        drop_known(x, s, t);
        if (t->n_used < t->n) {
            w->ticket = t;
            return true;
        }
    }
    return false;
}

static bool is_ready(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    struct caching *c = s->run;
    const struct stk__kept *kept = s->plan->kept;
    bool is_closed = stk__is_closed(s), is_whole = stk__kept_is_whole(kept);
    if (s->counter[0] >= s->plan->level_count[0])
        return false; /* the last pass is over */
    if (is_whole && s->position == 0 && !s->joint.has_ended && !c->is_served) {
        stk__close_inputs(x, s, s->plan->depth); /* before it reads for nothing */
        c->is_served = true;
    }
    if (!s->joint.has_ended && !is_closed && s->position < stk__kept_prefix(kept))
        return true;
    if (!s->joint.has_ended && (is_closed || is_whole))
        end_early(x, s);
    if (has_rows(x, s, w))
        return true;
    if (!s->joint.has_ended)
        return false;
    stk__end_joined(x, s);
    if (!s->joint.has_ended) {
        s->position = s->n_from = 0;
        c->is_served = false;
    }
    return false;
}

/* ---- running, outside it ---- */

/* Appends n rows of a page. */
static void append_stored(struct stk__store *store, struct stk__stored at, int n,
                          struct stk__chunk *out)
{
    stk__chunk_copy_rows(out, out->n, at.page, at.row, n);
    for (int i = 0; i < n; i++, at.row++, out->n++) {
        if (at.page->mask[at.row] != STK_BAD)
            continue;
        out->mask[out->n] = STK_BAD;
        out->n_bad++;
        stk__store_add_fault(store, at, out->n, &out->faults);
    }
}

static void serve_stored(const struct stk__stage *s, struct stk__store *store,
                         struct stk__chunk *out)
{
    struct stk__stored at;
    int n, first = out->n;
    while (!stk__lot_is_full(s->open_out) &&
           (n = stk__store_find(store, s->position + (uint64_t)(out->n - first), out->cap - out->n,
                                &at)))
        append_stored(store, at, n, out);
}

/* A row from disk; what is gone there was counted on, and cannot be made now. */
static int serve_row(struct stk__exec *x, const struct stk__stage *s, uint64_t number,
                     struct stk__chunk *out)
{
    int row = out->n;
    const struct stk__row_place place = { .column = out->column,
                                          .row = row,
                                          .mask = &out->mask[row],
                                          .key = out->key ? &out->key[row] : NULL,
                                          .address = &out->address[row],
                                          .trace = out->trace ? &out->trace[row] : NULL,
                                          .faults = &out->faults,
                                          .pool = x->pool };
    int rc = stk__kept_load(s->plan->kept, number, &place);
    out->n += !rc;
    out->n_bad += !rc && out->mask[row] == STK_BAD;
    return rc;
}

static int serve(struct stk__exec *x, const struct stk__stage *s, struct stk__chunk *out)
{
    struct stk__store *store = stk__kept_store(s->plan->kept);
    uint64_t number = s->position, there = stk__kept_prefix(s->plan->kept);
    int rc = STK_OK;
    if (store)
        serve_stored(s, store, out);
    while (!store && !rc && number < there && !stk__lot_is_full(s->open_out))
        rc = serve_row(x, s, number++, out);
    return rc;
}

/* Keeps rows of a chunk for as long as they come in order. From a row on that is bad for now alone nothing is kept: a
 * filter or a batch before the cache may make another number of it when it is there, and those behind it move. */
static void keep(struct stk__exec *x, const struct stk__stage *s, const struct stk__chunk *chunk,
                 int from, int n)
{
    struct stk__kept *kept = s->plan->kept;
    for (int i = from; i < from + n && !atomic_load_explicit(x->cancelled, memory_order_relaxed);
         i++) {
        bool is_bad = chunk->mask[i] == STK_BAD;
        const struct stk__fault *fault = is_bad ? stk__chunk_find_fault(chunk, i) : NULL;
        if (s->position + (uint64_t)(i - from) != stk__kept_prefix(kept) ||
            (is_bad && !stk__fault_is_lasting(fault)))
            return;
        const struct stk__row_ref row = { .column = chunk->column,
                                          .row = i,
                                          .key = chunk->key ? &chunk->key[i] : NULL,
                                          .address = &chunk->address[i],
                                          .trace = chunk->trace ? &chunk->trace[i] : NULL,
                                          .is_bad = is_bad,
                                          .fault = fault };
        stk__kept_keep(kept, s->position + (uint64_t)(i - from), &row, &x->memory.leave);
    }
}

static int pass_on(struct stk__exec *x, const struct stk__stage *s, const struct stk__ticket *t,
                   struct stk__chunk *out)
{
    int n = t->n - t->n_used, room = out->cap - out->n, from = t->out_from + t->n_used;
    n = n < room ? n : room;
    stk__chunk_copy(out, out->n, t->chunk, from, n);
    out->n += n;
    keep(x, s, t->chunk, from, n);
    return n;
}

static void use(struct stk__exec *x, struct stk__stage *s, const struct stk__work *w)
{
    s->position += (uint64_t)w->n;
    s->n_from += (uint64_t)w->used;
    if (w->lost == STK_MEMORY)
        stk__run_out_of_memory(x);
    else if (w->lost)
        end_lost(x);
}

static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    struct stk__chunk *out = s->open_out->chunk;
    int first = out->n;
    if (w->ticket)
        w->used = pass_on(x, s, w->ticket, out);
    else
        w->lost = serve(x, s, out);
    w->n = out->n - first;
    atomic_fetch_add_explicit(w->ticket ? &x->watch.n_misses : &x->watch.n_hits, (uint64_t)w->n,
                              memory_order_relaxed);
    const struct stk__key pass = stk__key_make(s->plan->node->ordinal, stk__pass_path(s), 0);
    for (int i = first; out->key && i < out->n; i++)
        out->key[i] = stk__key_join(out->key[i], pass);
}

const struct stk__stage_type stk__caching_stage = {
    .name = "caching stage",
    .keeps_traces = true,
    .open = open_cache,
    .begin = begin,
    .end = end,
    STK__BY_STEPS,
    .is_ready = is_ready,
    .step = step,
    .use = use,
};
