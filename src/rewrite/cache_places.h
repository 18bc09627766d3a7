/* SPDX-License-Identifier: Apache-2.0 */
/* cache_places.h: where in a chain its cache(auto) could stand, and where it saves most.
 *
 *     image_folder ─▶ read ─▶ decode ─▶ resize ─▶ cache(auto) ─▶ flip(probability=0.5)
 *                  └ 3    └ 2      └ 1        └ 0
 *
 * It may come before ops that give the same for the same row in every epoch; so a place changes
 * nothing but the time. Behind an op of n bytes an element it holds budget / n of them, and each saves what it
 * takes to make one up to there, less the time to copy it. Where everything fits, the last place
 * saves most; where little does, it is the one where a byte saves most.
 */
#pragma once
#include "graph/graph.h"
#include "op/cache/cache.h"

enum { STK__MAX_PLACES = 32 };

struct stk__cache_place {
    struct stk__node *below; /* the op that it would be behind */
    double ns, bytes;        /* to make an element up to here, and what it takes when kept */
};

struct stk__cache_places {
    struct stk__node *cache;
    int n; /* place[0] is where it is; the others lie further down, one op each */
    struct stk__cache_place place[STK__MAX_PLACES];
};

bool stk__cache_is_auto(const struct stk__node *node);

/* The one cache(auto) of a graph; NULL if there is none, or more than one. */
struct stk__node *stk__cache_auto(const struct stk_dataset *graph);

/* A cache may come before it: one input, n elements in, the same n out, in every epoch and at every place. Nobody
 * knows that of a function. */
bool stk__cache_can_cross(const struct stk__node *node);

/* The places of that cache; their costs are 0. */
void stk__cache_places(struct stk__node *cache, struct stk__cache_places *out);

/* Nanoseconds of a pass of `count` elements (below 0: nobody knows) that a cache of so many bytes
 * saves there. */
double stk__cache_saves(const struct stk__cache_place *place, int64_t count, double budget);

/* The place that saves most; one further down only if that is more than a little. */
int stk__cache_best_place(const struct stk__cache_places *places, int64_t count, double budget);

/* Where it goes and why, in words. */
void stk__cache_describe(const struct stk__cache_places *places, int best, int64_t count,
                         double budget, struct stk__cache_choice *out);
