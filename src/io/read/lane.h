/* SPDX-License-Identifier: Apache-2.0 */
/* lane.h: a queue of reads from one location, and what answers them.
 *
 *      asked: begin ─ add … add ─ end ──▶ queue ──▶ driver (threads, a ring, or whoever asks) ──▶ answered
 *
 * Requests come in sets; whoever answers the last of a set says so. How many reads are on their way at a time is
 * found by measuring: the width (width.h) is how many, the depth (depth.h) the most that pay. Reads that wait widen
 * the lane up to the depth, which is given or found. Reads that do not wait narrow it, down to none: then whoever
 * asks reads, since waking a thread costs as much as a read from the page cache.
 *
 * How many are asked for ahead of that, whoever asks decides by stk__lane_may_ask and stk__lane_most_ahead. A lane
 * knows nothing of who that is.
 */
#pragma once
#include "base/latency.h"
#include "io/read/depth.h"
#include "io/read/read_bytes.h"

struct stk__lane;

/* Who reads: whoever asks, where files are in memory; threads; or the ring's one. */
enum stk__reader { STK__READER_CALLER, STK__READER_THREAD, STK__READER_RING, STK__N_READERS };

const char *stk__reader_name(enum stk__reader reader);

/* A read that is done: of one request, or of neighbours. */
struct stk__read_done {
    uint64_t begun_at, ended_at, bytes;
    bool has_waited;
    enum stk__reader by;
};

/* Requests that are answered together. */
struct stk__read_set {
    atomic_int n_left; /* pairs with itself: the last request to finish publishes the rest */
    void *asker;
};

struct stk__lane_plan {
    struct stk__read_host host;
    /* The last request of a set was answered. Called without the lane's lock; ctx is the plan's. */
    void (*answered)(void *ctx, void *asker);
    /* A read is done; NULL: nobody wants to know. Called with the lane's lock held. */
    void (*watched)(void *ctx, const struct stk__read_done *done);
    void *ctx;
    int most_requests;  /* that will ever wait at a time */
    int most_depth;     /* reads at a time */
    int n_callers;      /* threads that compute and may ask */
    bool is_depth_auto; /* else it is most_depth */
    bool has_ring;      /* io_uring, where the system permits it */
    bool reads_places;  /* not whole files alone */
};

/* Returns new; fails when out of memory. Threads are started when they are needed. */
int stk__lane_new(const struct stk__lane_plan *plan, struct stk__lane **out, struct stk_error *err);

/* Waits for reads that are on their way; what was not begun is never answered. NULL is allowed. */
void stk__lane_free(struct stk__lane *lane);

/* What it reads with from now on; nothing may be on its way. */
void stk__lane_lend(struct stk__lane *lane, const struct stk__read_host *host);
const struct stk__read_host *stk__lane_host(const struct stk__lane *lane);

/* ---- asking ---- */

/* What one set has at most, for stk__lane_may_ask: each file is a request, and every so many places. */
enum { STK__PLACES_PER_REQUEST = 4 };

/* Whether more may be asked for, and counts `n` more (or fewer) as asked for. A set that has been answered does not
 * count any more once its asker says so. */
bool stk__lane_may_ask(const struct stk__lane *lane);
void stk__lane_count(struct stk__lane *lane, int n);
int stk__lane_n_open(const struct stk__lane *lane);

/* How many rows may be asked for before somebody needs them; see width.h. */
int stk__lane_most_ahead(const struct stk__lane *lane);

/* Takes the lock; then adds requests, which are copied: one for a file, and for n_all places as many as are good to be
 * read apart. Both return how many. */
void stk__lane_begin(struct stk__lane *lane);
int stk__lane_add_file(struct stk__lane *lane, const struct stk__read_request *request);
int stk__lane_add_places(struct stk__lane *lane, const struct stk__read_request *request,
                         int n_all);

/* Ends a set with n requests: releases the lock, wakes who reads, and reads itself where that is quicker. Of a set
 * of none nobody is told. */
void stk__lane_end(struct stk__lane *lane, struct stk__read_set *set, int n);

/* ---- looking ---- */

enum { STK__MAX_LANE_CHANGES = 4 };

/* Depths that were found since somebody last asked; returns how many. `is_waited_for`: somebody who could compute
 * waits for a read, so more may be asked for and more be on their way. */
int stk__lane_review(struct stk__lane *lane, bool is_waited_for,
                     struct stk__depth_change change[STK__MAX_LANE_CHANGES]);

struct stk__read_metrics {
    uint64_t n, bytes, wall_ns;  /* requests, what they brought, their time together */
    struct stk__latency latency; /* of requests */
    int n_open;                  /* now: asked for, not yet there */
    int depth;                   /* the most at a time that pay, or that were asked for */
    int width; /* at a time, now; 0: files are in memory, and whoever asks reads */
    uint64_t by[STK__N_READERS]; /* of `n`, by who did them */
};

/* All but `bytes`, which count once whoever asked has them. */
void stk__lane_look(struct stk__lane *lane, struct stk__read_metrics *out);

/* 0 if an io_uring can be made here, else the number of why not. */
int stk__ring_error(void);
