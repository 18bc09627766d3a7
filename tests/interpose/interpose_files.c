/* SPDX-License-Identifier: Apache-2.0 */
/* interpose_files.c: opens and reads of data files, those below STOKER_FAIL_PREFIX, made slow or faulty.
 *
 *     STOKER_DELAY_READ_US=n     a read takes n microseconds
 *     STOKER_READ_MB_PER_S=n     all reads together get n million bytes a second
 *     STOKER_SEEK_US=n           one read at a time; n microseconds more unless it goes on where the
 *                                last one ended (storage.h)
 *     STOKER_DELAY_OPEN_US=n     opening takes n microseconds longer
 *     STOKER_STORAGE_STATE=f     a file that processes share the device by; forks share it anyway
 *     STOKER_FAIL_READ=n         the n-th open or read gives EIO
 *     STOKER_SHORT_READ=n        every n-th read gives half of what it could
 *     STOKER_INTERRUPT_READ=n    every n-th read is interrupted: EINTR
 *     STOKER_NEVER_WAITS=1       no thread has ever waited: getrusage says so
 *     STOKER_DISK_BYTES=n        a disk with room for n bytes: what is written by pwritev beyond them is
 *                                cut short, and then gives ENOSPC
 *
 * With any of the others, a data file cannot be mapped, because a map has no reads that could be slowed,
 * and no ring can be set up: io_uring_setup gives ENOSYS, by a filter of system calls that children
 * inherit. A program that uses either falls back to reading. Files that are read through stdio are
 * left alone, which C libraries read without a call that could be replaced.
 */
#define _GNU_SOURCE
#include "interpose_files.h"

#include "storage.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static atomic_ulong n_calls, n_reads; /* opens and reads; reads alone */
static atomic_ulong n_other; /* sizes that were asked for, files that were closed, and getrusage */
static atomic_bool is_counting;
static bool is_reading_forced, never_waits;
static unsigned long fail_call, short_read, interrupt_read;
static char prefix[PATH_MAX];
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_preadv2)(int, const struct iovec *, int, off_t, int);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off_t);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static int (*real_fstat)(int, struct stat *);
static int (*real_getrusage)(__rusage_who_t, struct rusage *);
static void *(*real_mmap)(void *, size_t, int, int, int, off_t);

/* Done by files_start(), or earlier when another library's constructor opens or reads something. */
static void resolve(void)
{
    real_read = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    real_pread = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    real_preadv2 =
        (ssize_t(*)(int, const struct iovec *, int, off_t, int))dlsym(RTLD_NEXT, "preadv2");
    real_pwritev = (ssize_t(*)(int, const struct iovec *, int, off_t))dlsym(RTLD_NEXT, "pwritev");
    real_openat = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    real_close = (int (*)(int))dlsym(RTLD_NEXT, "close");
    real_fstat = (int (*)(int, struct stat *))dlsym(RTLD_NEXT, "fstat");
    real_getrusage = (int (*)(__rusage_who_t, struct rusage *))dlsym(RTLD_NEXT, "getrusage");
    real_mmap = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
}

/* ---- which files ---- */

enum { MAX_KNOWN = 4096, NOT_ASKED = 0, DATA = 1, OTHER = 2 };
static atomic_uchar known[MAX_KNOWN]; /* by file descriptor */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

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
    if (fd < 0 || !prefix[0] || !atomic_load(&is_counting))
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

/* ---- reads ---- */

static bool is_nth(unsigned long ordinal, unsigned long n)
{
    return n && ordinal % n == 0;
}

static int fail(int error)
{
    errno = error;
    return -1;
}

/* The first half of the pieces' bytes; `half` has room for n. */
static int halve(const struct iovec *piece, int n, struct iovec *half)
{
    size_t bytes = 0;
    int n_half = 0;
    for (int i = 0; i < n; i++)
        bytes += piece[i].iov_len;
    for (bytes = (bytes + 1) / 2; bytes; n_half++) {
        half[n_half] = piece[n_half];
        if (half[n_half].iov_len > bytes)
            half[n_half].iov_len = bytes;
        bytes -= half[n_half].iov_len;
    }
    return n_half;
}

static ssize_t read_slowly(int fd, const struct iovec *piece, int n, off_t at, int flags)
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += piece[i].iov_len;
    uint64_t done_at = storage_is_slow() ? storage_book(fd, at, bytes) : 0;
    ssize_t got = real_preadv2(fd, piece, n, at, flags);
    int saved = errno;
    storage_wait(done_at);
    errno = saved;
    return got;
}

