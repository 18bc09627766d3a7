/* SPDX-License-Identifier: Apache-2.0 */
/* cache_key.h: what a cache on disk is called, so that what it has is never taken for something else.
 *
 * A directory of its own, below the one that was given, for all that decides what comes to the cache:
 * the chain before it with all parameters and the versions of its ops, the files its texts name (path,
 * size, time of change), the type of elements, the seed where something before it draws, rank and
 * world where something asks for them, the versions of the codecs and of the format. */
#pragma once
#include "graph/graph.h"
#include "op/cache/cache.h"

/* What stands for the ops before a cache, wherever rewrites have put them and it, and for the type of
 * what they make: elements kept for one such number are never those of another. */
uint64_t stk__cache_made_by(const struct stk__node *cache);

/* What a cache keeps, in memory or on disk; borrowed. */
int stk__cache_open(const struct stk__node *node, const struct stk__cache_way *way,
                    struct stk__kept **out, struct stk_error *err);

/* The first calls of a chain, up to a cache; for the node's `chain`. NULL when out of memory. */
const struct stk_value *stk__cache_chain(const struct stk_value *chain, int n_calls,
                                         struct stk_arena *arena);
