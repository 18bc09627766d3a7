/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h: what is delivered, and the depot that batches return to. */
#pragma once
#include "exec/plan.h"

#include <pthread.h>
#include <sys/types.h>

/* Batches waiting for use. Lives as long as its iterator and every batch that is out. */
struct stk__depot {
    pthread_mutex_t lock; /* guards refs, kept and n_kept */
    int refs, n_kept, max_kept;
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
    int32_t dims[STK_MAX_RANK];
};

struct stk_batch {
    atomic_int refs; /* pairs with itself: acq_rel on the last unref */
    struct stk__depot *depot;
    struct stk_batch *next;
    struct stk_chunk *chunk;
    int n;
    struct stk_position position;
    struct stk__packed packed[STK_MAX_FIELDS];
};

/* Returns new. Takes no reference to plan and pool beyond its own. */
struct stk__depot *stk__depot_new(struct stk__plan *plan, struct stk__pool *pool);
void stk__depot_unref(struct stk__depot *depot);

/* Returns new with room for a batch, refs 1; NULL when out of memory. */
struct stk_batch *stk__batch_new(struct stk__depot *depot);

/* Brings rows that are not fixed together. Fails when rows that must be equal in shape are not. */
int stk__batch_pack(struct stk_batch *batch, struct stk_error *err);
