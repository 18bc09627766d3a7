/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.h: what a run changed about itself while it was on. Part of stoker.h. */
#ifndef STOKER_TUNING_H
#define STOKER_TUNING_H

#include <stoker/stoker.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { STK_REASON_BYTES = 160 };

/* A number that was changed, and why. Nothing that is delivered depends on any of them. */
struct stk_decision {
    uint64_t at_ns;   /* since the run began */
    const char *knob; /* "window", "workers", …, as the run option is called */
    int64_t from, to;
    char reason[STK_REASON_BYTES]; /* in plain words; cut where it is too long */
};

/* The i-th decision, oldest first; the last 256 are kept. STK_END when there are fewer. */
STK_API int stk_iterator_decision(struct stk_iterator *it, uint64_t index,
                                  struct stk_decision *out);

#ifdef __cplusplus
}
#endif

#endif
