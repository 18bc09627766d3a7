/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c: running a program over n rows. See program.h. */
#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "graph/guard.h"
#include "graph/nest.h"
#include "graph/program.h"

#include <stdlib.h>
#include <string.h>

/* What comes up from a node: columns of its type, a mask, and keys if somebody wants them. */
struct frame {
    struct stk_column *column;
    uint8_t *mask;
    struct stk_key *key;
};

struct places {
    uint64_t *position, *path;
};

static int eval_node(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                     struct frame *frame);

/* ---- counting ---- */

static void take_lap(struct stk__eval *e, const struct stk__pnode *p)
{
    if (e->is_timed)
        stk__watch_lap(e->watch, &e->meter[p->number]);
}

/* In the fields that the node made. */
static uint64_t span_bytes(const struct stk__pnode *p, const struct stk_column *column, int n)
{
    uint64_t bytes = 0;
    for (int f = 0; f < p->node->type.n_fields; f++)
        bytes += stk__pnode_makes(p, f) ? stk__span_bytes(column[f].span, n) : 0;
    return bytes;
}

static int count_live(const uint8_t *mask, int n)
{
    int n_live = 0;
    for (int i = 0; i < n; i++)
        n_live += mask[i] != STK_DEAD;
    return n_live;
}

/* A filter is never below an op of several inputs: as many rows as there are have met it. */
static void note_filter(struct stk__eval *e, struct stk__meter *meter, int n, const uint8_t *mask)
{
    int n_live = count_live(mask, n);
    stk__count(&meter->rows_dropped, (uint64_t)(e->n_live - n_live));
    e->n_live = n_live;
}

/* What all nodes have in common, the rows of the program, is counted by whoever runs it. */
static void note_node(struct stk__eval *e, const struct stk__pnode *p, int n,
                      const struct frame *frame)
{
    struct stk__meter *meter = &e->meter[p->number];
    if (e->is_timed) {
        stk__watch_lap(e->watch, meter);
        stk__count(&meter->span_bytes, span_bytes(p, frame->column, n) * e->watch->weight);
    }
    if (p->is_part) {
        stk__count(&meter->calls, 1);
        stk__count(&meter->rows_in, (uint64_t)n);
    }
    if (p->is_filter)
        note_filter(e, meter, n, frame->mask);
}

/* ---- columns ---- */

static size_t frame_rows(int n)
{
    return (size_t)(n > 0 ? n : 1);
}

/* Memory for a column an op is about to write: its final place, or scratch. */
static bool column_new(struct stk__eval *e, const struct stk_field *field, int dest, int n,
                       struct stk_column *c)
{
    size_t rows = frame_rows(n);
    *c = (struct stk_column){ .rank = field->rank };
    if (field->kind == STK_FIXED) {
        c->stride = stk_field_bytes(field);
        if (dest >= 0 && e->out)
            c->data = e->out->column[dest].data + (size_t)e->out_from * c->stride;
        else
            c->data = stk__arena_take(e->scratch, rows * c->stride);
        return c->data != NULL;
    }
    if (!(c->span = stk_arena_alloc(e->scratch, rows * sizeof *c->span)))
        return false;
    if (field->kind != STK_SHAPED)
        return true;
    c->dims = stk_arena_alloc(e->scratch, rows * (size_t)field->rank * sizeof *c->dims);
    return c->dims != NULL;
}

static bool frame_new(struct stk__eval *e, const struct stk_type *type, int n, bool has_mask,
                      struct frame *frame)
{
    *frame = (struct frame){ 0 };
    frame->column =
        stk_arena_alloc(e->scratch, sizeof *frame->column * (size_t)(type->n_fields + 1));
    if (has_mask)
        frame->mask = stk_arena_alloc(e->scratch, frame_rows(n));
    return frame->column && (frame->mask || !has_mask);
}

/* Copies one row within scratch and output; spans stay borrowed. */
static void row_copy(struct stk_column *dst, int to, const struct stk_column *src, int from)
{
    size_t rank = (size_t)dst->rank;
    if (dst->data) {
        memcpy(dst->data + (size_t)to * dst->stride, src->data + (size_t)from * src->stride,
               dst->stride);
        return;
    }
    dst->span[to] = src->span[from];
    if (dst->dims)
        memcpy(dst->dims + (size_t)to * rank, src->dims + (size_t)from * rank,
               rank * sizeof *dst->dims);
}

