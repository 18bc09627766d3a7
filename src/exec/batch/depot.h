/* SPDX-License-Identifier: Apache-2.0 */
/* depot.h: what is delivered, and the depot that batches return to. */
#pragma once
#include "exec/batch/bookmark.h"

#include <pthread.h>
#include <sys/types.h>

/* Batches waiting for use. Lives as long as its iterator and every batch that is out. */
struct stk__depot {
    pthread_mutex_t lock; /* guards all numbers, is_awaited and kept */
    int refs, n_kept, max_kept;
    int n_live;             /* batches in use, by the iterator or whoever has them */
    size_t packed_bytes;    /* of fields that were brought together, in batches in use */
    int n_packed;           /* such batches */
    bool is_awaited;        /* wake is to be called when there are fewer */
    pthread_mutex_t waking; /* guards waiter; taken before any lock of the waiter's */
    void (*wake)(void *waiter);
    void *waiter;
    pid_t pid; /* of the process whose threads use the lock */
    struct stk_batch *kept;
    struct stk__plan *plan;
    struct stk__pool *pool;
};

/* One field of a batch whose rows are not fixed, brought together. */
struct stk__packed {
    struct stk_buffer *buffer; /* NULL: the only row's own bytes */
    uint8_t *data;
    int64_t *splits;            /* NULL for shaped fields */
    int64_t n_splits, n_values; /* values: bytes, or entries of a ragged field */
    int64_t *row_splits;        /* NULL unless rows are lists of texts, or of lists */
    int64_t n_row_splits;
    int32_t dims[STK_MAX_RANK];
};

struct stk_batch {
    atomic_int refs; /* pairs with itself: acq_rel on the last unref */
    struct stk__depot *depot;
    struct stk_batch *next;
    struct stk__chunk *chunk;
    int n;
    struct stk__bookmark bookmark; /* its end */
    struct stk__packed packed[STK_MAX_FIELDS];
    size_t packed_bytes; /* that were counted */
};

/* Returns new. Takes no reference to plan and pool beyond its own. */
struct stk__depot *stk__depot_new(struct stk__plan *plan, struct stk__pool *pool);
void stk__depot_unref(struct stk__depot *depot);

/* Names who is told of batches that come back. Once NULL is set it is called no more. */
void stk__depot_set_waiter(struct stk__depot *depot, void (*wake)(void *waiter), void *waiter);

/* How many batches wait for use at most; others are freed. */
void stk__depot_keep(struct stk__depot *depot, int most);

/* What batches and buffers of the pool take, for the budget; `n_open` batches are not delivered
 * yet. Two more count, delivered or to be: a loop lets go of one when it has the next. The rest are
 * the consumer's. */
size_t stk__depot_bytes(struct stk__depot *depot, int n_open);

/* Frees batches that wait for use. */
void stk__depot_trim(struct stk__depot *depot);

int stk__depot_n_live(struct stk__depot *depot);

/* True if fewer than `most` batches are in use; else the waiter is told of the next that comes
 * back. */
bool stk__depot_has_room(struct stk__depot *depot, int most);

/* True if the consumer has two batches or more; then the waiter is told, too. */
bool stk__depot_has_two_out(struct stk__depot *depot, int n_open);

/* Returns new with room for a batch, refs 1; NULL when out of memory. */
struct stk_batch *stk__batch_new(struct stk__depot *depot);

/* stk_batch_unref by the waiter itself, which need not be told. */
void stk__batch_give_back(struct stk_batch *batch);

/* Brings rows that are not fixed together. Fails when rows that must be equal in shape are not. */
int stk__batch_pack(struct stk_batch *batch, struct stk_error *err);

/* True if there is something to pack. */
bool stk__batch_is_apart(const struct stk_batch *batch);
