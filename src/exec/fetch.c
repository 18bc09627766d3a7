/* SPDX-License-Identifier: Apache-2.0 */
/* fetch.c: reads by request. Whoever takes a ticket asks for all its rows; I/O threads answer.
 *
 * A request is open, stat and read of one file. A few requests and two threads begin: the first
 * batch does not wait for reads of later ones. A worker without work doubles the requests. The
 * width is how many threads read at a time: reads that wait widen it up to the depth, reads that
 * do not narrow it again, down to none; then whoever asks reads, since waking a thread costs as
 * much as a read from the page cache. Slow storage soon has many requests in flight.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "exec/exec.h"

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

static bool follows(const struct stk_place *place, int step)
{
    const struct stk_place *before = place - step;
    bool is_behind = place->offset == before->offset + before->bytes;
    return place->file == before->file && (is_behind || place->offset == before->offset);
}

/* The places of all rows that have the same number: one request where reads are quick, else a few
 * that threads can share. */
static int push_places(struct stk__exec *x, struct stk__request r, int n_all)
{
    const uint64_t most_bytes = 1 << 20;
    int n = 0;
    while (n_all) {
        uint64_t bytes = r.place[0].bytes;
        bool is_run = true;
        for (r.n = 1; r.n < n_all; r.n++) {
            const struct stk_place *place = &r.place[r.n * r.step];
            is_run = is_run && follows(place, r.step);
            bytes += place->bytes;
            if (x->io_width && ((r.n >= GROUP && !is_run) || bytes > most_bytes))
                break;
        }
        push(x, r);
        n_all -= r.n;
        r.place += r.n * r.step;
        r.result += r.n * r.step;
        n++;
    }
    return n;
}

static void widen(struct stk__exec *x, int by, int most);

/* Somebody who could compute waits for a read: more of them should be on their way, and as many
 * threads at them as there are cores. */
