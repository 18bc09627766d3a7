/* SPDX-License-Identifier: Apache-2.0 */
/* team.h: threads that do one thing together, the caller among them.
 *
 *     stk__team_run(team, work, context)     work(context, 0 … n - 1), each on a thread of its own
 *         stk__team_meet(team)               inside: nobody goes on before all are here
 *
 * Work is split by who asks, by number: a team hands nothing out, so what a thread does depends on the
 * count of threads alone. Who waits spins for some microseconds first, since phases of a step are
 * short, and then sleeps, since the cores may be wanted by a pipeline.
 */
#pragma once
#include <stoker/stoker.h>

enum { STK__MOST_THREADS = 256 };

struct stk__team;

typedef void stk__team_fn(void *context, int thread);

/* n threads with the caller's. Returns new. */
int stk__team_new(int n, struct stk__team **out, struct stk_error *err);
void stk__team_free(struct stk__team *team); /* NULL is fine */

int stk__team_size(const struct stk__team *team);

/* Returns when all are done. One caller at a time. What the caller wrote before is seen by all, and
 * what they wrote by the caller behind it. */
void stk__team_run(struct stk__team *team, stk__team_fn *work, void *context);

/* By every thread of a run, the same number of times. What was written before is seen behind. */
void stk__team_meet(struct stk__team *team);

/* The part of n things that thread `part` of `n_parts` has: from first up to behind. Parts differ by one at
 * most. */
struct stk__team_share {
    int64_t first, behind;
};
struct stk__team_share stk__share_of(int64_t n, int part, int n_parts);
