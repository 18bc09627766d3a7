/* SPDX-License-Identifier: Apache-2.0 */
/* stage_steps.h: stages that one worker at a time carries through, step by step: what their kinds share. */
#pragma once
#include "exec/run.h"

/* What such a kind is picked, run and finished by. */
#define STK__BY_STEPS .pick = stk__step_pick, .run = stk__step_run, .finish = stk__step_finish
bool stk__step_pick(struct stk__exec *x, struct stk__stage *s, struct stk__work *w);
void stk__step_run(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w);
void stk__step_finish(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w);

/* is_ready of kinds that make rows themselves: as long as there are passes. */
bool stk__source_is_ready(struct stk__exec *x, struct stk__stage *s, struct stk__work *w);

/* What an op's run is begun with, for a serial op or one that chooses. */
struct stk__serial_start stk__step_begin(struct stk__exec *x, struct stk__stage *s);

/* Does with a serial op's table what is not rows: begins passes, lets them drain, ends them. True: there are rows, to
 * be handed to the table's step. */
bool stk__step_has_rows(struct stk__stage *s, const struct stk__serial_table *table,
                        struct stk__work *w);

/* Several inputs, with the lock held: the mark of input i is read; its break goes on downstream; the pass ends for
 * everybody once all inputs have come to its end. */
void stk__see_mark(struct stk__exec *x, struct stk__stage *s, int i, const struct stk__ticket *t);
void stk__hand_on_break(struct stk__exec *x, struct stk__stage *s, int i,
                        const struct stk__ticket *t);
void stk__end_joined(struct stk__exec *x, struct stk__stage *s);

static inline struct stk__stage *stk__input_of(struct stk__exec *x, const struct stk__stage *s,
                                               int i)
{
    return &x->stage[s->plan->input[i]];
}
