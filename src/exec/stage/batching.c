/* SPDX-License-Identifier: Apache-2.0 */
/* batching.c: stages of ops that make one row of many, where they are not the last: batches, windows, buckets. A bad
 * row passes in front of the element it would have been in. */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory/slab.h"
#include "exec/plan/plan_parts.h"
#include "exec/stage/groups.h"
#include "exec/stage/stage_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct batching {
    const struct stk__node *node;
    const struct stk__grouping *grouping;
    struct stk__pool *pool;
    struct stk__slab slab; /* small elements lie in it, and the addresses of their rows */
    struct stk__groups groups;
    int most_rows;   /* copied at a time, if an element needs fewer */
    bool is_regular; /* elements overlap or touch, and all take the same bytes: many at once */
    bool judges, is_broken;
    struct stk__judge judge;
};

/* As many rows as stay in the first cache level. */
static int rows_at_a_time(const struct stk_type *type)
{
    const size_t most = 256, bytes = 1 << 15;
    size_t rows = bytes / (stk__chunk_bytes(type, 64, 0) / 64);
    return (int)(rows < 1 ? 1 : rows > most ? most : rows);
}

static bool is_regular(const struct stk__grouping *g, const struct stk_type *type)
{
    bool is = g->by == STK__BY_NOTHING && !g->n_sizes && g->shift <= stk__grouping_span(g);
    for (int f = 0; f < type->n_fields && is; f++)
        is = type->field[f].kind == STK_FIXED && g->gather[f].kind == STK__STACK;
    return is;
}

static int begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    const struct stk__plan *plan = x->plan;
    const struct stk_type *type = &s->plan->node->input[0]->type;
    struct batching *b = calloc(1, sizeof *b);
    if (!b)
        return stk__out_of_memory(err);
    *b = (struct batching){ .node = s->plan->node,
                            .grouping = s->plan->node->state,
                            .pool = x->pool,
                            .most_rows = rows_at_a_time(type),
                            .is_regular = is_regular(s->plan->node->state, type),
                            .judges = s->plan->is_judge };
    b->judge.plan = plan;
    b->judge.epoch = s->counter[0]; /* not the first, if it is resumed */
    b->judge.causes = &x->watch.causes;
    b->groups = (struct stk__groups){ .grouping = b->grouping,
                                      .type = type,
                                      .parts = plan->has_keys ? STK__KEYS : 0,
                                      .max_bytes = (size_t)plan->options.memory -
                                                   plan->minimum_bytes + s->plan->held_bytes };
    s->run = b;
    return STK_OK;
}

static void end(struct stk__stage *s)
{
    struct batching *b = s->run;
    if (!b)
        return;
    stk__groups_free(&b->groups);
    stk__slab_free(&b->slab);
    free(b);
}

static void next_epoch(void *run, uint64_t path)
{
    struct batching *b = run;
    (void)path;
    stk__groups_restart(&b->groups);
    b->is_broken = false;
}

/* ---- one element ---- */

/* The rows of one element in a group. */
struct stretch {
    const struct stk__row_group *group;
    int n, step;
};

/* How field f is gathered. What is padded may be padded to the longest that a row of this bucket may
 * have; `own` is room for that. */
static const struct stk__gather *gather_of(const struct batching *b, int f, int64_t bucket,
                                           struct stk__gather *own)
{
    const struct stk__gather *gather = &b->grouping->gather[f];
    if (!b->grouping->pads_to_boundary || gather->kind != STK__PAD)
        return gather;
    *own = *gather;
    for (int d = 0; d < stk__gather_rank(own); d++)
        if (own->box[d] < 0)
            own->box[d] = (int64_t)b->grouping->boundary[bucket] - 1;
    return own;
}

