/* SPDX-License-Identifier: Apache-2.0 */
/* judge.h: what a bad row does to the run. Asked once per bad row, in order, by whoever makes
 * the last batches, so the answer depends neither on the number of workers nor on how far they
 * ran ahead. */
#pragma once
#include "exec/plan/plan.h"
#include "exec/watch/causes.h"

enum { STK__KEPT_ERRORS = 64 };

struct stk__judge {
    const struct stk__plan *plan;
    struct stk__causes *causes; /* of the run: where bad rows are counted by cause */
    uint64_t n_rows, n_bad;     /* rows seen in this pass, bad ones among them */
    uint64_t epoch;             /* for messages; kept by the owner */
    /* What others look at while the run is on. Whoever judges writes it under the lock of `causes`,
     * and may read it without. */
    uint64_t n_errors; /* bad ones in all passes, those before a place that was resumed included */
    uint64_t n_told;   /* those of this run, whose last messages are kept */
    struct stk_error kept[STK__KEPT_ERRORS];
};

/* False if a row is bad for a reason that is not its own, which ends the run whatever the options say.
 * `fault` may be NULL (out of memory). */
bool stk__is_elements_fault(const struct stk__fault *fault);

/* The message of a bad row: op, origin, element, cause. `fault` may be NULL (out of memory). */
void stk__describe_fault(const struct stk__plan *plan, const struct stk__fault *fault,
                         struct stk__address address, uint64_t epoch, struct stk_error *err);

/* Judges one row: writes its message (op, origin, element, cause) and says whether the run may
 * go on. `fault` may be NULL (out of memory). Want of memory always ends the run: it is not the
 * row's fault, and to leave good rows out silently would make the data depend on the machine.
 * The row is counted. */
bool stk__judge_row(struct stk__judge *judge, const struct stk__fault *fault,
                    struct stk__address address);

/* Judges the end of a pass: false and a message if too large a fraction was bad. */
bool stk__judge_pass(const struct stk__judge *judge, struct stk_error *err);

/* The next pass is judged by itself: how far a pass went that nobody needed to its end would
 * count otherwise. */
void stk__judge_begin(struct stk__judge *judge);

/* The run ends because no other row was found in the place of the last bad one; the code says why. */
void stk__judge_end_replacing(struct stk__judge *judge, int code);

/* For whoever judges: the message of the last bad row. */
const struct stk_error *stk__judge_last(const struct stk__judge *judge);

/* For others, at any time: how many rows were bad, and one of the last STK__KEPT_ERRORS messages,
 * from the oldest on; false if there are not so many: then they are taken off the index. */
uint64_t stk__judge_count(struct stk__judge *judge);
bool stk__judge_message(struct stk__judge *judge, uint64_t *index, struct stk_error *out);
