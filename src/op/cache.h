/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h: the state of `cache`: what it keeps. It belongs to the dataset and to those built on it,
 * so it is there in every epoch and for every iterator. */
#pragma once
#include "base/store.h"

struct stk__cache;

/* What decides which elements come to a cache, beside the chain. */
struct stk__cache_way {
    uint64_t seed;
    int rank, world;
    const struct stk_type *type;
    int origin;     /* of its first source, where addresses are kept */
    int parts;      /* enum stk__chunk_parts of what is kept of a row beside its fields */
    bool is_sparse; /* numbers of its elements lie far apart */
};

/* The store for runs of this way, the same for all of them; it lives as long as the cache. NULL when
 * out of memory. */
struct stk__store *stk__cache_store(struct stk__cache *cache, const struct stk__cache_way *way);
