/* SPDX-License-Identifier: Apache-2.0 */
/* elevator.h: the order in which requests are served where the way from one place to the next costs.
 *
 * A disk has one head, which shows in that a few reads at a time are as fast as many (depth.h). Then
 * requests are served sweep by sweep: those that wait when one begins, in the order of their places; what
 * comes meanwhile waits for the next. So neighbours meet, ways are short, and nobody waits for longer than two
 * sweeps. Batches are delivered in their own order all the same. With the I/O lock held.
 */
#pragma once
#include <stdbool.h>

struct stk__exec;

/* Whether the order of places matters. */
bool stk__order_matters(const struct stk__exec *x);

/* Before the next request is taken. */
void stk__sweep_on(struct stk__exec *x);

/* The oldest but i was taken. */
void stk__sweep_took(struct stk__exec *x, int i);
