/* SPDX-License-Identifier: Apache-2.0 */
/* exec.h: the running of a plan. One mutex; work is chosen and booked under it and computed
 * outside it.
 *
 * RINGS. Each stage owns the ring it writes to. A slot is a ticket; slots are taken, opened and
 * retired in order and computed in any order:
 *
 *      head ........ opened ........ tail           head <= opened <= tail <= head + cap
 *      READY/RUNNING | FETCHING/FETCHED |
 *
 * To take a slot is to assign input rows to it (and to ask for their I/O), to open it is to reserve
 * its destination; only then it may run.
 * Without I/O, take and open are one act. A downstream stage sees the head only, and only when
 * READY.
 *
 * MEMORY. Every account owns one unit for ever; what it holds above that comes from the spare
 * budget. A stage that can go on with one unit can therefore never be starved by another.
 * Nothing waits for memory: work without it is not ready.
 *
 * WHERE A TICKET LANDS. land = rows opened so far in this pass − holes judged so far: the place
 * in the compacted output where its first row is expected; rows before it can only move it down.
 * It is direct iff land >= claimed (nobody was promised those slots) and it does not straddle a
 * batch; else it is staged. The batcher copies a row only if it is not where it belongs. Tickets
 * are cut where land says a batch ends, so one short staged ticket after a hole brings the rows
 * back to direct.
 *
 * LIVENESS. A busy bit under the one lock stands for a stage's try-lock, so whoever leaves a
 * stage looks again under the same lock and no wake-up is lost. Whoever takes work wakes one
 * sleeper if more is left.
 */
#pragma once
#include "base/memory/gauge.h"
#include "base/memory/purse.h"
#include "exec/batch/depot.h"
#include "exec/batch/judge.h"
#include "exec/knobs.h"
#include "exec/watch/decisions.h"
#include "exec/watch/run_metrics.h"
#include "exec/watch/trace.h"
#include "io/read/lane.h"

struct stk__account {
    size_t unit_bytes, held_bytes, peak_bytes;
};

/* A chunk with its reference count. */
struct stk__lot {
    struct stk_chunk *chunk;
    struct stk_buffer *memory; /* that the chunk lies in: the pool's, which counts it */
    int refs;
    size_t charged;
    int n_weighed; /* rows whose bytes are known, apart from their place in the chunk: */
    size_t pointed_bytes;
    struct stk__stage *stage; /* who pays */
    struct stk__lot *next_free, *next_all;
};

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
    uint64_t next_batch_no;  /* of an end: where the next pass's batches start */
    struct stk__lot *out;    /* staged: a chunk of its own */
    struct stk_chunk *chunk; /* where its rows are: out's, or the batch's */
    int out_from, n, n_used; /* n_used: rows already taken by the stage downstream */
    int n_bad;
    struct stk_fault *faults;  /* of a direct ticket; a staged one has them in its chunk */
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

struct stk__stage {
    const struct stk__stage_plan *plan;
    struct stk__ring ring;
    struct stk__account out_account, io_account;
    size_t held_chunks; /* bytes of chunks that its op keeps; the rows in them are the pool's */
    struct stk__account held_account; /* rows kept beyond what the plan set aside for them */
    struct stk__lot *free_lots;
    size_t lot_bytes;       /* of one chunk, without what its spans point to */
    size_t typical_scratch; /* of what tickets took lately */
    bool is_busy;
    size_t typical_bytes, typical_fetch; /* of what rows took lately, for reservation */
    int n_ahead; /* tickets whose reads were asked for and that nobody runs */
    /* sources; see passes.c */
    uint64_t counter[STK__MAX_LEVELS], pass_no[STK__MAX_LEVELS], closed[STK__MAX_LEVELS];
    uint64_t position, path; /* caching: rows handed on in this pass */
    /* rows of this pass: caching: that the input had; a segment that feeds it: that were taken */
    uint64_t n_from;
    uint64_t base_path;              /* of a chain that is opened for elements: this one's; */
    const struct stk_chunk *element; /* and the element, borrowed from who opened it; */
    uint64_t first_row; /* a stream of its files: number of the first one's first row */
    bool is_exhausted;
    bool is_stuck; /* a stream that broke, until its pass is closed */
    /* what the stage downstream has read: rows; and when a pass of this level or further out
     * last ended */
    uint64_t n_read, n_read_at[STK__MAX_LEVELS];
    uint64_t n_ended[STK__MAX_LEVELS]; /* such ends */
    /* what comes is dropped until a mark of this level or further out; -1: nothing is */
    int over_level;
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
    /* several inputs: level of the mark each ended this pass with; INT_MAX: none */
    int seen_level[STK_MAX_INPUTS];
    int end_level;  /* the outermost of those */
    bool has_ended; /* one of them, or the last, has; the pass ends when all have */
    /* an op had no memory for a row: it gives no more rows, and breaks the stream at the end of the pass */
    bool is_short;
    /* that this, or a judge's verdict, broke the stream; the stage then waits as a stuck source does */
    bool has_told;
    struct stk_error broken;   /* what a break on its way downstream says */
    struct stk_error breaking; /* a stream's next one, written outside the lock */
    int first_meter;           /* of its ops, among a worker's meters */
    enum stk__wait wait;       /* what it waited for when a worker last found nothing to do */
    uint64_t wait_ns[STK__N_WAITS];
    bool lacks_scratch, lacks_room_to_read; /* when more of it was last looked for */
};

