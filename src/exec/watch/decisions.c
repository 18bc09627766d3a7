/* SPDX-License-Identifier: Apache-2.0 */
/* decisions.c: a ring of the last decisions of a run. */
#define _GNU_SOURCE
#include "exec/watch/decisions.h"

#include "base/clock.h"
#include "exec/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void stk__decisions_begin(struct stk__decisions *d)
{
    d->began_at = stk__clock_ns();
}

void stk__decisions_end(struct stk__decisions *d)
{
    free(d->kept);
}

void stk__decision_note(struct stk__exec *x, const char *knob, int64_t from, int64_t to,
                        const char *format, ...)
{
    struct stk__decisions *d = &x->watch.decisions;
    if (!d->kept)
        d->kept = calloc(STK__KEPT_DECISIONS, sizeof *d->kept);
    uint64_t slot = d->n_made++ % STK__KEPT_DECISIONS;
    if (!d->kept)
        return;
    d->kept[slot] = (struct stk_decision){
        .at_ns = stk__clock_ns() - d->began_at, .knob = knob, .from = from, .to = to
    };
    va_list args;
    va_start(args, format);
    vsnprintf(d->kept[slot].reason, STK_REASON_BYTES, format, args);
    va_end(args);
}

bool stk__decision_at(const struct stk__exec *x, uint64_t index, struct stk_decision *out)
{
    const struct stk__decisions *d = &x->watch.decisions;
    uint64_t n = d->n_made < STK__KEPT_DECISIONS ? d->n_made : STK__KEPT_DECISIONS;
    if (index >= n || !d->kept)
        return false;
    *out = d->kept[(d->n_made - n + index) % STK__KEPT_DECISIONS];
    return true;
}
