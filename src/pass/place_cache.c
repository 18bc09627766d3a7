/* SPDX-License-Identifier: Apache-2.0 */
/* place_cache.c: cache(auto) comes before what draws and shuffles, so that this goes on to differ from
 * epoch to epoch; and, once it is known what ops cost, to where it saves most.
 *
 *     decode ─▶ resize ─▶ flip(probability=0.5) ─▶ cache(auto)
 *     decode ─▶ resize ─▶ cache(auto) ─▶ flip(probability=0.5)
 *
 * It is exact for what is random because that has to come behind it in any case, and for all other
 * ops because a cache never changes what is delivered.
 */
#include "pass/pass.h"
#include "pass/rewrite.h"

#include <string.h>

static const char pass[] = "place_cache";

static bool is_auto(const struct stk__node *node)
{
    if (!(node->op->flags & STK_OP_CACHE))
        return false;
    const char *directory = *(const char *const *)stk__node_param(node, "directory");
    return directory && !strcmp(directory, "auto");
}

static bool draws(const struct stk__node *node)
{
    return stk__subtree_is_random(node) || stk__subtree_shuffles(node);
}

/* Ops that a cache may come before: the same elements, one by one or in another order. */
static bool can_cross(const struct stk__node *node)
{
    bool is_plain = stk__node_is_row_op(node) && !(node->op->flags & STK_OP_FILTER);
    bool is_shuffle = node->is_order && node->n_inputs == 1 && node->op->flags & STK_OP_SHUFFLES;
    return is_plain || is_shuffle || node->op->flags & STK_OP_PREFETCH;
}

/* Puts the cache behind `below`, which lies further down. */
static int move(struct stk_dataset *graph, struct stk__node *cache, struct stk__node *below,
                const char *why, struct stk_error *err)
{
    struct stk__kept_tree kept;
    bool is_moved = false;
    int rc = stk__tree_keep(graph, &kept, err);
    if (rc)
        return rc;
    *stk__node_link(graph, cache) = cache->input[0];
    *stk__node_link(graph, below) = cache;
    cache->input[0] = below;
    rc = stk__tree_settle(graph, &kept, &is_moved, err);
    return rc || !is_moved ? rc
                           : stk__tell(graph, pass, true, err, "cache(auto) comes behind %s: %s",
                                       stk__call_text(below).text, why);
}

/* The op that nothing below draws for; NULL if the cache cannot come so far. */
static struct stk__node *last_constant(const struct stk__node *cache)
{
    struct stk__node *below = cache->input[0];
    while (draws(below) && can_cross(below))
        below = below->input[0];
    return draws(below) ? NULL : below;
}

int stk__pass_place_cache(struct stk_dataset *graph, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < graph->n_used && !rc; i++) {
        struct stk__node *cache = graph->node[i];
        struct stk__node *below = is_auto(cache) ? last_constant(cache) : NULL;
        if (below && below != cache->input[0]) {
            rc = move(graph, cache, below, "what comes next differs from epoch to epoch", err);
            i = -1;
        }
    }
    return rc;
}

/* Nanoseconds that a byte which is kept behind an op saves. */
static double saving(const struct stk__node *node, const struct stk__op_cost *cost)
{
    double ns = 0;
    for (const struct stk__node *op = node;; op = op->input[0]) {
        ns += cost[op->id].ns;
        if (op->n_inputs != 1)
            break;
    }
    return ns / (cost[node->id].bytes > 1 ? cost[node->id].bytes : 1);
}

int stk__place_cache_by_cost(struct stk_dataset *graph, const struct stk__op_cost *cost,
                             struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < graph->n_used && !rc; i++) {
        struct stk__node *cache = graph->node[i];
        if (!is_auto(cache))
            continue;
        struct stk__node *best = cache->input[0];
        for (struct stk__node *op = best; can_cross(op); op = op->input[0])
            if (saving(op->input[0], cost) > saving(best, cost))
                best = op->input[0];
        if (best != cache->input[0])
            return move(graph, cache, best, "there it saves most time for a byte", err);
    }
    return rc;
}
