/* SPDX-License-Identifier: Apache-2.0 */
/* cache_places.c: which places there are, and what each saves. */
#include "rewrite/cache_places.h"

#include "rewrite/attempt.h"

#include <stdio.h>
#include <string.h>

bool stk__cache_is_auto(const struct stk__node *node)
{
    if (!(node->op->flags & STK__OP_CACHE))
        return false;
    const char *directory = *(const char *const *)stk__node_param(node, "directory");
    return directory && !strcmp(directory, "auto");
}

struct stk__node *stk__cache_auto(const struct stk_dataset *graph)
{
    struct stk__node *found = NULL;
    for (int i = 0; i < graph->n_used; i++) {
        if (stk__cache_is_auto(graph->node[i]) && found)
            return NULL;
        if (stk__cache_is_auto(graph->node[i]))
            found = graph->node[i];
    }
    return found;
}

bool stk__cache_can_cross(const struct stk__node *node)
{
    return stk__node_is_row_op(node) && node->n_inputs == 1 && !node->op->exclusive &&
           !node->is_filter && !stk__node_is_random(node);
}

void stk__cache_places(struct stk__node *cache, struct stk__cache_places *out)
{
    struct stk__node *below = cache->input[0];
    *out = (struct stk__cache_places){ .cache = cache };
    for (;; below = below->input[0]) {
        out->place[out->n++] = (struct stk__cache_place){ .below = below };
        if (!stk__cache_can_cross(below) || out->n == STK__MAX_PLACES)
            break;
    }
}

double stk__cache_saves(const struct stk__cache_place *place, int64_t count, double budget)
{
    const double copy_ns = 0.1; /* of a byte, when it is served: 10 GB a second */
    double bytes = place->bytes > 1 ? place->bytes : 1, n = budget / bytes;
    if (count >= 0 && n > (double)count)
        n = (double)count;
    return n * (place->ns - bytes * copy_ns);
}

int stk__cache_best_place(const struct stk__cache_places *places, int64_t count, double budget)
{
    const double enough = 1.05;
    int best = 0;
    double most = stk__cache_saves(&places->place[0], count, budget);
    most = most > 0 ? most : 0;
    for (int i = 1; i < places->n; i++) {
        double saved = stk__cache_saves(&places->place[i], count, budget);
        if (saved > most * enough) {
            best = i;
            most = saved;
        }
    }
    return best;
}

static int ops_before(const struct stk__node *node)
{
    int n = 1;
    for (; node->n_inputs; node = node->input[0])
        n++;
    return n;
}

static double per_byte(const struct stk__cache_place *place)
{
    return place->ns / (place->bytes > 1 ? place->bytes : 1);
}

void stk__cache_describe(const struct stk__cache_places *places, int best, int64_t count,
                         double budget, struct stk__cache_choice *out)
{
    const struct stk__cache_place *place = &places->place[best];
    char fits[64], instead[48] = "";
    double n = budget / (place->bytes > 1 ? place->bytes : 1);
    *out = (struct stk__cache_choice){ .behind = place->below->ordinal,
                                       .is_behind_insert = place->below->is_inserted,
                                       .from = ops_before(places->place[0].below),
                                       .to = ops_before(place->below) };
    if (count >= 0 && n >= (double)count)
        snprintf(fits, sizeof fits, "all %lld fit", (long long)count);
    else if (count >= 0)
        snprintf(fits, sizeof fits, "%.0f of %lld fit", n, (long long)count);
    else
        snprintf(fits, sizeof fits, "%.0f fit", n);
    if (best)
        snprintf(instead, sizeof instead, " (behind %s %.3g)",
                 places->place[0].below->op->decl.name, per_byte(&places->place[0]));
    snprintf(out->why, sizeof out->why,
             "behind %s a byte saves %.3g ns%s, an element of %.3g KB %.3g ms; %s in %.0f MB",
             place->below->op->decl.name, per_byte(place), instead, place->bytes / 1024,
             place->ns / 1e6, fits, budget / (1 << 20));
}
