/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h: a device that does not exist, for files that are read under interpose.c.
 *
 *     latency      a request takes this long, however many are on their way
 *     bandwidth    bytes come one request after the other, so many per second
 *     seek         a disk: requests are served one at a time, in the order they came, and one that
 *                  does not begin where the last one ended takes this much longer
 *
 * All threads share the device, and all processes forked from this one; a state file shares it with
 * others, too.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Takes what the device is from the environment. */
void storage_start(void);

/* True if reads take time. */
bool storage_is_slow(void);

/* Books the read of up to `bytes` at an offset, below 0: where the descriptor stands. Returns when
 * the device will be done; 0: it is not asked, because nothing is there. */
uint64_t storage_book(int fd, off_t offset, size_t bytes);

/* Books the opening of a file. */
uint64_t storage_book_open(void);

/* Sleeps until the clock says so. */
void storage_wait(uint64_t until_ns);

/* What the device was asked for so far, by all who share it. */
struct storage_counts {
    unsigned long n_requests, bytes;
    unsigned long n_seeks; /* requests that did not begin where the one before them ended */
    unsigned long travel;  /* bytes between those within one file */
};
struct storage_counts storage_counts(void);

/* What a variable of the environment says; 0: nothing. */
unsigned long storage_number(const char *variable);
