/* SPDX-License-Identifier: Apache-2.0 */
/* lane_ring.c: reads through io_uring: one thread, with as many on their way as the width says, as flights of ring
 * operations.
 *
 *      requests ─▶ flight: open ─▶ read … read ─▶ handed on
 *      small files:        open ─ read ─ probe ─ close, linked ─▶ handed on
 *
 * A file is opened, asked for its size and read; a run of places is read from a descriptor that is
 * kept, or opened first. A read that is short goes on. Whatever fails is done again by read_bytes.c,
 * which knows what to say of it.
 *
 * Small files are read by guess. Where those before were small, there is a buffer of twice their size, and
 * the four operations go into the ring together, on a descriptor of the ring's own: several files cost one
 * system call. The probe is a read behind the first. If it finds nothing the file is whole; in every other
 * case, it is read as if nothing had been done. A flight has its own place among the ring's descriptors, and
 * makes no more guesses if that could not be closed: an open that came too late would find another's file there.
 *
 * The thread sleeps on the condition of the lane's lock while there is nothing
 * to do, and in the ring while reads are on their way. Then a bell, a descriptor that the ring
 * reads as well, tells it of new requests, if it has room for them.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/memory/buffer.h"
#include "io/data_file.h"
#include "io/read/lane_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* What of a guess an operation is: the lowest bits of what completions carry. */
enum part { WHOLE, OPEN, READ, PROBE, CLOSE, N_PARTS };
enum { PART_MASK = 7 };

struct flight {
    struct flight *next;
    struct stk__read_request request[STK__MOST_NEIGHBOURS];
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
    int slot;                   /* among the descriptors of the ring; -1: none */
    int n_out, result[N_PARTS]; /* of a guess */
    uint8_t probe;
    struct stk__read_done done;
};

struct stk__ring_reads {
    struct io_uring ring;
    int bell;
    uint64_t n_rung; /* what the ring reads from the bell */
    bool wants_bell; /* guarded by the lane's lock: the thread waits and has room */
    int n_flying;    /* these are the thread's own */
    int n_slots, n_flights;
    size_t typical_bytes; /* of files lately */
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

static struct flight *new_flight(struct stk__ring_reads *r)
{
    struct flight *f = calloc(1, sizeof *f);
    if (f)
        f->slot = r->n_flights < r->n_slots ? r->n_flights++ : -1;
    return f;
}

/* Every flight has four operations in the ring at most, and the bell has one, so there is always an entry
 * for the next. One flight there must be; more are made as they are needed. Systems without descriptors of the ring's own
 * have no guesses. */
struct stk__ring_reads *stk__ring_new(int depth)
{
    struct stk__ring_reads *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->bell = eventfd(0, EFD_CLOEXEC);
    unsigned n_entries = (N_PARTS - 1) * (unsigned)depth + 1;
    if (r->bell >= 0 && !io_uring_queue_init(n_entries, &r->ring, 0)) {
        r->n_slots = io_uring_register_files_sparse(&r->ring, (unsigned)depth) ? 0 : depth;
        r->free = new_flight(r);
        if (r->free)
            return r;
        io_uring_queue_exit(&r->ring);
    }
    if (r->bell >= 0)
        close(r->bell);
    free(r);
    return NULL;
}

static void free_ring(struct stk__lane *lane)
{
    struct stk__ring_reads *r = lane->ring;
    for (struct flight *f = r->free, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    io_uring_queue_exit(&r->ring);
    close(r->bell);
    free(r);
}

static void listen_to_bell(struct stk__ring_reads *r)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&r->ring);
    io_uring_prep_read(entry, r->bell, &r->n_rung, sizeof r->n_rung, 0);
    io_uring_sqe_set_data(entry, NULL);
}

/* ---- a flight ---- */

/* Done by the ring, or again by read_bytes.c. */
static void land(struct stk__lane *lane, struct flight *f, bool is_read)
{
    if (f->owns_fd && f->fd >= 0)
        close(f->fd);
    if (!f->request[0].path) {
        stk__pieces_end(&lane->plan.host, f->request, f->n, &f->pieces, is_read);
    } else if (is_read) {
        stk__file_end(f->request[0].result, f->buffer, (size_t)f->bytes);
    } else {
        stk__buffer_unref(f->buffer);
        stk__read_file(&lane->plan.host, &f->request[0]);
    }
    f->done.ended_at = stk__clock_ns();
    f->done.has_waited = true; /* how long it took says whether that is so */
    f->next = lane->ring->landed;
    lane->ring->landed = f;
}

static void read_on(struct stk__lane *lane, struct flight *f)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&lane->ring->ring);
    io_uring_prep_readv(entry, f->fd, f->piece, (unsigned)f->n_pieces, f->offset);
    io_uring_sqe_set_data(entry, f);
}

