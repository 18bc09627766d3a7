/* SPDX-License-Identifier: Apache-2.0 */
/* lane.c: how a lane begins and ends, is asked, and learns from what was read. */
#include "base/error.h"
#include "io/data_file.h"
#include "io/read/lane_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *stk__reader_name(enum stk__reader reader)
{
    static const char *const names[] = { "caller", "threads", "ring" };
    return names[reader];
}

/* ---- beginning and ending ---- */

static void limit_ahead(struct stk__lane *lane)
{
    int most = stk__most_ahead(&lane->width, lane->depth.now, lane->plan.reads_places);
    if (most != atomic_load_explicit(&lane->most_ahead, memory_order_relaxed))
        atomic_store_explicit(&lane->most_ahead, most, memory_order_relaxed);
}

/* A few requests and two threads begin: the first batch does not wait for reads of later ones. */
static void begin_small(struct stk__lane *lane)
{
    const struct stk__lane_plan *plan = &lane->plan;
    atomic_init(&lane->most_open, 2 * (plan->n_callers + 1));
    stk__width_begin(&lane->width, plan->most_depth < 2 ? plan->most_depth : 2);
    stk__depth_begin(&lane->depth, plan->is_depth_auto ? 4 : plan->most_depth, plan->most_depth);
    lane->news.told_depth = lane->depth.now;
    limit_ahead(lane);
}

int stk__lane_new(const struct stk__lane_plan *plan, struct stk__lane **out, struct stk_error *err)
{
    struct stk__lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return stk__out_of_memory(err);
    lane->plan = *plan;
    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->work, NULL);
    if (plan->has_ring)
        lane->ring = stk__ring_new(plan->most_depth);
    lane->driver = lane->ring ? &stk__ring_driver : &stk__thread_driver;
    begin_small(lane);
    lane->queue.cap = plan->most_requests;
    lane->queue.item = calloc((size_t)plan->most_requests, sizeof *lane->queue.item);
    lane->thread = calloc((size_t)plan->most_depth, sizeof *lane->thread);
    *out = lane;
    return lane->queue.item && lane->thread ? STK_OK : stk__out_of_memory(err);
}

bool stk__lane_start_thread(struct stk__lane *lane, void *(*main)(void *lane))
{
    if (lane->is_stopped || pthread_create(&lane->thread[lane->n_threads], NULL, main, lane))
        return false;
    lane->n_threads++;
    return true;
}

void stk__lane_free(struct stk__lane *lane)
{
    if (!lane)
        return;
    pthread_mutex_lock(&lane->lock);
    lane->is_stopped = true;
    pthread_cond_broadcast(&lane->work);
    int n = lane->n_threads;
    pthread_mutex_unlock(&lane->lock);
    for (int i = 0; i < n; i++)
        pthread_join(lane->thread[i], NULL);
    if (lane->driver->free)
        lane->driver->free(lane);
    pthread_cond_destroy(&lane->work);
    pthread_mutex_destroy(&lane->lock);
    free(lane->thread);
    free(lane->queue.item);
    free(lane);
}

void stk__lane_lend(struct stk__lane *lane, const struct stk__read_host *host)
{
    lane->plan.host = *host;
}

const struct stk__read_host *stk__lane_host(const struct stk__lane *lane)
{
    return &lane->plan.host;
}

/* ---- asking ---- */

bool stk__lane_may_ask(const struct stk__lane *lane)
{
    return lane->n_open < lane->most_open;
}

void stk__lane_count(struct stk__lane *lane, int n)
{
    atomic_fetch_add(&lane->n_open, n);
}

int stk__lane_n_open(const struct stk__lane *lane)
{
    return atomic_load(&lane->n_open);
}

int stk__lane_most_ahead(const struct stk__lane *lane)
{
    return atomic_load_explicit(&lane->most_ahead, memory_order_relaxed);
}

void stk__lane_begin(struct stk__lane *lane)
{
    pthread_mutex_lock(&lane->lock);
}

int stk__lane_add_file(struct stk__lane *lane, const struct stk__read_request *request)
{
    stk__lane_push(lane, request);
    return 1;
}

/* One request where reads are quick, else a few that threads can share, and more of neighbours. */
int stk__lane_add_places(struct stk__lane *lane, const struct stk__read_request *request, int n_all)
{
    struct stk__read_request r = *request;
    bool is_apart = lane->driver->takes_places_apart || stk__lane_is_swept(lane);
    int n = 0, group = is_apart ? 1 : STK__PLACES_PER_REQUEST;
    while (n_all) {
        uint64_t bytes = r.place[0].bytes;
        r.run_bytes = r.place[0].file == STK__NOWHERE ? 0 : bytes;
        for (r.n = 1; r.n < n_all; r.n++) {
            const struct stk__file_place *place = &r.place[r.n * r.step];
            bool is_run = r.run_bytes && stk__place_follows(place - r.step, place);
            bytes += place->bytes;
            if (lane->width.now && ((r.n >= group && !is_run) || bytes > stk__most_read_bytes))
                break;
            r.run_bytes = is_run ? place->offset + place->bytes - r.place[0].offset : 0;
        }
        stk__lane_push(lane, &r);
        n_all -= r.n;
        r.place += r.n * r.step;
        r.result += r.n * r.step;
        n++;
    }
    return n;
}

