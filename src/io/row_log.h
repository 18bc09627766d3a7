/* SPDX-License-Identifier: Apache-2.0 */
/* row_log.h: numbered records in a directory, which are added one by one and found again.
 *
 *     DIR/rows    record | record | …          the truth: a header with a checksum, and the bytes
 *     DIR/index   block | block | …            where they are, so that nobody reads all of them
 *     DIR/text    what it is of, for people
 *     DIR/lock    held by the one that writes
 *
 * Both files only grow. Whenever a process is killed, what it had written is there: blocks and
 * records are good or not by their checksums, and records behind the last good block are found by
 * going over them. The next one to write cuts off what is not good. Of two records with one number
 * the later one counts. A record lies within a gigabyte of the file, which is mapped as a whole.
 *
 * One process writes (flock); others read what was there when they opened it. Nothing that is read
 * is trusted: a file may be damaged, cut short or gone at any time, which is the loss of a record
 * and never wrong bytes. All functions but open and close may be called by any thread.
 */
#pragma once
#include "io/map_guard.h"

#include <stoker/stoker.h>
#include <sys/uio.h>

struct stk__row_log;

enum { STK__LOG_PIECES = 48 };

/* Opens or makes a log. `text` is written to a new one. */
int stk__row_log_open(const char *directory, const char *text, struct stk__row_log **out,
                      struct stk_error *err);
/* Opens one to look at it: nothing is made, locked or cut. */
int stk__row_log_look(const char *directory, struct stk__row_log **out, struct stk_error *err);

/* Somebody writes it now. */
bool stk__row_log_is_busy(const char *directory);
void stk__row_log_close(struct stk__row_log *log); /* NULL is fine */

/* Where a record is. */
struct stk__log_entry {
    uint64_t number, offset, bytes;
    uint32_t crc, flags; /* flags: 16 bits of whoever adds it */
};

/* True if it is there and was not lost. */
bool stk__row_log_find(struct stk__row_log *log, uint64_t number, struct stk__log_entry *out);

/* The next record of a walk over all that are there, in no order; `walk` begins as 0. Nobody may add
 * any meanwhile. */
bool stk__row_log_next(struct stk__row_log *log, uint64_t *walk, struct stk__log_entry *out);

/* Copies all bytes of a record, in pieces one behind the other (their sources are filled in), and
 * checks them. False: they are lost. */
bool stk__row_log_read(struct stk__row_log *log, const struct stk__log_entry *entry,
                       struct stk__copy *piece, int n);

/* The first bytes of a record, unchecked. */
bool stk__row_log_peek(struct stk__row_log *log, const struct stk__log_entry *entry, void *into,
                       size_t bytes);

/* Forgets a record that could not be read; it may be added again. */
void stk__row_log_lose(struct stk__row_log *log, uint64_t number);

/* Adds a record. False if it is there already, or cannot be written. */
bool stk__row_log_add(struct stk__row_log *log, uint64_t number, uint32_t flags,
                      const struct iovec *piece, int n);

/* Bytes of memory that it takes with one more record. */
size_t stk__row_log_bytes(struct stk__row_log *log);

struct stk__log_state {
    uint64_t n, bytes, n_lost;
    bool is_written; /* by this process */
    char why[160];   /* why nothing more is written, or empty */
};
struct stk__log_state stk__row_log_state(struct stk__row_log *log);