/* ---- roles ---- */

static struct stk_rows make_call(struct stk__eval *e, const struct stk__pnode *p, int n)
{
    const struct stk__node *node = p->node;
    return (struct stk_rows){ .params = node->params,
                              .state = node->state,
                              .n = n,
                              .out_type = &node->type,
                              .in_type = node->n_inputs ? &node->input[0]->type : NULL,
                              .seed = p->seed,
                              .run_seed = e->program->seed,
                              .name = node->op->decl.name,
                              .scratch = e->scratch,
                              .faults = &e->faults,
                              .cancelled = e->cancelled };
}

static void fail_fetched(struct stk__eval *e, const char *op, int row,
                         const struct stk__fetched *got, uint8_t *mask)
{
    if (mask[row] != STK_LIVE)
        return;
    mask[row] = STK_BAD;
    stk__fault_add(&e->faults, row, got->code ? got->code : STK_MEMORY, op,
                   got->text ? got->text : "out of memory");
}

/* What was read for the rows of a located source; rows of which something is missing are bad. */
static struct stk_span *fetched_spans(struct stk__eval *e, const struct stk__pnode *p, int n,
                                      uint8_t *mask)
{
    size_t places = (size_t)p->n_places;
    struct stk_span *span =
        stk__arena_take(e->scratch, frame_rows(n) * places * sizeof *span + sizeof *span);
    for (int i = 0; span && i < n; i++) {
        size_t row = (size_t)(e->fetched_row ? e->fetched_row[i] : i);
        const struct stk__fetched *got = &e->fetched[p->read_slot][row * places];
        for (size_t k = 0; k < places; k++) {
            span[(size_t)i * places + k] =
                (struct stk_span){ got[k].data, got[k].bytes, got[k].buffer };
            if (!got[k].buffer)
                fail_fetched(e, p->node->op->decl.name, i, &got[k], mask);
        }
    }
    return span;
}

static int eval_source(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                       struct frame *frame)
{
    const struct stk_type *type = &p->node->type;
    if (!frame_new(e, type, n, true, frame))
        return STK_MEMORY;
    for (int f = 0; f < type->n_fields; f++)
        if (!column_new(e, &type->field[f], p->dest[f], n, &frame->column[f]))
            return STK_MEMORY;
    if (e->program->has_keys) {
        if (!(frame->key = stk__arena_take(e->scratch, frame_rows(n) * sizeof *frame->key)))
            return STK_MEMORY;
        for (int i = 0; i < n; i++)
            frame->key[i] = stk__key_make(p->node->ordinal, at.path[i], at.position[i]);
    }
    struct stk_rows rows = make_call(e, p, n);
    rows.out = frame->column;
    rows.mask = frame->mask;
    rows.key = frame->key;
    if (p->read_slot >= 0 && !(rows.fetched = fetched_spans(e, p, n, frame->mask)))
        return STK_MEMORY;
    return p->node->op->source.rows(&rows, at.position);
}

static int eval_cut(struct stk__eval *e, const struct stk__pnode *p, int n, struct frame *frame)
{
    const struct stk_chunk *in = e->in;
    if (!frame_new(e, &p->node->type, n, true, frame))
        return STK_MEMORY;
    for (int f = 0; f < p->node->type.n_fields; f++)
        frame->column[f] = stk__column_slice(&in->column[f], e->in_from);
    frame->key = in->key ? in->key + e->in_from : NULL;
    for (int i = 0; in->n_bad && i < n; i++) {
        int row = e->in_from + i;
        if ((frame->mask[i] = in->mask[row]) != STK_BAD)
            continue;
        const struct stk_fault *fault = stk__chunk_find_fault(in, row);
        if (fault)
            stk__fault_add(&e->faults, i, fault->code, fault->op, fault->text);
    }
    return STK_OK;
}

static int open_thread(struct stk__eval *e, const struct stk__pnode *p, struct stk_rows *rows)
{
    struct stk_error err;
    if (p->thread_slot < 0)
        return STK_OK;
    if (!e->thread->is_open[p->thread_slot]) {
        int rc = p->node->op->row.thread_open(p->node->params, p->node->state,
                                              &e->thread->slot[p->thread_slot], &err);
        if (rc)
            return rc;
        e->thread->is_open[p->thread_slot] = true;
    }
    rows->thread = e->thread->slot[p->thread_slot];
    return STK_OK;
}