void stk__lane_end(struct stk__lane *lane, struct stk__read_set *set, int n)
{
    atomic_store(&set->n_left, n); /* before the lock is released and drivers see them */
    lane->driver->wake(lane, n);
    while (lane->queue.len && (lane->width.now == 0 || lane->n_threads == 0))
        stk__lane_serve(lane, STK__READER_CALLER);
    pthread_mutex_unlock(&lane->lock);
}

void stk__lane_hand_on(struct stk__lane *lane, const struct stk__read_request *r, int n,
                       struct stk__read_done *done)
{
    uint64_t ns = done->ended_at - done->begun_at;
    pthread_mutex_lock(&lane->lock);
    stk__latency_add(&lane->seen.latency, ns);
    lane->seen.wall_ns += ns;
    lane->seen.by[done->by]++;
    pthread_mutex_unlock(&lane->lock);
    for (int i = 0; i < n; i++) {
        done->bytes += stk__fetched_bytes(r[i].result, r[i].n, r[i].step);
        if (atomic_fetch_sub_explicit(&r[i].set->n_left, 1, memory_order_acq_rel) == 1)
            lane->plan.answered(lane->plan.ctx, r[i].set->asker);
    }
}

/* ---- learning ---- */

/* A read that takes longer may have waited for storage. */
static const uint64_t slow_ns = 300000;

bool stk__lane_is_slow(uint64_t ns)
{
    return ns >= slow_ns;
}

static void widen(struct stk__lane *lane, int most)
{
    most = most < lane->depth.now ? most : lane->depth.now;
    if (lane->width.now >= most)
        return;
    lane->width.now = most;
    lane->driver->wake(lane, lane->queue.len);
}

/* What is as it was told before is not told again. */
static void note_change(struct stk__lane_news *news, struct stk__depth_change change)
{
    int n = atomic_load(&news->n);
    change.from = news->told_depth;
    if (change.to == change.from)
        return;
    news->told_depth = change.to;
    if (n < STK__MAX_LANE_CHANGES) {
        news->change[n] = change;
        atomic_store(&news->n, n + 1);
    } else {
        news->change[n - 1].to = change.to; /* nobody came by to write them down */
    }
}

static void tell(struct stk__lane *lane, int to, const char *reason)
{
    struct stk__depth_change change = { .to = to };
    snprintf(change.reason, sizeof change.reason, "%s", reason);
    note_change(&lane->news, change);
}

/* A read that waits: storage that is slow can do several at once, and the depth says how many. */
static void note_slow(struct stk__lane *lane)
{
    if (!stk__width_slow(&lane->width))
        return;
    if (!lane->width.now)
        tell(lane, lane->depth.now, "reads wait for storage");
    if (lane->queue.len || !lane->width.now)
        widen(lane, lane->depth.now);
}

static void note_quick(struct stk__lane *lane)
{
    if (stk__width_quick(&lane->width))
        tell(lane, 0, "files are in memory: whoever asks reads");
}

/* Reads from memory say nothing of storage. */
static void note_depth(struct stk__lane *lane, const struct stk__read_done *done)
{
    struct stk__depth_change change;
    if (!lane->plan.is_depth_auto || !lane->width.now ||
        !stk__depth_note(&lane->depth, done->begun_at, done->ended_at, done->bytes, &change))
        return;
    note_change(&lane->news, change);
    lane->width.now = lane->width.now < change.to ? lane->width.now : change.to;
}

void stk__lane_note(struct stk__lane *lane, const struct stk__read_done *done)
{
    uint64_t ns = done->ended_at - done->begun_at;
    if (lane->plan.watched)
        lane->plan.watched(lane->plan.ctx, done);
    if (!done->has_waited || !stk__lane_is_slow(ns)) {
        note_quick(lane);
    } else {
        note_depth(lane, done);
        note_slow(lane);
    }
    limit_ahead(lane);
}

/* Reads are asked for before they can begin: twice as many as are on their way at a time, and some
 * more, so that neighbours find each other where that is few. */
static int most_requests(const struct stk__lane *lane)
{
    const int for_neighbours = 64;
    return 2 * lane->depth.now + for_neighbours;
}

/* Somebody who could compute waits for a read: more of them should be on their way, and as many
 * threads at them as there are cores, unless the last one came from memory: then whoever waits will soon
 * read. */
static void ask_more(struct stk__lane *lane)
{
    stk__depth_wait(&lane->depth);
    if (lane->queue.len && lane->width.now && lane->width.now < lane->plan.n_callers &&
        !lane->width.n_quick)
        widen(lane, lane->width.now + 1);
}

int stk__lane_review(struct stk__lane *lane, bool is_waited_for,
                     struct stk__depth_change change[STK__MAX_LANE_CHANGES])
{
    if (!is_waited_for && !atomic_load_explicit(&lane->news.n, memory_order_relaxed))
        return 0;
    pthread_mutex_lock(&lane->lock);
    int open = lane->most_open * (is_waited_for ? 2 : 1);
    if (is_waited_for)
        ask_more(lane);
    int most = most_requests(lane), n = atomic_exchange(&lane->news.n, 0);
    lane->most_open = open < most ? open : most;
    memcpy(change, lane->news.change, (size_t)n * sizeof *change);
    pthread_mutex_unlock(&lane->lock);
    return n;
}

/* ---- looking ---- */

void stk__lane_look(struct stk__lane *lane, struct stk__read_metrics *out)
{
    pthread_mutex_lock(&lane->lock);
    *out = lane->seen;
    out->n_open = lane->n_open;
    out->depth = lane->depth.now;
    out->width = lane->width.now;
    pthread_mutex_unlock(&lane->lock);
    out->n = stk__latency_n(&out->latency);
}
