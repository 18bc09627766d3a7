/* SPDX-License-Identifier: Apache-2.0 */
/* lots.c: chunks in use, rings. Everything here is called with the lock held. */
#include "exec/run.h"

#include <stdlib.h>
#include <string.h>

size_t stk__lot_bytes(const struct stk__stage *s)
{
    return s->memory.typical_bytes > s->plan->unit_bytes ? s->memory.typical_bytes
                                                         : s->plan->unit_bytes;
}

static struct stk__lot *lot_alloc(struct stk__exec *x, struct stk__stage *s)
{
    struct stk__lot *lot = calloc(1, sizeof *lot);
    if (!lot)
        return NULL;
    lot->memory = stk__buffer_new(x->pool, s->memory.lot_bytes);
    if (!lot->memory) {
        free(lot);
        return NULL;
    }
    lot->chunk = stk__chunk_place(s->plan->type, s->plan->ticket_rows,
                                  stk__stage_parts(x->plan, s->plan), lot->memory->data);
    lot->stage = s;
    lot->next_all = x->memory.all_lots;
    x->memory.all_lots = lot;
    return lot;
}

void stk__lot_free(struct stk__lot *lot)
{
    stk__chunk_clear(lot->chunk);
    stk__buffer_unref(lot->memory);
    free(lot);
}

struct stk__lot *stk__lot_new(struct stk__exec *x, struct stk__stage *s)
{
    struct stk__lot *lot = s->memory.free_lots;
    if (lot)
        s->memory.free_lots = lot->next_free;
    else if (!(lot = lot_alloc(x, s))) {
        stk__run_out_of_memory(x);
        return NULL;
    }
    lot->refs = 1;
    lot->n_weighed = 0;
    lot->pointed_bytes = 0;
    lot->charged = stk__lot_bytes(s);
    stk__account_charge(x, &s->memory.out_account, lot->charged);
    return lot;
}

/* Of rows that are not fixed, and of where elements came from that are made of rows. */
static size_t pointed_bytes(const struct stk__chunk *chunk, int from, int n)
{
    uint64_t bytes = chunk->trace ? stk__span_bytes(chunk->trace + from, n) : 0;
    for (int f = 0; f < chunk->type->n_fields; f++)
        if (chunk->column[f].span)
            bytes += stk__span_bytes(chunk->column[f].span + from, n);
    return (size_t)bytes;
}

static size_t faults_bytes(const struct stk__fault *faults)
{
    size_t bytes = 0;
    for (const struct stk__fault *f = faults; f; f = f->next)
        bytes += stk__fault_bytes(f->text);
    return bytes;
}

static size_t weigh(struct stk__lot *lot)
{
    const struct stk__chunk *chunk = lot->chunk;
    lot->pointed_bytes += pointed_bytes(chunk, lot->n_weighed, chunk->n - lot->n_weighed);
    lot->n_weighed = chunk->n;
    return lot->pointed_bytes;
}

bool stk__lot_is_full(struct stk__lot *lot)
{
    const size_t enough = 1 << 17;
    return lot->chunk->n == lot->chunk->cap || weigh(lot) >= enough;
}

void stk__lot_settle(struct stk__exec *x, struct stk__lot *lot)
{
    struct stk__stage *s = lot->stage;
    size_t beside = weigh(lot) + faults_bytes(lot->chunk->faults);
    size_t bytes = s->memory.lot_bytes + beside, before = s->memory.typical_bytes;
    if (!beside)
        return;
    s->memory.typical_bytes = bytes > before ? bytes : before - (before - bytes) / 8;
    if (bytes > lot->charged)
        stk__account_charge(x, &s->memory.out_account, bytes - lot->charged);
    else
        stk__account_credit(x, &s->memory.out_account, lot->charged - bytes);
    lot->charged = bytes;
}

void stk__lot_unref(struct stk__exec *x, struct stk__lot *lot)
{
    if (!lot || --lot->refs > 0)
        return;
    struct stk__stage *s = lot->stage;
    stk__chunk_clear(lot->chunk);
    lot->next_free = s->memory.free_lots;
    s->memory.free_lots = lot;
    stk__account_credit(x, &s->memory.out_account,
                        lot->charged); /* last: it may free lots that wait for use */
}

/* ---- rings ---- */

static void note_end(struct stk__stage *s, int level)
{
    for (int l = level; l < STK__MAX_LEVELS; l++) {
        s->reader.n_read_at[l] = s->reader.n_read;
        s->reader.n_ended[l]++;
    }
}

void stk__stage_retire(struct stk__exec *x, struct stk__stage *s)
{
    struct stk__ticket *t = stk__slot_at(&s->ring, s->ring.head++);
    s->reader.n_read += (uint64_t)t->n;
    if (t->end == STK__END_PASS)
        note_end(s, t->level);
    stk__lot_unref(x, t->out);
    stk__faults_free(t->faults);
    t->state = STK__FREE;
    t->out = NULL;
    t->faults = NULL;
    t->chunk = NULL;
    x->crew.has_changed = true;
}

static bool is_endless(const struct stk__exec *x, const struct stk__stage *s, int level)
{
    if (s->plan->is_source)
        return s->plan->depth >= level && s->plan->level_count[level] == UINT64_MAX;
    bool found = false;
    for (int i = 0; i < s->plan->n_inputs && !found; i++)
        found = is_endless(x, &x->stage[s->plan->input[i]], level);
    return found;
}

void stk__end_empty(struct stk__exec *x, struct stk__stage *s, int level)
{
    if (level == 0 || !is_endless(x, s, level))
        return;
    s->reader.over_level =
        level - 1; /* the source may have begun further passes, which may have rows */
    stk__close_pass(x, s, level - 1, s->reader.n_ended[level - 1] + 1);
}

/* Something of a repeat that is over already. */
static void drop(struct stk__exec *x, struct stk__stage *s, struct stk__ticket *t)
{
    if (s == stk__last_stage(x))
        stk__drop_ticket(x, t);
    t->n = 0;
    stk__stage_retire(x, s);
}

/* A mark inside the reader's pass ends nothing there. */
struct stk__ticket *stk__stage_peek(struct stk__exec *x, struct stk__stage *s,
                                    struct stk__stage *reader)
{
    struct stk__ring *r = &s->ring;
    int depth = reader ? reader->plan->depth : x->plan->depth;
    while (r->head < r->opened) {
        struct stk__ticket *t = stk__slot_at(r, r->head);
        if (t->state != STK__READY)
            return NULL;
        bool is_end = t->end == STK__END_PASS;
        if (is_end && t->level <= s->reader.over_level)
            s->reader.over_level = -1;
        if (s->reader.over_level >= 0) {
            drop(x, s, t);
        } else if (is_end && t->level > depth) {
            if (s->reader.n_read == s->reader.n_read_at[t->level])
                stk__end_empty(x, s, t->level);
            if (reader)
                stk__note_mark(x, reader, t->level);
            stk__stage_retire(x, s);
        } else if (t->end || t->n_used < t->n)
            return t;
        else
            stk__stage_retire(x, s);
    }
    return NULL;
}

struct stk__ticket *stk__push_ticket(struct stk__ring *r, enum stk__ticket_state state)
{
    struct stk__ticket *t = stk__slot_at(r, r->tail++);
    struct stk__fetched *fetched[STK__MAX_READS];
    memcpy(fetched, t->fetched, sizeof fetched);
    *t = (struct stk__ticket){ .state = state, .seq = r->tail - 1 };
    memcpy(t->fetched, fetched, sizeof fetched);
    return t;
}
