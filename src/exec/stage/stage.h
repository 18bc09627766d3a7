/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h: stages of a run: their rings, the tickets in those, and work on them.
 *
 * Each stage owns the ring it writes to. A slot is a ticket; slots are taken, opened and retired in order and computed
 * in any order:
 *
 *      head ........ opened ........ tail           head <= opened <= tail <= head + cap
 *      READY/RUNNING | FETCHING/FETCHED |
 *
 * To take a slot is to assign input rows to it (and to ask for their I/O), to open it is to reserve its destination;
 * only then it may run. Without I/O, take and open are one act. A downstream stage sees the head only, and only when
 * READY.
 */
#pragma once
#include "exec/batch/bookmark.h"
#include "exec/memory/run_memory.h"
#include "exec/watch/run_metrics.h"
#include "io/read/lane.h"

struct stk__eval;
struct stk_batch;

enum stk__ticket_state { STK__FREE, STK__FETCHING, STK__FETCHED, STK__RUNNING, STK__READY };

/* A ticket without rows is a mark. A break ends no pass: it travels to whoever ends the run
 * because of it. A stage that needs no more rows drops it and closes the pass, which the stream,
 * waiting at its break, then ends. */
enum stk__end_mark { STK__NO_END, STK__END_PASS, STK__END_BROKEN };

struct stk__ticket {
    enum stk__ticket_state state;
    enum stk__end_mark end;  /* a ticket without rows that closes a pass */
    int level;               /* of an end: the outermost level that ended */
    uint64_t pass;           /* last stage: how many of the batcher's passes came before */
    uint64_t seq;            /* in its ring, from 0 */
    uint64_t position, path; /* first position, where the stage counts positions itself */
    uint64_t number;         /* of its first row, where a cache comes next */
    struct stk__lot *in;     /* counted slice of an upstream chunk */
    int in_from, n_in;
    bool is_direct;
    uint64_t next_batch_no;   /* of an end: where the next pass's batches start */
    struct stk__lot *out;     /* staged: a chunk of its own */
    struct stk__chunk *chunk; /* where its rows are: out's, or the batch's */
    int out_from, n, n_used;  /* n_used: rows already taken by the stage downstream */
    int n_bad;
    struct stk__fault *faults; /* of a direct ticket; a staged one has them in its chunk */
    struct stk_error *broken;  /* of an END_BROKEN; owned by the stage */
    struct stk__restart begin; /* last stage: the place before its first row */
    /* I/O */
    struct stk__stage *stage; /* whose ring it is in, once reads were asked for */
    struct stk__read_set reads;
    /* [ticket_rows * n_places], kept with the slot */
    struct stk__fetched *fetched[STK__MAX_READS];
    struct stk_buffer *wanted; /* paths and places that are asked for */
    size_t fetch_charge;
    int n_requests; /* that count as open until it is fetched */
};

struct stk__ring {
    struct stk__ticket *slot;
    uint64_t cap, head, opened, tail;
};

struct stk__stage_memory {
    struct stk__account out_account, io_account;
    struct stk__account held_account; /* rows kept beyond what the plan set aside for them */
    size_t held_chunks; /* bytes of chunks that its op keeps; the rows in them are the pool's */
    struct stk__lot *free_lots;
    size_t lot_bytes; /* of one chunk, without what its spans point to */
    /* of what was taken lately, for reservation: by tickets; by rows, and by their reads */
    size_t typical_scratch, typical_bytes, typical_fetch;
};

/* What the stage downstream has read. */
struct stk__stage_reader {
    /* rows; and when a pass of this level or further out last ended */
    uint64_t n_read, n_read_at[STK__MAX_LEVELS];
    uint64_t n_ended[STK__MAX_LEVELS]; /* such ends */
    /* what comes is dropped until a mark of this level or further out; -1: nothing is */
    int over_level;
};

/* Where inputs that come to the end of a pass each by itself are. */
struct stk__stage_joint {
    int seen_level[STK_MAX_INPUTS]; /* of the mark each ended this pass with; INT_MAX: none */
    int end_level;                  /* the outermost of those */
    bool has_ended;                 /* one of them, or the last, has; the pass ends when all have */
};

struct stk__stage_waiting {
    enum stk__wait wait; /* what it waited for when a worker last found nothing to do */
    uint64_t wait_ns[STK__N_WAITS];
    bool lacks_scratch, lacks_room_to_read; /* when more of it was last looked for */
};

