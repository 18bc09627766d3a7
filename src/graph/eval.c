/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c: running a program over n rows. See program.h. */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory/arena.h"
#include "graph/eval_parts.h"
#include "graph/nest.h"
#include "graph/plugin_guard.h"
#include "op/op_names.h"

#include <string.h>

/* ---- counting ---- */

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
    stk__meter_add(&meter->rows_dropped, (uint64_t)(e->n_live - n_live));
    e->n_live = n_live;
}

/* What all nodes have in common, the rows of the program, is counted by whoever runs it. */
static void note_node(struct stk__eval *e, const struct stk__pnode *p, int n,
                      const struct stk__frame *frame)
{
    struct stk__meter *meter = &e->meter[p->number];
    if (e->is_timed) {
        stk__watch_lap(e->watch, meter);
        stk__meter_add(&meter->span_bytes, span_bytes(p, frame->column, n) * e->watch->weight);
    }
    if (p->is_part) {
        stk__meter_add(&meter->calls, 1);
        stk__meter_add(&meter->rows_in, (uint64_t)n);
    }
    if (p->is_filter)
        note_filter(e, meter, n, frame->mask);
}

/* ---- columns ---- */

bool stk__eval_column_new(struct stk__eval *e, const struct stk_field *field, int dest, int n,
                          struct stk_column *c)
{
    size_t rows = stk__frame_rows(n);
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

bool stk__eval_frame_new(struct stk__eval *e, const struct stk_type *type, int n, bool has_mask,
                         struct stk__frame *frame)
{
    *frame = (struct stk__frame){ 0 };
    frame->column =
        stk_arena_alloc(e->scratch, sizeof *frame->column * (size_t)(type->n_fields + 1));
    if (has_mask)
        frame->mask = stk_arena_alloc(e->scratch, stk__frame_rows(n));
    return frame->column && (frame->mask || !has_mask);
}

void stk__eval_row_copy(struct stk_column *dst, int to, const struct stk_column *src, int from)
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

/* `inside` is to live as long as the call. */
static struct stk_rows make_call(struct stk__eval *e, const struct stk__pnode *p, int n,
                                 struct stk__rows_inside *inside)
{
    const struct stk__node *node = p->node;
    *inside = (struct stk__rows_inside){ .seed = p->seed,
                                         .run_seed = e->program->seed,
                                         .name = node->op->decl.name,
                                         .scratch = e->scratch,
                                         .faults = &e->faults,
                                         .cancelled = e->cancelled };
    return (struct stk_rows){ .params = node->params,
                              .state = node->state,
                              .n = n,
                              .out_type = &node->type,
                              .in_type = node->n_inputs ? &node->input[0]->type : NULL,
                              .inside = inside };
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
        stk__arena_take(e->scratch, stk__frame_rows(n) * places * sizeof *span + sizeof *span);
    for (int i = 0; span && i < n; i++) {
        size_t row = (size_t)(e->fetched_row ? e->fetched_row[i] : i);
        const struct stk__fetched *got = &e->fetched[p->read_slot][row * places];
        for (size_t k = 0; k < places; k++) {
            span[(size_t)i * places + k] =
                (struct stk_span){ got[k].data, got[k].bytes, got[k].buffer };
            if (!got[k].buffer)
                fail_fetched(e, stk__op_said(p->node->op), i, &got[k], mask);
        }
    }
    return span;
}

static int eval_source(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at,
                       int n, struct stk__frame *frame)
{
    const struct stk_type *type = &p->node->type;
    if (!stk__eval_frame_new(e, type, n, true, frame))
        return STK_MEMORY;
    for (int f = 0; f < type->n_fields; f++)
        if (!stk__eval_column_new(e, &type->field[f], p->dest[f], n, &frame->column[f]))
            return STK_MEMORY;
    if (e->program->has_keys) {
        if (!(frame->key = stk__arena_take(e->scratch, stk__frame_rows(n) * sizeof *frame->key)))
            return STK_MEMORY;
        for (int i = 0; i < n; i++)
            frame->key[i] = stk__key_make(p->node->ordinal, at.path[i], at.position[i]);
    }
    struct stk__rows_inside inside;
    struct stk_rows rows = make_call(e, p, n, &inside);
    rows.out = frame->column;
    rows.mask = frame->mask;
    inside.key = frame->key;
    if (p->read_slot >= 0 && !(inside.fetched = fetched_spans(e, p, n, frame->mask)))
        return STK_MEMORY;
    return p->node->op->source.rows(&rows, at.position);
}

static int eval_cut(struct stk__eval *e, const struct stk__pnode *p, int n,
                    struct stk__frame *frame)
{
    const struct stk__chunk *in = e->in;
    if (!stk__eval_frame_new(e, &p->node->type, n, true, frame))
        return STK_MEMORY;
    for (int f = 0; f < p->node->type.n_fields; f++)
        frame->column[f] = stk__column_slice(&in->column[f], e->in_from);
    frame->key = in->key ? in->key + e->in_from : NULL;
    for (int i = 0; in->n_bad && i < n; i++) {
        int row = e->in_from + i;
        if ((frame->mask[i] = in->mask[row]) != STK_BAD)
            continue;
        const struct stk__fault *fault = stk__chunk_find_fault(in, row);
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
                        const struct stk__frame *in, struct stk__frame *frame)
{
    const struct stk__node *node = p->node;
    if (!stk__eval_frame_new(e, &node->type, n, false, frame))
        return false;
    frame->mask = in->mask;
    frame->key = in->key;
    for (int f = 0; f < node->type.n_fields; f++) {
        if (node->from[f] >= 0)
            frame->column[f] = in->column[node->from[f]];
        else if (!stk__eval_column_new(e, &node->type.field[f], p->dest[f], n, &frame->column[f]))
            return false;
    }
    return true;
}

/* Columns that are in their place in the output. */
static uint32_t find_finals(const struct stk__eval *e, const struct stk__pnode *p)
{
    const struct stk__node *node = p->node;
    uint32_t finals = 0;
    for (int f = 0; f < node->type.n_fields && e->out; f++)
        if (p->dest[f] >= 0 && node->from[f] < 0 && node->type.field[f].kind == STK_FIXED)
            finals |= UINT32_C(1) << f;
    return finals;
}

/* An op of a plug-in: what it did is checked before it goes on. */
static int run_guarded(const struct stk__node *node, struct stk_rows *rows)
{
    struct stk__guard guard = { .from = node->from, .is_filter = node->is_filter };
    if (!stk__guard_begin(&guard, rows))
        return STK_MEMORY;
    int rc = node->op->row.run(rows);
    stk__guard_end(&guard, rows, rc);
    return rc == STK_MEMORY ? rc : STK_OK;
}

static int eval_row(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at, int n,
                    struct stk__frame *frame)
{
    struct stk__frame in;
    int rc = stk__eval_node(e, p->input[0], at, n, &in);
    if (rc)
        return rc;
    if (!own_columns(e, p, n, &in, frame))
        return STK_MEMORY;
    struct stk__rows_inside inside;
    struct stk_rows rows = make_call(e, p, n, &inside);
    if ((rc = open_thread(e, p, &rows)))
        return rc;
    rows.in = in.column;
    rows.out = frame->column;
    rows.mask = in.mask;
    inside.key = in.key;
    inside.finals = find_finals(e, p);
    rc = p->is_guarded ? run_guarded(p->node, &rows) : p->node->op->row.run(&rows);
    if (e->meter && rows.n_warned > 0)
        stk__meter_add(&e->meter[p->number].rows_warned, (uint64_t)rows.n_warned);
    return rc;
}

static int eval_read(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at, int n,
                     struct stk__frame *frame)
{
    struct stk__frame in;
    int rc = stk__eval_node(e, p->input[0], at, n, &in);
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

bool stk__eval_places_copy(struct stk__eval *e, struct stk__places at, int n,
                           struct stk__places *copy)
{
    size_t bytes = stk__frame_rows(n) * sizeof *at.position;
    copy->position = stk__arena_take(e->scratch, bytes);
    copy->path = stk__arena_take(e->scratch, bytes);
    if (!copy->position || !copy->path)
        return false;
    memcpy(copy->position, at.position, (size_t)n * sizeof *at.position);
    memcpy(copy->path, at.path, (size_t)n * sizeof *at.path);
    return true;
}

void stk__eval_map_places(const struct stk__eval *e, const struct stk__pnode *p,
                          struct stk__places at, int n, uint8_t *input)
{
    const struct stk__node *node = p->node;
    const struct stk__order_run run = { .params = node->params,
                                        .state = node->state,
                                        .seed = p->seed,
                                        .in_count = p->in_count,
                                        .n_inputs = node->n_inputs,
                                        .rank = e->program->rank,
                                        .world = e->program->world };
    node->op->order.at(&run, n, at.position, at.path, input);
}

static int eval_zip(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at, int n,
                    struct stk__frame *frame)
{
    const struct stk__node *node = p->node;
    if (!stk__eval_frame_new(e, &node->type, n, false, frame))
        return STK_MEMORY;
    for (int k = 0, first = 0; k < node->n_inputs; first += node->input[k++]->type.n_fields) {
        struct stk__places copy;
        struct stk__frame in;
        if (!stk__eval_places_copy(e, at, n, &copy))
            return STK_MEMORY;
        int rc = stk__eval_node(e, p->input[k], copy, n, &in);
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

int stk__eval_some(struct stk__eval *e, const struct stk__pnode *p, const int *row,
                   struct stk__places at, int n, struct stk__frame *in)
{
    struct stk__fault *outer = e->faults;
    const int *outer_row = e->fetched_row;
    int *fetched_row = stk__arena_take(e->scratch, (size_t)n * sizeof *fetched_row);
    if (!fetched_row)
        return STK_MEMORY;
    for (int i = 0; i < n; i++)
        fetched_row[i] = outer_row ? outer_row[row[i]] : row[i];
    e->fetched_row = fetched_row;
    e->faults = NULL;
    int rc = stk__eval_node(e, p, at, n, in);
    e->fetched_row = outer_row;
    struct stk__fault *last = NULL;
    for (struct stk__fault *f = e->faults; f; f = f->next) {
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
                        int n, struct stk__places at, struct stk__frame *frame)
{
    struct stk__frame in;
    int rc = stk__eval_some(e, p->input[k], row, at, n, &in);
    if (rc)
        return rc;
    for (int i = 0; i < n; i++) {
        for (int f = 0; f < p->node->type.n_fields; f++)
            stk__eval_row_copy(&frame->column[f], row[i], &in.column[f], i);
        frame->mask[row[i]] = in.mask[i];
        if (frame->key)
            frame->key[row[i]] = in.key[i];
    }
    return STK_OK;
}

static int eval_concat(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at,
                       int n, struct stk__frame *frame)
{
    const struct stk__node *node = p->node;
    size_t rows = stk__frame_rows(n);
    uint8_t *input = stk_arena_alloc(e->scratch, rows);
    int *row = stk__arena_take(e->scratch, rows * sizeof *row);
    struct stk__places part;
    if (!input || !row || !stk__eval_frame_new(e, &node->type, n, true, frame) ||
        !stk__eval_places_copy(e, at, n, &part))
        return STK_MEMORY;
    for (int f = 0; f < node->type.n_fields; f++)
        if (!stk__eval_column_new(e, &node->type.field[f], p->dest[f], n, &frame->column[f]))
            return STK_MEMORY;
    if (e->program->has_keys &&
        !(frame->key = stk__arena_take(e->scratch, rows * sizeof *frame->key)))
        return STK_MEMORY;
    stk__eval_map_places(e, p, at, n, input);
    stk__eval_lap(e, p);
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
        stk__eval_lap(e, p);
    }
    return STK_OK;
}

static int eval_order(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at, int n,
                      struct stk__frame *frame)
{
    stk__eval_map_places(e, p, at, n, NULL);
    stk__eval_lap(e, p);
    return stk__eval_node(e, p->input[0], at, n, frame);
}

int stk__eval_enter_nest(struct stk__eval *e, struct stk__places at, int n)
{
    uint64_t *path = stk__arena_take(e->scratch, stk__frame_rows(n) * sizeof *path);
    if (!path)
        return STK_MEMORY;
    stk__nest_resolve(e->program->nest, n, at.position, at.path, path);
    e->nest_path = path;
    return STK_OK;
}

static int eval_nest(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at, int n,
                     struct stk__frame *frame)
{
    int rc = stk__eval_enter_nest(e, at, n);
    stk__eval_lap(e, p);
    return rc ? rc : stk__eval_node(e, p->input[0], at, n, frame);
}

/* An element that is there several times is another one each time for what draws. */
static int eval_element(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at,
                        int n, struct stk__frame *frame)
{
    int rc = stk__eval_node(e, p->input[0], at, n, frame);
    for (int i = 0; !rc && frame->key && i < n; i++)
        frame->key[i] =
            stk__key_join(frame->key[i], stk__key_make(p->node->ordinal, e->nest_path[i], 0));
    return rc;
}

static int eval_role(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at, int n,
                     struct stk__frame *frame)
{
    switch (p->role) {
    case STK__ROLE_SOURCE:
        return eval_source(e, p, at, n, frame);
    case STK__ROLE_CUT:
        return eval_cut(e, p, n, frame);
    case STK__ROLE_PASS:
        return stk__eval_node(e, p->input[0], at, n, frame);
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
        return stk__eval_cache(e, p, at, n, frame);
    }
    return STK_STATE;
}

int stk__eval_node(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at, int n,
                   struct stk__frame *frame)
{
    int rc = eval_role(e, p, at, n, frame);
    if (!rc && e->meter && (e->is_timed || p->is_part || p->is_filter))
        note_node(e, p, n, frame);
    return rc;
}

/* ---- the whole ---- */

int stk__eval_start(struct stk__eval *e, struct stk__places *at)
{
    *at = (struct stk__places){ 0 };
    e->faults = NULL;
    e->n_bad = e->n_dead = e->n_hits = e->n_misses = 0;
    if (e->program->cut)
        return STK_OK;
    const struct stk__places given = { (uint64_t *)(uintptr_t)e->position,
                                       (uint64_t *)(uintptr_t)e->path };
    return stk__eval_places_copy(e, given, e->n, at) ? STK_OK : STK_MEMORY;
}

/* Brings what is not in its final place there, and takes references to what leaves the scratch. */
static void write_out(struct stk__eval *e, const struct stk__frame *frame)
{
    struct stk__chunk *out = e->out;
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
    struct stk__places at;
    struct stk__frame frame;
    int rc = stk__eval_start(e, &at);
    e->n_live = e->n;
    e->is_timed = e->meter && stk__watch_is_on(e->watch);
    if (!rc)
        rc = stk__eval_node(e, e->program->root, at, e->n, &frame);
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
