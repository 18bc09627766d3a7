/* SPDX-License-Identifier: Apache-2.0 */
/* run_row_op.h: for fuzzers of row ops: calls on a row of any bytes, without a graph. Memory of rows
 * has the size the ops ask for, so that every byte too far is seen. */
#pragma once
#include "base/memory/arena.h"
#include "base/rows/blob.h"
#include "op/registry.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 8192, MOST_CALLS = 12 };

struct call {
    const struct stk__op *op;
    void *params;
    const void *state;
    struct stk_type out;
};

static const struct stk_type in_type = { 1,
                                         { { .name = "r", .kind = STK_BYTES, .dtype = STK_U8 } } };
static struct stk_arena arena;
static struct call calls[MOST_CALLS];
static int n_calls;
static void *block[MOST_BLOCKS];
static int n_blocks;

static inline void must(bool is_good)
{
    if (!is_good)
        abort();
}

/* ---- the executor's part, in small ---- */

void *stk_rows_alloc(struct stk_rows *rows, size_t bytes)
{
    (void)rows;
    must(n_blocks < MOST_BLOCKS && bytes <= 1 << 20);
    return block[n_blocks++] = malloc(bytes ? bytes : 1);
}

void stk_rows_fail(struct stk_rows *rows, int row, int code, const char *format, ...)
{
    must(code == STK_DATA && *format);
    rows->mask[row] = STK_BAD;
}

void stk_rows_random(const struct stk_rows *rows, int row, uint64_t user_seed, uint32_t index,
                     uint32_t words[4])
{
    (void)rows, (void)row, (void)user_seed, (void)index, (void)words;
    abort();
}

/* ---- calls ---- */

static inline void make_call(const char *text, struct call *call)
{
    const struct stk_value *value;
    struct stk__infer_inside inside = { 0 };
    struct stk_infer inf = {
        .n_inputs = 1, .in = { &in_type }, .out = &call->out, .arena = &arena, .inside = &inside
    };
    must(!stk__parse(text, NULL, &arena, &value, NULL));
    call->op = stk__op_find(value->call[0].name);
    must(call->op);
    call->params = stk_arena_alloc(&arena, call->op->decl.params_size);
    must(!stk__call_bind(&value->call[0], &call->op->decl, &arena, call->params, NULL));
    inf.params = call->params;
    must(!call->op->infer(&inf, NULL));
    call->state = inf.state;
}

static inline void look_at(const uint8_t *data, size_t bytes)
{
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < bytes; i++)
        sum = (uint8_t)(sum + data[i]);
}

/* Lists lie one behind the other, up to the end of the row. */
static inline void look_at_lists(const struct stk_field *field, struct stk_span row)
{
    struct stk__blob list = stk__blob_open(row.data);
    size_t unit = stk__blob_unit(field);
    must(list.n >= 0 && list.splits[0] == 0);
    for (int64_t i = 0; i < list.n; i++)
        must(list.splits[i] <= list.splits[i + 1]);
    must(stk__blob_room(list.n, (size_t)list.splits[list.n] * unit) == row.bytes);
    must(field->kind != STK_BYTES || !field->rank || field->shape[0] == list.n);
}

static inline void run_call(const struct call *call, struct stk_span record)
{
    struct stk_column in = { .span = &record }, out[STK_MAX_FIELDS];
    struct stk_span span[STK_MAX_FIELDS] = { 0 };
    uint8_t mask[1] = { STK_LIVE };
    struct stk__rows_inside inside = { 0 };
    struct stk_rows rows = { .params = call->params,
                             .state = call->state,
                             .in_type = &in_type,
                             .out_type = &call->out,
                             .n = 1,
                             .in = &in,
                             .out = out,
                             .mask = mask,
                             .inside = &inside };
    for (int f = 0; f < call->out.n_fields; f++) {
        const struct stk_field *field = &call->out.field[f];
        out[f] = (struct stk_column){ .span = &span[f], .rank = field->rank };
        if (field->kind == STK_FIXED)
            out[f] = (struct stk_column){ .stride = stk_field_bytes(field) };
        if (field->kind == STK_FIXED)
            out[f].data = stk_rows_alloc(&rows, out[f].stride);
    }
    must(!call->op->row.run(&rows));
    for (int f = 0; f < call->out.n_fields && mask[0] == STK_LIVE; f++)
        look_at(out[f].data ? out[f].data : span[f].data,
                out[f].data ? out[f].stride : span[f].bytes);
    for (int f = 0; f < call->out.n_fields && mask[0] == STK_LIVE; f++)
        if (call->out.field[f].flags & STK_FIELD_PACKED)
            look_at_lists(&call->out.field[f], span[f]);
    while (n_blocks)
        free(block[--n_blocks]);
}

/* Every call on the bytes of a row; the calls are made for the first one and stay. */
static inline void run_calls(const char *const *text, int n, const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    must(copy);
    if (!n_calls)
        stk__arena_init(&arena, 1 << 14);
    for (; n_calls < n; n_calls++)
        make_call(text[n_calls], &calls[n_calls]);
    if (size)
        memcpy(copy, data, size);
    for (int i = 0; i < n; i++)
        run_call(&calls[i], (struct stk_span){ .data = copy, .bytes = size });
    free(copy);
}