/* Every read of a data file comes here; at < 0: from where the descriptor stands. */
static ssize_t read_data(int fd, const struct iovec *piece, int n, off_t at, int flags)
{
    struct iovec half[IOV_MAX];
    if (atomic_fetch_add(&n_calls, 1) + 1 == fail_call)
        return fail(EIO);
    unsigned long ordinal = atomic_fetch_add(&n_reads, 1) + 1;
    if (is_nth(ordinal, interrupt_read))
        return fail(EINTR);
    if (is_nth(ordinal, short_read)) {
        n = halve(piece, n, half);
        piece = half;
    }
    return read_slowly(fd, piece, n, at, flags);
}

static ssize_t read_one(int fd, void *data, size_t bytes, off_t at)
{
    const struct iovec piece = { data, bytes };
    if (!real_read)
        resolve();
    if (is_data_file(fd))
        return read_data(fd, &piece, 1, at, 0);
    return at < 0 ? real_read(fd, data, bytes) : real_pread(fd, data, bytes, at);
}

static ssize_t read_pieces(int fd, const struct iovec *piece, int n, off_t at, int flags)
{
    if (!real_preadv2)
        resolve();
    return is_data_file(fd) ? read_data(fd, piece, n, at, flags)
                            : real_preadv2(fd, piece, n, at, flags);
}

EXPORT ssize_t read(int fd, void *data, size_t bytes)
{
    return read_one(fd, data, bytes, -1);
}

EXPORT ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room)
{
    if (bytes > room)
        abort();
    return read_one(fd, data, bytes, -1);
}

#define DEFINE_PREAD(name)                                                                         \
    EXPORT ssize_t name(int fd, void *data, size_t bytes, off_t at)                                \
    {                                                                                              \
        return at < 0 ? fail(EINVAL) : read_one(fd, data, bytes, at);                              \
    }
#define DEFINE_PREAD_CHK(name)                                                                     \
    EXPORT ssize_t name(int fd, void *data, size_t bytes, off_t at, size_t room)                   \
    {                                                                                              \
        if (bytes > room)                                                                          \
            abort();                                                                               \
        return at < 0 ? fail(EINVAL) : read_one(fd, data, bytes, at);                              \
    }
#define DEFINE_PREADV(name)                                                                        \
    EXPORT ssize_t name(int fd, const struct iovec *piece, int n, off_t at)                        \
    {                                                                                              \
        return at < 0 ? fail(EINVAL) : read_pieces(fd, piece, n, at, 0);                           \
    }
#define DEFINE_PREADV2(name)                                                                       \
    EXPORT ssize_t name(int fd, const struct iovec *piece, int n, off_t at, int flags)             \
    {                                                                                              \
        return read_pieces(fd, piece, n, at, flags);                                               \
    }
DEFINE_PREAD(pread)
DEFINE_PREAD(pread64)
DEFINE_PREAD_CHK(__pread_chk)
DEFINE_PREAD_CHK(__pread64_chk)
DEFINE_PREADV(preadv)
DEFINE_PREADV(preadv64)
DEFINE_PREADV2(preadv2)
DEFINE_PREADV2(preadv64v2)

EXPORT ssize_t readv(int fd, const struct iovec *piece, int n)
{
    return read_pieces(fd, piece, n, -1, 0);
}

/* ---- writes ---- */

static atomic_long disk_bytes; /* that are left */
static bool is_disk_small;

/* As much of the first pieces as there is room for. */
static ssize_t write_pieces(int fd, const struct iovec *piece, int n, off_t at)
{
    size_t wanted = 0;
    if (!real_pwritev)
        resolve();
    if (!is_disk_small || !is_data_file(fd))
        return real_pwritev(fd, piece, n, at);
    for (int i = 0; i < n; i++)
        wanted += piece[i].iov_len;
    long left = atomic_fetch_sub(&disk_bytes, (long)wanted);
    if (left >= (long)wanted)
        return real_pwritev(fd, piece, n, at);
    if (left <= 0)
        return fail(ENOSPC);
    struct iovec first = piece[0];
    first.iov_len = (size_t)left < first.iov_len ? (size_t)left : first.iov_len;
    return real_pwritev(fd, &first, 1, at);
}

#define DEFINE_PWRITEV(name)                                                                       \
    EXPORT ssize_t name(int fd, const struct iovec *piece, int n, off_t at)                        \
    {                                                                                              \
        return write_pieces(fd, piece, n, at);                                                     \
    }
DEFINE_PWRITEV(pwritev)
DEFINE_PWRITEV(pwritev64)

/* ---- maps ---- */

