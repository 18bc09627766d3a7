/* SPDX-License-Identifier: Apache-2.0 */
/* depot.c: batches: reuse, packing, views. */
#include "exec/batch/depot.h"

#include "base/error.h"
#include "base/rows/blob.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- depot ---- */

struct stk__depot *stk__depot_new(struct stk__plan *plan, struct stk__pool *pool)
{
    struct stk__depot *depot = calloc(1, sizeof *depot);
    if (!depot)
        return NULL;
    pthread_mutex_init(&depot->lock, NULL);
    pthread_mutex_init(&depot->waking, NULL);
    depot->refs = 1;
    depot->pid = getpid();
    depot->max_kept = plan->window + 1;
    depot->plan = stk__plan_ref(plan);
    depot->pool = pool;
    return depot;
}

static void batch_free(struct stk_batch *batch)
{
    stk__chunk_free(batch->chunk);
    free(batch);
}

static void free_all(struct stk_batch *batch)
{
    for (struct stk_batch *next; batch; batch = next) {
        next = batch->next;
        batch_free(batch);
    }
}

/* Called with the lock held, leaves it released. */
static void drop_ref(struct stk__depot *depot)
{
    bool is_last = --depot->refs == 0;
    pthread_mutex_unlock(&depot->lock);
    if (!is_last)
        return;
    free_all(depot->kept);
    stk__pool_unref(depot->pool);
    stk__plan_unref(depot->plan);
    pthread_mutex_destroy(&depot->waking);
    pthread_mutex_destroy(&depot->lock);
    free(depot);
}

void stk__depot_unref(struct stk__depot *depot)
{
    pthread_mutex_lock(&depot->lock);
    drop_ref(depot);
}

void stk__depot_set_waiter(struct stk__depot *depot, void (*wake)(void *waiter), void *waiter)
{
    pthread_mutex_lock(&depot->waking);
    depot->wake = wake;
    depot->waiter = waiter;
    pthread_mutex_unlock(&depot->waking);
}

void stk__depot_keep(struct stk__depot *depot, int most)
{
    pthread_mutex_lock(&depot->lock);
    depot->max_kept = most;
    struct stk_batch *surplus = NULL;
    for (struct stk_batch *b = depot->kept; depot->n_kept > most; b = depot->kept) {
        depot->kept = b->next;
        b->next = surplus;
        surplus = b;
        depot->n_kept--;
    }
    pthread_mutex_unlock(&depot->lock);
    free_all(surplus);
}

size_t stk__depot_bytes(struct stk__depot *depot, int n_open)
{
    const struct stk__plan *plan = depot->plan;
    size_t batch = stk__chunk_bytes(plan->stage[plan->last].type, (int)plan->batch_rows,
                                    stk__batch_parts(plan));
    pthread_mutex_lock(&depot->lock);
    int n_out = depot->n_live - n_open < 2 ? depot->n_live - n_open : 2;
    int n = n_open + (depot->n_kept + n_out > 2 ? depot->n_kept + n_out : 2);
    int n_others = depot->n_packed > 2 ? depot->n_packed - 2 : 0;
    size_t others = n_others ? depot->packed_bytes / (size_t)depot->n_packed * (size_t)n_others : 0;
    pthread_mutex_unlock(&depot->lock);
    size_t pool = stk__pool_bytes(depot->pool);
    return batch * (size_t)n + (pool > others ? pool - others : 0);
}

void stk__depot_trim(struct stk__depot *depot)
{
    pthread_mutex_lock(&depot->lock);
    struct stk_batch *kept = depot->kept;
    depot->kept = NULL;
    depot->n_kept = 0;
    pthread_mutex_unlock(&depot->lock);
    free_all(kept);
}

int stk__depot_n_live(struct stk__depot *depot)
{
    pthread_mutex_lock(&depot->lock);
    int n_live = depot->n_live;
    pthread_mutex_unlock(&depot->lock);
    return n_live;
}

bool stk__depot_has_room(struct stk__depot *depot, int most)
{
    pthread_mutex_lock(&depot->lock);
    bool has_room = depot->n_live < most;
    depot->is_awaited = !has_room;
    pthread_mutex_unlock(&depot->lock);
    return has_room;
}

bool stk__depot_has_two_out(struct stk__depot *depot, int n_open)
{
    pthread_mutex_lock(&depot->lock);
    bool has_two = depot->n_live - n_open >= 2;
    depot->is_awaited |= has_two;
    pthread_mutex_unlock(&depot->lock);
    return has_two;
}

