/* SPDX-License-Identifier: Apache-2.0 */
/* cursor.h: a chain that is opened for one element after the other: a run of the chain's own plan,
 * without workers and without a batcher. A pass of it is an element. Whoever wants rows runs it
 * (one at a time); whoever takes them looks at the head of its last stage, meanwhile too. */
#pragma once
#include "exec/run.h"

/* Begins the pass of an element; the one before must be over, up to its mark. `path` is the pass's,
 * `element` a chunk of one row, which is borrowed until the pass is over. Fails if its file cannot
 * be opened; then another one may be tried. */
int stk__cursor_open(struct stk__exec *cursor, const struct stk__chunk *element, uint64_t path,
                     struct stk_error *err);

/* Works until n tickets are ready or all there are; fewer if memory is in the way or it fails, and if
 * it takes long: a chain may go on without giving anything, and its caller has to look around. */
void stk__cursor_run(struct stk__exec *cursor, int n);

/* The ticket that comes next: rows, or a mark. NULL: none is ready. It is there until it is retired. */
struct stk__ticket *stk__cursor_head(struct stk__exec *cursor);

/* Gives the ticket at the head back. */
void stk__cursor_retire(struct stk__exec *cursor);

/* Why it stopped; code STK_OK: it has not. */
struct stk_error stk__cursor_failure(struct stk__exec *cursor);
