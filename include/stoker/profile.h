/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h: where the time goes, and what to do about it. Part of stoker.h. */
#ifndef STOKER_PROFILE_H
#define STOKER_PROFILE_H

#include <stoker/stoker.h>

#ifdef __cplusplus
extern "C" {
#endif

struct stk_profile;

/* How a chain is profiled. Members that are 0 or NULL have their default. */
struct stk_profile_options {
    double seconds; /* to watch it for, once it is warm; 3 */
    double
        consumer_ms; /* waits so long after each batch, as a training step would; 0: not at all */
    double
        loop_us; /* what the caller's loop takes for a batch apart from its step, in microseconds */
    bool no_trials; /* nothing is tried out: what advice brings is modelled */
    bool records;   /* what each thread does is recorded, for the report and the trace */
    /* The same chain with functions of the caller that hold no lock, because other processes carry them out:
     * where a lock is what holds the run up, this is tried. NULL: that is modelled. Borrowed. */
    struct stk_dataset *elsewhere;
    /* Called by the caller's thread some times a second with what is being done; true: stop, with
     * STK_CANCELLED. */
    bool (*progress)(void *context, const char *doing);
    void *context;
};

/* Runs a chain for some seconds, says what holds it up, and tries out what could be better. Borrows
 * everything. Returns new. */
STK_API int stk_dataset_profile(struct stk_dataset *dataset, const struct stk_options *options,
                                const struct stk_profile_options *how, struct stk_profile **out,
                                struct stk_error *err);

/* The same of a run of the caller's own, since it began: what the loop around it did between batches
 * is its step. Trials run chains of their own, with a step that waits as long as that did. */
STK_API int stk_iterator_profile(struct stk_iterator *it, const struct stk_profile_options *how,
                                 struct stk_profile **out, struct stk_error *err);

/* What came out, for people or as JSON (docs/profile.md). Returns new; free with stk_text_free. */
STK_API char *stk_profile_text(const struct stk_profile *profile);
STK_API char *stk_profile_json(const struct stk_profile *profile);

/* One page for a browser, which needs nothing else: the verdict, advice, ops, threads over time, memory.
 * Returns new, NULL when out of memory. */
STK_API char *stk_profile_report(const struct stk_profile *profile);

/* What was recorded, in Chrome's trace event format; NULL if nothing was. Returns new. */
STK_API char *stk_profile_trace(const struct stk_profile *profile);

STK_API void stk_profile_free(struct stk_profile *profile);

#ifdef __cplusplus
}
#endif
#endif
