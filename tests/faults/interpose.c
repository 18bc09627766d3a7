/* SPDX-License-Identifier: Apache-2.0 */
/* interpose.c: for LD_PRELOAD; counts allocations, fails the n-th allocation or read, slows files.
 *
 *     STOKER_FAIL_ALLOC=n    the n-th allocation returns NULL
 *     STOKER_FAIL_READ=n     the n-th open or read of a file below STOKER_FAIL_PREFIX gives EIO
 *     STOKER_DELAY_READ_US=n every read of such a file takes n microseconds longer; it cannot be
 *                            mapped, because a map has no reads that could be slowed
 *     STOKER_DELAY_OPEN_US=n opening such a file takes n microseconds longer
 *                            (with a delay allocations are not counted: that takes time, too)
 *     STOKER_COUNT_FILE=f    at exit, the counts as JSON: in all, by stoker's own, by library
 *
 * Counting starts when this library is initialised, so the loader's own work is left alone. A program
 * can read the counts while it runs: dlsym(RTLD_DEFAULT, "interpose_count"). "Own" are calls that come
 * straight from libstoker, the command, or a test program; strdup and the like count for libc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* glibc's own entries: no lookup is needed before the first allocation. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

enum { MAX_LIBRARIES = 64 };

struct library {
    const void *base;
    const char *name;
    bool own;
    unsigned long n_allocs;
};

static struct library libraries[MAX_LIBRARIES]; /* guarded by lock */
static int n_libraries;                         /* guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_ulong n_allocs, n_own_allocs, n_reads;
static atomic_bool counting, counting_allocs;
static unsigned long fail_alloc, fail_read, delay_us, delay_open_us;
static char prefix[PATH_MAX];
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static void *(*real_mmap)(void *, size_t, int, int, int, off_t);

/* Done by start(), or earlier when another library's constructor opens or reads something. */
static void resolve(void)
{
    real_read = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    real_pread = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    real_openat = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    real_close = (int (*)(int))dlsym(RTLD_NEXT, "close");
    real_mmap = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_own(const char *name)
{
    return strcmp(name, "stoker") == 0 || starts_with(name, "libstoker") ||
           starts_with(name, "test_");
}

/* The library an address lies in; NULL when the table is full. Called with the lock held. */
static struct library *find_library(const Dl_info *info)
{
    for (int i = 0; i < n_libraries; i++)
        if (libraries[i].base == info->dli_fbase)
            return &libraries[i];
    if (n_libraries == MAX_LIBRARIES)
        return NULL;
    const char *slash = strrchr(info->dli_fname, '/');
    const char *name = slash ? slash + 1 : info->dli_fname;
    libraries[n_libraries] = (struct library){ info->dli_fbase, name, is_own(name), 0 };
    return &libraries[n_libraries++];
}

static void count_for_caller(const void *caller)
{
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_fname)
        return;
    pthread_mutex_lock(&lock);
    struct library *library = find_library(&info);
    if (library) {
        library->n_allocs++;
        atomic_fetch_add(&n_own_allocs, library->own);
    }
    pthread_mutex_unlock(&lock);
}

/* True when this allocation is the one to fail. */
static bool allocation_fails(const void *caller)
{
    if (!atomic_load_explicit(&counting_allocs, memory_order_relaxed))
        return false;
    unsigned long ordinal = atomic_fetch_add(&n_allocs, 1) + 1;
    count_for_caller(caller);
    if (ordinal != fail_alloc)
        return false;
    errno = ENOMEM;
    return true;
}

EXPORT void *malloc(size_t bytes)
{
    return allocation_fails(CALLER) ? NULL : __libc_malloc(bytes);
}

EXPORT void *calloc(size_t n, size_t bytes)
{
    return allocation_fails(CALLER) ? NULL : __libc_calloc(n, bytes);
}

