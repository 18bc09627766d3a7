/* SPDX-License-Identifier: Apache-2.0 */
/* order.h: what the ops that choose and order rows have in common. */
#pragma once
#include "base/hash.h"

#include "op/declaration.h"

/* Positions are 56 bits wide: addresses hold the origin in the other eight. */
#define STK__MAX_COUNT ((int64_t)1 << 56)

/* Bounds of integer parameters that take any number; the two lowest are the words none and auto. */
#define STK__INT_LO (INT64_MIN + 2)
#define STK__INT_HI INT64_MAX

/* A `seed` parameter as it enters the hash. */
static inline uint64_t stk__user_seed(int64_t seed)
{
    return seed == STK_NONE ? 0 : (uint64_t)seed;
}

static inline int64_t stk__min_count(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* infer of an op that keeps the type of its input: passes every field and asks `count`. */
int stk__infer_order(struct stk_infer *inf,
                     int (*count)(const struct stk_infer *, int64_t *, struct stk_error *),
                     struct stk_error *err);

/* infer of an op whose inputs from number `first` on follow each other: they must have the same
 * fields, which become the output's. Dimensions that differ are unknown there, and inputs that have
 * arrays of one size then ask for `ensure_shape`. */
int stk__infer_same(struct stk_infer *inf, int first, struct stk_error *err);

/* Elements of inputs `first` on together, as a count. */
int stk__sum_counts(const struct stk_infer *inf, int first, int64_t *out, struct stk_error *err);

/* A position of a chosen input as one word. */
enum { STK__CHOSEN_BITS = 52 };
static inline uint64_t stk__chosen(int input, uint64_t position)
{
    return (uint64_t)input << STK__CHOSEN_BITS | position;
}

/* Fails with STK_VALUE if there would be more elements than positions can name. */
int stk__check_count(uint64_t count, struct stk_error *err);

/* at() of an op whose first rows are its input's first rows. */
void stk__order_same(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
                     uint8_t *input);

/* run() of a row op that writes no field. */
int stk__rows_untouched(struct stk_rows *rows);

/* For serial ops: appends n rows of `in` to `out`, which has room for them. Bad rows count as
 * rows. */
void stk__chunk_append(struct stk__chunk *out, const struct stk__chunk *in, int from, int n);