/* The largest lately. */
static void learn_size(struct stk__ring_reads *r, size_t bytes)
{
    r->typical_bytes = bytes > r->typical_bytes ? bytes : (7 * r->typical_bytes + bytes) / 8;
}

/* False: it is no regular file, it is to be looked at before it is read, or there is no memory. */
static bool prepare_file(struct stk__lane *lane, struct flight *f)
{
    struct stat info;
    if (fstat(f->fd, &info) || !S_ISREG(info.st_mode) || info.st_size >= STK__LARGE_FILE)
        return false;
    f->buffer = stk__buffer_new(lane->plan.host.pool, (size_t)info.st_size);
    if (!f->buffer)
        return false;
    learn_size(lane->ring, (size_t)info.st_size);
    f->file_piece = (struct iovec){ f->buffer->data, (size_t)info.st_size };
    f->piece = &f->file_piece;
    f->n_pieces = info.st_size > 0;
    return true;
}

static void opened(struct stk__lane *lane, struct flight *f, int fd)
{
    const struct stk__read_request *first = &f->request[0];
    f->fd = fd;
    f->is_open = true;
    f->owns_fd = true;
    if (fd < 0 || (first->path && !prepare_file(lane, f))) {
        land(lane, f, false);
        return;
    }
    if (!first->path)
        f->owns_fd = !stk__data_file_keep(first->files, first->place[0].file, fd);
    if (f->n_pieces)
        read_on(lane, f);
    else
        land(lane, f, true);
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

static void come_back(struct stk__lane *lane, struct flight *f, int result)
{
    if (!f->is_open) {
        opened(lane, f, result);
        return;
    }
    bool is_over = result == 0, may_be_short = f->request[0].path != NULL;
    if (result > 0)
        advance(f, (size_t)result);
    if ((is_over && may_be_short) || (result > 0 && !f->n_pieces))
        land(lane, f, true); /* a file that is shorter than it said: what is there decides */
    else if (is_over || (result < 0 && result != -EINTR && result != -EAGAIN))
        land(lane, f, false);
    else
        read_on(lane, f);
}

static void begin_open(struct stk__lane *lane, struct flight *f, const char *path)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&lane->ring->ring);
    io_uring_prep_openat(entry, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    io_uring_sqe_set_data(entry, f);
}

/* ---- small files, by guess ---- */

static void add_part(struct stk__lane *lane, struct flight *f, enum part part, unsigned flags,
                     void *data, unsigned bytes)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&lane->ring->ring);
    if (part == OPEN)
        io_uring_prep_openat_direct(entry, AT_FDCWD, f->request[0].path, O_RDONLY | O_NONBLOCK, 0,
                                    (unsigned)f->slot);
    else if (part == CLOSE)
        io_uring_prep_close_direct(entry, (unsigned)f->slot);
    else
        io_uring_prep_read(entry, f->slot, data, bytes, (uint64_t)-1);
    bool reads = part == READ || part == PROBE;
    io_uring_sqe_set_flags(entry, flags | (reads ? IOSQE_FIXED_FILE : 0));
    io_uring_sqe_set_data(entry, (uint8_t *)f + part);
    f->n_out++;
}

/* False: there is nothing to guess from, files are large, or there is no memory. A read that is short does not
 * undo what follows it, and an open that fails does. */
static bool begin_guess(struct stk__lane *lane, struct flight *f)
{
    const size_t most_bytes = 64 << 10;
    size_t bytes = 2 * lane->ring->typical_bytes;
    if (f->slot < 0 || !bytes || bytes > 2 * most_bytes ||
        !(f->buffer = stk__buffer_new(lane->plan.host.pool, bytes)))
        return false;
    f->n_out = 0;
    add_part(lane, f, OPEN, IOSQE_IO_LINK, NULL, 0);
    add_part(lane, f, READ, IOSQE_IO_HARDLINK, f->buffer->data, (unsigned)bytes);
    add_part(lane, f, PROBE, IOSQE_IO_HARDLINK, &f->probe, sizeof f->probe);
    add_part(lane, f, CLOSE, 0, NULL, 0);
    return true;
}

static void part_back(struct stk__lane *lane, struct flight *f, enum part part, int result)
{
    f->result[part] = result;
    if (--f->n_out)
        return;
    bool is_closed = f->result[OPEN] < 0 || !f->result[CLOSE];
    if (!is_closed)
        f->slot = -1;
    if (!f->result[OPEN] && f->result[READ] > 0 && !f->result[PROBE]) {
        f->bytes = (uint64_t)f->result[READ];
        learn_size(lane->ring, (size_t)f->bytes);
        land(lane, f, true);
        return;
    }
    stk__buffer_unref(f->buffer);
    f->buffer = NULL;
    begin_open(lane, f, f->request[0].path);
}