/* Columns of an op over one input: untouched ones shared, its own made. */
static bool own_columns(struct stk__eval *e, const struct stk__pnode *p, int n,
                        const struct frame *in, struct frame *frame)
{
    const struct stk__node *node = p->node;
    if (!frame_new(e, &node->type, n, false, frame))
        return false;
    frame->mask = in->mask;
    frame->key = in->key;
    for (int f = 0; f < node->type.n_fields; f++) {
        if (node->from[f] >= 0)
            frame->column[f] = in->column[node->from[f]];
        else if (!column_new(e, &node->type.field[f], p->dest[f], n, &frame->column[f]))
            return false;
    }
    return true;
}

/* An op of a plug-in: what it did is checked before it goes on. */
static int run_guarded(const struct stk__node *node, struct stk_rows *rows)
{
    struct stk__guard guard = { .from = node->from, .is_filter = node->op->flags & STK_OP_FILTER };
    if (!stk__guard_begin(&guard, rows))
        return STK_MEMORY;
    int rc = node->op->row.run(rows);
    stk__guard_end(&guard, rows, rc);
    return rc == STK_MEMORY ? rc : STK_OK;
}

static int eval_row(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                    struct frame *frame)
{
    struct frame in;
    int rc = eval_node(e, p->input[0], at, n, &in);
    if (rc)
        return rc;
    if (!own_columns(e, p, n, &in, frame))
        return STK_MEMORY;
    struct stk_rows rows = make_call(e, p, n);
    if ((rc = open_thread(e, p, &rows)))
        return rc;
    rows.in = in.column;
    rows.out = frame->column;
    rows.mask = in.mask;
    rows.key = in.key;
    return p->is_guarded ? run_guarded(p->node, &rows) : p->node->op->row.run(&rows);
}

static int eval_read(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                     struct frame *frame)
{
    struct frame in;
    int rc = eval_node(e, p->input[0], at, n, &in);
    if (rc)
        return rc;
    if (!own_columns(e, p, n, &in, frame))
        return STK_MEMORY;
    const struct stk__fetched *fetched = e->fetched[p->read_slot];
    for (int f = 0; f < p->node->type.n_fields; f++) {
        if (p->node->from[f] >= 0)
            continue;
        for (int i = 0; i < n; i++) {
            const struct stk__fetched *got = &fetched[e->fetched_row ? e->fetched_row[i] : i];
            if (got->buffer)
                frame->column[f].span[i] = (struct stk_span){ got->data, got->bytes, got->buffer };
            else
                fail_fetched(e, "read", i, got, frame->mask);
        }
    }
    return STK_OK;
}

static bool places_copy(struct stk__eval *e, struct places at, int n, struct places *copy)
{
    size_t bytes = frame_rows(n) * sizeof *at.position;
    copy->position = stk__arena_take(e->scratch, bytes);
    copy->path = stk__arena_take(e->scratch, bytes);
    if (!copy->position || !copy->path)
        return false;
    memcpy(copy->position, at.position, (size_t)n * sizeof *at.position);
    memcpy(copy->path, at.path, (size_t)n * sizeof *at.path);
    return true;
}

/* Rewrites output positions of an order op to positions of its input. */
static void map_places(const struct stk__eval *e, const struct stk__pnode *p, struct places at,
                       int n, uint8_t *input)
{
    const struct stk__node *node = p->node;
    const struct stk_order_run run = { .params = node->params,
                                       .state = node->state,
                                       .seed = p->seed,
                                       .in_count = p->in_count,
                                       .n_inputs = node->n_inputs,
                                       .rank = e->program->rank,
                                       .world = e->program->world };
    node->op->order.at(&run, n, at.position, at.path, input);
}

static int eval_zip(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                    struct frame *frame)
{
    const struct stk__node *node = p->node;
    if (!frame_new(e, &node->type, n, false, frame))
        return STK_MEMORY;
    for (int k = 0, first = 0; k < node->n_inputs; first += node->input[k++]->type.n_fields) {
        struct places copy;
        struct frame in;
        if (!places_copy(e, at, n, &copy))
            return STK_MEMORY;
        int rc = eval_node(e, p->input[k], copy, n, &in);
        if (rc)
            return rc;
        int n_fields = node->input[k]->type.n_fields;
        for (int f = 0; f < node->type.n_fields; f++)
            if (node->from[f] >= first && node->from[f] < first + n_fields)
                frame->column[f] = in.column[node->from[f] - first];
        for (int i = 0; k && i < n; i++) {
            frame->mask[i] = in.mask[i] > frame->mask[i] ? in.mask[i] : frame->mask[i];
            if (frame->key)
                frame->key[i] = stk__key_join(frame->key[i], in.key[i]);
        }
        if (k == 0) {
            frame->mask = in.mask;
            frame->key = in.key;
        }
    }
    return STK_OK;
}

