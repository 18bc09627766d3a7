/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c: counting bad rows against max_errors. */
#include "exec/batch/judge.h"

#include "base/error.h"

#include <stdio.h>

void stk__describe_fault(const struct stk__plan *plan, const struct stk__fault *fault,
                         struct stk__address address, uint64_t epoch, struct stk_error *err)
{
    char origin[256];
    stk__plan_describe(plan, address, origin, sizeof origin);
    uint64_t element = stk__where_position(address.where);
    stk_fail(err, fault ? fault->code : STK_MEMORY, "%s: %s (element %llu of epoch %llu): %s",
             fault && fault->op ? fault->op : "stoker", origin, (unsigned long long)element,
             (unsigned long long)epoch, fault ? fault->text : "out of memory");
}

static bool is_too_many(const struct stk__judge *judge, bool at_end)
{
    const uint64_t enough = 100; /* a fraction means something only once some rows were seen */
    double most = judge->plan->options.max_errors, n = (double)judge->n_bad;
    if (most >= 1 || most == 0)
        return n > most;
    return (at_end || judge->n_rows >= enough) && n > most * (double)judge->n_rows;
}

const struct stk_error *stk__judge_last(const struct stk__judge *judge)
{
    return &judge->kept[(judge->n_told - 1) % STK__KEPT_ERRORS];
}

static void keep(struct stk__judge *judge, const struct stk_error *err)
{
    pthread_mutex_lock(&judge->causes->lock);
    judge->kept[judge->n_told++ % STK__KEPT_ERRORS] = *err;
    judge->n_errors++;
    pthread_mutex_unlock(&judge->causes->lock);
}

bool stk__is_elements_fault(const struct stk__fault *fault)
{
    /* memory may be there another time; what is in a wrong state is so for all elements */
    return fault && fault->code != STK_MEMORY && fault->code != STK_STATE;
}

/* Whether the run may go on; else `err` may say more. */
static bool may_go_on(const struct stk__judge *judge, const struct stk__fault *fault,
                      struct stk_error *err)
{
    if (judge->plan->options.on_error == STK__FAIL || !stk__is_elements_fault(fault))
        return false;
    if (!is_too_many(judge, false))
        return true;
    stk__error_prefix(err,
                      "too many bad elements (%llu), the last: ", (unsigned long long)judge->n_bad);
    return false;
}

bool stk__judge_row(struct stk__judge *judge, const struct stk__fault *fault,
                    struct stk__address address)
{
    struct stk_error err;
    judge->n_rows++;
    judge->n_bad++;
    stk__describe_fault(judge->plan, fault, address, judge->epoch, &err);
    stk__causes_add(judge->causes, fault);
    bool goes_on = may_go_on(judge, fault, &err);
    keep(judge, &err);
    return goes_on;
}

void stk__judge_end_replacing(struct stk__judge *judge, int code)
{
    pthread_mutex_lock(&judge->causes->lock);
    struct stk_error *last = &judge->kept[(judge->n_told - 1) % STK__KEPT_ERRORS];
    if (code == STK_MEMORY)
        stk_fail(last, STK_MEMORY, "out of memory");
    else
        stk__error_prefix(last, "no replacement found: ");
    pthread_mutex_unlock(&judge->causes->lock);
}

uint64_t stk__judge_count(struct stk__judge *judge)
{
    pthread_mutex_lock(&judge->causes->lock);
    uint64_t n = judge->n_errors;
    pthread_mutex_unlock(&judge->causes->lock);
    return n;
}

bool stk__judge_message(struct stk__judge *judge, uint64_t *index, struct stk_error *out)
{
    pthread_mutex_lock(&judge->causes->lock);
    uint64_t n = judge->n_told, n_kept = n < STK__KEPT_ERRORS ? n : STK__KEPT_ERRORS;
    bool is_kept = *index < n_kept;
    if (is_kept)
        *out = judge->kept[(n - n_kept + *index) % STK__KEPT_ERRORS];
    pthread_mutex_unlock(&judge->causes->lock);
    *index -= is_kept ? 0 : n_kept;
    return is_kept;
}

void stk__judge_begin(struct stk__judge *judge)
{
    judge->n_rows = judge->n_bad = 0;
}

bool stk__judge_pass(const struct stk__judge *judge, struct stk_error *err)
{
    if (!judge->n_bad || !is_too_many(judge, true))
        return true;
    stk_fail(err, STK_DATA, "too many bad elements: %llu of %llu, more than max_errors=%g allows",
             (unsigned long long)judge->n_bad, (unsigned long long)judge->n_rows,
             judge->plan->options.max_errors);
    return false;
}