/* ---- beginning ---- */

static void begin(struct stk__lane *lane, struct flight *f)
{
    const struct stk__read_request *first = &f->request[0];
    const char *path = first->path;
    f->done = (struct stk__read_done){ .begun_at = stk__clock_ns(), .by = STK__READER_RING };
    f->fd = -1;
    f->is_open = f->owns_fd = false;
    f->buffer = NULL;
    f->bytes = 0;
    f->pieces.n = f->n_pieces = 0;
    f->offset = path ? 0 : first->place[0].offset;
    if (!path) {
        if (!first->run_bytes || !stk__pieces_new(&lane->plan.host, f->request, f->n, &f->pieces)) {
            land(lane, f, false);
            return;
        }
        f->piece = f->pieces.piece;
        f->n_pieces = f->n;
        path = first->files->item[first->place[0].file].path;
        f->fd = stk__data_file_kept(first->files, first->place[0].file);
    }
    f->is_open = f->fd >= 0;
    if (f->is_open)
        read_on(lane, f);
    else if (!first->path || !begin_guess(lane, f))
        begin_open(lane, f, path);
}

/* ---- the thread ---- */

static struct flight *take_flight(struct stk__lane *lane)
{
    struct stk__ring_reads *r = lane->ring;
    struct flight *f = r->free ? r->free : new_flight(r);
    if (!f)
        return NULL;
    r->free = f == r->free ? f->next : r->free;
    f->n = stk__lane_take(lane, f->request);
    r->n_flying++;
    return f;
}

/* Requests for as many flights as there is room for; with the lock held. */
static struct flight *take_flights(struct stk__lane *lane)
{
    struct flight *first = NULL, **last = &first;
    int room = lane->width.now ? lane->width.now : 1;
    while (!lane->is_stopped && lane->queue.len && lane->ring->n_flying < room) {
        struct flight *f = take_flight(lane);
        if (!f)
            break; /* those under way make room */
        *last = f;
        last = &f->next;
        f->next = NULL;
    }
    lane->ring->wants_bell = lane->ring->n_flying < room;
    return first;
}

static void serve_ring(struct stk__lane *lane)
{
    struct stk__ring_reads *r = lane->ring;
    struct io_uring_cqe *completion;
    unsigned head, n = 0;
    if (!r->landed)
        io_uring_submit_and_wait(&r->ring, 1);
    else
        io_uring_submit(&r->ring);
    io_uring_for_each_cqe(&r->ring, head, completion)
    {
        enum part part = completion->user_data & PART_MASK;
        struct flight *f = (struct flight *)(uintptr_t)(completion->user_data - part);
        if (!f)
            listen_to_bell(r);
        else if (part == WHOLE)
            come_back(lane, f, completion->res);
        else
            part_back(lane, f, part, completion->res);
        n++;
    }
    io_uring_cq_advance(&r->ring, n);
}

/* Called without the lock, and left with it. */
static void hand_on(struct stk__lane *lane)
{
    struct flight *landed = lane->ring->landed, *f;
    lane->ring->landed = NULL;
    for (f = landed; f; f = f->next)
        stk__lane_hand_on(lane, f->request, f->n, &f->done);
    pthread_mutex_lock(&lane->lock);
    while ((f = landed)) {
        stk__lane_note(lane, &f->done);
        landed = f->next;
        f->next = lane->ring->free;
        lane->ring->free = f;
        lane->ring->n_flying--;
    }
}

static void *fly(void *arg)
{
    struct stk__lane *lane = arg;
    pthread_setname_np(pthread_self(), "stk-ring");
    listen_to_bell(lane->ring);
    pthread_mutex_lock(&lane->lock);
    while (!lane->is_stopped || lane->ring->n_flying) {
        struct flight *f = take_flights(lane), *next;
        if (!lane->ring->n_flying) {
            pthread_cond_wait(&lane->work, &lane->lock);
            continue;
        }
        pthread_mutex_unlock(&lane->lock);
        for (; f; f = next) {
            next = f->next;
            begin(lane, f);
        }
        serve_ring(lane);
        hand_on(lane);
    }
    pthread_mutex_unlock(&lane->lock);
    return NULL;
}

static void wake(struct stk__lane *lane, int n)
{
    const uint64_t one = 1;
    struct stk__ring_reads *r = lane->ring;
    if (!n)
        return;
    if (!lane->n_threads) {
        stk__lane_start_thread(lane, fly);
        return;
    }
    pthread_cond_signal(&lane->work);
    if (r->wants_bell && write(r->bell, &one, sizeof one) == sizeof one)
        r->wants_bell = false;
}

const struct stk__lane_driver stk__ring_driver = {
    .wake = wake,
    .free = free_ring,
    .takes_places_apart = true,
};