/* Evaluates n of the rows above a node, those that `row` numbers. */
static int eval_some(struct stk__eval *e, const struct stk__pnode *p, const int *row,
                     struct places at, int n, struct frame *in)
{
    struct stk_fault *outer = e->faults;
    const int *outer_row = e->fetched_row;
    int *fetched_row = stk__arena_take(e->scratch, (size_t)n * sizeof *fetched_row);
    if (!fetched_row)
        return STK_MEMORY;
    for (int i = 0; i < n; i++)
        fetched_row[i] = outer_row ? outer_row[row[i]] : row[i];
    e->fetched_row = fetched_row;
    e->faults = NULL;
    int rc = eval_node(e, p, at, n, in);
    e->fetched_row = outer_row;
    struct stk_fault *last = NULL;
    for (struct stk_fault *f = e->faults; f; f = f->next) {
        f->row = row[f->row];
        last = f;
    }
    if (last) {
        last->next = outer;
        outer = e->faults;
    }
    e->faults = outer;
    return rc;
}

/* Rows of one input of a concatenation, put where they belong. */
static int concat_input(struct stk__eval *e, const struct stk__pnode *p, int k, const int *row,
                        int n, struct places at, struct frame *frame)
{
    struct frame in;
    int rc = eval_some(e, p->input[k], row, at, n, &in);
    if (rc)
        return rc;
    for (int i = 0; i < n; i++) {
        for (int f = 0; f < p->node->type.n_fields; f++)
            row_copy(&frame->column[f], row[i], &in.column[f], i);
        frame->mask[row[i]] = in.mask[i];
        if (frame->key)
            frame->key[row[i]] = in.key[i];
    }
    return STK_OK;
}

static int eval_concat(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                       struct frame *frame)
{
    const struct stk__node *node = p->node;
    size_t rows = frame_rows(n);
    uint8_t *input = stk_arena_alloc(e->scratch, rows);
    int *row = stk__arena_take(e->scratch, rows * sizeof *row);
    struct places part;
    if (!input || !row || !frame_new(e, &node->type, n, true, frame) ||
        !places_copy(e, at, n, &part))
        return STK_MEMORY;
    for (int f = 0; f < node->type.n_fields; f++)
        if (!column_new(e, &node->type.field[f], p->dest[f], n, &frame->column[f]))
            return STK_MEMORY;
    if (e->program->has_keys &&
        !(frame->key = stk__arena_take(e->scratch, rows * sizeof *frame->key)))
        return STK_MEMORY;
    map_places(e, p, at, n, input);
    take_lap(e, p);
    for (int k = 0; k < node->n_inputs; k++) {
        int n_part = 0;
        for (int i = 0; i < n; i++) {
            if (input[i] != k)
                continue;
            part.position[n_part] = at.position[i];
            part.path[n_part] = at.path[i];
            row[n_part++] = i;
        }
        int rc = n_part ? concat_input(e, p, k, row, n_part, part, frame) : STK_OK;
        if (rc)
            return rc;
        take_lap(e, p);
    }
    return STK_OK;
}

static int eval_order(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                      struct frame *frame)
{
    map_places(e, p, at, n, NULL);
    take_lap(e, p);
    return eval_node(e, p->input[0], at, n, frame);
}

/* From places of a nest to positions below its chain. */
static int enter_nest(struct stk__eval *e, struct places at, int n)
{
    uint64_t *path = stk__arena_take(e->scratch, frame_rows(n) * sizeof *path);
    if (!path)
        return STK_MEMORY;
    stk__nest_resolve(e->program->nest, n, at.position, at.path, path);
    e->nest_path = path;
    return STK_OK;
}

static int eval_nest(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                     struct frame *frame)
{
    int rc = enter_nest(e, at, n);
    take_lap(e, p);
    return rc ? rc : eval_node(e, p->input[0], at, n, frame);
}

