/* SPDX-License-Identifier: Apache-2.0 */
/* fetch.c: reads by request. Whoever takes a ticket asks for all its rows; I/O threads answer.
 *
 * A request is open, stat and read of one file, or reads of some places. A few requests and two
 * threads begin: the first batch does not wait for reads of later ones. A worker without work doubles
 * the requests. The width is how many threads read at a time. Reads that wait widen it up to the
 * depth, which is given or found (depth.h). Reads that do not wait narrow it, down to none; then
 * whoever asks reads, since waking a thread costs as much as a read from the page cache.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "exec/elevator.h"
#include "exec/exec.h"
#include "exec/ring_reads.h"
#include "io/data_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- asking ---- */

enum { GROUP = 4 }; /* places that one request of a thread has, unless they are neighbours */

/* At most as many; neighbours share one. */
int stk__count_requests(const struct stk__stage *s, int n)
{
    const struct stk__program *program = s->plan->program;
    int count = 0;
    for (int k = 0; k < program->n_reads; k++)
        count += program->read[k]->role == STK__ROLE_SOURCE
                     ? (n * program->read[k]->n_places + GROUP - 1) / GROUP
                     : n;
    return count;
}

static size_t wanted_bytes(const struct stk__wanted *wanted, int n, int n_places)
{
    if (wanted->place)
        return (size_t)n * (size_t)n_places * sizeof *wanted->place;
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += wanted->path[i].data ? wanted->path[i].bytes + 1 : 0;
    return (bytes + 15) / 16 * 16;
}

static void push(struct stk__exec *x, struct stk__request request)
{
    x->request[(x->request_head + x->request_len++) % x->request_cap] = request;
}

/* A request per path, which is copied to `at`. */
static int push_paths(struct stk__exec *x, struct stk__request r, const struct stk_span *path,
                      char *at)
{
    int n = 0;
    struct stk__fetched *result = r.result;
    r.n = 1;
    for (int i = 0; i < r.ticket->n_in; i++) {
        if (!path[i].data)
            continue;
        memcpy(at, path[i].data, path[i].bytes);
        at[path[i].bytes] = 0;
        r.path = at;
        r.result = result + i;
        push(x, r);
        at += path[i].bytes + 1;
        n++;
    }
    return n;
}

static const uint64_t most_read_bytes = 1 << 20;

/* The places of all rows that have the same number: one request where reads are quick, else a few
 * that threads can share. */
static int push_places(struct stk__exec *x, struct stk__request r, int n_all)
{
    int n = 0, group = x->ring || stk__order_matters(x) ? 1 : GROUP;
    while (n_all) {
        uint64_t bytes = r.place[0].bytes;
        r.run_bytes = r.place[0].file == STK__NOWHERE ? 0 : bytes;
        for (r.n = 1; r.n < n_all; r.n++) {
            const struct stk_place *place = &r.place[r.n * r.step];
            bool is_run = r.run_bytes && stk__place_follows(place - r.step, place);
            bytes += place->bytes;
            if (x->width.now && ((r.n >= group && !is_run) || bytes > most_read_bytes))
                break;
            r.run_bytes = is_run ? place->offset + place->bytes - r.place[0].offset : 0;
        }
        push(x, r);
        n_all -= r.n;
        r.place += r.n * r.step;
        r.result += r.n * r.step;
        n++;
    }
    return n;
}

static void widen(struct stk__exec *x, int most);

/* Reads are asked for before they can begin: twice as many as are on their way at a time, and some
 * more, so that neighbours find each other where that is few. */
static int most_requests(const struct stk__exec *x)
{
    const int for_neighbours = 64;
    return 2 * x->depth.now + for_neighbours;
}

/* Somebody who could compute waits for a read: more of them should be on their way, and as many
 * threads at them as there are cores, unless the last one came from memory: then whoever waits will soon
 * read. Called with both locks held. */
static void ask_more(struct stk__exec *x)
{
    x->max_requests *= 2;
    stk__depth_wait(&x->depth);
    if (x->request_len && x->width.now && x->width.now < x->n_workers && !x->width.n_quick)
        widen(x, x->width.now + 1);
}

