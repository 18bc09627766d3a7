/* SPDX-License-Identifier: Apache-2.0 */
/* fault_wraps.c: the library's allocations and file accesses, counted and made to fail. See
 * fault_wraps.h. */
#define _GNU_SOURCE
#include "fault_wraps.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is to fail ---- */

static enum fault_kind armed;
static long fail_at;
static bool fails_for_ever;
static atomic_long n_calls;
static atomic_bool has_failed;
static char path_failed[4096];

void fault_arm(enum fault_kind kind, long n, bool for_ever)
{
    fail_at = n;
    fails_for_ever = for_ever;
    path_failed[0] = 0;
    atomic_store(&n_calls, 0);
    atomic_store(&has_failed, false);
    armed = kind;
}

bool fault_disarm(void)
{
    armed = FAULT_NONE;
    return atomic_load(&has_failed);
}

const char *fault_path(void)
{
    return path_failed;
}

static bool fails(enum fault_kind kind, int error)
{
    if (armed != kind)
        return false;
    long n = atomic_fetch_add(&n_calls, 1) + 1;
    if (n < fail_at || (n > fail_at && !fails_for_ever))
        return false;
    atomic_store(&has_failed, true);
    errno = error;
    return true;
}

/* ---- blocks in use: a table with open addressing ---- */

enum { N_SLOTS = 1 << 15 };

static struct slot {
    void *block;
    long ordinal;
} slots[N_SLOTS];   /* guarded by lock */
static long n_live; /* guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t home_of(const void *block)
{
    return ((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> 40 & (N_SLOTS - 1);
}

static size_t find(const void *block)
{
    size_t at = home_of(block);
    while (slots[at].block && slots[at].block != block)
        at = (at + 1) & (N_SLOTS - 1);
    return at;
}

static void *add_block(void *block)
{
    if (!block)
        return NULL;
    pthread_mutex_lock(&lock);
    if (++n_live > N_SLOTS / 2)
        abort();
    slots[find(block)] = (struct slot){ block, atomic_load(&n_calls) };
    pthread_mutex_unlock(&lock);
    return block;
}

/* Blocks that came from elsewhere are not in the table. */
static bool remove_block(const void *block)
{
    pthread_mutex_lock(&lock);
    size_t at = find(block);
    bool is_ours = block && slots[at].block;
    for (size_t next = at; is_ours;) { /* what was pushed on by this one moves back */
        slots[at].block = NULL;
        do
            next = (next + 1) & (N_SLOTS - 1);
        while (slots[next].block && ((next - home_of(slots[next].block)) & (N_SLOTS - 1)) <
                                        ((next - at) & (N_SLOTS - 1)));
        if (!slots[next].block)
            break;
        slots[at] = slots[next];
        at = next;
    }
    n_live -= is_ours;
    pthread_mutex_unlock(&lock);
    return is_ours;
}

long fault_live_blocks(void)
{
    pthread_mutex_lock(&lock);
    long n = n_live;
    pthread_mutex_unlock(&lock);
    return n;
}

long fault_live_ordinal(void)
{
    long ordinal = -1;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < N_SLOTS; i++)
        if (slots[i].block && slots[i].ordinal > ordinal)
            ordinal = slots[i].ordinal;
    pthread_mutex_unlock(&lock);
    return ordinal;
}

/* ---- allocations ---- */

#define DECLARE_WRAP(type, name, ...)                                                              \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)
DECLARE_WRAP(void *, malloc, size_t bytes);
DECLARE_WRAP(void *, calloc, size_t n, size_t bytes);
DECLARE_WRAP(void *, realloc, void *old, size_t bytes);
DECLARE_WRAP(void *, aligned_alloc, size_t alignment, size_t bytes);
DECLARE_WRAP(char *, strdup, const char *text);
DECLARE_WRAP(void *, mmap, void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
DECLARE_WRAP(int, munmap, void *at, size_t bytes);
DECLARE_WRAP(void, free, void *block);
DECLARE_WRAP(ssize_t, read, int fd, void *data, size_t bytes);
DECLARE_WRAP(ssize_t, pread, int fd, void *data, size_t bytes, off_t at);
DECLARE_WRAP(int, fstat, int fd, struct stat *info);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

void *__wrap_malloc(size_t bytes)
{
    return fails(FAULT_ALLOCATION, ENOMEM) ? NULL : add_block(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails(FAULT_ALLOCATION, ENOMEM) ? NULL : add_block(__real_calloc(n, bytes));
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(FAULT_ALLOCATION, ENOMEM) ? NULL
                                           : add_block(__real_aligned_alloc(alignment, bytes));
}

char *__wrap_strdup(const char *text)
{
    return fails(FAULT_ALLOCATION, ENOMEM) ? NULL : add_block(__real_strdup(text));
}

void *__wrap_realloc(void *old, size_t bytes)
{
    if (fails(FAULT_ALLOCATION, ENOMEM))
        return NULL;
    bool was_ours = remove_block(old); /* before somebody else can get the same place */
    void *block = __real_realloc(old, bytes);
    if (!block && was_ours)
        add_block(old);
    return add_block(block);
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fails(FAULT_ALLOCATION, ENOMEM))
        return MAP_FAILED;
    void *block = __real_mmap(at, bytes, protection, flags, fd, offset);
    return block == MAP_FAILED ? block : add_block(block);
}

int __wrap_munmap(void *at, size_t bytes)
{
    remove_block(at);
    return __real_munmap(at, bytes);
}

void __wrap_free(void *block)
{
    remove_block(block);
    __real_free(block);
}

/* ---- file accesses ---- */

static void note_path(int fd)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path_failed, sizeof path_failed - 1);
    path_failed[len > 0 ? len : 0] = 0;
    errno = EIO;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    if (!fails(FAULT_ACCESS, EIO))
        return __real_open(path, flags, mode);
    snprintf(path_failed, sizeof path_failed, "%s", path);
    errno = EIO;
    return -1;
}

int __wrap_fstat(int fd, struct stat *info)
{
    if (!fails(FAULT_ACCESS, EIO))
        return __real_fstat(fd, info);
    note_path(fd);
    return -1;
}

/* How many of the bytes that are asked for a read may give. */
static size_t shortened(size_t bytes)
{
    size_t few = 1 + (size_t)atomic_load(&n_calls) % 7;
    return fails(FAULT_SHORT, 0) && bytes > few ? few : bytes;
}

ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t at)
{
    if (!fails(FAULT_ACCESS, EIO))
        return __real_pread(fd, data, shortened(bytes), at);
    note_path(fd);
    return -1;
}

ssize_t __wrap_read(int fd, void *data, size_t bytes)
{
    if (!fails(FAULT_ACCESS, EIO))
        return __real_read(fd, data, shortened(bytes));
    note_path(fd);
    return -1;
}
