/* SPDX-License-Identifier: Apache-2.0 */
/* kept.h: what one cache keeps for runs of one kind: rows in memory (base/memory/store.h), or in a directory
 * (io/row_log.h). Any thread, except where it is said. */
#pragma once
#include "base/memory/store.h"
#include "op/cache/row_image.h"

struct stk__kept;

/* Where rows are kept on disk; directory NULL: in memory. */
struct stk__kept_home {
    const char *directory; /* for this kind of runs alone */
    const char *text;      /* what is in it, for people */
    int level;             /* of compression; 0: none */
};

/* Returns new, NULL when out of memory. Copies what it is given. */
struct stk__kept *stk__kept_new(const struct stk_type *type, int parts, bool is_sparse,
                                const struct stk__kept_home *home);
void stk__kept_free(struct stk__kept *kept);

/* Before the first row is asked for; opens the directory, once. */
int stk__kept_begin(struct stk__kept *kept, struct stk_error *err);

/* True if it is there; in memory from now on. */
bool stk__kept_has(struct stk__kept *kept, uint64_t number);

/* Fills in a row. STK_OK; STK_MEMORY; STK_DATA if it is not there, or no longer. */
int stk__kept_load(struct stk__kept *kept, uint64_t number, const struct stk__row_place *to);

void stk__kept_keep(struct stk__kept *kept, uint64_t number, const struct stk__row_ref *row,
                    const struct stk__leave *leave);

/* The rows, if they are in memory; else NULL. */
struct stk__store *stk__kept_store(struct stk__kept *kept);

/* Rows that come in order: how many there are from number 0 on, and whether those are all. */
uint64_t stk__kept_prefix(const struct stk__kept *kept);
bool stk__kept_is_whole(const struct stk__kept *kept);
void stk__kept_set_whole(struct stk__kept *kept);

/* How many rows a log holds when all of a pass are there, if that is written in it. */
bool stk__kept_end_of(struct stk__row_log *log, uint64_t *end);

struct stk__kept_size {
    uint64_t rows, bytes; /* bytes: in memory */
    uint64_t disk_bytes;
    uint64_t n_lost; /* records that could not be read again */
    char why[160];   /* why no more is written, or empty */
};
struct stk__kept_size stk__kept_size(struct stk__kept *kept);
