/* SPDX-License-Identifier: Apache-2.0 */
/* exec_model.c: rows into batches: judging them in order, and what gates let pass. */
#include "exec_model.h"

#include "base/hash.h"
#include "base/rng.h"
#include "exec/plan/options.h"
#include "exec_ops.h"
#include "exec_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EVENTS = 60, ENDLESS_ROWS = 400, MAX_TRIES = 16 };

/* take, skip and shard of batches, and repeat, which only counts; the next one towards the consumer
 * is `above`. */
struct gate {
    const struct call *call;
    int64_t n_seen;
    struct gate *above;
};

/* ---- judging ---- */

static void describe(const struct call *source, uint64_t index, char *text, size_t size)
{
    const char *format = source->kind == CALL_RANGE   ? "range, element %llu"
                         : source->kind == CALL_NAMES ? "name %llu"
                                                      : "stream row %llu";
    snprintf(text, size, format, (unsigned long long)index);
}

static bool is_too_many(const struct model *m, const struct verdicts *v, bool at_end)
{
    double most = m->chain->max_errors, n = (double)v->n_bad;
    if (most >= 1 || most == 0)
        return n > most;
    return (at_end || v->n_rows >= 100) && n > most * (double)v->n_rows;
}

/* Counts a row; false if it is bad and ends the run. *text: why. */
bool model_judge(struct model *m, struct verdicts *v, const struct row *row, const char **text)
{
    char origin[64];
    v->n_rows++;
    if (!row->fault)
        return true;
    v->n_bad++;
    if (v->n_errors++ % 64 == 0)
        v->error = realloc(v->error, sizeof *v->error * (v->n_errors + 64));
    if (!v->error)
        abort();
    describe(row->source, row->index, origin, sizeof origin);
    *text =
        model_text(m, "%s: %s (element %llu of epoch %llu): %s", row->fault->op, origin,
                   (unsigned long long)row->where, (unsigned long long)m->epoch, row->fault->text);
    bool is_fatal = m->chain->on_error == STK__FAIL;
    if (!is_fatal && is_too_many(m, v, false)) {
        is_fatal = true;
        *text = model_text(m, "too many bad elements (%llu), the last: %s",
                           (unsigned long long)v->n_bad, *text);
    }
    v->error[v->n_errors - 1] = *text;
    return !is_fatal;
}

void model_begin_pass(struct verdicts *v)
{
    v->n_rows = v->n_bad = 0;
}

/* NULL if not too large a fraction of the pass was bad. */
const char *model_end_pass(struct model *m, const struct verdicts *v)
{
    if (!v->n_bad || !is_too_many(m, v, true))
        return NULL;
    return model_text(m, "too many bad elements: %llu of %llu, more than max_errors=%g allows",
                      (unsigned long long)v->n_bad, (unsigned long long)v->n_rows,
                      m->chain->max_errors);
}

/* A row to stand in for a bad one, NULL for none. */
static const struct row *redraw(const struct rows *all, const struct row *bad)
{
    for (uint64_t attempt = 1; attempt <= MAX_TRIES; attempt++) {
        uint64_t word = stk__hash_mix(stk__hash_mix(bad->key.hi, bad->key.lo), attempt);
        const struct row *row = &all->row[stk__below(word, (uint64_t)all->n)];
        if (!row->fault)
            return row;
    }
    return NULL;
}

/* ---- delivering ---- */

uint64_t hash_numbers(uint64_t h, const int64_t *number, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        h = stk__hash_mix(h, (uint64_t)number[i]);
    return h;
}

uint64_t hash_text(uint64_t h, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        h = stk__hash_mix(h, (unsigned char)text[i]);
    return stk__hash_mix(h, len);
}

static uint64_t hash_origin(const struct call *source, uint64_t index)
{
    char text[64];
    describe(source, index, text, sizeof text);
    return hash_text(0, text, strlen(text));
}

static struct event *add_event(struct model *m)
{
    struct expected *out = m->out;
    if (out->n_events == out->cap) {
        out->cap = 2 * out->cap + 64;
        out->event = realloc(out->event, sizeof *out->event * (size_t)out->cap);
        if (!out->event)
            abort();
    }
    struct event *event = &out->event[out->n_events++];
    *event = (struct event){ 0 };
    return event;
}

static void end_run(struct model *m, int code, const char *text)
{
    struct event *event = add_event(m);
    event->code = code;
    event->text = text;
    m->has_ended = true;
}

static uint64_t hash_field(uint64_t h, enum field_kind kind, const struct cell *cell)
{
    char text[300];
    if (kind == FIELD_NUMBERS)
        return hash_numbers(h, cell->item, cell->n);
    for (int i = 0; i < cell->n; i++) {
        if (kind == FIELD_PATH)
            test_file_path(cell->item[i], text, sizeof text);
        else
            test_file_content(cell->item[i], text, sizeof text);
        h = hash_text(h, text, strlen(text));
    }
    return h;
}