static struct stk_batch *batch_alloc(struct stk__depot *depot)
{
    const struct stk__plan *plan = depot->plan;
    struct stk_batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return NULL;
    batch->chunk =
        stk__chunk_new(plan->stage[plan->last].type, (int)plan->batch_rows, stk__batch_parts(plan));
    if (!batch->chunk) {
        free(batch);
        return NULL;
    }
    batch->depot = depot;
    return batch;
}

struct stk_batch *stk__batch_new(struct stk__depot *depot)
{
    pthread_mutex_lock(&depot->lock);
    struct stk_batch *batch = depot->kept;
    if (batch) {
        depot->kept = batch->next;
        depot->n_kept--;
    }
    depot->refs++;
    depot->n_live++;
    pthread_mutex_unlock(&depot->lock);
    if (!batch && !(batch = batch_alloc(depot))) {
        pthread_mutex_lock(&depot->lock);
        depot->n_live--;
        drop_ref(depot);
        return NULL;
    }
    batch->next = NULL;
    batch->n = 0;
    atomic_store_explicit(&batch->refs, 1, memory_order_relaxed);
    return batch;
}

struct stk_batch *stk_batch_ref(struct stk_batch *batch)
{
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
    return batch;
}

static void drop_contents(struct stk_batch *batch)
{
    for (int f = 0; f < batch->chunk->type->n_fields; f++) {
        stk__buffer_unref(batch->packed[f].buffer);
        batch->packed[f] = (struct stk__packed){ 0 };
    }
    stk__chunk_drop(batch->chunk, 0, batch->chunk->cap);
}

static void wake_waiter(struct stk__depot *depot)
{
    pthread_mutex_lock(&depot->waking);
    if (depot->waiter)
        depot->wake(depot->waiter);
    pthread_mutex_unlock(&depot->waking);
}

static void put_back(struct stk_batch *batch, bool tells)
{
    if (!batch || atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) > 1)
        return;
    struct stk__depot *depot = batch->depot;
    if (depot->pid != getpid())
        return; /* a forked child: the lock may be held by a thread that is not there */
    drop_contents(batch);
    pthread_mutex_lock(&depot->lock);
    bool is_kept = depot->n_kept < depot->max_kept;
    if (is_kept) {
        batch->next = depot->kept;
        depot->kept = batch;
        depot->n_kept++;
    }
    depot->n_live--;
    depot->packed_bytes -= batch->packed_bytes;
    depot->n_packed -= batch->packed_bytes > 0;
    batch->packed_bytes = 0;
    tells = tells && depot->is_awaited;
    pthread_mutex_unlock(&depot->lock);
    if (!is_kept)
        batch_free(batch); /* while the plan, which has its type, is certainly there */
    if (tells)
        wake_waiter(depot);
    stk__depot_unref(depot);
}

void stk_batch_unref(struct stk_batch *batch)
{
    put_back(batch, true);
}

void stk__batch_give_back(struct stk_batch *batch)
{
    put_back(batch, false);
}

/* ---- packing ---- */

static bool is_batched(const struct stk_batch *batch)
{
    return batch->depot->plan->batch != NULL;
}

static void shape_text(const int32_t *dims, int rank, char *text, size_t size)
{
    size_t len = 0;
    text[0] = 0;
    for (int d = 0; d < rank && len < size; d++)
        len += (size_t)snprintf(text + len, size - len, "%s%d", d ? "x" : "", (int)dims[d]);
}

static int fail_shapes(const struct stk_batch *batch, int field, int row, struct stk_error *err)
{
    const struct stk_column *c = &batch->chunk->column[field];
    char first[96], other[96], origin[160];
    shape_text(c->dims, c->rank, first, sizeof first);
    shape_text(c->dims + (size_t)row * (size_t)c->rank, c->rank, other, sizeof other);
    stk__plan_describe(batch->depot->plan, batch->chunk->address[row], origin, sizeof origin);
    return stk_fail(
        err, STK_DATA,
        "batch: rows of field '%s' differ in shape: row 0 is %s, row %d (%s) is %s; resize or "
        "crop them first, or use padded_batch",
        batch->chunk->type->field[field].name, first, row, origin, other);
}

