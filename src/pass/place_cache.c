/* SPDX-License-Identifier: Apache-2.0 */
/* place_cache.c: cache(auto) comes before what draws and shuffles, so that this goes on to differ from
 * epoch to epoch; and, once it is known what ops cost, to where it saves most (pass/cache_places.h).
 *
 *     decode ─▶ resize ─▶ flip(probability=0.5) ─▶ cache(auto)
 *     decode ─▶ resize ─▶ cache(auto) ─▶ flip(probability=0.5)
 *
 * It is exact for what is random because that has to come behind it in any case, and for all other
 * ops because a cache never changes what is delivered.
 */
#include "pass/cache_places.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

static const char pass[] = "place_cache";

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

/* As far down as it has to be. */
static int come_before_random(struct stk_dataset *graph, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < graph->n_used && !rc; i++) {
        struct stk__node *cache = graph->node[i];
        struct stk__node *below = stk__cache_is_auto(cache) ? last_constant(cache) : NULL;
        if (below && below != cache->input[0]) {
            rc = move(graph, cache, below, "what comes next differs from epoch to epoch", err);
            i = -1;
        }
    }
    return rc;
}

static struct stk__node *chosen_place(const struct stk__cache_places *places,
                                      const struct stk__cache_choice *choice)
{
    for (int i = 0; i < places->n; i++) {
        struct stk__node *below = places->place[i].below;
        if (below->ordinal == choice->behind && below->is_inserted == choice->is_behind_insert)
            return below;
    }
    return places->cache->input[0];
}

/* To where it saves most, if somebody has found out. */
static int come_where_it_was_chosen(struct stk_dataset *graph, struct stk_error *err)
{
    struct stk__node *cache = stk__cache_auto(graph);
    struct stk__cache_choice choice;
    struct stk__cache_places places;
    if (!cache || !stk__cache_choice(cache->state, &choice))
        return STK_OK;
    graph->is_placed = true;
    stk__cache_places(cache, &places);
    struct stk__node *below = chosen_place(&places, &choice);
    if (below != cache->input[0])
        return move(graph, cache, below, choice.why, err);
    return stk__tell(graph, pass, true, err, "cache(auto) stays behind %s: %s",
                     stk__call_text(below).text, choice.why);
}

int stk__pass_place_cache(struct stk_dataset *graph, struct stk_error *err)
{
    int rc = come_before_random(graph, err);
    return rc ? rc : come_where_it_was_chosen(graph, err);
}
