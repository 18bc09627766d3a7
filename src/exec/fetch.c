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

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- one file ---- */

static struct stk_buffer *fail_read(int fd, struct stk_buffer *buffer, int *code, char **text,
                                    int status, const char *what, int error)
{
    char reason[160], message[256];
    if (fd >= 0)
        close(fd);
    stk__buffer_unref(buffer);
    *code = status;
    snprintf(message, sizeof message, "%s: %s", what, strerror_r(error, reason, sizeof reason));
    *text = strdup(message);
    return NULL;
}

static ssize_t read_some(int fd, uint8_t *data, size_t bytes)
{
    ssize_t got;
    do
        got = read(fd, data, bytes);
    while (got < 0 && errno == EINTR);
    return got;
}

struct stk_buffer *stk__read_file(struct stk__pool *pool, const char *path, int *code, char **text)
{
    struct stat info;
    *text = NULL;
    *code = STK_MEMORY;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_read(fd, NULL, code, text, STK_IO, "cannot open the file", errno);
    if (fstat(fd, &info))
        return fail_read(fd, NULL, code, text, STK_IO, "cannot stat the file", errno);
    if (!S_ISREG(info.st_mode))
        return fail_read(fd, NULL, code, text, STK_IO, "not a regular file",
                         S_ISDIR(info.st_mode) ? EISDIR : EINVAL);
    size_t bytes = (size_t)info.st_size, done = 0;
    struct stk_buffer *buffer = stk__buffer_new(pool, bytes);
    if (!buffer)
        return fail_read(fd, NULL, code, text, STK_MEMORY, "no memory for the file", ENOMEM);
    while (done < bytes) {
        ssize_t got = read_some(fd, buffer->data + done, bytes - done);
        if (got < 0)
            return fail_read(fd, buffer, code, text, STK_IO, "cannot read the file", errno);
        if (got == 0)
            break; /* shorter than it said: what is there decides */
        done += (size_t)got;
    }
    close(fd);
    buffer->bytes = done;
    memset(buffer->data + done, 0, buffer->capacity - done < 64 ? buffer->capacity - done : 64);
    return buffer;
}

/* ---- asking ---- */

/* Paths of one ticket as C strings in one buffer; result rows without a path are left alone. */
static int copy_paths(struct stk__exec *x, struct stk__ticket *t,
                      const struct stk_span *const *paths, int n_reads)
{
    size_t bytes = 1;
    for (int k = 0; k < n_reads; k++)
        for (int i = 0; i < t->n_in; i++)
            bytes += paths[k][i].data ? paths[k][i].bytes + 1 : 0;
    t->paths = stk__buffer_new(x->pool, bytes);
    return t->paths ? STK_OK : STK_MEMORY;
}

static int add_requests(struct stk__exec *x, struct stk__stage *s, struct stk__ticket *t,
                        const struct stk_span *const *paths)
{
    char *at = (char *)t->paths->data;
    int n = 0;
    for (int k = 0; k < s->plan->program->n_reads; k++) {
        for (int i = 0; i < t->n_in; i++) {
            if (!paths[k][i].data)
                continue;
            memcpy(at, paths[k][i].data, paths[k][i].bytes);
            at[paths[k][i].bytes] = 0;
            x->request[(x->request_head + x->request_len++) % x->request_cap] =
                (struct stk__request){ s, t, &t->fetched[k][i], at };
            at += paths[k][i].bytes + 1;
            n++;
        }
    }
    return n;
}

static int count_requests(const struct stk__ticket *t, const struct stk_span *const *paths,
                          int n_reads)
{
    int n = 0;
    for (int k = 0; k < n_reads; k++)
        for (int i = 0; i < t->n_in; i++)
            n += paths[k][i].data != NULL;
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

static void fetched_ticket(struct stk__exec *x, struct stk__stage *s, struct stk__ticket *t)
{
    size_t bytes = 0;
    int n_reads = s->plan->program->n_reads;
    for (int k = 0; k < n_reads; k++)
        for (int i = 0; i < t->n_in; i++)
            bytes += t->fetched[k][i].buffer ? t->fetched[k][i].buffer->capacity : 0;
    pthread_mutex_lock(&x->lock);
    t->state = STK__FETCHED;
    x->n_requests_open -= t->n_in * n_reads;
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
    x->request_head = (x->request_head + 1) % x->request_cap;
    x->request_len--;
    pthread_mutex_unlock(&x->io_lock);
    char *text = NULL;
    long waits = n_waits();
    uint64_t started = stk__clock_ns();
    r.result->buffer = stk__read_file(x->pool, r.path, &r.result->code, &text);
    r.result->text = text;
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

void stk__run_fetch(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    struct stk__ticket *t = w->ticket;
    struct stk__eval e;
    const struct stk_span *paths[STK__MAX_READS] = { 0 };
    int n_reads = w->stage->plan->program->n_reads;
    int rc = stk__eval_prepare(x, worker, w->stage, t, &e);
    for (int k = 0; k < n_reads && !rc; k++)
        rc = stk__eval_paths(&e, k, &paths[k]);
    if (!rc)
        rc = copy_paths(x, t, paths, n_reads);
    int n = rc ? 0 : count_requests(t, paths, n_reads);
    if (n) {
        pthread_mutex_lock(&x->io_lock);
        atomic_store(&t->n_unfetched, n);
        add_requests(x, w->stage, t, paths);
        wake_io(x, n);
        while (x->request_len && (x->io_width == 0 || x->n_io_threads == 0))
            serve(x);
        pthread_mutex_unlock(&x->io_lock);
    }
    stk__arena_reset(&worker->scratch);
    if (!n)
        /* nothing to read: bad rows, or no memory, which the run will find */
        fetched_ticket(x, w->stage, t);
}

int stk__io_start(struct stk__exec *x, struct stk_error *err)
{
    size_t rows = 0;
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__stage_plan *s = x->stage[i].plan;
        if (s->program && s->program->n_reads)
            rows += (size_t)s->ticket_rows * (size_t)s->program->n_reads * x->stage[i].ring.cap;
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
