/* SPDX-License-Identifier: Apache-2.0 */
/* profile_run.h: what the files of profiling share. */
#pragma once
#include "api/api.h"
#include "tune/advice.h"

#include <stoker/profile.h>

struct stk_profile {
    struct stk_arena arena; /* texts of the advice */
    struct stk_dataset *dataset;
    struct stk__options options; /* as given */
    double consumer_s;           /* of the step, given or seen */
    double loop_s;               /* of the loop around it, for each batch */
    struct stk__stretch stretch;
    struct stk__verdict verdict;
    double rate_alone; /* elements per second without a step; 0: not measured */
    struct stk__advice advice;
    char *metrics, *trace, *decisions; /* JSON of the run that was watched; NULL: none */
};

/* How a chain is run for a while. */
struct stk__advice_trial {
    const struct stk__options *options;
    const struct stk_profile_options *how;
    const char *doing; /* for progress */
    double consumer_s, loop_s, seconds;
    bool warms_up;               /* a whole epoch goes before */
    struct stk_profile *records; /* gets what the run recorded; or NULL */
};

/* Runs a dataset; what it did once it was warm. */
int stk__trial_run(struct stk_dataset *dataset, const struct stk__advice_trial *trial,
                   struct stk__stretch *out, struct stk_error *err);

/* Tries out the advice of a profile, and ranks it. Advice that cannot be tried keeps its model. */
int stk__profile_try(struct stk_profile *profile, const struct stk_profile_options *how,
                     struct stk_error *err);
