/* SPDX-License-Identifier: Apache-2.0 */
/* ring_reads.c: requests as flights of ring operations.
 *
 *      requests ─▶ flight: open ─▶ read … read ─▶ handed on
 *
 * A file is opened, asked for its size and read; a run of places is read from a descriptor that is
 * kept, or opened first. A read that is short goes on. Whatever fails is done again by reading.c,
 * which knows what to say of it. The thread sleeps on the condition of the I/O lock while there is
 * nothing to do, and in the ring while reads are on their way. Then a bell, a descriptor that the ring
 * reads as well, tells it of new requests, if it has room for them.
 */
#define _GNU_SOURCE
#include "exec/ring_reads.h"

#include "base/clock.h"
#include "exec/exec.h"
#include "io/data_file.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct flight {
    struct flight *next;
    struct stk__request request[STK__MOST_NEIGHBOURS];
    int n;
    bool is_open; /* else it is being opened */
    bool owns_fd;
    int fd;
    struct stk__pieces pieces; /* of places */
    struct stk_buffer *buffer; /* of a file */
    struct iovec file_piece;
    struct iovec *piece; /* what is left to read */
    int n_pieces;
    uint64_t offset, bytes;
    struct stk__done done;
};

struct stk__ring_reads {
    struct io_uring ring;
    int bell;
    uint64_t n_rung; /* what the ring reads from the bell */
    bool wants_bell; /* guarded by the I/O lock: the thread waits and has room */
    int n_flying;    /* these are the thread's own */
    struct flight *free, *landed;
};

int stk__ring_error(void)
{
    struct io_uring ring;
    int error = io_uring_queue_init(4, &ring, 0);
    if (!error)
        io_uring_queue_exit(&ring);
    return -error;
}

/* Every flight has one operation in the ring at a time, and the bell has one, so there is always an entry
 * for the next. One flight there must be; more are made as they are needed. */
struct stk__ring_reads *stk__ring_new(int depth)
{
    struct stk__ring_reads *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->free = calloc(1, sizeof *r->free);
    r->bell = eventfd(0, EFD_CLOEXEC);
    if (r->free && r->bell >= 0 && !io_uring_queue_init((unsigned)depth + 1, &r->ring, 0))
        return r;
    if (r->bell >= 0)
        close(r->bell);
    free(r->free);
    free(r);
    return NULL;
}

void stk__ring_free(struct stk__ring_reads *r)
{
    if (!r)
        return;
    for (struct flight *f = r->free, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    io_uring_queue_exit(&r->ring);
    close(r->bell);
    free(r);
}

void stk__ring_wake(struct stk__ring_reads *r, pthread_cond_t *idle)
{
    const uint64_t one = 1;
    pthread_cond_signal(idle);
    if (r->wants_bell && write(r->bell, &one, sizeof one) == sizeof one)
        r->wants_bell = false;
}

static void listen_to_bell(struct stk__ring_reads *r)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&r->ring);
    io_uring_prep_read(entry, r->bell, &r->n_rung, sizeof r->n_rung, 0);
    io_uring_sqe_set_data(entry, NULL);
}

/* ---- a flight ---- */

/* Done by the ring, or again by reading.c. */
static void land(struct stk__exec *x, struct flight *f, bool is_read)
{
    if (f->owns_fd && f->fd >= 0)
        close(f->fd);
    if (!f->request[0].path) {
        stk__pieces_end(x->pool, f->request, f->n, &f->pieces, is_read);
    } else if (is_read) {
        stk__file_end(f->request[0].result, f->buffer, (size_t)f->bytes);
    } else {
        stk__buffer_unref(f->buffer);
        stk__read_file(x->pool, f->request[0].path, f->request[0].result);
    }
    f->done.ended_at = stk__clock_ns();
    f->done.has_waited = true; /* how long it took says whether that is so */
    f->next = x->ring->landed;
    x->ring->landed = f;
}

static void read_on(struct stk__exec *x, struct flight *f)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&x->ring->ring);
    io_uring_prep_readv(entry, f->fd, f->piece, (unsigned)f->n_pieces, f->offset);
    io_uring_sqe_set_data(entry, f);
}

/* False: it is no regular file, or there is no memory. */
static bool prepare_file(struct stk__exec *x, struct flight *f)
{
    struct stat info;
    if (fstat(f->fd, &info) || !S_ISREG(info.st_mode))
        return false;
    f->buffer = stk__buffer_new(x->pool, (size_t)info.st_size);
    if (!f->buffer)
        return false;
    f->file_piece = (struct iovec){ f->buffer->data, (size_t)info.st_size };
    f->piece = &f->file_piece;
    f->n_pieces = info.st_size > 0;
    return true;
}

static void opened(struct stk__exec *x, struct flight *f, int fd)
{
    const struct stk__request *first = &f->request[0];
    f->fd = fd;
    f->is_open = true;
    f->owns_fd = true;
    if (fd < 0 || (first->path && !prepare_file(x, f))) {
        land(x, f, false);
        return;
    }
    if (!first->path)
        f->owns_fd = !stk__data_file_keep(first->files, first->place[0].file, fd);
    if (f->n_pieces)
        read_on(x, f);
    else
        land(x, f, true);
}

