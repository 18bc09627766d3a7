/* SPDX-License-Identifier: Apache-2.0 */
/* run_memory.h: what a run books of its budget, and chunks with a count of their users. All under the run's lock.
 *
 * Every account owns one unit for ever; what it holds above that comes from the spare budget. A stage that can go on
 * with one unit can therefore never be starved by another. Nothing waits for memory: work without it is not ready.
 */
#pragma once
#include "base/memory/gauge.h"
#include "base/memory/purse.h"
#include "base/rows/chunk.h"

#include <pthread.h>
#include <stoker/stoker.h>

struct stk__chunk_cache;
struct stk__exec;
struct stk__plan;
struct stk__stage;
struct stk__stage_plan;
struct stk__worker;

struct stk__account {
    size_t unit_bytes, held_bytes, peak_bytes;
};

/* A chunk with its reference count. */
struct stk__lot {
    struct stk__chunk *chunk;
    struct stk_buffer *memory; /* that the chunk lies in: the pool's, which counts it */
    int refs;
    size_t charged;
    int n_weighed; /* rows whose bytes are known, apart from their place in the chunk: */
    size_t pointed_bytes;
    struct stk__stage *stage; /* who pays */
    struct stk__lot *next_free, *next_all;
};

enum { STK__MAX_UNPACKED = 16 };

struct stk__run_memory {
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
    struct stk__leave leave;     /* to keep more */
    atomic_int n_unasked;        /* questions for more that would be answered with no */
    bool is_cache_full;          /* the last cache that asked for room got none */
    size_t typical_scratch;      /* the most of any stage */
    _Atomic size_t packed_bytes; /* of the last batch whose fields were brought together */
    bool is_resting;             /* the run is over, and nothing is kept */
    bool is_trimming;            /* memory is being given back, which credits accounts */
    unsigned n_credits;          /* since the run began */
    size_t asked_bytes;          /* booked for reads that have not come yet */
    int n_scratching;            /* tickets of segments that are being run */
    int n_scratch_waiting;       /* of which a large element waits for others to be done */
    pthread_cond_t scratch_back;
    struct stk__account scratch_account, batch_account;
    struct stk__lot *all_lots;
};

/* ---- accounts.c ---- */

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

/* Of a worker that is done with work that the run did not wait for to its end: nothing is kept. */
void stk__scratch_rest(const struct stk__exec *x, struct stk__worker *worker);

/* A worker goes on with work that takes no scratch: where others would have to wait, it keeps none. */
void stk__scratch_leave(struct stk__exec *x, struct stk__worker *worker);

/* struct stk__gauge's grant; takes the lock itself. */
bool stk__scratch_grant(void *worker, size_t wanted_bytes, bool is_forced);

/* ---- lots.c ---- */

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