/* Brings the rows of one field together. */
static int gather_field(struct stk_batch *batch, int f, struct stk_error *err)
{
    const struct stk__gather *gather = &batch->depot->plan->gather[f];
    const struct stk_column *c = &batch->chunk->column[f];
    const struct stk__picked rows = { c, 0, 1, batch->n };
    struct stk__packed *packed = &batch->packed[f];
    size_t bytes;
    int differs, rc = stk__gather_measure(gather, &rows, &bytes, packed->dims, &differs);
    if (rc == STK_DATA)
        return fail_shapes(batch, f, differs, err);
    if (batch->n == 1 && gather->kind == STK__STACK) { /* nothing to bring together */
        packed->data = c->span[0].data;
        return STK_OK;
    }
    if (rc || !(packed->buffer = stk__buffer_new(batch->depot->pool, bytes)))
        return stk__out_of_memory(err);
    packed->data = packed->buffer->data;
    stk__gather_write(gather, &rows, packed->dims, packed->data);
    if (c->span)
        stk__spans_drop(c->span, batch->n); /* the rows' own bytes may go */
    return STK_OK;
}

static void open_blob(struct stk__packed *packed, bool has_lists)
{
    struct stk__blob blob = stk__blob_open(packed->data);
    if (has_lists) {
        packed->row_splits = blob.splits;
        packed->n_row_splits = blob.n + 1;
        blob = stk__blob_open(blob.data);
    }
    packed->data = blob.data;
    packed->splits = blob.splits;
    packed->n_splits = blob.n + 1;
    packed->n_values = blob.splits[blob.n];
}

/* Whose memory the consumer has from now on. */
static void count_packed(struct stk_batch *batch)
{
    struct stk__depot *depot = batch->depot;
    for (int f = 0; f < batch->chunk->type->n_fields; f++) {
        const struct stk_column *c = &batch->chunk->column[f];
        const struct stk_buffer *buffer = batch->packed[f].buffer;
        if (!buffer && c->span && batch->n == 1)
            buffer = c->span[0].owner;
        batch->packed_bytes += buffer ? buffer->capacity : 0;
    }
    if (!batch->packed_bytes)
        return;
    pthread_mutex_lock(&depot->lock);
    depot->packed_bytes += batch->packed_bytes;
    depot->n_packed++;
    pthread_mutex_unlock(&depot->lock);
}

/* Rows of such a field lie in the batch as they are delivered. */
static bool is_stacked(const struct stk_batch *batch, int f)
{
    return batch->chunk->type->field[f].kind == STK_FIXED &&
           batch->depot->plan->gather[f].kind == STK__STACK;
}

bool stk__batch_is_apart(const struct stk_batch *batch)
{
    for (int f = 0; f < batch->chunk->type->n_fields; f++)
        if (!is_stacked(batch, f))
            return true;
    return false;
}

int stk__batch_pack(struct stk_batch *batch, struct stk_error *err)
{
    for (int f = 0; f < batch->chunk->type->n_fields; f++) {
        const struct stk_field *field = &batch->chunk->type->field[f];
        const struct stk__gather *gather = &batch->depot->plan->gather[f];
        int rc = STK_OK;
        if (is_stacked(batch, f))
            continue;
        bool is_packed = field->flags & STK_FIELD_PACKED;
        if (is_packed && !is_batched(batch) && batch->n) /* by an inner batch, or it is a list */
            batch->packed[f].data = batch->chunk->column[f].span[0].data;
        else
            rc = gather_field(batch, f, err);
        if (rc)
            return rc;
        if (gather->kind == STK__PACK || field->kind == STK_BYTES)
            open_blob(&batch->packed[f],
                      is_batched(batch) ? is_packed : (field->flags & STK_FIELD_LISTS) != 0);
    }
    count_packed(batch);
    return STK_OK;
}

/* ---- what the consumer sees ---- */

/* An element that was batched before another op has the rows of that batch. */
static const struct stk_span *trace_of(const struct stk_batch *batch)
{
    return !is_batched(batch) && batch->chunk->trace && batch->n ? batch->chunk->trace : NULL;
}

int64_t stk_batch_n_rows(const struct stk_batch *batch)
{
    const struct stk_span *trace = trace_of(batch);
    return trace ? (int64_t)(trace->bytes / sizeof(struct stk__address)) : batch->n;
}

int stk_batch_n_fields(const struct stk_batch *batch)
{
    return batch->chunk->type->n_fields;
}

void stk_batch_position(const struct stk_batch *batch, struct stk_position *out)
{
    *out = batch->bookmark.position;
}

