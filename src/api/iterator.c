/* SPDX-License-Identifier: Apache-2.0 */
/* iterator.c: the public functions on iterators. */
#include "api/api.h"
#include "base/error.h"
#include "exec/run.h"
#include "op/cache/cache.h"
#include "tune/tuner.h"

#include <stdlib.h>
#include <string.h>

struct stk_iterator {
    struct stk__exec *exec;
    struct stk__tuner *tuner;
};

/* The place of a cache(auto) is decided before there is a run that could say so. */
static void note_cache(struct stk__exec *x)
{
    struct stk__cache_choice choice;
    if (!stk__cache_was_chosen(x->plan->graph, &choice))
        return;
    pthread_mutex_lock(&x->lock);
    stk__decision_note(x, "cache", choice.from, choice.to, "%s", choice.why);
    pthread_mutex_unlock(&x->lock);
}

/* index -1: everything; state NULL: from the beginning. */
static int start(struct stk_dataset *dataset, const struct stk__options *options, int64_t index,
                 const char *state, struct stk_iterator **out, struct stk_error *err)
{
    struct stk__plan *plan = NULL;
    struct stk__bookmark from;
    struct stk_dataset *form;
    struct stk_iterator *it = calloc(1, sizeof *it);
    int rc = it ? STK_OK : stk__out_of_memory(err);
    if (!rc)
        rc = stk__dataset_form(dataset, index < 0 ? options : NULL, &form, err);
    if (!rc)
        rc = stk__plan_new(form, options, &plan, err);
    if (!rc && index >= 0)
        rc = stk__plan_narrow(plan, index, err);
    if (!rc && state)
        rc = stk__state_find(plan, state, &from, err);
    if (!rc)
        rc = stk__exec_new(plan, state ? &from : NULL, &it->exec, err);
    if (plan)
        stk__plan_unref(plan);
    if (!rc && !(it->tuner = stk__tuner_new(it->exec)))
        rc = stk__out_of_memory(err);
    if (rc)
        stk_iterator_free(it);
    else
        note_cache((*out = it)->exec);
    return rc;
}

int stk_iterator_new(struct stk_dataset *dataset, const struct stk_options *options,
                     struct stk_iterator **out, struct stk_error *err)
{
    struct stk__options values = options ? *stk__options_of(options) : stk__options_default();
    return start(dataset, &values, -1, NULL, out, err);
}

int stk_iterator_resume(struct stk_dataset *dataset, const struct stk_options *options,
                        const char *state, struct stk_iterator **out, struct stk_error *err)
{
    struct stk__options values = options ? *stk__options_of(options) : stk__options_default();
    return start(dataset, &values, -1, state, out, err);
}

int stk_iterator_state(struct stk_iterator *it, char **out, struct stk_error *err)
{
    return stk__exec_state(it->exec, out, err);
}

int stk__iterator_start(struct stk_dataset *dataset, const struct stk__options *options,
                        struct stk_iterator **out, struct stk_error *err)
{
    return start(dataset, options, -1, NULL, out, err);
}

struct stk__exec *stk__iterator_exec(struct stk_iterator *it)
{
    return it->exec;
}

int stk_dataset_at(struct stk_dataset *dataset, const struct stk_options *options, int64_t index,
                   struct stk_batch **out, struct stk_error *err)
{
    struct stk__options values = options ? *stk__options_of(options) : stk__options_default();
    struct stk_iterator *it = NULL;
    values.workers = 0;
    values.epochs = 1;
    *out = NULL;
    if (index < 0)
        return stk_fail(err, STK_VALUE, "there is no element %lld: they count from 0",
                        (long long)index);
    int rc = start(dataset, &values, index, NULL, &it, err);
    if (!rc)
        rc = stk_iterator_next(it, out, err);
    if (rc == STK_END)
        rc = stk_fail(err, STK_DATA, "element %lld was left out: all its rows are bad",
                      (long long)index);
    stk_iterator_free(it);
    return rc;
}