/* A gate above the batcher at work, on chunks of one row without columns. */
struct stk__gate {
    void *run;
    struct stk_chunk *in, *out;
    bool begins_pass;
    uint64_t n_seen; /* batches in this pass */
};

/* What a worker counts of one kind of work of one stage. */
struct stk__work_meter {
    struct stk__meter meter;
    struct stk__sampling sampling;
};

struct stk__worker {
    struct stk__exec *exec;
    pthread_t thread;
    /* stk__metrics_read looks for these: the system's number, once it has begun, and when it has
     * ended, how long it had work but no core */
    atomic_int thread_id;
    _Atomic uint64_t queued_ns;
    struct stk_arena scratch;
    struct stk__gauge gauge;            /* of scratch, and of what ops keep for the thread */
    struct stk__meter *op_meter;        /* [exec->n_op_meters] */
    struct stk__work_meter *work_meter; /* see stk__work_meter_of */
    struct stk__work_meter *meter;      /* of what it does now */
    struct stk__stopwatch watch;
    struct stk__stage *at; /* whose work it does; NULL: the batcher's */
    struct stk__eval_thread eval[STK__MAX_STAGES];
    bool is_running;
    size_t most_scratch; /* of one ticket */
};

enum stk__event { STK__EVENT_BATCH, STK__EVENT_END, STK__EVENT_ERROR };
struct stk__delivery {
    enum stk__event kind;
    struct stk_batch *batch;
};

enum { STK__MAX_UNPACKED = 16 };

