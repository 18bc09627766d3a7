/* SPDX-License-Identifier: Apache-2.0 */
/* exec_parts.h: what the files that run a plan share: exec.c (work), consumer.c (next), lifetime.c (birth and
 * death). All but a worker's main is called with the lock held. */
#pragma once
#include "exec/exec.h"

/* Work for somebody, if there is some. Looking may retire an empty ticket or open one that waited; then those already
 * asked are asked again. */
bool stk__work_pick(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w);

/* Whether one more may compute. */
bool stk__may_work(const struct stk__exec *x);

/* Runs one item, others meanwhile more if `is_shared`; left with the lock held, not held in between. */
void stk__work_perform(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w,
                       bool is_shared);

/* A thread that works until the run is stopped; `worker` is a stk__worker. Takes the lock itself. */
void *stk__worker_main(void *worker);

/* A batch came back to the depot: there may be room for more. `exec` is a stk__exec; takes the lock itself. */
void stk__on_batch_back(void *exec);

/* Gives back what is ready and was not handed out. */
void stk__drop_queue(struct stk__exec *x);
