/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h: the state of `cache`: what it keeps. It belongs to the dataset and to those built on it,
 * so it is there in every epoch and for every iterator. */
#pragma once
#include "op/cache/kept.h"

struct stk__cache;

/* What decides which elements come to a cache, beside the chain. */
struct stk__cache_way {
    uint64_t seed;
    int rank, world;
    const struct stk_type *type;
    uint64_t made_by; /* stands for the ops before it, as rewrites left them, and the type */
    int origin;       /* of its first source, where addresses are kept */
    int parts;        /* enum stk__chunk_parts of what is kept of a row beside its fields */
    bool is_sparse;   /* numbers of its elements lie far apart */
};

/* What is kept for runs of this way, the same for all of them; it lives as long as the cache. `home`
 * is for a new one. NULL when out of memory. */
struct stk__kept *stk__cache_kept(struct stk__cache *cache, const struct stk__cache_way *way,
                                  const struct stk__kept_home *home);

/* Where a cache(auto) stands once it is known, and why there. It holds for all datasets that have the
 * cache, since what is kept at two places is kept twice. */
struct stk__cache_choice {
    uint32_t behind;       /* the ordinal of the call, */
    bool is_behind_insert; /* or of the one that was put in for it */
    int from, to;          /* ops before it: as written, or as far as it must come; and now */
    char why[160];
};

/* The first choice counts. */
void stk__cache_choose(struct stk__cache *cache, const struct stk__cache_choice *choice);
bool stk__cache_choice(struct stk__cache *cache, struct stk__cache_choice *out);

/* What stands for the files that elements are made of: found once, since a dataset does not change.
 * False if nobody has set it. */
bool stk__cache_files(struct stk__cache *cache, uint64_t *sum);
void stk__cache_set_files(struct stk__cache *cache, uint64_t sum);
