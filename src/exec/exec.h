/* SPDX-License-Identifier: Apache-2.0 */
/* exec.h: having a plan run. */
#pragma once
#include "exec/batch/bookmark.h"
#include "exec/batch/judge.h"

struct stk__exec;

/* False in a child that was forked while the run was on: its locks may be held by threads that
 * are not there. */
bool stk__exec_is_ours(const struct stk__exec *x);

/* The judges of a run, in turn: that of a batch before other ops, and the batcher's; NULL: there are no more. */
struct stk__judge *stk__exec_judge(struct stk__exec *x, int index);

/* Starts a run, at a bookmark of another run of the same plan if `from` is not NULL. */
int stk__exec_new(struct stk__plan *plan, const struct stk__bookmark *from, struct stk__exec **out,
                  struct stk_error *err);

/* milliseconds < 0: waits for ever. */
int stk__exec_next(struct stk__exec *x, int64_t milliseconds, struct stk_batch **batch,
                   struct stk_error *err);

/* Takes back the batch that next last returned: the next one gives it again. */
int stk__exec_unread(struct stk__exec *x, struct stk_batch *batch, struct stk_error *err);
void stk__exec_cancel(struct stk__exec *x);
void stk__exec_free(struct stk__exec *x);

/* After STK_END: true if nothing is booked that should not be. For tests. */
bool stk__exec_is_clean(struct stk__exec *x);
void stk__exec_dump(struct stk__exec *x, struct stk__text *out);
