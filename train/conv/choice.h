/* SPDX-License-Identifier: Apache-2.0 */
/* choice.h: which candidate carries out a convolution.
 *
 * All that can are measured for a few milliseconds each on the shape as it is, and the fastest is taken. What
 * was measured is remembered in a text file, by processor, instruction set, shape, direction and version, so
 * that it is measured once per machine. Where `deterministic`, a rule decides, which knows the task alone.
 */
#pragma once
#include "base/text.h"
#include "train/conv/candidate.h"

struct stk__choice_options {
    bool deterministic;
    bool forgets;     /* no file is read or written */
    const char *path; /* NULL: stoker/convolutions in $XDG_CACHE_HOME, or in ~/.cache */
    const char *only; /* NULL, or the name of a candidate that is taken wherever it can */
    double seconds;   /* of a measurement; 0: a few milliseconds */
    int n_threads;    /* that will run a way at once; 0: one */
};

/* Borrows texts of options. Returns new, or NULL when out of memory; a file that cannot be read, or whose
 * lines are damaged, is as if it were not there. */
struct stk__conv_choices *stk__choices_open(const struct stk__choice_options *options);

/* Writes what was measured, if it can, and frees. NULL is fine. */
void stk__choices_close(struct stk__conv_choices *choices);

/* Opens the way that is best for steps of so many images. Appends to `why`, unless it is NULL, what decided.
 * The plainest candidate must be able to. */
int stk__conv_choose(struct stk__conv_choices *choices, const struct stk__conv_task *task,
                     int64_t batch, struct stk__conv_way *out, struct stk__text *why,
                     struct stk_error *err);

/* Whether a candidate that rehearses was chosen. */
bool stk__choices_want_rehearsal(const struct stk__conv_choices *choices);
