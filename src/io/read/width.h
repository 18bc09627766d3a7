/* SPDX-License-Identifier: Apache-2.0 */
/* width.h: how many threads read at a time, at most as many as the depth says; none: whoever asks reads,
 * since waking a thread costs as much as a read from the page cache.
 *
 * Reads that wait widen it, a row of reads that do not halve it, down to none. A read from memory is slow
 * now and then (the thread lost its core, a page had to be found), which is no reason to begin again: it takes
 * a few of them close together, and more each time that it was in vain. A pure function of what it is
 * told, without a clock or a lock of its own.
 */
#pragma once
#include <stdbool.h>

struct stk__width {
    int now;
    int n_quick;    /* reads in a row that did not wait */
    int n_slow;     /* that waited: of late while nobody reads, else since somebody does */
    int n_needed;   /* of those, to begin */
    bool has_begun; /* and did: the first threads are there without a reason */
};

void stk__width_begin(struct stk__width *width, int now);

/* A read waited: true if there should be more, if there are any to read. */
bool stk__width_slow(struct stk__width *width);

/* A read did not wait: true if nobody reads from now on. */
bool stk__width_quick(struct stk__width *width);

/* How many rows may have been asked for before somebody runs them, beyond two tickets for each who computes. None
 * where files are in memory: they need not be read before there is time for them; what waits only takes
 * memory, and is gone from the processor's caches when its turn comes. From storage, twice what is on its way may
 * be there and wait. Places of large files are asked for early, so that neighbours find each other: those have
 * no limit but memory. */
int stk__most_ahead(const struct stk__width *width, int depth, bool reads_places);
