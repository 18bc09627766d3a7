/* SPDX-License-Identifier: Apache-2.0 */
/* form.c: the form in which a dataset runs: with its cache(auto) where that saves most.
 *
 * The costs are found once for a dataset and all that are built on it, when the first of them is
 * run. The graph that was built is shared, so it stays; the same calls are built again on top of it,
 * share what they opened, and are rewritten with the cache in its place.
 */
#include "api/api.h"
#include "base/error.h"
#include "exec/exec.h"
#include "lang/objects.h"
#include "rewrite/rewrites.h"
#include "tune/cache_cost.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* The cache can be reached from the end of the chain by ops with one input. */
static bool is_on_main_line(const struct stk_dataset *graph, const struct stk__node *cache)
{
    const struct stk__node *node = graph->root;
    while (node != cache && node->n_inputs == 1 && !node->nest)
        node = node->input[0];
    return node == cache;
}

/* Elements can be made now and once more when the run begins. */
static bool can_be_read_twice(const struct stk__node *node)
{
    bool is_stream = !node->n_inputs && node->class == STK__STREAM;
    bool (*is_lasting)(const void *) = node->op->source.is_lasting;
    bool can = !is_stream || (is_lasting && is_lasting(node->state));
    for (int i = 0; i < node->n_inputs && can; i++)
        can = can_be_read_twice(node->input[i]);
    return can;
}

/* All elements fit where the cache is, and that can be told without looking at any. */
static bool all_fit(const struct stk__node *node, int64_t count, double budget)
{
    double bytes = 64;
    for (int f = 0; f < node->type.n_fields; f++) {
        if (node->type.field[f].kind != STK_FIXED)
            return false;
        bytes += (double)stk_field_bytes(&node->type.field[f]);
    }
    return count >= 0 && bytes * (double)count <= budget;
}

/* It stays, for a reason that is no number. */
static void stay(const struct stk__cache_places *places, const char *why, int64_t count,
                 double budget, struct stk__cache_choice *out)
{
    stk__cache_describe(places, 0, count, budget, out);
    snprintf(out->why, sizeof out->why, "%s", why);
}

/* Finds out what elements cost on a graph of its own, which is cut off where the cache is. */
static int weigh(struct stk_dataset *graph, const struct stk__plan *plan,
                 struct stk__cache_places *places, struct stk__cache_choice *choice,
                 struct stk_error *err)
{
    const struct stk__options *options = stk__plan_options(plan);
    double budget = (double)stk__plan_cache_bytes(plan);
    struct stk__node *last = places->place[0].below;
    int64_t count = stk__node_count(last, (int)options->rank, (int)options->world, NULL);
    char why[160];
    if (all_fit(last, count, budget)) {
        snprintf(why, sizeof why, "all %lld elements fit in %.0f MB", (long long)count,
                 budget / (1 << 20));
        stay(places, why, count, budget, choice);
        return STK_OK;
    }
    if (!can_be_read_twice(last)) {
        stay(places, "what comes before it may be readable only once, so nothing was measured",
             count, budget, choice);
        return STK_OK;
    }
    graph->root = last;
    int rc = stk__graph_infer(graph, err);
    struct stk_error unseen;
    if (rc)
        return rc;
    if (stk__cache_measure(graph, stk__plan_given(plan), (int)options->workers, places, &count,
                           &unseen)) {
        snprintf(why, sizeof why, "its cost could not be measured: %.100s", unseen.text);
        stay(places, why, count, budget, choice);
        return STK_OK;
    }
    int best = stk__cache_best_place(places, count, budget);
    stk__cache_describe(places, best, count, budget, choice);
    return STK_OK;
}

/* Chooses a place for the cache, if there is anything to choose. */
static int choose(struct stk_dataset *dataset, const struct stk__options *options,
                  struct stk_error *err)
{
    struct stk_dataset *graph = NULL;
    struct stk__plan *plan = NULL;
    struct stk__cache_places places;
    int rc = stk__plan_new(dataset, options, &plan, err);
    if (!rc && stk__plan_cache_bytes(plan))
        rc = stk__graph_new(dataset->text, dataset->objects, dataset, &graph, err);
    if (!rc && graph)
        rc = stk__rewrite_place_cache(graph, err);
    struct stk__node *cache = !rc && graph ? stk__cache_auto(graph) : NULL;
    if (cache && is_on_main_line(graph, cache)) {
        struct stk__cache_choice choice;
        stk__cache_places(cache, &places);
        if (places.n > 1 && !(rc = weigh(graph, plan, &places, &choice, err)))
            stk__cache_choose(cache->state, &choice);
    }
    stk_dataset_unref(graph);
    if (plan)
        stk__plan_unref(plan);
    return rc;
}

static int build(struct stk_dataset *dataset, struct stk_error *err)
{
    struct stk_dataset *form = NULL;
    int rc = stk__graph_new(dataset->text, dataset->objects, dataset, &form, err);
    if (!rc)
        rc = stk__rewrites_run(form, err);
    if (rc)
        stk_dataset_unref(form);
    else
        stk__graph_set_form(dataset, form);
    return rc;
}

bool stk__cache_was_chosen(const struct stk_dataset *graph, struct stk__cache_choice *out)
{
    const struct stk__node *cache = stk__cache_auto(graph);
    return cache && stk__cache_choice(cache->state, out);
}

int stk__dataset_form(struct stk_dataset *dataset, const struct stk__options *options,
                      struct stk_dataset **out, struct stk_error *err)
{
    struct stk__cache_choice choice;
    int rc = STK_OK;
    if (!atomic_load(&dataset->form) && !dataset->is_placed && stk__cache_auto(dataset)) {
        pthread_mutex_lock(&one_at_a_time);
        bool has_form = atomic_load(&dataset->form);
        if (!has_form && options && !stk__cache_was_chosen(dataset, &choice))
            rc = choose(dataset, options, err);
        if (!rc && !has_form && stk__cache_was_chosen(dataset, &choice))
            rc = build(dataset, err);
        pthread_mutex_unlock(&one_at_a_time);
    }
    struct stk_dataset *form = atomic_load(&dataset->form);
    *out = form ? form : dataset;
    return rc;
}
