/* SPDX-License-Identifier: Apache-2.0 */
/* fit_order.c: whether train gives one class after the other, as folders and files that were packed from them do. A
 * net forgets the classes it has not seen for long, and nothing else shows why it learns little.
 *
 * Labels of the first epoch are looked at as they come. Where every class came in one run of its own they are not
 * mixed: that is said at the end of the epoch, or as soon as two classes have had runs that no shuffle makes. */
#include "train/fit/fit_inside.h"

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
