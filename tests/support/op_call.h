/* SPDX-License-Identifier: Apache-2.0 */
/* op_call.h: for tests: one call from text to the op's tables, without a graph. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory/arena.h"
#include "base/rng.h"
#include "base/rows/chunk.h"
#include "op/registry.h"

enum { MAX_ROWS = 400 };

static const struct stk_type no_fields;
static const struct stk_type numbers = { 1,
                                         { { .name = "x", .kind = STK_FIXED, .dtype = STK_I64 } } };
static const struct stk_type pairs = { 2,
                                       { { .name = "x", .kind = STK_FIXED, .dtype = STK_I64 },
                                         { .name = "name", .kind = STK_BYTES, .dtype = STK_U8 } } };

static uint64_t random_state = 1;
static inline uint64_t random_below(uint64_t n)
{
    return stk__below(stk__hash_mix(0, random_state++), n);
}

struct op_call {
    struct stk_arena arena;
    const struct stk__op *op;
    void *params, *state;
    struct stk_infer inf;
    struct stk_type out;
    struct stk_error err;
};

/* Parses, binds and opens one call; returns the code of whichever failed. */
static inline int op_call_open(struct op_call *c, const char *text,
                               const struct stk_objects *objects)
{
    const struct stk_value *value;
    memset(c, 0, sizeof *c);
    stk__arena_init(&c->arena, 1 << 14);
    int code = stk__parse(text, objects, &c->arena, &value, &c->err);
    if (code)
        return code;
    assert_int_equal(value->kind, STK__CHAIN);
    assert_int_equal(value->n_calls, 1);
    c->op = stk__op_find(value->call[0].name);
    assert_non_null(c->op);
    c->params = stk_arena_alloc(&c->arena, c->op->decl.params_size);
    assert_non_null(c->params);
    code = stk__call_bind(&value->call[0], &c->op->decl, &c->arena, c->params, &c->err);
    if (!code && c->op->open)
        code = c->op->open(c->params, &c->arena, &c->state, &c->err);
    return code;
}

static struct stk__infer_inside op_call_inside; /* of the latest op_call_infer */

/* Infers over inputs of these types (NULL: none) and counts. */
static inline int op_call_infer(struct op_call *c, int n_inputs, const struct stk_type *const *in,
                                const int64_t *in_count)
{
    op_call_inside = (struct stk__infer_inside){ 0 };
    c->inf = (struct stk_infer){ .params = c->params,
                                 .n_inputs = n_inputs,
                                 .out = &c->out,
                                 .state = c->state,
                                 .arena = &c->arena,
                                 .inside = &op_call_inside };
    for (int i = 0; i < n_inputs; i++) {
        c->inf.in[i] = in[i];
        c->inf.in_count[i] = in_count[i];
    }
    c->inf.count = n_inputs ? in_count[0] : STK_UNKNOWN_COUNT;
    int code = c->op->infer(&c->inf, &c->err);
    c->state = c->inf.state;
    return code;
}

static inline void op_call_close(struct op_call *c)
{
    if (c->op && c->op->close && c->state)
        c->op->close(c->state);
    stk__arena_free(&c->arena);
}

static inline void assert_message(const struct op_call *c, const char *part)
{
    if (!strstr(c->err.text, part))
        fail_msg("the message is \"%s\", without \"%s\"", c->err.text, part);
}

/* One input of this type and count. */
static inline struct op_call open_over(const char *text, const struct stk_type *type, int64_t count)
{
    struct op_call c;
    const struct stk_type *in[] = { type };
    int code = op_call_open(&c, text, NULL);
    if (!code)
        code = op_call_infer(&c, 1, in, &count);
    if (code)
        fail_msg("%s: %s", text, c.err.text);
    return c;
}

/* Runs at() over all positions; returns how many there are. */
static inline int64_t order_of(const char *text, int64_t in_count, uint64_t seed, uint64_t path,
                               uint64_t *position, uint64_t *paths)
{
    struct op_call c = open_over(text, &numbers, in_count);
    int64_t n;
    assert_int_equal(c.op->order.count(&c.inf, &n, &c.err), STK_OK);
    assert_int_equal(n, c.inf.count);
    assert_true(n <= MAX_ROWS);
    for (int64_t i = 0; i < n; i++) {
        position[i] = (uint64_t)i;
        paths[i] = path;
    }
    struct stk__order_run run = {
        .params = c.params, .state = c.state, .in_count = &in_count, .n_inputs = 1, .seed = seed
    };
    c.op->order.at(&run, (int)n, position, paths, NULL);
    op_call_close(&c);
    return n;
}