static void advance(struct flight *f, size_t got)
{
    f->offset += got;
    f->bytes += got;
    for (; f->n_pieces && got >= f->piece->iov_len; f->n_pieces--)
        got -= f->piece++->iov_len;
    if (!f->n_pieces)
        return;
    f->piece->iov_base = (uint8_t *)f->piece->iov_base + got;
    f->piece->iov_len -= got;
}

static void come_back(struct stk__exec *x, struct flight *f, int result)
{
    if (!f->is_open) {
        opened(x, f, result);
        return;
    }
    bool is_over = result == 0, may_be_short = f->request[0].path != NULL;
    if (result > 0)
        advance(f, (size_t)result);
    if ((is_over && may_be_short) || (result > 0 && !f->n_pieces))
        land(x, f, true); /* a file that is shorter than it said: what is there decides */
    else if (is_over || (result < 0 && result != -EINTR && result != -EAGAIN))
        land(x, f, false);
    else
        read_on(x, f);
}

static void begin(struct stk__exec *x, struct flight *f)
{
    const struct stk__request *first = &f->request[0];
    const char *path = first->path;
    f->done = (struct stk__done){ .begun_at = stk__clock_ns(), .by = STK__READER_RING };
    f->fd = -1;
    f->is_open = f->owns_fd = false;
    f->buffer = NULL;
    f->bytes = 0;
    f->pieces.n = f->n_pieces = 0;
    f->offset = path ? 0 : first->place[0].offset;
    if (!path) {
        if (!first->run_bytes || !stk__pieces_new(x->pool, f->request, f->n, &f->pieces)) {
            land(x, f, false);
            return;
        }
        f->piece = f->pieces.piece;
        f->n_pieces = f->n;
        path = first->files->item[first->place[0].file].path;
        f->fd = stk__data_file_kept(first->files, first->place[0].file);
    }
    f->is_open = f->fd >= 0;
    if (f->is_open) {
        read_on(x, f);
        return;
    }
    struct io_uring_sqe *entry = io_uring_get_sqe(&x->ring->ring);
    io_uring_prep_openat(entry, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    io_uring_sqe_set_data(entry, f);
}

/* ---- the thread ---- */

static struct flight *take_flight(struct stk__exec *x)
{
    struct stk__ring_reads *r = x->ring;
    struct flight *f = r->free ? r->free : malloc(sizeof *f);
    if (!f)
        return NULL;
    r->free = f == r->free ? f->next : r->free;
    f->n = stk__take_requests(x, f->request);
    r->n_flying++;
    return f;
}

/* Requests for as many flights as there is room for; with the I/O lock held. */
static struct flight *take_flights(struct stk__exec *x)
{
    struct flight *first = NULL, **last = &first;
    int room = x->width.now ? x->width.now : 1;
    while (!x->is_io_stopped && x->request_len && x->ring->n_flying < room) {
        struct flight *f = take_flight(x);
        if (!f)
            break; /* those under way make room */
        *last = f;
        last = &f->next;
        f->next = NULL;
    }
    x->ring->wants_bell = x->ring->n_flying < room;
    return first;
}

static void serve_ring(struct stk__exec *x)
{
    struct stk__ring_reads *r = x->ring;
    struct io_uring_cqe *completion;
    unsigned head, n = 0;
    if (!r->landed)
        io_uring_submit_and_wait(&r->ring, 1);
    else
        io_uring_submit(&r->ring);
    io_uring_for_each_cqe(&r->ring, head, completion)
    {
        struct flight *f = io_uring_cqe_get_data(completion);
        if (f)
            come_back(x, f, completion->res);
        else
            listen_to_bell(r);
        n++;
    }
    io_uring_cq_advance(&r->ring, n);
}

/* Called without the lock, and left with it. */
static void hand_on(struct stk__exec *x)
{
    struct flight *landed = x->ring->landed, *f;
    x->ring->landed = NULL;
    for (f = landed; f; f = f->next)
        stk__hand_on(x, f->request, f->n, &f->done);
    pthread_mutex_lock(&x->io_lock);
    while ((f = landed)) {
        stk__note_read(x, &f->done);
        landed = f->next;
        f->next = x->ring->free;
        x->ring->free = f;
        x->ring->n_flying--;
    }
}

void *stk__ring_main(void *arg)
{
    struct stk__exec *x = arg;
    pthread_setname_np(pthread_self(), "stk-ring");
    listen_to_bell(x->ring);
    pthread_mutex_lock(&x->io_lock);
    while (!x->is_io_stopped || x->ring->n_flying) {
        struct flight *f = take_flights(x), *next;
        if (!x->ring->n_flying) {
            pthread_cond_wait(&x->io_work, &x->io_lock);
            continue;
        }
        pthread_mutex_unlock(&x->io_lock);
        for (; f; f = next) {
            next = f->next;
            begin(x, f);
        }
        serve_ring(x);
        hand_on(x);
    }
    pthread_mutex_unlock(&x->io_lock);
    return NULL;
}
