/* SPDX-License-Identifier: Apache-2.0 */
/* batcher.h: the end of a run: rows become batches, pass the gates above them, and are delivered.
 *
 * WHERE A TICKET LANDS. land = rows opened so far in this pass − holes judged so far: the place in the compacted output
 * where its first row is expected; rows before it can only move it down. It is direct iff land >= claimed (nobody was
 * promised those slots) and it does not straddle a batch; else it is staged. The batcher copies a row only if it is not
 * where it belongs. Tickets are cut where land says a batch ends, so one short staged ticket after a hole brings the
 * rows back to direct.
 */
#pragma once
#include "exec/batch/bookmark.h"
#include "exec/batch/judge.h"
#include "exec/knobs.h"

struct stk__exec;
struct stk__ticket;
struct stk__work;
struct stk__worker;

/* Where tickets of the last segment land. */
struct stk__landing {
    uint64_t take_pass, taken, take_holes;                    /* at its tail */
    uint64_t open_pass, opened, open_holes, claimed, base_no; /* and at its opened cursor */
};

/* A gate above the batcher at work, on chunks of one row without columns. */
struct stk__gate {
    void *run;
    struct stk__chunk *in, *out;
    bool begins_pass;
    uint64_t n_seen; /* batches in this pass */
};

struct stk__batcher {
    struct stk_batch **batch; /* [max_window]; see stk__batch_slot */
    uint64_t opened_no, current_no;
    int n_open, fill; /* n_open: opened and not yet delivered */
    bool is_busy;
    struct stk__gate gate[STK__MAX_GATES];
    uint64_t counter[STK__MAX_LEVELS]; /* as of a source */
    /* batches of this pass that came out of the level's repeat */
    uint64_t n_yielded[STK__MAX_LEVELS];
    int closed_level; /* a gate of this depth needs no more of its pass; -1: none */
    struct stk_position position;
    struct stk__restart restart;  /* behind the last row that it used */
    uint64_t n_dropped;           /* rows to come that were used before the run was resumed */
    struct stk__judge judge;      /* changed by whoever holds the busy bit */
    struct stk__chunk *spare_row; /* where a replacement is made */
    struct stk__knob window;      /* batches in flight */
};

enum stk__event { STK__EVENT_BATCH, STK__EVENT_END, STK__EVENT_ERROR };
struct stk__delivery {
    enum stk__event kind;
    struct stk_batch *batch;
};

/* What was delivered, and waits to be. */
struct stk__deliveries {
    struct stk__delivery *queue;
    int queue_cap, queue_head, queue_len;
    struct stk__bookmark handed; /* the end of the batch that next last returned */
    struct stk__bookmark before; /* and of the one before it */
    struct stk_batch *unread;    /* one that was given back: next returns it again; or NULL */
    /* What the consumer had when it last asked, at least one: a loop that still has the batch
     * before the one it was given is waited for, so that memory for it is never taken. */
    int n_held;
};

/* The judges of a run, in turn: that of a batch before other ops, and the batcher's; NULL: there are no more. */
struct stk__judge *stk__exec_judge(struct stk__exec *x, int index);

/* ---- gates.c ---- */

int stk__gates_begin(struct stk__exec *x, struct stk_error *err);

/* Brings the gates to where they were. */
void stk__gates_resume(struct stk__exec *x, const struct stk__bookmark *from);
void stk__gates_end(struct stk__exec *x);

/* True if the batch that is complete is to be delivered. */
bool stk__gates_let_through(struct stk__exec *x);

/* Before the first row of a pass: a gate may be closed from the start. */
void stk__gates_check(struct stk__exec *x);
void stk__gates_end_pass(struct stk__exec *x, int level);

/* ---- batcher.c ---- */

/* What one more batch is expected to take; rows that are not fixed show it only when they are
 * there. */
size_t stk__batch_need(const struct stk__exec *x);
bool stk__open_batches(struct stk__exec *x, uint64_t end_no);

/* A ticket of the last stage that the batcher does not get to see. */
void stk__drop_ticket(struct stk__exec *x, const struct stk__ticket *t);

/* Rows of the last stage's ticket that will not be delivered. */
void stk__count_holes(struct stk__exec *x, const struct stk__ticket *t, int n);
struct stk__ticket *stk__advance_batcher(struct stk__exec *x);
void stk__run_move(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w);
void stk__finish_move(struct stk__exec *x, struct stk__work *w);

/* Ends the run with an error, or without (code STK_END). */
void stk__end_run(struct stk__exec *x, const struct stk_error *err);
void stk__run_out_of_memory(struct stk__exec *x);

/* A resumed run finds less data than there was. */
void stk__end_short(struct stk__exec *x);