struct stk__exec {
    struct stk__plan *plan;
    struct stk__pool *pool;
    struct stk__depot *depot;
    pthread_mutex_t lock;   /* guards all that follows; taken before a lane's */
    struct stk__lane *lane; /* NULL: the run reads nothing by request */
    pthread_cond_t work, delivered;
    struct stk__stage stage[STK__MAX_STAGES];
    int n_stages, n_sleeping, n_running;
    bool is_stopped, is_consumer_waiting, has_changed;
    atomic_bool is_cancelled;     /* written without the lock; ops that take long look at it, */
    const atomic_bool *cancelled; /* or at that of the run that this one is a cursor of */
    bool is_consumer_choosing, has_declined; /* a step that may block is left to the workers */
    int n_turning;     /* stages in which a pass drains while the next one fills; */
    bool is_impatient; /* they keep step no longer: a consumer has waited until then */
    uint64_t patient_until;
    struct stk__share share; /* of the process's budget */
    int64_t budget_bytes;    /* what it may ever use; of a cursor that of the run around it */
    int64_t limit_bytes;     /* what the run may use now */
    int64_t own_bytes;       /* of the run itself, its rings and threads: about */
    int64_t spare_bytes;     /* below 0 while an element larger than its estimate is about */
    int64_t cleared_bytes;   /* that may be charged before both sums are looked at again */
    size_t used_bytes, peak_bytes;
    size_t cached_bytes;                                  /* of those, what caches keep */
    struct stk__chunk_cache *unpacked[STK__MAX_UNPACKED]; /* of its sources; theirs */
    int n_unpacked;
    struct stk__leave leave;               /* to keep more */
    atomic_int n_unasked;                  /* questions for more that would be answered with no */
    atomic_uint_fast64_t n_hits, n_misses; /* of caches; without the lock */
    bool is_cache_full;                    /* the last one that asked for room got none */
    size_t typical_scratch;                /* the most of any stage */
    _Atomic size_t packed_bytes; /* of the last batch whose fields were brought together */
    bool is_resting;             /* the run is over, and nothing is kept */
    bool is_trimming;            /* memory is being given back, which credits accounts */
    unsigned n_credits;          /* since the run began */
    size_t asked_bytes;          /* booked for reads that have not come yet */
    int n_scratching;            /* tickets of segments that are being run */
    int n_scratch_waiting;       /* of which a large element waits for others to be done */
    pthread_cond_t scratch_back;
    struct stk__account scratch_account;
    struct stk__worker *chooser;                              /* who is looking for work */
    uint64_t take_pass, taken, take_holes;                    /* the last segment, at its tail */
    uint64_t open_pass, opened, open_holes, claimed, base_no; /* and at its opened cursor */
    struct stk__account batch_account;
    struct stk_batch **batch; /* [max_window]; see stk__batch_slot */
    uint64_t opened_no, current_no;
    int n_open, fill; /* n_open: opened and not yet delivered */
    /* What the consumer had when it last asked, at least one: a loop that still has the batch
     * before the one it was given is waited for, so that memory for it is never taken. */
    int n_held;
    bool is_batcher_busy;
    struct stk__gate gate[STK__MAX_GATES];
    uint64_t counter[STK__MAX_LEVELS]; /* as of a source, at the batcher */
    /* batches of this pass that came out of the level's repeat */
    uint64_t n_yielded[STK__MAX_LEVELS];
    int closed_level;             /* a gate of this depth needs no more of its pass; -1: none */
    struct stk_position position; /* of the batcher */
    struct stk__restart restart;  /* behind the last row that it used */
    uint64_t n_dropped;           /* rows to come that were used before the run was resumed */
    struct stk__bookmark handed;  /* the end of the batch that next last returned */
    struct stk__bookmark before;  /* and of the one before it */
    struct stk_batch *unread;     /* one that was given back: next returns it again; or NULL */
    struct stk__judge judge;      /* the batcher's; changed by whoever holds its busy bit */
    struct stk_error error;       /* how the run ended */
    struct stk__delivery *queue;
    int queue_cap, queue_head, queue_len;
    struct stk_stats stats;
    struct stk__decisions decisions;
    struct stk__lot *all_lots;
    struct stk_chunk *spare_row; /* where a replacement is made; the batcher's */
    struct stk__pace {
        /* averages of the time between and in calls of next */
        uint64_t left_at, outside_ns, inside_ns;
        bool is_quick; /* a batch costs the consumer less than waking somebody else */
    } pace;
    struct stk__knob window, workers; /* batches in flight; threads that compute at a time */
    struct stk__pulse pulse;
    struct stk__hook hook;
    struct stk__consumer {
        uint64_t left_at;   /* when next last returned; 0: not yet called */
        uint64_t polled_ns; /* in calls that gave up, since the last delivery */
        uint64_t delivered_at;
        bool has_worked;    /* itself, since next was called */
        uint64_t packed_ns; /* it brought batches together that were ready otherwise */
        struct stk__consumer_metrics metrics;
    } consumer;
    /* waits are settled whenever somebody finds nothing to do, or goes on */
    int n_idle;             /* workers asleep, and the consumer */
    uint64_t settled_at;    /* when times of waiting were last added up */
    uint64_t process_began; /* processor time of the process by then */
    uint64_t idle_ns;       /* of workers */
    int n_op_meters;
    struct stk__worker *worker; /* [n_workers + 1]: the last is the consumer's */
    int n_workers, n_started;
    pid_t pid;
    struct stk__causes causes; /* has a lock of its own */
    /* NULL: nobody records; written once, with the lock held, pairs with those who record */
    struct stk__tracer *_Atomic tracer;
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

/* ---- memory (accounts.c, lots.c); all under the lock ---- */

int stk__accounts_begin(struct stk__exec *x, struct stk_error *err);
void stk__accounts_end(struct stk__exec *x);

/* A run that took about so many bytes is freed: what malloc keeps of many small ones goes back, too. */
void stk__accounts_forget(size_t taken_bytes);

/* stk_iterator_memory. */
int stk__accounts_look(const struct stk__exec *x, int index, struct stk_memory_use *out);

/* Whether there is room for that many bytes more; makes some if it can. */
bool stk__can_charge(struct stk__exec *x, const struct stk__account *account, size_t bytes);

/* The same for the next chunk of a stage, which may have one at hand. */
bool stk__can_open_lot(struct stk__exec *x, const struct stk__stage *stage);

/* Whether `bytes` more would be beyond the limit in what is there. */
bool stk__is_crowded(const struct stk__exec *x, const struct stk__account *account, size_t bytes);

/* As stk__can_charge, but only looks. */
bool stk__has_room_for(const struct stk__exec *x, const struct stk__account *account, size_t bytes);

/* Chunks of arrays that its sources have unpacked. Where several runs have the same source, each counts them. */
size_t stk__unpacked_bytes(const struct stk__exec *x);

/* What the run takes, counted where it is allocated. */
int64_t stk__memory_there(const struct stk__exec *x);
void stk__account_charge(struct stk__exec *x, struct stk__account *account, size_t bytes);
void stk__account_credit(struct stk__exec *x, struct stk__account *account, size_t bytes);

/* Counts bytes that caches have. */
void stk__hold_cached(struct stk__exec *x, size_t bytes);

/* Bytes for caches, for good: what the plan leaves them, while nobody else has it. Takes the lock
 * itself; `exec` is a stk__exec. */
bool stk__reserve_cache(void *exec, size_t bytes);

/* The run is over though nobody has freed it yet: what is kept for another time goes back to the
 * system, and what was taken of the process's budget to others. */
void stk__accounts_rest(struct stk__exec *x);

/* Scratch for a ticket of a segment that the chooser is about to run: it is charged before anything
 * else is for the ticket, and corrected by what it turned out to be. False: there is none; one
 * ticket always gets it. */
size_t stk__scratch_guess(const struct stk__plan *plan, const struct stk__stage_plan *stage);
bool stk__scratch_begin(struct stk__exec *x, const struct stk__stage *stage);
void stk__scratch_undo(struct stk__exec *x); /* there is no such ticket */
void stk__scratch_end(struct stk__exec *x, struct stk__stage *stage, struct stk__worker *worker);

/* By the worker itself, without the lock: gives back what libraries left to malloc, where that is much. */
void stk__scratch_unload(const struct stk__exec *x, struct stk__worker *worker);

/* A worker goes on with work that takes no scratch: where others would have to wait, it keeps none. */
void stk__scratch_leave(struct stk__exec *x, struct stk__worker *worker);

/* struct stk__gauge's grant; takes the lock itself. */
bool stk__scratch_grant(void *worker, size_t wanted_bytes, bool is_forced);

/* What one more output chunk of a stage is expected to take. */
size_t stk__lot_bytes(const struct stk__stage *stage);

/* Returns new, charged; NULL when the system has no memory, after ending the run. */
struct stk__lot *stk__lot_new(struct stk__exec *x, struct stk__stage *stage);
void stk__lot_unref(struct stk__exec *x, struct stk__lot *lot);
void stk__lot_free(struct stk__lot *lot); /* which is in no list */

/* True if it is to be handed on. There is room for as many rows as were expected to be enough, and they may be
 * larger. By whoever fills it, without the lock. */
bool stk__lot_is_full(struct stk__lot *lot);

/* Its rows are there: corrects what it is charged, and what the next ones of its stage are expected to take. */
void stk__lot_settle(struct stk__exec *x, struct stk__lot *lot);

/* Where batch number `no` is while it is open. */
static inline struct stk_batch **stk__batch_slot(const struct stk__exec *x, uint64_t no)
{
    return &x->batch[no % (uint64_t)x->plan->max_window];
}

/* ---- rings ---- */

static inline struct stk__ticket *stk__slot_at(struct stk__ring *r, uint64_t seq)
{
    return &r->slot[seq % r->cap];
}

static inline bool stk__has_room(const struct stk__ring *r)
{
    return r->tail - r->head < r->cap;
}

/* Nobody waits for more. A cancelled run shows it before whoever cancelled it gets the lock. */
static inline bool stk__is_over(const struct stk__exec *x)
{
    return x->is_stopped || atomic_load_explicit(x->cancelled, memory_order_relaxed);
}

static inline struct stk__stage *stk__last_stage(struct stk__exec *x)
{
    return &x->stage[x->plan->last];
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

/* ---- stages; pick functions run under the lock, run functions outside it ---- */

bool stk__pick_fetch(struct stk__exec *x, struct stk__work *w);
void stk__run_fetch(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w);

/* Begins what its kind needs; the plan, the ring and the counters are there. */
int stk__stage_begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err);

int stk__gates_begin(struct stk__exec *x, struct stk_error *err);

/* Brings the gates to where they were. */
void stk__gates_resume(struct stk__exec *x, const struct stk__bookmark *from);
void stk__gates_end(struct stk__exec *x);

/* True if the batch that is complete is to be delivered. */
bool stk__gates_pass(struct stk__exec *x);

/* Before the first row of a pass: a gate may be closed from the start. */
void stk__gates_check(struct stk__exec *x);
void stk__gates_end_pass(struct stk__exec *x, int level);

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

/* True if somebody is inside the lock that the stage's rows need. */
bool stk__is_locked(const struct stk__exec *x, const struct stk__stage *s);

/* Fills in an evaluation of n rows from positions or from a chunk; see segment.c. */
int stk__eval_prepare(struct stk__exec *x, struct stk__worker *worker, struct stk__stage *s,
                      struct stk__ticket *t, struct stk__eval *e);

/* After an evaluation that ended with STK_AGAIN: a row that was kept is gone, and nothing was read for
 * it. Reads, and evaluates again. */
int stk__eval_again(struct stk__exec *x, struct stk__eval *eval, struct stk__fetched **fetched);

/* ---- reads by request (fetch.c) ---- */

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

/* ---- counting (metering.c) ---- */

int stk__meters_init(struct stk__exec *x, struct stk_error *err);
void stk__meters_free(struct stk__worker *worker);

/* Of a stage's tickets or steps; of asking for its reads; of the batcher (NULL). */
struct stk__work_meter *stk__work_meter_of(const struct stk__worker *worker,
                                           const struct stk__stage *stage, bool is_asking);

/* Around a piece of work, outside the lock, by the worker that does it. */
void stk__work_begin(struct stk__worker *worker, const struct stk__work *w);
void stk__work_end(struct stk__worker *worker, const struct stk__work *w);

/* The consumer comes to next, leaves with a batch, or gives up; with the lock held. */
void stk__consumer_enters(struct stk__exec *x, uint64_t now);
void stk__consumer_leaves(struct stk__exec *x, uint64_t entered, uint64_t now, bool has_batch);

/* ---- waiting (waits.c); all under the lock ---- */

/* A worker, the consumer's too, finds nothing to do; returns the time. It goes on; returns how long
 * that was. */
uint64_t stk__idle_begin(struct stk__exec *x);
uint64_t stk__idle_end(struct stk__exec *x, const struct stk__worker *worker, uint64_t began);

/* Adds up the time that stages have waited; and looks again what they wait for. */
void stk__waits_settle(struct stk__exec *x, uint64_t now);
void stk__waits_look(struct stk__exec *x, uint64_t now);

/* ---- running (exec.c) ---- */

/* False in a child that was forked while the run was on: its locks may be held by threads that
 * are not there. */
bool stk__exec_is_ours(const struct stk__exec *x);
void stk__wake_worker(struct stk__exec *x);

/* The judges of a run, in turn: that of a batch before other ops, and the batcher's; NULL: there are no more. */
struct stk__judge *stk__exec_judge(struct stk__exec *x, int index);

/* Does one piece of work, if there is one; called with the lock held, as the consumer. */
bool stk__exec_work(struct stk__exec *x);

/* Starts a run, at a bookmark of another run of the same plan if `from` is not NULL. */
int stk__exec_new(struct stk__plan *plan, const struct stk__bookmark *from, struct stk__exec **out,
                  struct stk_error *err);

/* milliseconds < 0: waits for ever. */
int stk__exec_next(struct stk__exec *x, int64_t milliseconds, struct stk_batch **batch,
                   struct stk_error *err);

/* Takes back the batch that next last returned: the next one gives it again. */
int stk__exec_unread(struct stk__exec *x, struct stk_batch *batch, struct stk_error *err);
void stk__exec_cancel(struct stk__exec *x);
void stk__exec_free(struct stk__exec *x);

/* After STK_END: true if nothing is booked that should not be. For tests. */
bool stk__exec_is_clean(struct stk__exec *x);
void stk__exec_dump(struct stk__exec *x, struct stk__text *out);