static void ask_more(struct stk__exec *x)
{
    int most = 2 * (int)x->plan->options.io_depth;
    x->max_requests = 2 * x->max_requests < most ? 2 * x->max_requests : most;
    pthread_mutex_lock(&x->io_lock);
    if (x->request_len && x->io_width)
        widen(x, 1, x->n_workers);
    pthread_mutex_unlock(&x->io_lock);
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

static void fetched_ticket(struct stk__exec *x, struct stk__stage *s, struct stk__ticket *t)
{
    size_t bytes = fetched_bytes(s->plan->program, t);
    pthread_mutex_lock(&x->lock);
    t->state = STK__FETCHED;
    atomic_fetch_sub(&x->n_requests_open, t->n_requests);
    x->stats.bytes_read += bytes;
    size_t per_row = t->n_in ? bytes / (size_t)t->n_in : 0;
    s->typical_fetch = (7 * s->typical_fetch + per_row) / 8;
    if (bytes > t->fetch_charge)
        stk__charge(x, &s->io_account, bytes - t->fetch_charge);
    else
        stk__credit(x, &s->io_account, t->fetch_charge - bytes);
    t->fetch_charge = bytes;
    if (x->n_sleeping || x->is_consumer_waiting)
        ask_more(x);
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
    int room = x->io_width - n_active(x);
    n = n < room ? n : room;
    for (int i = 0; i < n && i < x->n_io_idle; i++)
        pthread_cond_signal(&x->io_work);
    for (int i = x->n_io_idle; i < n && !x->is_io_stopped; i++) {
        if (pthread_create(&x->io_thread[x->n_io_threads], NULL, io_main, x))
            return;
        x->n_io_threads++;
    }
}

static void widen(struct stk__exec *x, int by, int most)
{
    most = most < x->max_io_threads ? most : x->max_io_threads;
    if (x->io_width >= most)
        return;
    x->io_width = x->io_width + by < most ? x->io_width + by : most;
    wake_io(x, x->request_len);
}

/* How often this thread gave up its core to wait; what others took from it does not count. */
static long n_waits(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

/* A read that took `ns`, waiting, while requests wait: storage that is slow can do several at
 * once. */
static void note_read(struct stk__exec *x, uint64_t ns, bool has_waited)
{
    const uint64_t slow_ns = 300000, step_ns = 1000000;
    const int patience = 16;
    stk__latency_add(&x->read_latency, ns);
    x->read_ns += ns;
    if (has_waited && ns >= slow_ns) {
        x->n_quick_reads = 0;
        if (x->request_len || !x->io_width)
            widen(x, ns / step_ns < 64 ? 1 + (int)(ns / step_ns) : 64, x->max_io_threads);
    } else if (++x->n_quick_reads == patience) {
        x->n_quick_reads = 0;
        x->io_width -= x->io_width > 0;
    }
}

/* Serves the oldest request; called and left with the I/O lock held. */
static void serve(struct stk__exec *x)
{
    struct stk__request r = x->request[x->request_head];
    bool is_quick = x->io_width == 0;
    x->request_head = (x->request_head + 1) % x->request_cap;
    x->request_len--;
    pthread_mutex_unlock(&x->io_lock);
    long waits = n_waits();
    uint64_t started = stk__clock_ns();
    if (r.path)
        stk__read_file(x->pool, r.path, r.result);
    else
        stk__read_places(x->pool, &r, is_quick);
    uint64_t ns = stk__clock_ns() - started;
    bool has_waited = n_waits() != waits;
    if (atomic_fetch_sub_explicit(&r.ticket->n_unfetched, 1, memory_order_acq_rel) == 1)
        fetched_ticket(x, r.stage, r.ticket);
    pthread_mutex_lock(&x->io_lock);
    note_read(x, ns, has_waited);
}

static void *io_main(void *arg)
{
    struct stk__exec *x = arg;
    pthread_setname_np(pthread_self(), "stk-io");
    pthread_mutex_lock(&x->io_lock);
    while (!x->is_io_stopped) {
        bool is_wanted = n_active(x) <= (x->io_width ? x->io_width : 1);
        if (x->request_len && is_wanted) {
            serve(x);
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
        struct stk__request r = { .stage = w->stage, .ticket = t, .result = t->fetched[k] };
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
        while (x->request_len && (x->io_width == 0 || x->n_io_threads == 0))
            serve(x);
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

int stk__fetch_row(struct stk__exec *x, struct stk__eval *e, struct stk__fetched **fetched)
{
    for (int k = 0; k < e->program->n_reads; k++) {
        const struct stk__pnode *read = e->program->read[k];
        struct stk__wanted wanted;
        int rc = stk__eval_wanted(e, k, &wanted);
        size_t n = (size_t)read->n_places;
        if (rc || !(fetched[k] = stk_arena_alloc(e->scratch, n * sizeof **fetched)))
            return STK_MEMORY;
        e->fetched[k] = fetched[k];
        if (wanted.place) {
            const struct stk__request r = { .result = fetched[k],
                                            .files =
                                                read->node->op->source.files(read->node->state),
                                            .place = wanted.place,
                                            .n = read->n_places,
                                            .step = 1 };
            stk__read_places(x->pool, &r, true);
        } else if (wanted.path[0].data) {
            char *name = stk__arena_text_n(e->scratch, (const char *)wanted.path[0].data,
                                           wanted.path[0].bytes);
            if (!name)
                return STK_MEMORY;
            stk__read_file(x->pool, name, fetched[k]);
        }
    }
    return STK_OK;
}

int stk__io_start(struct stk__exec *x, struct stk_error *err)
{
    size_t rows = 0;
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__stage_plan *s = x->stage[i].plan;
        for (int k = 0; s->program && k < s->program->n_reads; k++)
            rows += (size_t)s->ticket_rows * (size_t)s->program->read[k]->n_places *
                    x->stage[i].ring.cap;
    }
    if (!rows)
        return STK_OK;
    x->request_cap = (int)rows;
    x->max_requests = 2 * (x->n_workers + 1);
    x->max_io_threads = (int)x->plan->options.io_depth;
    x->io_width = x->max_io_threads < 2 ? x->max_io_threads : 2;
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
    free(x->io_thread);
    free(x->request);
}