/* An element that is there several times is another one each time for what draws. */
static int eval_element(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                        struct frame *frame)
{
    int rc = eval_node(e, p->input[0], at, n, frame);
    for (int i = 0; !rc && frame->key && i < n; i++)
        frame->key[i] =
            stk__key_join(frame->key[i], stk__key_make(p->node->ordinal, e->nest_path[i], 0));
    return rc;
}

/* ---- caches ---- */

/* Rows as they come to a cache, and those of them that must be made. */
struct recall {
    struct places at;
    int *missing;
    int n_missing;
};

static int look_up(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                   struct recall *r)
{
    r->n_missing = 0;
    r->missing = stk__arena_take(e->scratch, frame_rows(n) * sizeof *r->missing);
    if (!r->missing || !places_copy(e, at, n, &r->at))
        return STK_MEMORY;
    for (int i = 0; i < n; i++)
        if (!p->kept || !stk__kept_has(p->kept, at.position[i]))
            r->missing[r->n_missing++] = i;
    e->n_hits += n - r->n_missing;
    e->n_misses += r->n_missing;
    return STK_OK;
}

static int recall_row(struct stk__eval *e, const struct stk__pnode *p, uint64_t number, int row,
                      struct frame *frame)
{
    const struct stk__row_place place = { .column = frame->column,
                                          .row = row,
                                          .mask = &frame->mask[row],
                                          .key = frame->key ? &frame->key[row] : NULL,
                                          .faults = &e->faults,
                                          .scratch = e->scratch };
    return stk__kept_load(p->kept, number, &place);
}

/* Rows of a run that is over may not have been made. */
static bool may_keep(const struct stk__eval *e, int mask, const struct stk_fault *fault)
{
    if (e->cancelled && atomic_load(e->cancelled))
        return false;
    return mask == STK_LIVE || (mask == STK_BAD && stk__fault_is_lasting(fault));
}

/* Keeps the rows that were made; `made` has all rows or, if `is_part`, those alone. */
static void keep_rows(struct stk__eval *e, const struct stk__pnode *p, const struct recall *r,
                      const struct frame *made, bool is_part)
{
    for (int k = 0; p->kept && e->leave && k < r->n_missing; k++) {
        int row = r->missing[k], at = is_part ? k : row;
        bool is_bad = made->mask[at] == STK_BAD;
        const struct stk_fault *fault = is_bad ? stk__fault_find(e->faults, row) : NULL;
        if (may_keep(e, made->mask[at], fault))
            stk__kept_keep(p->kept, r->at.position[row],
                           &(struct stk__row_ref){ .column = made->column,
                                                   .row = at,
                                                   .key = made->key ? &made->key[at] : NULL,
                                                   .is_bad = is_bad,
                                                   .fault = fault },
                           e->leave);
    }
}

/* Loads the rows that are there. Those that are there no longer are missing too: where files would
 * have to be read for them, all is to be done again. */
static int recall_rows(struct stk__eval *e, const struct stk__pnode *p, struct recall *r, int n,
                       struct frame *frame)
{
    int n_missing = 0, *missing = stk__arena_take(e->scratch, frame_rows(n) * sizeof *missing);
    if (!missing)
        return STK_MEMORY;
    for (int i = 0, k = 0; i < n; i++) {
        bool is_missing = k < r->n_missing && r->missing[k] == i;
        int rc = is_missing ? STK_DATA : recall_row(e, p, r->at.position[i], i, frame);
        k += is_missing;
        if (rc == STK_MEMORY)
            return rc;
        if (rc)
            missing[n_missing++] = i;
    }
    e->n_hits -= n_missing - r->n_missing;
    e->n_misses += n_missing - r->n_missing;
    bool is_lost = n_missing > r->n_missing;
    r->missing = missing;
    r->n_missing = n_missing;
    return is_lost && e->program->n_reads ? STK_AGAIN : STK_OK;
}

