/* SPDX-License-Identifier: Apache-2.0 */
/* fit_warnings.c: what may be wrong with a training's data, told as it is met. */
#define _GNU_SOURCE
#include "train/fit/fit_inside.h"

#include <stdio.h>
#include <string.h>

/* ---- bad elements ---- */

/* on_error leaves them out or replaces them: how many there were is counted, so that data does not
 * vanish without a word, and what was wrong with the first one is told when it is met. */
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

/* ---- whether classes are mixed ---- */

/* Whether train gives one class after the other, as folders and files that were packed from them
 * do. A net forgets the classes it has not seen for long, and nothing else shows why it learns
 * little.
 *
 * Labels of the first epoch are looked at as they come. Where every class came in one run of its
 * own they are not mixed: that is said at the end of the epoch, or as soon as two classes have had
 * runs that no shuffle makes. */
enum { LONG_RUN = 32 };

/* Classes are counted once each; false if this one has come before. */
static bool is_new(struct stk__label_runs *runs, int64_t label)
{
    uint64_t bit = (uint64_t)1 << (label % 64), *word = &runs->seen[label / 64];
    bool is = !(*word & bit);
    *word |= bit;
    return is;
}

static void note_label(struct stk__label_runs *runs, int64_t label)
{
    bool goes_on = runs->n_rows++ && label == runs->last;
    if (goes_on) {
        runs->run_rows++;
        return;
    }
    runs->has_short |= runs->n_runs && runs->run_rows < LONG_RUN;
    runs->run_rows = 1;
    bool is_known = label >= 0 && label < STK__MOST_CLASSES_IN_RUNS;
    runs->is_mixed = !is_known || !is_new(runs, label);
    runs->n_runs++;
    runs->last = label;
}

static void tell(struct stk_fit *fit)
{
    fit->runs.is_told = true;
    stk__fit_tell(fit, "train gives one class after the other; shuffle() in its chain mixes them");
}

void stk__fit_note_labels(struct stk_fit *fit, const struct stk_view *labels)
{
    struct stk__label_runs *runs = &fit->runs;
    bool is_whole = labels->dtype == STK_U8 || labels->dtype == STK_I32 || labels->dtype == STK_I64;
    bool are_classes = is_whole && labels->rank == 1 && fit->loss.type->activation != STK__LINEAR;
    if (runs->is_told || runs->is_mixed || !are_classes)
        return;
    for (int64_t row = 0; row < labels->shape[0] && !runs->is_mixed; row++)
        note_label(runs, stk__fit_label_at(labels, row));
    if (!runs->is_mixed && !runs->has_short && runs->n_runs > 1 && runs->run_rows >= LONG_RUN)
        tell(fit);
}

void stk__fit_end_labels(struct stk_fit *fit)
{
    struct stk__label_runs *runs = &fit->runs;
    if (!runs->is_told && !runs->is_mixed && runs->n_runs > 1 && runs->n_rows >= 4 * runs->n_runs)
        tell(fit);
    runs->is_told = true;
}
