/* SPDX-License-Identifier: Apache-2.0 */
/* iterator.c: the public functions on iterators. */
#include "api/api.h"
#include "base/error.h"
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
    if (stk__cache_was_chosen(stk__plan_graph(stk__exec_plan(x)), &choice))
        stk__exec_decide(x, "cache", choice.from, choice.to, choice.why);
}

/* index -1: everything; state NULL: from the beginning. */
static int start(struct stk_dataset *dataset, const struct stk__options *options, int64_t index,
                 const char *state, struct stk_iterator **out, struct stk_error *err)
{
    struct stk__plan *plan = NULL;
    struct stk_dataset *form;
    struct stk_iterator *it = calloc(1, sizeof *it);
    int rc = it ? STK_OK : stk__out_of_memory(err);
    if (!rc)
        rc = stk__dataset_form(dataset, index < 0 ? options : NULL, &form, err);
    if (!rc)
        rc = stk__plan_new(form, options, &plan, err);
    if (!rc && index >= 0)
        rc = stk__plan_narrow(plan, index, err);
    if (!rc)
        rc = state ? stk__exec_resume(plan, state, &it->exec, err)
                   : stk__exec_new(plan, NULL, &it->exec, err);
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
    *out = (struct stk_stats){ 0 };
    if (stk__exec_is_ours(it->exec))
        stk__exec_stats(it->exec, out);
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
    return stk__exec_is_ours(it->exec) ? stk__exec_memory(it->exec, index, out) : STK_END;
}

int stk_iterator_error(struct stk_iterator *it, uint64_t index, struct stk_error *out)
{
    return stk__exec_is_ours(it->exec) ? stk__exec_error(it->exec, index, out) : STK_END;
}

int stk_iterator_decision(struct stk_iterator *it, uint64_t index, struct stk_decision *out)
{
    return stk__exec_is_ours(it->exec) ? stk__exec_decision(it->exec, index, out) : STK_END;
}