struct stk__stage {
    const struct stk__stage_plan *plan;
    struct stk__ring ring;
    struct stk__stage_memory memory;
    bool is_busy;
    int n_ahead; /* tickets whose reads were asked for and that nobody runs */
    /* sources; see passes.c */
    uint64_t counter[STK__MAX_LEVELS], pass_no[STK__MAX_LEVELS], closed[STK__MAX_LEVELS];
    uint64_t position, path; /* caching: rows handed on in this pass */
    /* rows of this pass: caching: that the input had; a segment that feeds it: that were taken */
    uint64_t n_from;
    uint64_t base_path;               /* of a chain that is opened for elements: this one's; */
    const struct stk__chunk *element; /* and the element, borrowed from who opened it; */
    uint64_t first_row; /* a stream of its files: number of the first one's first row */
    bool is_exhausted;
    bool is_stuck; /* a stream that broke, until its pass is closed */
    struct stk__stage_reader reader;
    /* last stage: rows since the mark of the plan's restart_level, taken by a segment or handed on
     * by another; and how many of those to come are passed over */
    uint64_t n_since, n_skipped;
    /* serial stages */
    struct stk__holder {
        struct stk__exec *exec;
        struct stk__stage *stage;
    } holder; /* what an op's calls come back with */
    void *run;
    struct stk__lot *open_out;
    bool begins_pass; /* next_epoch is due */
    bool is_turning;  /* the mark of the pass that drains was read: it ended at this level */
    int turn_level;
    struct stk__stage_joint joint; /* of several inputs */
    /* an op had no memory for a row: it gives no more rows, and breaks the stream at the end of the pass */
    bool is_short;
    /* that this, or a judge's verdict, broke the stream; the stage then waits as a stuck source does */
    bool has_told;
    struct stk_error broken;   /* what a break on its way downstream says */
    struct stk_error breaking; /* a stream's next one, written outside the lock */
    int first_meter;           /* of its ops, among a worker's meters */
    struct stk__stage_waiting waiting;
};

struct stk__work {
    enum { STK__RUN, STK__FETCH, STK__STEP, STK__MOVE, STK__AHEAD } kind;
    struct stk__stage *stage;
    struct stk__ticket *ticket;
    bool is_mark;        /* RUN, FETCH: of a pass, which was passed on: nothing is left to do */
    int n_taken, n_made; /* rows, for the meters; filled in by what is run */
    /* STEP */
    struct stk__ticket *ticket_of[STK_MAX_INPUTS];
    int used_of[STK_MAX_INPUTS]; /* mixing: rows taken of each */
    uint64_t position;
    int n, used;
    int lost; /* caching: why a row that was kept could not be served */
    bool is_closed, is_flushed, is_broken, is_turned;
    /* MOVE */
    struct stk_batch *current;
    int fill, holes;
    bool is_fatal;
};

/* ---- rings ---- */

static inline struct stk__ticket *stk__slot_at(struct stk__ring *r, uint64_t seq)
{
    return &r->slot[seq % r->cap];
}

static inline bool stk__has_room(const struct stk__ring *r)
{
    return r->tail - r->head < r->cap;
}

/* The oldest ticket of a stage with rows, or an end mark for a reader at this depth, if it is
 * READY. */
struct stk__ticket *stk__stage_peek(struct stk__exec *x, struct stk__stage *stage,
                                    struct stk__stage *reader);
void stk__stage_retire(struct stk__exec *x, struct stk__stage *stage);

/* A pass of this level yielded nothing: if its repeat is endless, the repeat is over. */
void stk__end_empty(struct stk__exec *x, struct stk__stage *stage, int level);
struct stk__ticket *stk__push_ticket(struct stk__ring *r, enum stk__ticket_state state);

/* ---- passes (passes.c) ---- */

void stk__source_begin(struct stk__stage *s);

/* Hash of the pass counters that show in what the stage draws. */
uint64_t stk__pass_path(const struct stk__stage *s);

/* True if nobody needs the rest of the pass the stage is in. */
bool stk__is_closed(const struct stk__stage *s);

/* Ends the source's pass; returns the outermost level that ended. */
int stk__source_end_pass(struct stk__stage *s);

/* Tells the sources above a stage that its pass, which ends with end number `pass` of this
 * level, is not needed. */
void stk__close_pass(struct stk__exec *x, struct stk__stage *stage, int depth, uint64_t pass);

/* A mark of this level comes into the last stage, or is handed on by it. */
void stk__note_mark(struct stk__exec *x, struct stk__stage *stage, int level);

/* The same for whatever the stage is reading now. */
void stk__close_inputs(struct stk__exec *x, struct stk__stage *stage, int depth);

/* ---- segments and reads by request (segment.c, fetch.c) ---- */

bool stk__pick_fetch(struct stk__exec *x, struct stk__work *w);
void stk__run_fetch(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w);

/* Begins what its kind needs; the plan, the ring and the counters are there. */
int stk__stage_begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err);

/* True if somebody is inside the lock that the stage's rows need. */
bool stk__is_locked(const struct stk__exec *x, const struct stk__stage *s);

/* Fills in an evaluation of n rows from positions or from a chunk; see segment.c. */
int stk__eval_prepare(struct stk__exec *x, struct stk__worker *worker, struct stk__stage *s,
                      struct stk__ticket *t, struct stk__eval *e);

/* After an evaluation that ended with STK_AGAIN: a row that was kept is gone, and nothing was read for
 * it. Reads, and evaluates again. */
int stk__eval_again(struct stk__exec *x, struct stk__eval *eval, struct stk__fetched **fetched);

int stk__reads_begin(struct stk__exec *x, struct stk_error *err);

/* Its budget or whose cancellation it follows has changed; nothing may be on its way. */
void stk__reads_lend(struct stk__exec *x);

/* How much n rows of a stage count for among the requests that are open. */
int stk__count_requests(const struct stk__stage *stage, int n);

/* Reads what the rows of an evaluation want, here and now; fetched[k] has n * n_places, and what it has
 * is given back. */
int stk__fetch_rows(struct stk__exec *x, struct stk__eval *eval, struct stk__fetched **fetched);

/* The same for one row, with memory from scratch. */
int stk__fetch_row(struct stk__exec *x, struct stk__eval *eval, struct stk__fetched **fetched);