/* Some rows are there: the others are made apart, and put where they belong. */
static int recall_some(struct stk__eval *e, const struct stk__pnode *p, struct recall *r,
                       struct places at, int n, struct frame *frame)
{
    const struct stk_type *type = &p->node->type;
    struct stk_chunk *out = e->out;
    struct frame made;
    if (!frame_new(e, type, n, true, frame))
        return STK_MEMORY;
    for (int f = 0; f < type->n_fields; f++)
        if (!column_new(e, &type->field[f], p->dest[f], n, &frame->column[f]))
            return STK_MEMORY;
    if (e->program->has_keys &&
        !(frame->key = stk__arena_take(e->scratch, frame_rows(n) * sizeof *frame->key)))
        return STK_MEMORY;
    int rc = recall_rows(e, p, r, n, frame);
    if (rc || !r->n_missing)
        return rc;
    for (int k = 0; k < r->n_missing; k++)
        at.position[k] = r->at.position[r->missing[k]];
    e->out = NULL; /* no row of these is in its final place */
    rc = eval_some(e, p->input[0], r->missing, at, r->n_missing, &made);
    e->out = out;
    for (int k = 0; !rc && k < r->n_missing; k++) {
        for (int f = 0; f < type->n_fields; f++)
            row_copy(&frame->column[f], r->missing[k], &made.column[f], k);
        frame->mask[r->missing[k]] = made.mask[k];
        if (frame->key)
            frame->key[r->missing[k]] = made.key[k];
    }
    if (!rc)
        keep_rows(e, p, r, &made, true);
    return rc;
}

/* What lies below sees the first epoch in all of them; what lies above, other keys in each. */
static int eval_cache(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                      struct frame *frame)
{
    struct recall r;
    int rc = look_up(e, p, at, n, &r);
    for (int i = 0; !rc && i < n; i++)
        at.path[i] = stk__first_path();
    if (!rc && r.n_missing < n)
        rc = recall_some(e, p, &r, at, n, frame);
    else if (!rc && !(rc = eval_node(e, p->input[0], at, n, frame)))
        keep_rows(e, p, &r, frame, false);
    for (int i = 0; !rc && frame->key && i < n; i++)
        frame->key[i] =
            stk__key_join(frame->key[i], stk__key_make(p->node->ordinal, r.at.path[i], 0));
    return rc;
}

static int eval_role(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                     struct frame *frame)
{
    switch (p->role) {
    case STK__ROLE_SOURCE:
        return eval_source(e, p, at, n, frame);
    case STK__ROLE_CUT:
        return eval_cut(e, p, n, frame);
    case STK__ROLE_PASS:
        return eval_node(e, p->input[0], at, n, frame);
    case STK__ROLE_ORDER:
        return eval_order(e, p, at, n, frame);
    case STK__ROLE_ROW:
        return eval_row(e, p, at, n, frame);
    case STK__ROLE_READ:
        return eval_read(e, p, at, n, frame);
    case STK__ROLE_ZIP:
        return eval_zip(e, p, at, n, frame);
    case STK__ROLE_CONCAT:
        return eval_concat(e, p, at, n, frame);
    case STK__ROLE_NEST:
        return eval_nest(e, p, at, n, frame);
    case STK__ROLE_ELEMENT:
        return eval_element(e, p, at, n, frame);
    case STK__ROLE_CACHE:
        return eval_cache(e, p, at, n, frame);
    }
    return STK_STATE;
}

static int eval_node(struct stk__eval *e, const struct stk__pnode *p, struct places at, int n,
                     struct frame *frame)
{
    int rc = eval_role(e, p, at, n, frame);
    if (!rc && e->meter && (e->is_timed || p->is_part || p->is_filter))
        note_node(e, p, n, frame);
    return rc;
}

/* ---- entry points ---- */

static int start(struct stk__eval *e, struct places *at)
{
    *at = (struct places){ 0 };
    e->faults = NULL;
    e->n_bad = e->n_dead = e->n_hits = e->n_misses = 0;
    if (e->program->cut)
        return STK_OK;
    const struct places given = { (uint64_t *)(uintptr_t)e->position,
                                  (uint64_t *)(uintptr_t)e->path };
    return places_copy(e, given, e->n, at) ? STK_OK : STK_MEMORY;
}

