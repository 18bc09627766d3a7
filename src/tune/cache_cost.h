/* SPDX-License-Identifier: Apache-2.0 */
/* cache_cost.h: what elements cost at the places of a cache(auto), by making some. */
#pragma once
#include "exec/exec.h"
#include "rewrite/cache_places.h"

/* Runs a graph that ends where the cache would be, for a third of a second at most, and fills in
 * the costs of its places. Whatever it meets with ends it; an error if no element came. `workers`:
 * threads that will do the work. `count` becomes the number of elements if those were all. */
int stk__cache_measure(struct stk_dataset *graph, const struct stk__options *options, int workers,
                       struct stk__cache_places *places, int64_t *count, struct stk_error *err);

/* The same from what was counted: `n` elements in so many nanoseconds. */
struct stk__metrics;
void stk__cache_costs(const struct stk__metrics *metrics, double n, double elapsed_ns, int workers,
                      struct stk__cache_places *places);
