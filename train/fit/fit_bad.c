/* SPDX-License-Identifier: Apache-2.0 */
/* fit_bad.c: bad elements of a training's data, which on_error leaves out or replaces: how many there were, and
 * what was wrong with the first one, so that data does not vanish without a word. */
#define _GNU_SOURCE
#include "train/fit/fit_inside.h"

#include <stdio.h>
#include <string.h>

/* The first one is told when it is met. */
static void tell_first(struct stk_fit *fit, struct stk_iterator *it, const char *side)
{
    bool is_replaced = !strcmp(stk__on_error_names[fit->recipe.on_error], "replace");
    struct stk_error first;
    if (fit->first_bad || stk_iterator_error(it, 0, &first))
        return;
    fit->first_bad = strdup(first.text); /* without memory for it the count is told alone */
    stk__fit_tell(
        fit,
        "a bad element of %s is %s: %.1000s\nsuch elements are counted; on_error = fail ends "
        "the training at the first one",
        side, is_replaced ? "replaced" : "left out", first.text);
}

void stk__fit_count_bad(struct stk_fit *fit)
{
    struct stk_position position = { 0 };
    struct stk_stats stats;
    if (fit->last)
        stk_batch_position(fit->last, &position);
    int64_t n = (int64_t)position.errors;
    if (fit->has_ended || !n) { /* a batch that other ops follow counts apart, ahead of steps */
        stk_iterator_stats(fit->it, &stats);
        n = (int64_t)stats.errors > n ? (int64_t)stats.errors : n;
    }
    if (n > fit->bad)
        tell_first(fit, fit->it, "train");
    fit->bad = n > fit->bad ? n : fit->bad;
}

void stk__fit_count_bad_valid(struct stk_fit *fit)
{
    struct stk_stats stats;
    stk_iterator_stats(fit->valid_it, &stats);
    fit->validated_bad = (int64_t)stats.errors;
    if (stats.errors)
        tell_first(fit, fit->valid_it, "valid");
}

int64_t stk__fit_epoch_bad(const struct stk_fit *fit)
{
    return fit->bad - fit->progress.train_bad + fit->validated_bad;
}

int64_t stk__fit_all_bad(const struct stk_fit *fit)
{
    return fit->bad + fit->progress.valid_bad + fit->validated_bad;
}