/* One field of the new row; the message is the cause. */
static int emit_field(struct batching *b, int f, const struct stretch *rows, struct stk__chunk *out,
                      struct stk_error *err)
{
    struct stk_column *dst = &out->column[f];
    int row = out->n, differs;
    const struct stk__picked picked = { &rows->group->held->column[f], rows->group->first,
                                        rows->step, rows->n };
    struct stk__gather own;
    const struct stk__gather *gather = gather_of(b, f, rows->group->value, &own);
    int32_t dims[STK_MAX_RANK];
    size_t bytes;
    uint8_t *data = dst->span ? NULL : dst->data + (size_t)row * dst->stride;
    if (!dst->span && gather->kind == STK__STACK) { /* of a size that is known */
        stk__gather_write(gather, &picked, NULL, data);
        return STK_OK;
    }
    int rc = stk__gather_measure(gather, &picked, &bytes, dims, &differs);
    if (rc == STK_DATA)
        return stk_fail(err, rc, "rows of field '%.40s' differ in shape", gather->field.name);
    if (!rc && dst->span) {
        rc = stk__slab_take(&b->slab, b->pool, bytes, &dst->span[row]) ? STK_OK : STK_MEMORY;
        data = dst->span[row].data;
    }
    if (rc)
        return stk__out_of_memory(err);
    stk__gather_write(gather, &picked, dims, data);
    if (dst->dims) {
        int32_t *all = dst->dims + (size_t)row * (size_t)dst->rank;
        all[0] = rows->n;
        memcpy(all + 1, dims, (size_t)(dst->rank - 1) * sizeof *all);
    }
    return STK_OK;
}

/* Where each row of the new one came from. */
static int set_trace(struct batching *b, const struct stretch *rows, struct stk__chunk *out)
{
    struct stk_span *trace = &out->trace[out->n];
    const struct stk__address *from = rows->group->held->address + rows->group->first;
    if (!stk__slab_take(&b->slab, b->pool, (size_t)rows->n * sizeof *from, trace))
        return STK_MEMORY;
    struct stk__address *to = (struct stk__address *)(void *)trace->data;
    if (rows->step == 1)
        memcpy(to, from, (size_t)rows->n * sizeof *to);
    for (int i = 0; rows->step > 1 && i < rows->n; i++)
        to[i] = from[i * rows->step];
    return STK_OK;
}

/* The next element of a group, of as many rows as are there. */
static void emit(struct batching *b, struct stk__row_group *group, struct stk__chunk *out)
{
    int step = (int)b->grouping->stride, row = out->n, first = group->first;
    int64_t n = group->n >= group->span ? group->size : 1 + (group->n - 1) / step;
    const struct stretch rows = { group, (int)n, step };
    struct stk_error err; /* not cleared: it is large */
    out->address[row] = group->held->address[first];
    if (out->key)
        out->key[row] =
            stk__key_make(group->held->key[first].hi, group->held->key[first].lo, b->node->ordinal);
    int rc = out->trace ? set_trace(b, &rows, out) : STK_OK;
    if (rc)
        stk__out_of_memory(&err);
    for (int f = 0; f < out->type->n_fields && !rc; f++)
        rc = emit_field(b, f, &rows, out, &err);
    if (rc)
        stk__chunk_fault(out, row, rc, b->node->op->decl.name, err.text);
    out->n++;
    stk__group_advance(&b->groups, group, 1);
}

/* ---- many elements ---- */

/* Elements of a group that are complete: n of them, each of `size` rows. */
struct run {
    const struct stk__row_group *group;
    int n, size, step, shift;
};

/* The shapes of elements whose rows are all of one shape. */
static void set_dims(const struct stk_field *row, const struct run *run, int32_t *dims)
{
    for (int i = 0; i < run->n; i++) {
        *dims++ = run->size;
        for (int d = 0; d < row->rank; d++)
            *dims++ = (int32_t)row->shape[d];
    }
}