/* Writes down what changed, and asks for as many reads as that calls for. */
static void settle(struct stk__exec *x)
{
    struct stk__depth_change change[STK__MAX_CHANGES];
    bool is_waited_for = x->n_sleeping || x->is_consumer_waiting;
    if (!is_waited_for && !atomic_load_explicit(&x->n_io_changes, memory_order_relaxed))
        return;
    pthread_mutex_lock(&x->io_lock);
    if (is_waited_for)
        ask_more(x);
    int most = most_requests(x), n = atomic_exchange(&x->n_io_changes, 0);
    x->max_requests = x->max_requests < most ? x->max_requests : most;
    memcpy(change, x->io_change, (size_t)n * sizeof *change);
    pthread_mutex_unlock(&x->io_lock);
    for (int i = 0; i < n; i++)
        if (change[i].from != change[i].to)
            stk__decide(x, "io_depth", change[i].from, change[i].to, "%s", change[i].reason);
}

/* What the rows of a ticket hold now; spans of one buffer count it once. */
static size_t fetched_bytes(const struct stk__program *program, const struct stk__ticket *t)
{
    size_t bytes = 0;
    for (int k = 0; k < program->n_reads; k++) {
        const struct stk_buffer *last = NULL;
        int step = program->read[k]->n_places;
        for (int i = 0; i < t->n_in * step; i++) {
            const struct stk_buffer *buffer =
                t->fetched[k][i % t->n_in * step + i / t->n_in].buffer;
            bytes += buffer && buffer != last ? buffer->capacity : 0;
            last = buffer;
        }
    }
    return bytes;
}

/* What was read for n rows, `step` spans apart; rows in one group share its bytes, which count once. */
static uint64_t read_bytes(const struct stk__fetched *span, int n, int step)
{
    uint64_t bytes = 0;
    const uint8_t *last = NULL;
    for (int i = 0; i < n; i++, span += step) {
        bytes += span->data != last ? span->bytes : 0;
        last = span->data;
    }
    return bytes;
}

static uint64_t ticket_bytes(const struct stk__program *program, const struct stk__ticket *t)
{
    uint64_t bytes = 0;
    for (int k = 0; k < program->n_reads; k++)
        for (int i = 0, step = program->read[k]->n_places; i < step; i++)
            bytes += read_bytes(t->fetched[k] + i, t->n_in, step);
    return bytes;
}

static void fetched_ticket(struct stk__exec *x, struct stk__stage *s, struct stk__ticket *t)
{
    size_t bytes = fetched_bytes(s->plan->program, t);
    uint64_t n_read = ticket_bytes(s->plan->program, t);
    pthread_mutex_lock(&x->lock);
    t->state = STK__FETCHED;
    atomic_fetch_sub(&x->n_requests_open, t->n_requests);
    x->stats.bytes_read += n_read;
    size_t per_row = t->n_in ? bytes / (size_t)t->n_in : 0;
    /* files of a size that was not expected are to be expected from now on */
    s->typical_fetch = per_row > s->typical_fetch ? per_row : (7 * s->typical_fetch + per_row) / 8;
    x->asked_bytes -= t->fetch_charge;
    if (bytes > t->fetch_charge)
        stk__charge(x, &s->io_account, bytes - t->fetch_charge);
    else
        stk__credit(x, &s->io_account, t->fetch_charge - bytes);
    t->fetch_charge = bytes;
    settle(x);
    stk__wake_worker(x);
    pthread_mutex_unlock(&x->lock);
}

/* ---- answering ---- */

static void *io_main(void *arg);

static int n_active(const struct stk__exec *x)
{
    return x->n_io_threads - x->n_io_idle;
}

/* Starts or wakes threads for n more requests. Called, as all below, with the I/O lock held. */
static void wake_io(struct stk__exec *x, int n)
{
    bool has_ring_thread = x->ring && x->n_io_threads;
    int most = x->ring ? 1 : x->width.now, room = has_ring_thread ? 0 : most - n_active(x);
    if (has_ring_thread && n)
        stk__ring_wake(x->ring, &x->io_work);
    n = n < room ? n : room;
    for (int i = 0; i < n && i < x->n_io_idle; i++)
        pthread_cond_signal(&x->io_work);
    for (int i = x->n_io_idle; i < n && !x->is_io_stopped; i++) {
        if (pthread_create(&x->io_thread[x->n_io_threads], NULL, x->ring ? stk__ring_main : io_main,
                           x))
            return;
        x->n_io_threads++;
    }
}

static void widen(struct stk__exec *x, int most)
{
    most = most < x->depth.now ? most : x->depth.now;
    if (x->width.now >= most)
        return;
    x->width.now = most;
    wake_io(x, x->request_len);
}

/* A read that takes longer may have waited for storage. */
static const uint64_t slow_ns = 300000;

