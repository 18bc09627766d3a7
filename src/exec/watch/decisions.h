/* SPDX-License-Identifier: Apache-2.0 */
/* decisions.h: what a run changed about itself while it was on, when and why; the last ones. */
#pragma once
#include <stoker/stoker.h>

struct stk__exec;

enum { STK__KEPT_DECISIONS = 256 };

/* Guarded by the lock of its run. */
struct stk__decisions {
    uint64_t began_at, n_made;
    struct stk_decision *kept; /* [STK__KEPT_DECISIONS], from the first one on */
};

void stk__decisions_begin(struct stk__decisions *decisions);
void stk__decisions_end(struct stk__decisions *decisions);

/* Writes a decision down; with the lock held. `knob` is borrowed for ever: a literal. Without memory
 * the decision stands and is counted, but cannot be read. */
void stk__decision_note(struct stk__exec *x, const char *knob, int64_t from, int64_t to,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Decision number `index` of those that are kept, the oldest first; false when there are fewer.
 * With the lock held. */
bool stk__decision_at(const struct stk__exec *x, uint64_t index, struct stk_decision *out);