/* One field of the new rows. */
static bool emit_fields(struct batching *b, int f, const struct run *run, struct stk__chunk *out)
{
    const struct stk__gather *gather = &b->grouping->gather[f];
    const struct stk_column *src = &run->group->held->column[f];
    struct stk_column *dst = &out->column[f];
    size_t bytes = (size_t)run->size * src->stride, step = dst->stride;
    uint8_t *to = dst->span ? NULL : dst->data + (size_t)out->n * step;
    if (dst->span) {
        struct stk_span *span = &dst->span[out->n];
        step = (bytes + 63) / 64 * 64;
        if (!stk__slab_take(&b->slab, b->pool, (size_t)run->n * step, span))
            return false;
        stk__span_cut(span, run->n, bytes, step);
        to = span->data;
    }
    if (dst->dims)
        set_dims(&gather->field, run, dst->dims + (size_t)out->n * (size_t)dst->rank);
    for (int i = 0; i < run->n; i++, to += step) {
        const struct stk__picked rows = { src, run->group->first + i * run->shift, run->step,
                                          run->size };
        stk__gather_write(gather, &rows, NULL, to);
    }
    return true;
}

/* Where their rows came from: elements without steps share what they have in common. */
static bool set_traces(struct batching *b, const struct run *run, struct stk__chunk *out)
{
    struct stk_span *trace = &out->trace[out->n];
    const struct stk__address *from = run->group->held->address + run->group->first;
    size_t each = (size_t)run->size * sizeof *from, apart = (size_t)run->shift * sizeof *from;
    size_t all = (size_t)(run->n - 1) * (run->step == 1 ? apart : each) + each;
    if (!stk__slab_take(&b->slab, b->pool, all, trace))
        return false;
    struct stk__address *to = (struct stk__address *)(void *)trace->data;
    stk__span_cut(trace, run->n, each, run->step == 1 ? apart : each);
    if (run->step == 1)
        memcpy(to, from, all);
    for (int i = 0; run->step > 1 && i < run->n; i++)
        for (int k = 0; k < run->size; k++)
            *to++ = from[i * run->shift + k * run->step];
    return true;
}

/* All elements of a group that are complete and find room; false: one at a time, which says which
 * one memory was not enough for. */
static bool emit_all(struct batching *b, struct stk__row_group *group, struct stk__chunk *out)
{
    int64_t complete = (group->n - group->span) / group->shift + 1;
    int room = out->cap - out->n, first = group->first;
    const struct run run = { .group = group,
                             .n = complete < room ? (int)complete : room,
                             .size = (int)group->size,
                             .step = (int)b->grouping->stride,
                             .shift = (int)group->shift };
    bool ok = !out->trace || set_traces(b, &run, out);
    for (int f = 0; f < out->type->n_fields && ok; f++)
        ok = emit_fields(b, f, &run, out);
    for (int i = 0; i < run.n && ok; i++, first += run.shift) {
        const struct stk__key *key = out->key ? &group->held->key[first] : NULL;
        out->address[out->n + i] = group->held->address[first];
        if (key)
            out->key[out->n + i] = stk__key_make(key->hi, key->lo, b->node->ordinal);
    }
    if (ok) {
        out->n += run.n;
        stk__group_advance(&b->groups, group, run.n);
    }
    return ok;
}

/* ---- rows that come ---- */

/* Decides about a bad row, or hands it on. */
static void take_bad(struct batching *b, const struct stk__chunk *in, int row,
                     struct stk__chunk *out)
{
    if (!b->judges)
        stk__chunk_hand_on_bad(out, in, row, stk__chunk_find_fault(in, row));
    else if (!b->is_broken)
        b->is_broken = !stk__judge_row(&b->judge, stk__chunk_find_fault(in, row), in->address[row]);
}

/* A row for which there is no room breaks the stream: with more memory there would be others from here on,
 * and an op behind that counts rows must not take it for one of them. */
static void refuse(struct batching *b, struct stk__chunk *in, int row, const char *why)
{
    stk__chunk_fault(in, row, STK_MEMORY, b->node->op->decl.name, why);
    b->is_broken = !stk__judge_row(&b->judge, stk__chunk_find_fault(in, row), in->address[row]);
}

/* The most rows that can be taken so that all elements they complete find room. */
static int64_t rows_wanted(const struct batching *b, const struct stk__row_group *group, int room)
{
    if (b->grouping->by != STK__BY_NOTHING)
        return 1;
    int64_t next = group->span - group->n;
    if (group->shift > group->span || b->grouping->n_sizes)
        return next;
    int64_t all = next + (room - 1) * group->shift;
    int64_t most = next > b->most_rows ? next : b->most_rows;
    return all < most ? all : most;
}

