/* SPDX-License-Identifier: Apache-2.0 */
/* eval_parts.h: what the files that evaluate a program share: frames of columns that come up, and places that
 * go down. See program.h.
 *
 *      eval.c         rows, from the root down to the sources and up again
 *      eval_cache.c   the same where a cache has some of them
 *      eval_wanted.c  what must be read before
 */
#pragma once
#include "graph/program.h"

/* What comes up from a node: columns of its type, a mask, and keys if somebody wants them. */
struct stk__frame {
    struct stk_column *column;
    uint8_t *mask;
    struct stk__key *key;
};

struct stk__places {
    uint64_t *position, *path;
};

static inline size_t stk__frame_rows(int n)
{
    return (size_t)(n > 0 ? n : 1);
}

/* The time since the last lap was the node's. */
static inline void stk__eval_lap(struct stk__eval *e, const struct stk__pnode *p)
{
    if (e->is_timed)
        stk__watch_lap(e->watch, &e->meter[p->number]);
}

/* Memory for a column an op is about to write: its final place, or scratch. */
bool stk__eval_column_new(struct stk__eval *e, const struct stk_field *field, int dest, int n,
                          struct stk_column *c);

bool stk__eval_frame_new(struct stk__eval *e, const struct stk_type *type, int n, bool has_mask,
                         struct stk__frame *frame);

/* Copies one row within scratch and output; spans stay borrowed. */
void stk__eval_row_copy(struct stk_column *dst, int to, const struct stk_column *src, int from);

bool stk__eval_places_copy(struct stk__eval *e, struct stk__places at, int n,
                           struct stk__places *copy);

/* Rewrites output positions of an order op to positions of its input. */
void stk__eval_map_places(const struct stk__eval *e, const struct stk__pnode *p,
                          struct stk__places at, int n, uint8_t *input);

/* From places of a nest to positions below its chain. */
int stk__eval_enter_nest(struct stk__eval *e, struct stk__places at, int n);

/* Clears the results of an evaluation; `at` has the places it begins with. */
int stk__eval_start(struct stk__eval *e, struct stk__places *at);

/* Evaluates a node for n rows; places are changed on the way. */
int stk__eval_node(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at, int n,
                   struct stk__frame *frame);

/* Evaluates n of the rows above a node, those that `row` numbers. */
int stk__eval_some(struct stk__eval *e, const struct stk__pnode *p, const int *row,
                   struct stk__places at, int n, struct stk__frame *in);

/* The rows of a cache: loaded, or made and kept. */
int stk__eval_cache(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at, int n,
                    struct stk__frame *frame);