static void deliver(struct model *m, const struct call *c, const struct row *row, int n)
{
    uint64_t hash = 0;
    for (int f = 0; f < c->n_fields; f++) {
        for (int i = 0; i < n; i++) {
            if (c->field[f] == FIELD_NUMBERS && !same_dims(&row[i].cell[f], &row[0].cell[f])) {
                end_run(m, STK_DATA,
                        model_text(m, "batch: rows of field '%s' differ in shape", f ? "y" : "x"));
                m->out->ends_late = true;
                return;
            }
            hash = hash_field(hash, c->field[f], &row[i].cell[f]);
        }
    }
    const struct row *last = &row[n - 1];
    bool is_inner = !m->batch && last->last_source;
    struct event *event = add_event(m);
    *event = (struct event){ .is_batch = true,
                             .n = n,
                             .epoch = m->epoch,
                             .batch = m->n_batches++,
                             .rows = m->n_rows,
                             .errors = m->out->last.n_errors,
                             .hash = hash };
    event->first = hash_origin(row->source, row->index);
    event->last = is_inner ? hash_origin(last->last_source, last->last_index)
                           : hash_origin(last->source, last->index);
}

/* ---- gates ---- */

static bool is_closed(const struct gate *g)
{
    if (!g)
        return false;
    bool is_done = g->call->kind == CALL_TAKE ? g->call->a >= 0 && g->n_seen >= g->call->a
                                              : g->call->kind == CALL_SKIP && g->call->a < 0;
    return is_done || is_closed(g->above);
}

static bool passes(const struct model *m, struct gate *g)
{
    if (!g)
        return true;
    const struct call *c = g->call;
    int64_t i = g->n_seen++;
    int64_t n = c->a ? c->a : m->chain->world, index = c->a ? c->b : m->chain->rank;
    bool is_through = c->kind == CALL_REPEAT ? true
                      : c->kind == CALL_TAKE ? c->a < 0 || i < c->a
                      : c->kind == CALL_SKIP ? c->a >= 0 && i >= c->a
                                             : i % n == index;
    return is_through && passes(m, g->above);
}

/* ---- the run ---- */

/* One pass into batches. What lies behind a closed gate is not judged. */
static void deliver_pass(struct model *m, const struct call *c, uint64_t path, struct gate *gate)
{
    bool is_open = m->chain->root->most >= ENDLESS;
    int64_t size = m->batch ? m->batch->a : 1;
    if (is_closed(gate))
        return;
    struct rows all = model_pass(m, c, path, is_open ? ENDLESS_ROWS : INT32_MAX);
    struct row *held = model_take(m, sizeof *held * (size_t)size);
    int n = 0;
    model_begin_pass(&m->out->last);
    for (int64_t i = 0; i < all.n && !m->has_ended && !is_closed(gate); i++) {
        const struct row *row = &all.row[i];
        const char *text = NULL;
        m->n_rows++;
        if (!model_judge(m, &m->out->last, row, &text)) {
            end_run(m, row->fault->code, text);
        } else if (row->fault && m->chain->on_error == STK__REPLACE) {
            const struct row *other = redraw(&all, row);
            if (!other) {
                text = model_text(m, "no replacement found: %s", text);
                m->out->last.error[m->out->last.n_errors - 1] = text;
                end_run(m, row->fault->code, text);
            } else
                held[n++] = *other;
        } else if (!row->fault)
            held[n++] = *row;
        if (n == size) {
            if (passes(m, gate))
                deliver(m, c, held, n);
            n = 0;
        }
    }
    if (m->has_ended || is_closed(gate))
        return;
    if (!all.is_all)
        m->out->is_open = true;
    else if (all.has_broken)
        end_run(m, all.code, all.broken);
    else {
        if (n && !(m->batch && m->batch->flag) && passes(m, gate))
            deliver(m, c, held, n);
        const char *text = is_closed(gate) ? NULL : model_end_pass(m, &m->out->last);
        if (text)
            end_run(m, STK_DATA, text);
    }
}

/* Prefetch, repeat and gates above the final batch. */
static void run_trunk(struct model *m, const struct call *c, uint64_t path, struct gate *above)
{
    struct gate gate = { .call = c, .above = above };
    if (!m->batch || c == m->batch) {
        deliver_pass(m, m->batch ? m->batch->input[0] : c, path, above);
        return;
    }
    if (c->kind != CALL_REPEAT) {
        run_trunk(m, c->input[0], path, c->kind == CALL_PREFETCH ? above : &gate);
        return;
    }
    for (int64_t r = 0; r != c->a && !m->has_ended && !m->out->is_open && !is_closed(above); r++) {
        gate.n_seen = 0;
        run_trunk(m, c->input[0], stk__hash_mix(path, (uint64_t)r), &gate);
        m->out->is_open |=
            c->a < 0 && m->out->n_events > MAX_EVENTS && !m->has_ended && !is_closed(above);
        if (c->a < 0 && gate.n_seen == 0)
            return;
    }
}

static void end_epoch(struct model *m)
{
    m->epoch++;
    m->n_batches = m->n_rows = 0;
    if (!m->has_ended && m->epoch == (uint64_t)m->chain->epochs)
        end_run(m, STK_END, "");
}

void model_run(const struct chain *chain, struct expected *out)
{
    struct model m = { .chain = chain,
                       .out = out,
                       .batch = chain_final_batch(chain),
                       .judge = chain_inner_judge(chain) };
    *out = (struct expected){ 0 };
    while (!m.has_ended && !out->is_open) {
        run_trunk(&m, chain->root, stk__hash_mix(0, m.epoch), NULL);
        if (!m.has_ended && !out->is_open)
            end_epoch(&m);
    }
}

void model_free(struct expected *out)
{
    for (struct block *b = out->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(out->event);
    free(out->inner.error);
    free(out->last.error);
}