EXPORT void *realloc(void *old, size_t bytes)
{
    return allocation_fails(CALLER) ? NULL : __libc_realloc(old, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return allocation_fails(CALLER) ? NULL : __libc_memalign(alignment, bytes);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *made = allocation_fails(CALLER) ? NULL : __libc_memalign(alignment, bytes);
    if (!made)
        return ENOMEM;
    *out = made;
    return 0;
}

/* Allocations since the start: all of them, or those of stoker's own objects. */
EXPORT unsigned long interpose_count(int own);
EXPORT unsigned long interpose_count(int own)
{
    return atomic_load(own ? &n_own_allocs : &n_allocs);
}

enum { MAX_KNOWN = 4096, NOT_ASKED = 0, DATA = 1, OTHER = 2 };
static atomic_uchar known[MAX_KNOWN]; /* by file descriptor */

static bool is_below_prefix(int fd)
{
    char link[64], path[PATH_MAX];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (len < 0)
        return false;
    path[len] = 0;
    return starts_with(path, prefix);
}

/* Asks once per open file: asking costs more than a small read. */
static bool is_data_file(int fd)
{
    if (fd < 0 || !prefix[0])
        return false;
    if (fd >= MAX_KNOWN)
        return is_below_prefix(fd);
    if (atomic_load(&known[fd]) == NOT_ASKED)
        atomic_store(&known[fd], is_below_prefix(fd) ? DATA : OTHER);
    return atomic_load(&known[fd]) == DATA;
}

static void set_known(int fd, unsigned char what)
{
    if (fd >= 0 && fd < MAX_KNOWN)
        atomic_store(&known[fd], what);
}

/* True when this open or read is the one to fail. */
static bool read_fails(int fd)
{
    if (!real_read)
        resolve();
    bool counts = atomic_load(&counting) && is_data_file(fd);
    if (!counts || atomic_fetch_add(&n_reads, 1) + 1 != fail_read)
        return false;
    errno = EIO;
    return true;
}

static void delay(int fd, unsigned long us)
{
    if (!us || !is_data_file(fd))
        return;
    struct timespec left = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };
    while (nanosleep(&left, &left) && errno == EINTR)
        continue;
}

EXPORT ssize_t read(int fd, void *data, size_t bytes)
{
    delay(fd, delay_us);
    return read_fails(fd) ? -1 : real_read(fd, data, bytes);
}

EXPORT ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
    delay(fd, delay_us);
    return read_fails(fd) ? -1 : real_pread(fd, data, bytes, at);
}

EXPORT ssize_t pread64(int fd, void *data, size_t bytes, off_t at)
{
    delay(fd, delay_us);
    return read_fails(fd) ? -1 : real_pread(fd, data, bytes, at);
}

static void *map_unless_slow(void *at, size_t bytes, int protection, int flags, int fd, off_t from)
{
    if (!real_mmap)
        resolve();
    if (!delay_us || !is_data_file(fd))
        return real_mmap(at, bytes, protection, flags, fd, from);
    errno = ENODEV;
    return MAP_FAILED;
}

EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from)
{
    return map_unless_slow(at, bytes, protection, flags, fd, from);
}

EXPORT void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t from)
{
    return map_unless_slow(at, bytes, protection, flags, fd, from);
}

EXPORT int close(int fd)
{
    if (!real_close)
        resolve();
    set_known(fd, NOT_ASKED);
    return real_close(fd);
}

static int open_or_fail(int dir, const char *path, int flags, va_list more)
{
    int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, int) : 0;
    if (!real_openat)
        resolve();
    int fd = real_openat(dir, path, flags, mode);
    set_known(fd, prefix[0] && starts_with(path, prefix) ? DATA : NOT_ASKED);
    delay(fd, delay_open_us);
    if (!read_fails(fd))
        return fd;
    close(fd);
    errno = EIO;
    return -1;
}

#define DEFINE_OPEN(name)                                                                          \
    EXPORT int name(const char *path, int flags, ...)                                              \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        int fd = open_or_fail(AT_FDCWD, path, flags, more);                                        \
        va_end(more);                                                                              \
        return fd;                                                                                 \
    }
#define DEFINE_OPENAT(name)                                                                        \
    EXPORT int name(int dir, const char *path, int flags, ...)                                     \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        int fd = open_or_fail(dir, path, flags, more);                                             \
        va_end(more);                                                                              \
        return fd;                                                                                 \
    }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

static unsigned long number_from(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void start(void)
{
    resolve();
    const char *given = getenv("STOKER_FAIL_PREFIX");
    if (given && !realpath(given, prefix))
        prefix[0] = 0;
    fail_alloc = number_from("STOKER_FAIL_ALLOC");
    fail_read = number_from("STOKER_FAIL_READ");
    delay_us = number_from("STOKER_DELAY_READ_US");
    delay_open_us = number_from("STOKER_DELAY_OPEN_US");
    if (delay_us || delay_open_us)
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* inherited; the usual 50 us add to a delay */
    atomic_store(&counting_allocs, !delay_us && !delay_open_us);
    atomic_store(&counting, true);
}

static void write_counts(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "{\"allocs\": %lu, \"own_allocs\": %lu, \"reads\": %lu, \"libraries\": {",
            atomic_load(&n_allocs), atomic_load(&n_own_allocs), atomic_load(&n_reads));
    for (int i = 0; i < n_libraries; i++)
        fprintf(file, "%s\"%s\": %lu", i ? ", " : "", libraries[i].name, libraries[i].n_allocs);
    fprintf(file, "}}\n");
    fclose(file);
}

__attribute__((destructor)) static void finish(void)
{
    atomic_store(&counting_allocs, false);
    atomic_store(&counting, false);
    const char *path = getenv("STOKER_COUNT_FILE");
    if (path)
        write_counts(path);
}
