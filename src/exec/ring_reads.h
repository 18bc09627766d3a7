/* SPDX-License-Identifier: Apache-2.0 */
/* ring_reads.h: the reads of a run through io_uring: one thread, with as many on their way as the
 * width says. */
#pragma once
#include <pthread.h>

struct stk__ring_reads;

/* Returns new; NULL where the system refuses a ring or has no memory for it. */
struct stk__ring_reads *stk__ring_new(int depth);
void stk__ring_free(struct stk__ring_reads *ring);

/* 0 if a ring can be made here, else why not. */
int stk__ring_error(void);

/* What the thread does; takes the run. Ends when the run's I/O is stopped. */
void *stk__ring_main(void *exec);

/* There are requests; with the I/O lock held. */
void stk__ring_wake(struct stk__ring_reads *ring, pthread_cond_t *idle);
