/* SPDX-License-Identifier: Apache-2.0 */
/* batching.h: ops that make one row of many, where they are not the last: a serial stage. */
#pragma once
#include "exec/batch/judge.h"

extern const struct stk_serial_table stk__batch_serial; /* all but begin */

int stk__batching_begin(const struct stk__plan *plan, const struct stk__stage_plan *stage,
                        struct stk__pool *pool, void **run, struct stk_error *err);

/* Who judges the rows, and what it said: a fatal row ends the stream with that error. */
struct stk__judge *stk__batching_judge(void *run);
bool stk__batching_is_broken(const void *run);

/* Bytes of the rows that wait. */
size_t stk__batching_held(const void *run);
