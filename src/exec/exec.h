/* SPDX-License-Identifier: Apache-2.0 */
/* exec.h: plans, and having them run: all that other rooms see of this one.
 *
 *     stk__plan_new(dataset, &options, &plan, err);
 *     stk__exec_new(plan, NULL, &x, err);
 *     while (!stk__exec_next(x, -1, &batch, err)) …
 *     stk__exec_free(x);
 *     stk__plan_unref(plan);
 */
#pragma once
#include "exec/knobs.h"
#include "exec/plan/options.h"
#include "exec/watch/run_metrics.h"
#include "exec/watch/trace.h"

struct stk__bookmark;
struct stk__exec;
struct stk__plan;
struct stk__text;

/* ---- plans ---- */

enum { STK__MAX_STAGES = 48 };

int stk__plan_new(struct stk_dataset *graph, const struct stk__options *options,
                  struct stk__plan **out, struct stk_error *err);

/* Leaves of a new plan only element or batch number `index`; an error where it cannot be reached
 * alone. */
int stk__plan_narrow(struct stk__plan *plan, int64_t index, struct stk_error *err);
struct stk__plan *stk__plan_ref(struct stk__plan *plan);
void stk__plan_unref(struct stk__plan *plan);

/* With auto where nothing was said, and what became of it. */
const struct stk__options *stk__plan_given(const struct stk__plan *plan);
const struct stk__options *stk__plan_options(const struct stk__plan *plan);
struct stk_dataset *stk__plan_graph(const struct stk__plan *plan);

/* What its caches may keep. */
size_t stk__plan_cache_bytes(const struct stk__plan *plan);

/* Whether what is delivered are batches, and not elements or windows of them. */
bool stk__plan_delivers_batches(const struct stk__plan *plan);

/* An op of a stage by its number there; below 0: the last one. */
const struct stk__node *stk__plan_node(const struct stk__plan *plan, int stage, int op);

/* The plan for people, and as JSON. */
void stk__plan_text(const struct stk__plan *plan, struct stk__text *out);
void stk__plan_json(const struct stk__plan *plan, struct stk__text *out);

/* ---- runs ---- */

/* Starts a run, at a bookmark of another run of the same plan if `from` is not NULL; or where a state says, if that is
 * one of the plan's. */
int stk__exec_new(struct stk__plan *plan, const struct stk__bookmark *from, struct stk__exec **out,
                  struct stk_error *err);
int stk__exec_resume(struct stk__plan *plan, const char *state, struct stk__exec **out,
                     struct stk_error *err);

/* milliseconds < 0: waits for ever. */
int stk__exec_next(struct stk__exec *x, int64_t milliseconds, struct stk_batch **batch,
                   struct stk_error *err);

/* Takes back the batch that next last returned: the next one gives it again. */
int stk__exec_unread(struct stk__exec *x, struct stk_batch *batch, struct stk_error *err);
void stk__exec_cancel(struct stk__exec *x);
void stk__exec_free(struct stk__exec *x);

/* False in a child that was forked while the run was on: its locks may be held by threads that
 * are not there. */
bool stk__exec_is_ours(const struct stk__exec *x);
const struct stk__plan *stk__exec_plan(const struct stk__exec *x);

/* Where it is, behind the last batch it gave. Returns new. */
int stk__exec_state(struct stk__exec *x, char **out, struct stk_error *err);

/* ---- looking at one; takes the lock ---- */

void stk__exec_stats(struct stk__exec *x, struct stk_stats *out);

/* Of what there are several: number `index`; STK_END: there are no more. */
int stk__exec_error(struct stk__exec *x, uint64_t index, struct stk_error *out);
int stk__exec_memory(struct stk__exec *x, int index, struct stk_memory_use *out);
int stk__exec_decision(struct stk__exec *x, uint64_t index, struct stk_decision *out);

/* Calls `each` for every decision that is kept, the oldest first. */
void stk__exec_decisions(struct stk__exec *x,
                         void (*each)(void *ctx, const struct stk_decision *decision), void *ctx);

/* Writes down what was decided for it. */
void stk__exec_decide(struct stk__exec *x, const char *knob, int64_t from, int64_t to,
                      const char *reason);

/* ---- for tests ---- */

/* After STK_END: true if nothing is booked that should not be. */
bool stk__exec_is_clean(struct stk__exec *x);
void stk__exec_dump(struct stk__exec *x, struct stk__text *out);
