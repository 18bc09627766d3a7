/* SPDX-License-Identifier: Apache-2.0 */
/* plan_parts.h: what the files that make a plan share.
 *
 *      plan.c  ─▶  plan_stages.c   stages, from the graph
 *              ─▶  plan_sizes.c    how large everything is, and whether it fits
 */
#pragma once
#include "exec/plan/plan.h"

/* Stages, their inputs, gates and the batch; an error where the chain cannot be run with the options. */
int stk__plan_stages(struct stk__plan *plan, struct stk_error *err);

/* Which stages hand on rows that are batches. */
void stk__plan_set_trace(struct stk__plan *plan);

/* Rows of tickets, the window, rings, and the least memory it needs; STK_BUDGET: there is not as much. */
int stk__plan_size(struct stk__plan *plan, struct stk_error *err);

/* The same for a chain that is opened for elements. */
void stk__plan_size_inner(struct stk__plan *inner, int64_t n_chains);

/* The op that first made more than positions are needed for: of this class or worse. */
const struct stk__node *stk__first_of_class(const struct stk__node *node, enum stk__op_class class);

int stk__plan_add_kept(struct stk__plan *plan, struct stk__kept *kept, struct stk_error *err);

/* ---- sizes, as far as anybody can tell ---- */

/* What a stage may keep at least of which values decide how much it is. */
#define STK__KEPT_LEAST ((size_t)16 << 10)

/* Of one row; strings take `small`. */
size_t stk__row_bytes(const struct stk_type *type, bool is_heavy, size_t small);
size_t stk__small_bytes(const struct stk__stage_plan *s);

/* Rows that are files or images. */
bool stk__has_large_rows(const struct stk__stage_plan *s);

/* The most rows a pass may have, or that this is unknown. */
int64_t stk__most_rows(const struct stk__plan *plan, const struct stk__node *node);

/* Of so many rows, or those that are there, where that is known. */
static inline uint64_t stk__at_most(uint64_t rows, int64_t there)
{
    return there >= 0 && rows > (uint64_t)there ? (uint64_t)there : rows;
}

/* What its `held_rows` take. */
size_t stk__held_bytes_of(const struct stk__plan *plan, const struct stk__stage_plan *s);

/* ---- small questions about nodes ---- */

static inline bool stk__is_prefetch(const struct stk__node *node)
{
    return node->op->flags & STK__OP_PREFETCH;
}

/* A repeat that makes passes; another one is a function of positions. */
static inline bool stk__is_passes(const struct stk__node *node)
{
    return node->op->flags & STK__OP_REPEAT && !node->is_order;
}

/* What only lets batches pass above the last batch belongs to the batcher. */
static inline bool stk__is_gate(const struct stk__node *node)
{
    return node->op->flags & STK__OP_ADDRESSES && !node->is_order && node->op->serial.step &&
           !node->op->serial.held_rows;
}

static inline int64_t stk__int_param(const struct stk__node *node, const char *name)
{
    return *(const int64_t *)stk__node_param(node, name);
}
