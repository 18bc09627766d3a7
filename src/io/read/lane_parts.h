/* SPDX-License-Identifier: Apache-2.0 */
/* lane_parts.h: the inside of a lane: lane.c (asking, learning), lane_queue.c (order), and a driver for each way to
 * answer. All is guarded by the lane's lock but what says otherwise.
 *
 * A driver takes requests, reads without the lock, hands on what it read, and then notes how that went. It starts
 * its threads as it needs them.
 */
#pragma once
#include "io/read/lane.h"
#include "io/read/width.h"

#include <pthread.h>

struct stk__ring_reads;

struct stk__lane_driver {
    /* So many requests more are there, and the width may have changed; starts and wakes threads. */
    void (*wake)(struct stk__lane *lane, int n);
    void (*free)(struct stk__lane *lane); /* what it has; its threads have ended. NULL: nothing */
    bool
        takes_places_apart; /* it gains nothing from requests of several places that are no neighbours */
};

struct stk__lane_queue {
    struct stk__read_request *item;
    int cap, head, len;
    int sweep_left; /* of the oldest, in the order of their places */
};

/* Changes of the depth that nobody has asked for yet. */
struct stk__lane_news {
    struct stk__depth_change change[STK__MAX_LANE_CHANGES];
    atomic_int n;
    int told_depth; /* of the last one */
};

struct stk__lane {
    struct stk__lane_plan plan;
    const struct stk__lane_driver *driver;
    struct stk__ring_reads *ring; /* the driver's, if it is the ring */
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct stk__lane_queue queue;
    struct stk__width width;
    struct stk__depth depth;
    struct stk__lane_news news;
    pthread_t *thread; /* [plan.most_depth] */
    int n_threads, n_idle;
    bool is_stopped;
    atomic_int n_open,
        most_open; /* asked for; doubled whenever somebody waits, up to twice the depth */
    atomic_int most_ahead;
    struct stk__read_metrics seen;
};

extern const struct stk__lane_driver stk__thread_driver, stk__ring_driver;

/* ---- lane_queue.c ---- */

/* Whether the order of places matters: a disk has one head, which shows in that a few reads at a time are as fast as
 * many. */
bool stk__lane_is_swept(const struct stk__lane *lane);

void stk__lane_push(struct stk__lane *lane, const struct stk__read_request *request);

/* Takes the oldest request, and those that lie behind it in its file; returns how many. There is room for
 * STK__MOST_NEIGHBOURS. */
int stk__lane_take(struct stk__lane *lane, struct stk__read_request *request);

/* The most that neighbours are read in one go. */
static const uint64_t stk__most_read_bytes = 1 << 20;

/* ---- lane.c ---- */

/* Starts a thread of the driver's; false if the system has none. */
bool stk__lane_start_thread(struct stk__lane *lane, void *(*main)(void *lane));

/* Counts a read and hands on what was read: who has it finds it counted. Without the lock, which it takes for a moment;
 * the requests may be gone then. */
void stk__lane_hand_on(struct stk__lane *lane, const struct stk__read_request *request, int n,
                       struct stk__read_done *done);

/* Learns from a read. */
void stk__lane_note(struct stk__lane *lane, const struct stk__read_done *done);

/* Whether one that took so long may have waited for storage; of others that need not be found out. */
bool stk__lane_is_slow(uint64_t ns);

/* ---- lane_threads.c ---- */

/* Reads the oldest request and its neighbours here and now; called and left with the lock held. */
void stk__lane_serve(struct stk__lane *lane, enum stk__reader by);

/* ---- lane_ring.c ---- */

/* Returns new; NULL where the system refuses a ring or has no memory for it. */
struct stk__ring_reads *stk__ring_new(int depth);
