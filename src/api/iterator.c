/* SPDX-License-Identifier: Apache-2.0 */
/* iterator.c: the public functions on iterators. */
#include "api/api.h"
#include "base/error.h"
#include "exec/exec.h"

#include <stdlib.h>

struct stk_iterator {
    struct stk__exec *exec;
};

int stk_iterator_new(struct stk_dataset *dataset, const struct stk_options *options,
                     struct stk_iterator **out, struct stk_error *err)
{
    struct stk__options values = options ? *stk__options_of(options) : stk__options_default();
    struct stk__plan *plan = NULL;
    struct stk_iterator *it = calloc(1, sizeof *it);
    int rc = it ? STK_OK : stk__out_of_memory(err);
    if (!rc)
        rc = stk__plan_new(dataset, &values, &plan, err);
    if (!rc)
        rc = stk__exec_new(plan, &it->exec, err);
    if (plan)
        stk__plan_unref(plan);
    if (rc)
        free(it);
    else
        *out = it;
    return rc;
}

int stk_iterator_next(struct stk_iterator *it, struct stk_batch **out, struct stk_error *err)
{
    return stk__exec_next(it->exec, out, err);
}

void stk_iterator_cancel(struct stk_iterator *it) { stk__exec_cancel(it->exec); }

void stk_iterator_free(struct stk_iterator *it)
{
    if (!it)
        return;
    stk__exec_free(it->exec);
    free(it);
}

void stk_iterator_stats(struct stk_iterator *it, struct stk_stats *out)
{
    struct stk__exec *x = it->exec;
    pthread_mutex_lock(&x->lock);
    *out = x->stats;
    out->budget_bytes = (uint64_t)x->plan->options.memory;
    out->used_bytes = x->used_bytes;
    out->peak_bytes = x->peak_bytes;
    pthread_mutex_unlock(&x->lock);
}

int stk_iterator_error(struct stk_iterator *it, uint64_t index, struct stk_error *out)
{
    struct stk__exec *x = it->exec;
    pthread_mutex_lock(&x->lock);
    uint64_t first = x->n_kept_errors > STK__KEPT_ERRORS ? x->n_kept_errors - STK__KEPT_ERRORS : 0;
    bool is_there = first + index < x->n_kept_errors && !x->is_batcher_busy;
    if (is_there)
        *out = x->kept_error[(first + index) % STK__KEPT_ERRORS];
    pthread_mutex_unlock(&x->lock);
    return is_there ? STK_OK : STK_END;
}