/* How often this thread gave up its core to wait; what others took from it does not count. To ask costs as much
 * as opening a small file: that is done while reads of the thread took long lately. */
static long n_waits(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

enum { WATCHED_READS = 16 };
static _Thread_local int n_watched = WATCHED_READS; /* of the reads to come */

/* What is as it was told before is not told again. */
static void note_change(struct stk__exec *x, struct stk__depth_change change)
{
    int n = atomic_load(&x->n_io_changes);
    change.from = x->told_depth;
    if (change.to == change.from)
        return;
    x->told_depth = change.to;
    if (n < STK__MAX_CHANGES) {
        x->io_change[n] = change;
        atomic_store(&x->n_io_changes, n + 1);
    } else {
        x->io_change[n - 1].to = change.to; /* nobody came by to write them down */
    }
}

static void tell(struct stk__exec *x, int to, const char *reason)
{
    struct stk__depth_change change = { .to = to };
    snprintf(change.reason, sizeof change.reason, "%s", reason);
    note_change(x, change);
}

/* A read that waits: storage that is slow can do several at once, and the depth says how many. */
static void note_slow(struct stk__exec *x)
{
    if (!stk__width_slow(&x->width))
        return;
    if (!x->width.now)
        tell(x, x->depth.now, "reads wait for storage");
    if (x->request_len || !x->width.now)
        widen(x, x->depth.now);
}

static void note_quick(struct stk__exec *x)
{
    if (stk__width_quick(&x->width))
        tell(x, 0, "files are in memory: whoever asks reads");
}

/* Reads from memory say nothing of storage. */
static void note_depth(struct stk__exec *x, const struct stk__done *done)
{
    struct stk__depth_change change;
    if (!x->plan->options.is_depth_auto || !x->width.now ||
        !stk__depth_note(&x->depth, done->begun_at, done->ended_at, done->bytes, &change))
        return;
    note_change(x, change);
    x->width.now = x->width.now < change.to ? x->width.now : change.to;
}

static void limit_ahead(struct stk__exec *x)
{
    int most = stk__most_ahead(&x->width, x->depth.now, x->reads_places);
    if (most != atomic_load_explicit(&x->max_ahead, memory_order_relaxed))
        atomic_store_explicit(&x->max_ahead, most, memory_order_relaxed);
}

void stk__note_read(struct stk__exec *x, const struct stk__done *done)
{
    uint64_t ns = done->ended_at - done->begun_at;
    stk__latency_add(&x->read_latency, ns);
    x->read_ns += ns;
    x->n_reads_by[done->by]++;
    stk__trace_read_done(x, done->begun_at, done->ended_at, done->bytes);
    if (!done->has_waited || ns < slow_ns) {
        note_quick(x);
    } else {
        note_depth(x, done);
        note_slow(x);
    }
    limit_ahead(x);
}

static struct stk__request *request_at(struct stk__exec *x, int i)
{
    return &x->request[(x->request_head + i) % x->request_cap];
}

/* Takes the oldest but i out of the queue. */
static struct stk__request take_request(struct stk__exec *x, int i)
{
    struct stk__request taken = *request_at(x, i);
    stk__sweep_took(x, i);
    for (; i > 0; i--)
        *request_at(x, i) = *request_at(x, i - 1);
    x->request_head = (x->request_head + 1) % x->request_cap;
    x->request_len--;
    return taken;
}

/* A request that begins where r ends; -1: none. Several files that are read in turn have theirs
 * apart. */
static int find_neighbour(struct stk__exec *x, const struct stk__request *r)
{
    uint64_t end = r->place[0].offset + r->run_bytes;
    for (int i = 0; i < x->request_len; i++) {
        const struct stk__request *next = request_at(x, i);
        if (next->files == r->files && next->run_bytes && next->place[0].file == r->place[0].file &&
            next->place[0].offset == end)
            return i;
    }
    return -1;
}

/* A long read costs a disk as little as a short one. Where reads are quick neighbours would only wait
 * for each other. */
int stk__take_requests(struct stk__exec *x, struct stk__request *r)
{
    int n = 1, i;
    stk__sweep_on(x);
    r[0] = take_request(x, 0);
    uint64_t bytes = r[0].run_bytes;
    while (x->width.now && r[n - 1].run_bytes && n < STK__MOST_NEIGHBOURS &&
           (i = find_neighbour(x, &r[n - 1])) >= 0 &&
           bytes + request_at(x, i)->run_bytes <= most_read_bytes) {
        r[n] = take_request(x, i);
        bytes += r[n++].run_bytes;
    }
    return n;
}

static void read_requests(struct stk__exec *x, const struct stk__request *r, int n, bool is_quick)
{
    if (n > 1)
        stk__read_neighbours(x, r, n);
    else if (r->path)
        stk__read_file(x, r->read, r->path, r->result);
    else
        stk__read_places(x, r, is_quick);
}

void stk__hand_on(struct stk__exec *x, const struct stk__request *r, int n, struct stk__done *done)
{
    for (int i = 0; i < n; i++) {
        done->bytes += read_bytes(r[i].result, r[i].n, r[i].step);
        if (atomic_fetch_sub_explicit(&r[i].ticket->n_unfetched, 1, memory_order_acq_rel) == 1)
            fetched_ticket(x, r[i].stage, r[i].ticket);
    }
}

/* Serves the oldest request and its neighbours; called and left with the I/O lock held. */
static void serve(struct stk__exec *x, enum stk__reader by)
{
    struct stk__request r[STK__MOST_NEIGHBOURS];
    bool is_quick = x->width.now == 0;
    int n = stk__take_requests(x, r);
    pthread_mutex_unlock(&x->io_lock);
    bool is_watched = n_watched > 0;
    long waits = is_watched ? n_waits() : 0;
    struct stk__done done = { .begun_at = stk__clock_ns(), .by = by };
    read_requests(x, r, n, is_quick);
    done.ended_at = stk__clock_ns();
    bool is_slow = done.ended_at - done.begun_at >= slow_ns;
    done.has_waited = is_slow && is_watched && n_waits() != waits;
    n_watched = is_slow ? WATCHED_READS : n_watched - is_watched;
    stk__hand_on(x, r, n, &done);
    pthread_mutex_lock(&x->io_lock);
    stk__note_read(x, &done);
}

static void *io_main(void *arg)
{
    struct stk__exec *x = arg;
    pthread_setname_np(pthread_self(), "stk-io");
    pthread_mutex_lock(&x->io_lock);
    while (!x->is_io_stopped) {
        bool is_wanted = n_active(x) <= (x->width.now ? x->width.now : 1);
        if (x->request_len && is_wanted) {
            serve(x, STK__READER_THREAD);
            continue;
        }
        x->n_io_idle++;
        pthread_cond_wait(&x->io_work, &x->io_lock);
        x->n_io_idle--;
    }
    pthread_mutex_unlock(&x->io_lock);
    return NULL;
}

/* Copies what is wanted to a buffer of the ticket; called with the I/O lock held. */
static int ask(struct stk__exec *x, const struct stk__work *w, const struct stk__wanted *wanted)
{
    struct stk__ticket *t = w->ticket;
    const struct stk__program *program = w->stage->plan->program;
    uint8_t *at = t->wanted->data;
    int n = 0;
    for (int k = 0; k < program->n_reads; k++) {
        const struct stk__pnode *read = program->read[k];
        size_t bytes = wanted_bytes(&wanted[k], t->n_in, read->n_places);
        struct stk__request r = {
            .stage = w->stage, .ticket = t, .result = t->fetched[k], .read = read
        };
        if (wanted[k].place) {
            memcpy(at, wanted[k].place, bytes);
            r.files = read->node->op->source.files(read->node->state);
            r.step = read->n_places;
            for (int i = 0; i < r.step; i++) {
                r.place = (const struct stk_place *)(const void *)at + i;
                r.result = t->fetched[k] + i;
                n += push_places(x, r, t->n_in);
            }
        } else {
            n += push_paths(x, r, wanted[k].path, (char *)at);
        }
        at += bytes;
    }
    return n;
}

static void answer(struct stk__exec *x, const struct stk__work *w, const struct stk__wanted *wanted,
                   size_t bytes)
{
    struct stk__ticket *t = w->ticket;
    t->wanted = bytes ? stk__buffer_new(x->pool, bytes) : NULL;
    int n = 0;
    if (t->wanted) {
        pthread_mutex_lock(&x->io_lock);
        n = ask(x, w, wanted);
        atomic_store(&t->n_unfetched, n); /* before the lock is released and threads see them */
        if (n) {
            atomic_fetch_add(&x->n_requests_open, n - t->n_requests);
            t->n_requests = n;
        }
        wake_io(x, n);
        while (x->request_len && (x->width.now == 0 || x->n_io_threads == 0))
            serve(x, STK__READER_CALLER);
        pthread_mutex_unlock(&x->io_lock);
    }
    if (!n) /* nothing to read: bad rows, or no memory, which the run will find */
        fetched_ticket(x, w->stage, t);
}

void stk__run_fetch(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    const struct stk__program *program = w->stage->plan->program;
    struct stk__wanted wanted[STK__MAX_READS];
    struct stk__eval e;
    size_t bytes = 0;
    int rc = stk__eval_prepare(x, worker, w->stage, w->ticket, &e);
    w->n_taken = w->n_made = e.n;
    for (int k = 0; k < program->n_reads && !rc; k++) {
        rc = stk__eval_wanted(&e, k, &wanted[k]);
        if (!rc)
            bytes += wanted_bytes(&wanted[k], w->ticket->n_in, program->read[k]->n_places);
    }
    answer(x, w, wanted, rc ? 0 : bytes);
    stk__arena_reset(&worker->scratch);
}

/* Reads the files of rows one after the other. */
static int read_files(struct stk__exec *x, struct stk__eval *e, const struct stk__pnode *read,
                      const struct stk_span *path, struct stk__fetched *fetched)
{
    for (int i = 0; i < e->n; i++) {
        if (!path[i].data)
            continue;
        char *name = stk__arena_text_n(e->scratch, (const char *)path[i].data, path[i].bytes);
        if (!name)
            return STK_MEMORY;
        stk__read_file(x, read, name, &fetched[i]);
    }
    return STK_OK;
}

int stk__fetch_rows(struct stk__exec *x, struct stk__eval *e, struct stk__fetched **fetched)
{
    int rc = STK_OK;
    for (int k = 0; k < e->program->n_reads && !rc; k++) {
        const struct stk__pnode *read = e->program->read[k];
        struct stk__wanted wanted;
        stk__fetched_free(fetched[k], e->n * read->n_places);
        e->fetched[k] = fetched[k];
        if (stk__eval_wanted(e, k, &wanted))
            return STK_MEMORY;
        if (wanted.place) {
            const struct stk__request r = { .result = fetched[k],
                                            .files =
                                                read->node->op->source.files(read->node->state),
                                            .place = wanted.place,
                                            .n = e->n * read->n_places,
                                            .step = 1 };
            stk__read_places(x, &r, true);
        } else
            rc = read_files(x, e, read, wanted.path, fetched[k]);
    }
    return rc;
}

int stk__fetch_row(struct stk__exec *x, struct stk__eval *e, struct stk__fetched **fetched)
{
    for (int k = 0; k < e->program->n_reads; k++) {
        size_t n = (size_t)e->program->read[k]->n_places;
        if (!(fetched[k] = stk_arena_alloc(e->scratch, n * sizeof **fetched)))
            return STK_MEMORY;
    }
    return stk__fetch_rows(x, e, fetched);
}

int stk__io_start(struct stk__exec *x, struct stk_error *err)
{
    size_t rows = 0;
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__stage_plan *s = x->stage[i].plan;
        for (int k = 0; s->program && k < s->program->n_reads; k++) {
            rows += (size_t)s->ticket_rows * (size_t)s->program->read[k]->n_places *
                    x->stage[i].ring.cap;
            x->reads_places |= s->program->read[k]->role == STK__ROLE_SOURCE;
        }
    }
    if (!rows)
        return STK_OK;
    if (x->plan->options.io == STK__IO_URING)
        x->ring = stk__ring_new((int)x->plan->options.io_depth);
    x->request_cap = (int)rows;
    x->max_requests = 2 * (x->n_workers + 1);
    x->max_io_threads = (int)x->plan->options.io_depth;
    stk__width_begin(&x->width, x->max_io_threads < 2 ? x->max_io_threads : 2);
    stk__depth_begin(&x->depth, x->plan->options.is_depth_auto ? 4 : x->max_io_threads,
                     x->max_io_threads);
    x->told_depth = x->depth.now;
    limit_ahead(x);
    x->request = calloc(rows, sizeof *x->request);
    x->io_thread = calloc((size_t)x->max_io_threads, sizeof *x->io_thread);
    return x->request && x->io_thread ? STK_OK : stk__out_of_memory(err);
}

void stk__io_stop(struct stk__exec *x)
{
    pthread_mutex_lock(&x->io_lock);
    x->is_io_stopped = true;
    pthread_cond_broadcast(&x->io_work);
    int n = x->n_io_threads;
    pthread_mutex_unlock(&x->io_lock);
    for (int i = 0; i < n; i++)
        pthread_join(x->io_thread[i], NULL);
    stk__ring_free(x->ring);
    free(x->io_thread);
    free(x->request);
}
