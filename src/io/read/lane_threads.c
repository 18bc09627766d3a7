/* SPDX-License-Identifier: Apache-2.0 */
/* lane_threads.c: reads by threads, at most as many as the width says, and by whoever asks. */
#define _GNU_SOURCE
#include "base/clock.h"
#include "io/read/lane_parts.h"

#include <sys/resource.h>

/* How often this thread gave up its core to wait; what others took from it does not count. To ask costs as much
 * as opening a small file: that is done while reads of the thread took long lately. */
static long n_waits(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

enum { WATCHED_READS = 16 };
static _Thread_local int n_watched = WATCHED_READS; /* of the reads to come */

static void read_requests(const struct stk__read_host *host, const struct stk__read_request *r,
                          int n, bool is_quick)
{
    if (n > 1)
        stk__read_neighbours(host, r, n);
    else if (r->path)
        stk__read_file(host, r);
    else
        stk__read_places(host, r, is_quick);
}

void stk__lane_serve(struct stk__lane *lane, enum stk__reader by)
{
    struct stk__read_request r[STK__MOST_NEIGHBOURS];
    bool is_quick = lane->width.now == 0;
    int n = stk__lane_take(lane, r);
    pthread_mutex_unlock(&lane->lock);
    bool is_watched = n_watched > 0;
    long waits = is_watched ? n_waits() : 0;
    struct stk__read_done done = { .begun_at = stk__clock_ns(), .by = by };
    read_requests(&lane->plan.host, r, n, is_quick);
    done.ended_at = stk__clock_ns();
    bool is_slow = stk__lane_is_slow(done.ended_at - done.begun_at);
    done.has_waited = is_slow && is_watched && n_waits() != waits;
    n_watched = is_slow ? WATCHED_READS : n_watched - is_watched;
    stk__lane_hand_on(lane, r, n, &done);
    pthread_mutex_lock(&lane->lock);
    stk__lane_note(lane, &done);
}

static int n_active(const struct stk__lane *lane)
{
    return lane->n_threads - lane->n_idle;
}

static void *read_on(void *arg)
{
    struct stk__lane *lane = arg;
    pthread_setname_np(pthread_self(), "stk-io");
    pthread_mutex_lock(&lane->lock);
    while (!lane->is_stopped) {
        bool is_wanted = n_active(lane) <= (lane->width.now ? lane->width.now : 1);
        if (lane->queue.len && is_wanted) {
            stk__lane_serve(lane, STK__READER_THREAD);
            continue;
        }
        lane->n_idle++;
        pthread_cond_wait(&lane->work, &lane->lock);
        lane->n_idle--;
    }
    pthread_mutex_unlock(&lane->lock);
    return NULL;
}

static void wake(struct stk__lane *lane, int n)
{
    int room = lane->width.now - n_active(lane);
    n = n < room ? n : room;
    for (int i = 0; i < n && i < lane->n_idle; i++)
        pthread_cond_signal(&lane->work);
    for (int i = lane->n_idle; i < n; i++)
        if (!stk__lane_start_thread(lane, read_on))
            return;
}

const struct stk__lane_driver stk__thread_driver = { .wake = wake };