static void set_strides(struct stk_view *view)
{
    int64_t stride = (int64_t)stk_dtype_bytes(view->dtype);
    for (int d = view->rank - 1; d >= 0; d--) {
        view->strides[d] = stride;
        stride *= view->shape[d];
    }
}

/* Lists of texts that have the same length, because of what they are and not by chance. */
static bool is_even(const struct stk_batch *batch, int f)
{
    return batch->chunk->type->field[f].rank || batch->depot->plan->gather[f].kind == STK__PAD;
}

/* The shape of what every row has, or the only element: arrays of texts, which may be padded. */
static void set_row_shape(const struct stk_batch *batch, int f, struct stk_view *view)
{
    const struct stk_field *field = &batch->chunk->type->field[f];
    const struct stk__gather *gather = &batch->depot->plan->gather[f];
    view->row_rank = field->rank > 1 ? field->rank : 0;
    for (int d = 0; d < view->row_rank; d++)
        view->row_shape[d] = gather->kind == STK__PAD ? batch->packed[f].dims[d] : field->shape[d];
}

static void set_values(const struct stk_batch *batch, int f, struct stk_view *view)
{
    const struct stk_field *field = &batch->chunk->type->field[f];
    const struct stk__packed *packed = &batch->packed[f];
    bool is_one = !is_batched(batch) && !(field->flags & STK_FIELD_PACKED);
    view->data = packed->data;
    view->splits = packed->splits;
    view->n_splits = packed->n_splits;
    view->row_splits = packed->row_splits;
    view->n_row_splits = packed->n_row_splits;
    if (packed->n_row_splits > 1 && view->kind == STK_BYTES && is_even(batch, f))
        view->row_length = packed->row_splits[1] - packed->row_splits[0];
    if (view->kind == STK_BYTES)
        set_row_shape(batch, f, view);
    view->rank = field->kind == STK_BYTES ? !is_one : field->rank;
    for (int d = 1; d < view->rank; d++)
        view->shape[d] = field->shape[d];
    if (view->rank)
        view->shape[0] = packed->n_values;
    if (field->kind != STK_BYTES && is_one) {
        view->kind = STK_FIXED;
        view->splits = NULL;
        view->n_splits = 0;
    }
}

int stk_batch_view_at(const struct stk_batch *batch, int index, struct stk_view *out)
{
    if (index < 0 || index >= stk_batch_n_fields(batch))
        return STK_VALUE;
    const struct stk_field *field = &batch->chunk->type->field[index];
    const struct stk__gather *gather = &batch->depot->plan->gather[index];
    const struct stk__packed *packed = &batch->packed[index];
    bool is_bytes = field->kind == STK_BYTES,
         is_in_place = gather->kind == STK__STACK && field->kind == STK_FIXED;
    *out = (struct stk_view){
        .name = field->name, .dtype = field->dtype, .memory = STK_HEAP, .row_length = -1
    };
    if (gather->kind == STK__PACK || is_bytes) {
        out->kind = is_bytes ? STK_BYTES : STK_RAGGED;
        set_values(batch, index, out);
        set_strides(out);
        return STK_OK;
    }
    int lead = is_batched(batch) ? 1 : 0;
    out->rank = field->rank + lead;
    if (lead)
        out->shape[0] = batch->n;
    for (int d = 0; d < field->rank; d++)
        out->shape[d + lead] = is_in_place ? field->shape[d] : packed->dims[d];
    out->kind = STK_FIXED;
    out->data = is_in_place ? batch->chunk->column[index].data : packed->data;
    set_strides(out);
    return STK_OK;
}

int stk_batch_view(const struct stk_batch *batch, const char *field, struct stk_view *out,
                   struct stk_error *err)
{
    int f = stk_type_find(batch->chunk->type, field);
    if (f < 0)
        return stk_fail(err, STK_NAME, "the batch has no field '%s'", field);
    return stk_batch_view_at(batch, f, out);
}

char *stk_batch_origin(const struct stk_batch *batch, int64_t row)
{
    enum { SIZE = 4096 };
    if (row < 0 || row >= stk_batch_n_rows(batch))
        return NULL;
    const struct stk_span *trace = trace_of(batch);
    const struct stk__address *address =
        trace ? (const struct stk__address *)(const void *)trace->data : batch->chunk->address;
    char *text = malloc(SIZE);
    if (text)
        stk__plan_describe(batch->depot->plan, address[row], text, SIZE);
    return text;
}