/* Brings what is not in its final place there, and takes references to what leaves the scratch. */
static void write_out(struct stk__eval *e, const struct frame *frame)
{
    struct stk_chunk *out = e->out;
    size_t rows = (size_t)e->n, first = (size_t)e->out_from;
    for (int f = 0; f < out->type->n_fields; f++) {
        struct stk_column dst = stk__column_slice(&out->column[f], e->out_from);
        const struct stk_column *src = &frame->column[f];
        if (dst.data) {
            if (dst.data != src->data)
                memcpy(dst.data, src->data, rows * dst.stride);
            continue;
        }
        for (int i = 0; i < e->n; i++) {
            stk__buffer_unref(dst.span[i].owner);
            bool is_set = frame->mask[i] == STK_LIVE;
            dst.span[i] = is_set ? src->span[i] : (struct stk_span){ 0 };
            if (dst.span[i].owner)
                stk__buffer_ref(dst.span[i].owner);
        }
        if (dst.dims)
            memcpy(dst.dims, src->dims, rows * (size_t)dst.rank * sizeof *dst.dims);
    }
    if (out->key && frame->key)
        memcpy(out->key + first, frame->key, rows * sizeof *out->key);
}

int stk__eval_run(struct stk__eval *e)
{
    struct places at;
    struct frame frame;
    int rc = start(e, &at);
    e->n_live = e->n;
    e->is_timed = e->meter && stk__watch_is_on(e->watch);
    if (!rc)
        rc = eval_node(e, e->program->root, at, e->n, &frame);
    if (rc)
        return rc;
    for (int i = 0; i < e->n; i++) {
        e->n_bad += frame.mask[i] == STK_BAD;
        e->n_dead += frame.mask[i] == STK_DEAD;
    }
    write_out(e, &frame);
    if (e->n_bad || e->n_dead)
        memcpy(e->out->mask + e->out_from, frame.mask, (size_t)e->n);
    return STK_OK;
}

/* ---- wanted: down to one read, through the order ops above it ---- */

struct search {
    const struct stk__pnode *read;
    struct stk_span *path;   /* of a read, */
    struct stk_place *place; /* of a located source */
};

/* The rows have arrived at their source, which knows where they lie. */
static int find_places(struct stk__eval *e, const struct search *search, struct places at,
                       const int *row, int n)
{
    const struct stk__node *node = search->read->node;
    size_t places = (size_t)search->read->n_places;
    struct stk_place *found = stk__arena_take(e->scratch, (size_t)n * places * sizeof *found);
    if (!found)
        return STK_MEMORY;
    node->op->source.locate(node->state, n, at.position, found);
    for (int i = 0; i < n; i++)
        memcpy(search->place + (size_t)row[i] * places, found + (size_t)i * places,
               places * sizeof *found);
    return STK_OK;
}

/* The rows have arrived at the read: what is below it yields their paths. */
static int evaluate_paths(struct stk__eval *e, const struct search *search, struct places at,
                          const int *row, int n)
{
    const struct stk__node *node = search->read->node;
    struct frame frame;
    int rc = eval_node(e, search->read->input[0], at, n, &frame);
    if (rc)
        return rc;
    int f = 0;
    while (f < node->type.n_fields - 1 && node->from[f] >= 0)
        f++;
    for (int i = 0; i < n; i++)
        if (frame.mask[i] == STK_LIVE)
            search->path[row[i]] = frame.column[f].span[i];
    return STK_OK;
}

static int find_paths(struct stk__eval *e, const struct stk__pnode *p, const struct search *search,
                      struct places at, const int *row, int n);

/* Input k gets the rows that come from it; `input` is NULL when all do (zip). */
static int find_paths_in(struct stk__eval *e, const struct stk__pnode *p, int k,
                         const uint8_t *input, const struct search *search, struct places at,
                         const int *row, int n)
{
    struct places part;
    int *part_row = stk__arena_take(e->scratch, frame_rows(n) * sizeof *part_row), n_part = 0;
    if (!part_row || !places_copy(e, at, n, &part))
        return STK_MEMORY;
    for (int i = 0; i < n; i++) {
        if (input && input[i] != k)
            continue;
        part.position[n_part] = at.position[i];
        part.path[n_part] = at.path[i];
        part_row[n_part++] = row[i];
    }
    return find_paths(e, p->input[k], search, part, part_row, n_part);
}

/* Nothing is wanted for rows that are kept. */
static int find_uncached(struct stk__eval *e, const struct stk__pnode *p, uint8_t *is_kept,
                         const struct search *search, struct places at, const int *row, int n)
{
    for (int i = 0; i < n; i++) {
        is_kept[i] = p->kept && stk__kept_has(p->kept, at.position[i]);
        at.path[i] = stk__first_path();
    }
    return find_paths_in(e, p, 0, is_kept, search, at, row, n);
}

