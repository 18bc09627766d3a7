/* SPDX-License-Identifier: Apache-2.0 */
/* place_cache.c: cache(auto) comes before what draws and shuffles, so that this goes on to differ from
 * epoch to epoch; and, once it is known what ops cost, to where it saves most (rewrite/cache_places.h).
 *
 *     files ─▶ shuffle ─▶ decode ─▶ flip(probability=0.5) ─▶ cache(auto)
 *     files ─▶ decode ─▶ cache(auto) ─▶ shuffle ─▶ flip(probability=0.5)
 *
 * It is exact for what is random because that has to come behind it in any case, and for all other
 * ops because a cache never changes what is delivered. Shuffles come behind ops that make the same of an
 * element wherever it stands, or the cache could keep no more than what they shuffle.
 */
#include "rewrite/attempt.h"
#include "rewrite/cache_places.h"
#include "rewrite/rewrites.h"

static const char rule[] = "place_cache";

static bool draws(const struct stk__node *node)
{
    return stk__subtree_is_random(node) || stk__subtree_shuffles(node);
}

static bool is_shuffle(const struct stk__node *node)
{
    return node->is_order && node->n_inputs == 1 && node->op->flags & STK__OP_SHUFFLES;
}

/* Ops that a cache may come before: the same elements, one by one or in another order. */
static bool can_cross(const struct stk__node *node)
{
    bool is_plain = stk__node_is_row_op(node) && !node->is_filter;
    return is_plain || is_shuffle(node) || node->op->flags & STK__OP_PREFETCH;
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
    return rc || !is_moved
               ? rc
               : stk__rewrite_tell(graph, rule, true, err, "cache(auto) comes behind %s: %s",
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

/* What is below all ops that draw for elements. */
static struct stk__node *below_random(const struct stk__node *cache)
{
    struct stk__node *below = cache->input[0];
    for (struct stk__node *node = below; draws(node) && can_cross(node); node = node->input[0])
        if (stk__node_is_random(node) && !is_shuffle(node))
            below = node->input[0];
    return below;
}

/* A shuffle with constant ops between it and `*top`, which it could come behind; shuffles that have none are
 * passed, and `*top` is then below them. NULL: there is none. */
static struct stk__node *shuffle_below(struct stk__node **top)
{
    for (struct stk__node *node = *top; is_shuffle(node) || stk__cache_can_cross(node);
         node = node->input[0]) {
        if (is_shuffle(node) && node != *top)
            return node;
        if (is_shuffle(node))
            *top = node->input[0];
    }
    return NULL;
}

static int lift_shuffle(struct stk_dataset *graph, struct stk__node *shuffle, struct stk__node *top,
                        bool *is_lifted, struct stk_error *err)
{
    struct stk__kept_tree kept;
    int rc = stk__tree_keep(graph, &kept, err);
    if (rc)
        return rc;
    *stk__node_link(graph, shuffle) = shuffle->input[0];
    *stk__node_link(graph, top) = shuffle;
    shuffle->input[0] = top;
    rc = stk__tree_settle(graph, &kept, is_lifted, err);
    return rc || !*is_lifted
               ? rc
               : stk__rewrite_tell(
                     graph, rule, true, err,
                     "%s comes behind %s: so that cache(auto) can keep what that makes",
                     stk__call_text(shuffle).text, stk__call_text(top).text);
}

/* All shuffles in the way of one cache. */
static int lift_shuffles(struct stk_dataset *graph, const struct stk__node *cache,
                         struct stk_error *err)
{
    for (bool is_lifted = true; is_lifted && last_constant(cache);) {
        struct stk__node *top = below_random(cache), *shuffle = shuffle_below(&top);
        is_lifted = false;
        int rc = shuffle ? lift_shuffle(graph, shuffle, top, &is_lifted, err) : STK_OK;
        if (rc)
            return rc;
    }
    return STK_OK;
}

/* As far down as it has to be. */
static int come_before_random(struct stk_dataset *graph, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < graph->n_used && !rc; i++) {
        struct stk__node *cache = graph->node[i];
        bool is_auto = stk__cache_is_auto(cache);
        rc = is_auto ? lift_shuffles(graph, cache, err) : STK_OK;
        struct stk__node *below = !rc && is_auto ? last_constant(cache) : NULL;
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
    return stk__rewrite_tell(graph, rule, true, err, "cache(auto) stays behind %s: %s",
                             stk__call_text(below).text, choice.why);
}

int stk__rewrite_place_cache(struct stk_dataset *graph, struct stk_error *err)
{
    int rc = come_before_random(graph, err);
    return rc ? rc : come_where_it_was_chosen(graph, err);
}