/* Takes some of n good rows; returns how many. */
static int take_rows(struct batching *b, struct stk__chunk *in, int from, int n,
                     struct stk__chunk *out)
{
    const char *why;
    struct stk__row_group *group = stk__groups_find(&b->groups, in, from, &why);
    if (!group) {
        refuse(b, in, from, why);
        return 1;
    }
    if (group->to_skip) {
        n = b->grouping->by != STK__BY_NOTHING ? 1 : n;
        n = n < group->to_skip ? n : (int)group->to_skip;
        group->to_skip -= n;
        b->judge.n_rows += (uint64_t)n;
        return n;
    }
    int64_t wanted = rows_wanted(b, group, out->cap - out->n);
    n = n < wanted ? n : (int)wanted;
    if (!stk__group_add(&b->groups, group, in, from, n)) {
        refuse(b, in, from, "out of memory");
        return 1;
    }
    b->judge.n_rows += (uint64_t)n;
    while (group->n >= group->span)
        if (!b->is_regular || !emit_all(b, group, out))
            emit(b, group, out);
    return n;
}

/* A row must fit its bucket's boxes, and have a bucket with a boundary. */
static int check_bucket(const struct batching *b, const struct stk__chunk *in, int row,
                        struct stk_error *err)
{
    const struct stk__grouping *g = b->grouping;
    int bucket = stk__grouping_bucket(g, in, row), rc = STK_OK;
    if (bucket == g->n_boundaries)
        return stk_fail(err, STK_DATA,
                        "field '%s' is as long as the last boundary, %.0f, or longer",
                        in->type->field[g->field].name, g->boundary[bucket - 1]);
    for (int f = 0; f < in->type->n_fields && !rc; f++) {
        struct stk__gather own;
        const struct stk__gather *gather = gather_of(b, f, bucket, &own);
        rc = gather->kind == STK__PAD ? stk__gather_check(gather, &in->column[f], row, err) : rc;
    }
    return rc;
}

/* Marks rows that cannot be gathered. */
static void mark_rows(const struct batching *b, struct stk__chunk *in, int from, int n)
{
    const char *op = b->node->op->decl.name;
    if (!b->grouping->pads_to_boundary) {
        stk__gather_mark(b->grouping->gather, in, from, n, op);
        return;
    }
    for (int i = from; i < from + n; i++) {
        struct stk_error err;
        if (in->mask[i] == STK_LIVE && check_bucket(b, in, i, &err))
            stk__chunk_fault(in, i, err.code, op, err.text);
    }
}

/* Good rows in front of the first bad one. */
static int good_rows(const struct stk__chunk *in, int from, int n)
{
    const uint8_t *bad = in->n_bad ? memchr(in->mask + from, STK_BAD, (size_t)n) : NULL;
    return bad ? (int)(bad - in->mask) - from : n;
}

static int take(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out)
{
    struct batching *b = run;
    int used = 0;
    if (b->grouping->is_bounded)
        mark_rows(b, in, from, n);
    while (used < n && out->n < out->cap) {
        int row = from + used, m = good_rows(in, row, n - used);
        if (!m)
            take_bad(b, in, row, out);
        if (m && !b->is_broken)
            m = take_rows(b, in, row, m, out);
        used += m ? m : 1; /* once broken: the error is on its way, what follows is ignored */
    }
    return used;
}

static bool flush(void *run, struct stk__chunk *out)
{
    struct batching *b = run;
    struct stk__row_group *group;
    if (b->grouping->drops_remainder || b->is_broken)
        return true;
    while ((group = stk__groups_rest(&b->groups))) {
        if (out->n == out->cap)
            return false;
        emit(b, group, out);
    }
    return true;
}

static const struct stk__serial_table gathering = {
    .next_epoch = next_epoch, .step = take, .flush = flush, .is_whole = true
};

/* ---- the stage ---- */

static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    struct stk__ticket *t = w->ticket;
    (void)x;
    if (stk__step_has_rows(s, &gathering, w))
        w->used =
            take(s->run, t->chunk, t->out_from + t->n_used, t->n - t->n_used, s->open_out->chunk);
}

