/* SPDX-License-Identifier: Apache-2.0 */
/* batching.c: gathers rows and emits them as one. A bad row passes in front of the batch it
 * would have been in. */
#include "exec/batching.h"

#include "base/blob.h"
#include "base/error.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct batching {
    const struct stk__node *node;
    struct stk__pool *pool;
    struct stk_chunk *held;
    int n;
    bool drops_remainder, judges, is_broken;
    struct stk__judge judge;
};

int stk__batching_begin(const struct stk__plan *plan, const struct stk__stage_plan *stage,
                        struct stk__pool *pool, void **run, struct stk_error *err)
{
    const struct stk__node *node = stage->node;
    struct batching *b = calloc(1, sizeof *b);
    if (!b)
        return stk__out_of_memory(err);
    *b = (struct batching){ .node = node,
                            .pool = pool,
                            .judges = stage->is_judge,
                            .judge.plan = plan,
                            .judge.epoch = (uint64_t)plan->options.epoch,
                            .drops_remainder =
                                *(const bool *)stk__node_param(node, "drop_remainder") };
    b->held = stk__chunk_new(&node->input[0]->type,
                             (int)*(const int64_t *)stk__node_param(node, "batch_size"),
                             plan->has_keys ? STK__KEYS : 0);
    if (!b->held) {
        free(b);
        return stk__out_of_memory(err);
    }
    *run = b;
    return STK_OK;
}

struct stk__judge *stk__batching_judge(void *run)
{
    return &((struct batching *)run)->judge;
}

bool stk__batching_is_broken(const void *run)
{
    return ((const struct batching *)run)->is_broken;
}

static void end(void *run)
{
    struct batching *b = run;
    stk__chunk_free(b->held);
    free(b);
}

static void next_epoch(void *run, uint64_t path)
{
    struct batching *b = run;
    (void)path;
    stk_chunk_drop(b->held, 0, b->n);
    b->n = 0;
    b->is_broken = false;
}

static bool same_shapes(const struct stk_column *c, int n)
{
    size_t bytes = (size_t)c->rank * sizeof *c->dims;
    for (int i = 1; i < n; i++)
        if (memcmp(c->dims, c->dims + (size_t)i * (size_t)c->rank, bytes))
            return false;
    return true;
}

static void gather(const struct stk_column *src, int n, uint8_t *dst)
{
    if (!src->span) {
        memcpy(dst, src->data, (size_t)n * src->stride);
        return;
    }
    for (int i = 0; i < n; i++) {
        memcpy(dst, src->span[i].data, src->span[i].bytes);
        dst += src->span[i].bytes;
    }
}

/* One field of the new row; false when out of memory. */
static bool emit_field(struct batching *b, int f, struct stk_chunk *out, int row)
{
    const struct stk_column *src = &b->held->column[f];
    struct stk_column *dst = &out->column[f];
    size_t bytes = 0;
    for (int i = 0; i < b->n; i++)
        bytes += src->span ? src->span[i].bytes : src->stride;
    if (!dst->span) {
        gather(src, b->n, dst->data + (size_t)row * dst->stride);
        return true;
    }
    const struct stk_field *field = &b->held->type->field[f];
    struct stk_buffer *buffer =
        dst->dims ? stk__buffer_new(b->pool, bytes)
                  : stk__blob_new(b->pool, src->span, b->n, stk__blob_unit(field));
    if (!buffer)
        return false;
    stk__buffer_unref(dst->span[row].owner);
    dst->span[row] = (struct stk_span){ buffer->data, buffer->bytes, buffer };
    if (!dst->dims)
        return true;
    gather(src, b->n, buffer->data);
    int32_t *dims = dst->dims + (size_t)row * (size_t)dst->rank;
    dims[0] = b->n;
    for (int d = 1; d < dst->rank; d++)
        dims[d] = src->dims ? src->dims[d - 1] : (int32_t)field->shape[d - 1];
    return true;
}

/* Where each row of the new one came from. */
static bool set_trace(const struct batching *b, struct stk_chunk *out, int row)
{
    size_t bytes = (size_t)b->n * sizeof *b->held->address;
    struct stk_buffer *buffer = stk__buffer_new(b->pool, bytes);
    if (!buffer)
        return false;
    memcpy(buffer->data, b->held->address, bytes);
    stk__buffer_unref(out->trace[row].owner);
    out->trace[row] = (struct stk_span){ buffer->data, bytes, buffer };
    return true;
}

static void emit(struct batching *b, struct stk_chunk *out)
{
    int row = out->n++;
    out->address[row] = b->held->address[0];
    if (!set_trace(b, out, row))
        stk__chunk_fault(out, row, STK_MEMORY, "batch", "out of memory");
    if (out->key)
        out->key[row] = stk__key_make(b->held->key[0].hi, b->held->key[0].lo, b->node->ordinal);
    char text[128] = "";
    int code = STK_DATA;
    for (int f = 0; f < out->type->n_fields && !text[0]; f++) {
        if (b->held->column[f].dims && !same_shapes(&b->held->column[f], b->n))
            snprintf(text, sizeof text, "rows of field '%.40s' differ in shape",
                     out->type->field[f].name);
        else if (!emit_field(b, f, out, row)) {
            snprintf(text, sizeof text, "out of memory");
            code = STK_MEMORY;
        }
    }
    if (text[0])
        stk__chunk_fault(out, row, code, "batch", text);
    stk_chunk_drop(b->held, 0, b->n);
    b->n = 0;
}

static int step(void *run, struct stk_chunk *in, int from, int n, struct stk_chunk *out)
{
    struct batching *b = run;
    int used = 0;
    while (used < n && out->n < out->cap) {
        int row = from + used++;
        if (in->n_bad && in->mask[row] == STK_BAD) {
            if (!b->judges)
                stk__chunk_pass_bad(out, in, row, stk__chunk_find_fault(in, row));
            else if (!b->is_broken)
                b->is_broken =
                    !stk__judge_row(&b->judge, stk__chunk_find_fault(in, row), in->address[row]);
            continue;
        }
        if (b->is_broken)
            continue; /* the error is on its way; what comes behind it is nobody's */
        b->judge.n_rows++;
        stk__chunk_copy_rows(b->held, b->n++, in, row, 1);
        if (b->n == b->held->cap)
            emit(b, out);
    }
    return used;
}

static bool flush(void *run, struct stk_chunk *out)
{
    struct batching *b = run;
    if (b->n && !b->drops_remainder && !b->is_broken) {
        if (out->n == out->cap)
            return false;
        emit(b, out);
    }
    return true;
}

const struct stk_serial_table stk__batching = {
    .end = end, .next_epoch = next_epoch, .step = step, .flush = flush
};
