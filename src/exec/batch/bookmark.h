/* SPDX-License-Identifier: Apache-2.0 */
/* bookmark.h: where a run can go on.
 *
 * What a run delivers is a function of its chain, its seed and the rows used so far, so a place in
 * it is a few numbers and no data. They are counted from the last mark at which every serial stage
 * was empty, the end of a pass of the plan's restart_level:
 *
 *      mark ───── n_in rows ─────┬──── n_out rows ────┬─── the next batch
 *                 come in, and   │  are made, and      │
 *                 are not looked at   dropped unjudged
 *
 * n_in counts what comes into the last segment. Where that counts positions itself it begins there
 * at once; where positions arrive from a shuffle they are shuffled again, without data; streams are
 * read again, but nothing behind them is. n_out is there because a filter closes rows up. */
#pragma once
#include "exec/plan/plan.h"

struct stk__restart {
    uint64_t counter[STK__MAX_LEVELS]; /* passes over at the mark, per level */
    uint64_t n_in, n_out;
};

struct stk__bookmark {
    struct stk__restart restart;
    struct stk_position position; /* of the batch that ends here */
    /* the batcher */
    uint64_t n_yielded[STK__MAX_LEVELS];
    uint64_t n_gated[STK__MAX_GATES]; /* batches that each gate has seen in its pass */
    uint64_t n_rows, n_bad;           /* judged in its pass */
};