/* Rows that wait for others of their value: how many there are shows only as they come. */
static void use(struct stk__exec *x, struct stk__stage *s, const struct stk__work *w)
{
    const struct batching *b = s->run;
    size_t held = b->groups.held_bytes, had = s->memory.held_account.held_bytes;
    (void)w;
    held = held > s->plan->held_bytes ? held - s->plan->held_bytes : 0;
    if (held > had)
        stk__account_charge(x, &s->memory.held_account, held - had);
    else
        stk__account_credit(x, &s->memory.held_account, had - held);
}

static bool is_closed(const struct stk__stage *s)
{
    return ((const struct batching *)s->run)->is_broken;
}

/* As a judge; one that is none has seen no bad row but one for which there was no room. */
static bool breaks(struct stk__stage *s)
{
    struct batching *b = s->run;
    if (b->is_broken)
        s->broken = *stk__judge_last(&b->judge);
    return b->is_broken || !stk__judge_pass(&b->judge, &s->broken);
}

static void end_pass(struct stk__stage *s, int level)
{
    struct batching *b = s->run;
    b->judge.epoch += level == 0;
    stk__judge_begin(&b->judge);
}

static struct stk__judge *judge(const struct stk__stage *s)
{
    return &((struct batching *)s->run)->judge;
}

/* ---- for the planner ---- */

/* Rows that wait to become one element, or, of windows, twice as many: they are moved rarely. */
static uint64_t grouped_rows(const struct stk__grouping *g)
{
    double rows = 0;
    uint64_t span = (uint64_t)stk__grouping_span(g);
    for (int i = 0; g->by == STK__BY_LENGTH && i <= g->n_boundaries; i++)
        rows += g->bucket_size[i];
    return rows > 0 ? (uint64_t)rows : g->shift < (int64_t)span ? 2 * span : span;
}

static bool held_rows(const struct stk__plan *plan, const struct stk__stage_plan *s, uint64_t *rows)
{
    (void)plan;
    *rows = stk__at_most(grouped_rows(s->node->state), s->node->input[0]->count);
    return true;
}

static bool waits_by_value(const struct stk__stage_plan *s)
{
    const struct stk__grouping *g = s->node->state;
    return g->by != STK__BY_NOTHING;
}

static size_t held_bytes(const struct stk__plan *plan, const struct stk__stage_plan *s)
{
    return stk__held_bytes_of(plan, s) + (waits_by_value(s) ? STK__KEPT_LEAST : 0);
}

/* Rows that one of the stage's is made of. */
static size_t rows_of_one(const struct stk__stage_plan *s)
{
    const struct stk__grouping *g = s->node->state;
    double rows = (double)g->size;
    for (int i = 0; g->by == STK__BY_LENGTH && i <= g->n_boundaries; i++)
        rows = g->bucket_size[i] > rows ? g->bucket_size[i] : rows;
    int64_t there = s->node->input[0]->count;
    return there >= 0 && rows > (double)there ? (size_t)there : (size_t)rows;
}

/* An element takes as much as the rows that it is made of. */
static size_t element_bytes(const struct stk__plan *plan, const struct stk__stage_plan *s,
                            bool is_heavy)
{
    const struct stk__stage_plan *in = &plan->stage[s->input[0]];
    (void)is_heavy;
    return rows_of_one(s) *
           (stk__row_bytes(in->type, stk__has_large_rows(in), stk__small_bytes(in)) +
            (s->has_trace ? sizeof(struct stk__address) : 0));
}

const struct stk__stage_type stk__batching_stage = {
    .name = "batching stage",
    .makes_traces = true,
    .row_bytes = element_bytes,
    .held_rows = held_rows,
    .held_bytes = held_bytes,
    .waits_by_value = waits_by_value,
    .begin = begin,
    .end = end,
    STK__BY_STEPS,
    .step = step,
    .use = use,
    .is_closed = is_closed,
    .breaks = breaks,
    .end_pass = end_pass,
    .judge = judge,
};
