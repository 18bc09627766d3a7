/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c: when requests to a simulated device are done, by arithmetic on one shared state. */
#define _GNU_SOURCE
#include "storage.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Zeros are a device at rest, so a new file is a state. */
struct state {
    atomic_int is_locked; /* held for a few instructions */
    uint64_t free_at;     /* the last byte that was booked has come */
    dev_t device;         /* where a disk's head is then */
    ino_t file;
    off_t offset;
    struct storage_counts counts;
};

static struct state *state;
static uint64_t latency_ns, open_ns, seek_ns, bytes_per_s;

unsigned long storage_number(const char *variable)
{
    const char *text = getenv(variable);
    return text ? strtoul(text, NULL, 10) : 0;
}

bool storage_is_slow(void)
{
    return latency_ns || seek_ns || bytes_per_s;
}

/* Without the wrappers of this library: nothing here may be slowed down or counted. */
static void *map_state(const char *path)
{
    int fd = -1;
    if (path) {
        fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, sizeof(struct state)))
            return MAP_FAILED;
    }
    int flags = MAP_SHARED | (path ? 0 : MAP_ANONYMOUS);
    return (void *)syscall(SYS_mmap, NULL, sizeof(struct state), PROT_READ | PROT_WRITE, flags, fd,
                           (off_t)0);
}

void storage_start(void)
{
    latency_ns = storage_number("STOKER_DELAY_READ_US") * 1000;
    open_ns = storage_number("STOKER_DELAY_OPEN_US") * 1000;
    seek_ns = storage_number("STOKER_SEEK_US") * 1000;
    bytes_per_s = storage_number("STOKER_READ_MB_PER_S") * 1000000;
    if (!storage_is_slow() && !open_ns)
        return;
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* inherited; the usual 50 us add to a delay */
    state = map_state(getenv("STOKER_STORAGE_STATE"));
    if (state == MAP_FAILED)
        abort(); /* a run that is not slow would be taken for one that is fast */
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void lock(void)
{
    int expected = 0;
    while (!atomic_compare_exchange_weak(&state->is_locked, &expected, 1)) {
        expected = 0;
        sched_yield();
    }
}

static bool is_at_head(const struct stat *file, off_t offset)
{
    return state->device == file->st_dev && state->file == file->st_ino && state->offset == offset;
}

/* Called with the lock held. */
static uint64_t book(const struct stat *file, off_t offset, uint64_t bytes)
{
    uint64_t done = now_ns() + latency_ns;
    if (seek_ns || bytes_per_s)
        done = done > state->free_at ? done : state->free_at;
    bool is_seek = !is_at_head(file, offset);
    if (is_seek)
        done += seek_ns;
    if (state->device == file->st_dev && state->file == file->st_ino)
        state->counts.travel += (unsigned long)(offset > state->offset ? offset - state->offset
                                                                       : state->offset - offset);
    if (bytes_per_s)
        done += bytes * 1000000000u / bytes_per_s;
    state->free_at = done;
    state->device = file->st_dev;
    state->file = file->st_ino;
    state->offset = offset + (off_t)bytes;
    state->counts.n_requests++;
    state->counts.n_seeks += is_seek;
    state->counts.bytes += bytes;
    return done;
}

uint64_t storage_book(int fd, off_t offset, size_t bytes)
{
    struct stat file;
    int saved = errno;
    if (offset < 0)
        offset = lseek(fd, 0, SEEK_CUR);
    bool is_there = !fstat(fd, &file) && offset >= 0 && offset < file.st_size && bytes;
    errno = saved;
    if (!is_there)
        return 0;
    uint64_t left = (uint64_t)(file.st_size - offset);
    lock();
    uint64_t done = book(&file, offset, bytes < left ? bytes : left);
    atomic_store(&state->is_locked, 0);
    return done;
}

uint64_t storage_book_open(void)
{
    return open_ns ? now_ns() + open_ns : 0;
}

struct storage_counts storage_counts(void)
{
    return state ? state->counts : (struct storage_counts){ 0 };
}

void storage_wait(uint64_t until_ns)
{
    const struct timespec until = { (time_t)(until_ns / 1000000000u),
                                    (long)(until_ns % 1000000000u) };
    while (until_ns && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
}
