/* SPDX-License-Identifier: Apache-2.0 */
/* same_chain.h: whether two chains deliver the same, and where they differ. */
#pragma once
#include "graph/graph.h"
#include "lang/lang.h"

/* Of all that decides what a chain delivers: calls and versions of ops, but no prefetch. */
uint64_t stk__chain_hash(const struct stk_dataset *dataset);

/* The chain in short form, as states keep it. */
int stk__chain_text(const struct stk_dataset *dataset, struct stk__text *out,
                    struct stk_error *err);

/* What to say of a state whose chain is not this one: STK_STATE, with the first call that differs.
 * `was` is its text, or NULL where it was not kept. With `but_batch` the size of batches may
 * differ: STK_OK if nothing else does. */
int stk__chain_differs(const struct stk_dataset *dataset, const char *was, bool but_batch,
                       struct stk_error *err);

/* True if what a run delivers depends on its rank and world. */
bool stk__chain_uses_world(const struct stk_dataset *dataset);

/* True if behind shard() without arguments every element is one of its input's, by position. */
bool stk__chain_ends_in_shard(const struct stk__node *node);

/* If that is false: the name of the op for which it is. */
const char *stk__chain_mixes_shares(const struct stk__node *node);
