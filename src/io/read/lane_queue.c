/* SPDX-License-Identifier: Apache-2.0 */
/* lane_queue.c: the order in which requests are served.
 *
 * The oldest comes first, and with it those that lie behind it in its file: a long read costs a disk as little as a
 * short one.
 *
 * Where the way from one place to the next costs, requests are served sweep by sweep: those that wait when one
 * begins, in the order of their places; what comes meanwhile waits for the next. So neighbours meet, ways are short,
 * and nobody waits for longer than two sweeps. Whoever asked gets answers in an order of its own all the same.
 */
#include "io/data_file.h"
#include "io/read/lane_parts.h"

enum { MOST_SWEPT = 256 };

bool stk__lane_is_swept(const struct stk__lane *lane)
{
    return lane->width.now && stk__depth_is_flat(&lane->depth);
}

static struct stk__read_request *item_at(struct stk__lane_queue *queue, int i)
{
    return &queue->item[(queue->head + i) % queue->cap];
}

void stk__lane_push(struct stk__lane *lane, const struct stk__read_request *request)
{
    *item_at(&lane->queue, lane->queue.len++) = *request;
}

/* ---- sweeps ---- */

/* Whole files come first, as they were asked for. */
static bool is_before(const struct stk__read_request *a, const struct stk__read_request *b)
{
    if (!a->place || !b->place)
        return !a->place && b->place;
    if (a->files != b->files)
        return (uintptr_t)a->files < (uintptr_t)b->files;
    if (a->place[0].file != b->place[0].file)
        return a->place[0].file < b->place[0].file;
    return a->place[0].offset < b->place[0].offset;
}

/* By insertion: they are few, and those of one set are often in order. */
static void sort(struct stk__lane_queue *queue, int n)
{
    for (int i = 1; i < n; i++) {
        const struct stk__read_request moved = *item_at(queue, i);
        int k = i;
        for (; k > 0 && is_before(&moved, item_at(queue, k - 1)); k--)
            *item_at(queue, k) = *item_at(queue, k - 1);
        *item_at(queue, k) = moved;
    }
}

static void sweep_on(struct stk__lane *lane)
{
    struct stk__lane_queue *queue = &lane->queue;
    if (queue->sweep_left || !stk__lane_is_swept(lane))
        return;
    queue->sweep_left = queue->len < MOST_SWEPT ? queue->len : MOST_SWEPT;
    sort(queue, queue->sweep_left);
}

/* ---- taking ---- */

/* Takes the oldest but i out of the queue. */
static struct stk__read_request take(struct stk__lane_queue *queue, int i)
{
    struct stk__read_request taken = *item_at(queue, i);
    queue->sweep_left -= i < queue->sweep_left;
    for (; i > 0; i--)
        *item_at(queue, i) = *item_at(queue, i - 1);
    queue->head = (queue->head + 1) % queue->cap;
    queue->len--;
    return taken;
}

/* A request that begins where r ends; -1: none. Several files that are read in turn have theirs
 * apart. */
static int find_neighbour(struct stk__lane_queue *queue, const struct stk__read_request *r)
{
    uint64_t end = r->place[0].offset + r->run_bytes;
    for (int i = 0; i < queue->len; i++) {
        const struct stk__read_request *next = item_at(queue, i);
        if (next->files == r->files && next->run_bytes && next->place[0].file == r->place[0].file &&
            next->place[0].offset == end)
            return i;
    }
    return -1;
}

/* Where reads are quick neighbours would only wait for each other. */
int stk__lane_take(struct stk__lane *lane, struct stk__read_request *r)
{
    int n = 1, i;
    sweep_on(lane);
    r[0] = take(&lane->queue, 0);
    uint64_t bytes = r[0].run_bytes;
    while (lane->width.now && r[n - 1].run_bytes && n < STK__MOST_NEIGHBOURS &&
           (i = find_neighbour(&lane->queue, &r[n - 1])) >= 0 &&
           bytes + item_at(&lane->queue, i)->run_bytes <= stk__most_read_bytes) {
        r[n] = take(&lane->queue, i);
        bytes += r[n++].run_bytes;
    }
    return n;
}