int stk_iterator_next(struct stk_iterator *it, struct stk_batch **out, struct stk_error *err)
{
    return stk__exec_next(it->exec, -1, out, err);
}

int stk_iterator_poll(struct stk_iterator *it, int64_t milliseconds, struct stk_batch **out,
                      struct stk_error *err)
{
    return stk__exec_next(it->exec, milliseconds, out, err);
}

int stk_iterator_unread(struct stk_iterator *it, struct stk_batch *batch, struct stk_error *err)
{
    return stk__exec_unread(it->exec, batch, err);
}

void stk_iterator_cancel(struct stk_iterator *it)
{
    stk__exec_cancel(it->exec);
}

void stk_iterator_free(struct stk_iterator *it)
{
    if (!it)
        return;
    if (it->exec)
        stk__exec_free(it->exec);
    stk__tuner_free(it->tuner);
    free(it);
}

void stk_iterator_stats(struct stk_iterator *it, struct stk_stats *out)
{
    struct stk__exec *x = it->exec;
    *out = (struct stk_stats){ 0 };
    if (!stk__exec_is_ours(x))
        return;
    pthread_mutex_lock(&x->lock);
    *out = x->watch.stats;
    out->budget_bytes = (uint64_t)x->plan->options.memory;
    out->used_bytes = x->memory.used_bytes;
    out->peak_bytes = x->memory.peak_bytes;
    const struct stk__cache_metrics cache = stk__cache_metrics_read(x);
    out->warnings = stk__warnings_read(x);
    out->cache_hits = cache.hits;
    out->cache_misses = cache.misses;
    out->cache_rows = cache.rows;
    out->cache_bytes = cache.bytes;
    out->cache_disk_bytes = cache.disk_bytes;
    out->cache_limit_bytes = cache.limit_bytes;
    out->is_cache_full = cache.is_full;
    memcpy(out->cache_trouble, cache.trouble, sizeof cache.trouble);
    struct stk__judge *judge;
    for (int i = 0; (judge = stk__exec_judge(x, i)); i++)
        out->errors += stk__judge_count(judge);
    pthread_mutex_unlock(&x->lock);
}

int stk__iterator_check(const struct stk_iterator *it, struct stk_error *err)
{
    if (stk__exec_is_ours(it->exec))
        return STK_OK;
    return stk_fail(err, STK_STATE,
                    "this iterator was started before a fork; make a new one in the child");
}

int stk_iterator_trace_start(struct stk_iterator *it, int64_t intervals, struct stk_error *err)
{
    int rc = stk__iterator_check(it, err);
    return rc ? rc : stk__trace_start(it->exec, intervals, err);
}

int stk_iterator_memory(struct stk_iterator *it, int index, struct stk_memory_use *out)
{
    if (!stk__exec_is_ours(it->exec))
        return STK_END;
    pthread_mutex_lock(&it->exec->lock);
    int rc = stk__accounts_look(it->exec, index, out);
    pthread_mutex_unlock(&it->exec->lock);
    return rc;
}

int stk_iterator_error(struct stk_iterator *it, uint64_t index, struct stk_error *out)
{
    struct stk__exec *x = it->exec;
    int rc = STK_END;
    if (!stk__exec_is_ours(x))
        return rc;
    pthread_mutex_lock(&x->lock);
    struct stk__judge *judge;
    for (int i = 0; rc && (judge = stk__exec_judge(x, i)); i++)
        rc = stk__judge_message(judge, &index, out) ? STK_OK : STK_END;
    pthread_mutex_unlock(&x->lock);
    return rc;
}

int stk_iterator_decision(struct stk_iterator *it, uint64_t index, struct stk_decision *out)
{
    struct stk__exec *x = it->exec;
    if (!stk__exec_is_ours(x))
        return STK_END;
    pthread_mutex_lock(&x->lock);
    bool is_kept = stk__decision_at(x, index, out);
    pthread_mutex_unlock(&x->lock);
    return is_kept ? STK_OK : STK_END;
}