#define DEFINE_MMAP(name)                                                                          \
    EXPORT void *name(void *at, size_t bytes, int protection, int flags, int fd, off_t from)       \
    {                                                                                              \
        if (!real_mmap)                                                                            \
            resolve();                                                                             \
        if (!is_reading_forced || !is_data_file(fd))                                               \
            return real_mmap(at, bytes, protection, flags, fd, from);                              \
        errno = ENODEV;                                                                            \
        return MAP_FAILED;                                                                         \
    }
DEFINE_MMAP(mmap)
DEFINE_MMAP(mmap64)

/* ---- opening and closing ---- */

EXPORT int close(int fd)
{
    if (!real_close)
        resolve();
    atomic_fetch_add(&n_other, is_data_file(fd));
    set_known(fd, NOT_ASKED);
    return real_close(fd);
}

#define DEFINE_FSTAT(name, type)                                                                   \
    EXPORT int name(int fd, struct type *info)                                                     \
    {                                                                                              \
        if (!real_fstat)                                                                           \
            resolve();                                                                             \
        atomic_fetch_add(&n_other, is_data_file(fd));                                              \
        return real_fstat(fd, (struct stat *)info); /* the same on machines of 64 bits */          \
    }
DEFINE_FSTAT(fstat, stat)
DEFINE_FSTAT(fstat64, stat64)

EXPORT int getrusage(__rusage_who_t who, struct rusage *usage)
{
    if (!real_getrusage)
        resolve();
    atomic_fetch_add(&n_other, 1);
    int rc = real_getrusage(who, usage);
    if (!rc && never_waits)
        usage->ru_nvcsw = 0;
    return rc;
}

static int open_or_fail(int dir, const char *path, int flags, int mode)
{
    if (!real_openat)
        resolve();
    uint64_t done_at = storage_book_open();
    int fd = real_openat(dir, path, flags, mode);
    int saved = errno;
    set_known(fd, prefix[0] && starts_with(path, prefix) ? DATA : NOT_ASKED);
    if (!is_data_file(fd)) {
        errno = saved;
        return fd;
    }
    storage_wait(done_at);
    if (atomic_fetch_add(&n_calls, 1) + 1 != fail_call)
        return fd;
    close(fd);
    return fail(EIO);
}

static int mode_of(int flags, va_list more)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, int) : 0;
}

#define DEFINE_OPEN(name)                                                                          \
    EXPORT int name(const char *path, int flags, ...)                                              \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        int fd = open_or_fail(AT_FDCWD, path, flags, mode_of(flags, more));                        \
        va_end(more);                                                                              \
        return fd;                                                                                 \
    }
#define DEFINE_OPENAT(name)                                                                        \
    EXPORT int name(int dir, const char *path, int flags, ...)                                     \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        int fd = open_or_fail(dir, path, flags, mode_of(flags, more));                             \
        va_end(more);                                                                              \
        return fd;                                                                                 \
    }
#define DEFINE_OPEN_2(name)                                                                        \
    EXPORT int name(const char *path, int flags)                                                   \
    {                                                                                              \
        return open_or_fail(AT_FDCWD, path, flags, 0);                                             \
    }
#define DEFINE_OPENAT_2(name)                                                                      \
    EXPORT int name(int dir, const char *path, int flags)                                          \
    {                                                                                              \
        return open_or_fail(dir, path, flags, 0);                                                  \
    }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
DEFINE_OPEN_2(__open_2)
DEFINE_OPEN_2(__open64_2)
DEFINE_OPENAT_2(__openat_2)
DEFINE_OPENAT_2(__openat64_2)

/* ---- start ---- */

/* A ring reads without any call that this library could replace. */
static void refuse_rings(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof code / sizeof *code, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        abort(); /* a run with a ring would be taken for one that reads */
}

void files_start(void)
{
    resolve();
    const char *given = getenv("STOKER_FAIL_PREFIX");
    if (given && !realpath(given, prefix))
        prefix[0] = 0;
    fail_call = storage_number("STOKER_FAIL_READ");
    short_read = storage_number("STOKER_SHORT_READ");
    interrupt_read = storage_number("STOKER_INTERRUPT_READ");
    atomic_store(&disk_bytes, (long)storage_number("STOKER_DISK_BYTES"));
    never_waits = storage_number("STOKER_NEVER_WAITS");
    is_disk_small = atomic_load(&disk_bytes) != 0;
    storage_start();
    is_reading_forced = storage_is_slow() || fail_call || short_read || interrupt_read;
    if (is_reading_forced)
        refuse_rings();
    atomic_store(&is_counting, true);
}

unsigned long files_stop(void)
{
    atomic_store(&is_counting, false);
    return atomic_load(&n_calls);
}

unsigned long files_calls(void)
{
    return atomic_load(&n_calls) + atomic_load(&n_other);
}
