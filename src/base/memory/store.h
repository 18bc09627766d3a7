/* SPDX-License-Identifier: Apache-2.0 */
/* store.h: rows in memory that are found again by their number.
 *
 * A row comes in once and stays: nothing is ever moved or thrown out, so whoever has found a row may
 * look at it for as long as the store lives, without a lock. Rows lie in pages, chunks of a power of
 * two of rows that have their numbers side by side; a page has its memory from its first row on.
 *
 *     number 0x2f7 ──▶ page 0x2f ──▶ directory (a hash table) ──▶ chunk, row 7
 *
 * A row's state says whether it is there: ABSENT, then COMING for the one who writes it, then
 * THERE. Memory is asked for before it is taken (struct stk__leave); who gets none keeps nothing,
 * and may ask again. All functions may be called by any thread.
 */
#pragma once
#include "base/rows/chunk.h"

struct stk__store;

/* Whom to ask for memory: false when there is none for this. What is granted is on the process's
 * purse, as what caches keep, until the store is freed. */
struct stk__leave {
    bool (*ask)(void *ctx, size_t bytes);
    void *ctx;
};

/* Returns new: rows of this type (copied), with what `parts` says (enum stk__chunk_parts).
 * `is_sparse`: numbers lie far apart. NULL when out of memory. */
struct stk__store *stk__store_new(const struct stk_type *type, int parts, bool is_sparse);

/* Delivered rows that lie in its memory keep that alive. NULL is fine. */
void stk__store_free(struct stk__store *store);

/* True if the row is there, from now on. */
bool stk__store_has(const struct stk__store *store, uint64_t number);

/* A row in a store. */
struct stk__stored {
    const struct stk__chunk *page;
    int row;
};

/* Finds the first of n rows with numbers side by side; returns how many of them, from the first on,
 * are there and in one page. */
int stk__store_find(const struct stk__store *store, uint64_t number, int n,
                    struct stk__stored *out);

/* The fault of a row that was kept as bad, as one of row `row` of a list. */
void stk__store_add_fault(struct stk__store *store, struct stk__stored stored, int row,
                          struct stk__fault **list);

/* A row to keep: row `row` of these columns. */
struct stk__row_ref {
    const struct stk_column *column;
    int row;
    const struct stk__key *key;         /* or NULL */
    const struct stk__address *address; /* or NULL */
    const struct stk_span *trace;       /* or NULL */
    bool is_bad;
    const struct stk__fault *fault; /* why; NULL: out of memory */
};

/* Copies the row. False if it was not kept: without memory; or somebody else is at it or was. */
bool stk__store_keep(struct stk__store *store, uint64_t number, const struct stk__row_ref *row,
                     const struct stk__leave *leave);

struct stk__store_size {
    uint64_t rows, bytes;
};
struct stk__store_size stk__store_size(const struct stk__store *store);

/* Rows that come in order: how many are there from number 0 on, */
uint64_t stk__store_prefix(const struct stk__store *store);

/* and whether those are all there will ever be. */
bool stk__store_is_whole(const struct stk__store *store);
void stk__store_set_whole(struct stk__store *store);