static int find_paths(struct stk__eval *e, const struct stk__pnode *p, const struct search *search,
                      struct places at, const int *row, int n)
{
    if (n == 0)
        return STK_OK;
    if (p == search->read)
        return search->place ? find_places(e, search, at, row, n)
                             : evaluate_paths(e, search, at, row, n);
    if (p->role == STK__ROLE_SOURCE || p->role == STK__ROLE_CUT)
        return STK_OK;
    uint8_t *input = NULL;
    bool has_parts = p->role == STK__ROLE_CONCAT || p->role == STK__ROLE_CACHE;
    if (has_parts && !(input = stk_arena_alloc(e->scratch, frame_rows(n))))
        return STK_MEMORY;
    if (p->role == STK__ROLE_CACHE)
        return find_uncached(e, p, input, search, at, row, n);
    if (p->role == STK__ROLE_CONCAT || p->role == STK__ROLE_ORDER)
        map_places(e, p, at, n, input);
    if (p->role == STK__ROLE_NEST && enter_nest(e, at, n))
        return STK_MEMORY;
    if (p->node->n_inputs == 1)
        return find_paths(e, p->input[0], search, at, row, n);
    for (int k = 0; k < p->node->n_inputs; k++) {
        int rc = find_paths_in(e, p, k, input, search, at, row, n);
        if (rc)
            return rc;
    }
    return STK_OK;
}

/* Room for what is wanted, all of it unset. */
static bool search_new(struct stk__eval *e, struct search *search)
{
    size_t rows = frame_rows(e->n), n = rows * (size_t)search->read->n_places;
    if (search->read->role != STK__ROLE_SOURCE) {
        search->path = stk_arena_alloc(e->scratch, rows * sizeof *search->path);
        return search->path != NULL;
    }
    search->place = stk__arena_take(e->scratch, n * sizeof *search->place);
    for (size_t i = 0; search->place && i < n; i++)
        search->place[i] = (struct stk_place){ .file = STK__NOWHERE };
    return search->place != NULL;
}

int stk__eval_wanted(struct stk__eval *e, int slot, struct stk__wanted *wanted)
{
    struct places at;
    struct search search = { .read = e->program->read[slot] };
    int *row = stk__arena_take(e->scratch, frame_rows(e->n) * sizeof *row);
    struct stk_chunk *out = e->out;
    e->out = NULL;
    int rc = row && search_new(e, &search) ? start(e, &at) : STK_MEMORY;
    for (int i = 0; !rc && i < e->n; i++)
        row[i] = i;
    if (!rc)
        rc = find_paths(e, e->program->root, &search, at, row, e->n);
    e->out = out;
    stk__faults_free(e->faults); /* the run will find them again */
    e->faults = NULL;
    *wanted = (struct stk__wanted){ search.path, search.place };
    return rc;
}

void stk__fetched_free(struct stk__fetched *fetched, int n)
{
    for (int i = 0, n_same = 0; i < n; i++) {
        n_same++;
        if (i + 1 == n || fetched[i + 1].buffer != fetched[i].buffer) {
            stk__buffer_unref_n(fetched[i].buffer, n_same);
            n_same = 0;
        }
        if (fetched[i].text)
            free((char *)(uintptr_t)fetched[i].text);
    }
    memset(fetched, 0, sizeof *fetched * (size_t)n);
}

const struct stk__node *stk__eval_locate(const struct stk__program *program, uint64_t position,
                                         uint64_t path, uint64_t *index)
{
    const struct stk__pnode *p = program->root;
    while (p->role != STK__ROLE_SOURCE && p->role != STK__ROLE_CUT) {
        uint8_t input = 0;
        const struct stk_order_run run = { .params = p->node->params,
                                           .state = p->node->state,
                                           .seed = p->seed,
                                           .in_count = p->in_count,
                                           .n_inputs = p->node->n_inputs,
                                           .rank = program->rank,
                                           .world = program->world };
        if (p->role == STK__ROLE_ORDER || p->role == STK__ROLE_CONCAT)
            p->node->op->order.at(&run, 1, &position, &path, &input);
        if (p->role == STK__ROLE_NEST)
            stk__nest_resolve(program->nest, 1, &position, &path, NULL);
        if (p->role == STK__ROLE_CACHE)
            path = stk__first_path();
        p = p->input[input];
    }
    *index = position;
    return p->node;
}
