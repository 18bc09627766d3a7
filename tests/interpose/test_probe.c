/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe.c: run under interpose.c, checks what it counts and what it makes fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long (*count_function)(int own);

static int counts_own_allocations(void)
{
    count_function count = (count_function)dlsym(RTLD_DEFAULT, "interpose_count");
    if (!count)
        return 1;
    unsigned long before = count(1);
    void *volatile blocks[5] = { malloc(1), calloc(1, 8), realloc(NULL, 9), aligned_alloc(64, 64) };
    void *made = NULL;
    int failed = posix_memalign(&made, 64, 64);
    blocks[4] = made;
    unsigned long own = count(1) - before;
    for (int i = 0; i < 5; i++)
        free(blocks[i]);
    return failed || own != 5 || count(0) < 5;
}

/* Of 100 allocations exactly one fails: the environment says which. */
static int fails_one_allocation(void)
{
    int n_failed = 0;
    for (int i = 0; i < 100; i++) {
        void *volatile block = malloc(16);
        n_failed += !block;
        free(block);
    }
    return n_failed != 1;
}

/* The environment asks for the third: open and the first read work, the second read fails, the next
 * one works again. */
static int fails_third_read(const char *path)
{
    char byte;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return 1;
    int first = (int)read(fd, &byte, 1);
    int second = (int)pread(fd, &byte, 1, 0);
    int is_io_error = errno == EIO;
    int third = (int)read(fd, &byte, 1);
    close(fd);
    int other = open("/dev/null", O_RDONLY);
    close(other);
    return first != 1 || second != -1 || !is_io_error || third != 1 || other < 0;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The environment asks for 20 ms per open and per read of this file: each takes at least that, and
 * a map, which would be read without delay, is refused. */
static int delays_reads(const char *path)
{
    char byte;
    double start = seconds();
    int fd = open(path, O_RDONLY);
    double opened = seconds();
    int n = (int)read(fd, &byte, 1);
    double done = seconds();
    void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    void *other = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    close(fd);
    return n != 1 || opened - start < 0.020 || done - opened < 0.020 || map != MAP_FAILED ||
           other == MAP_FAILED;
}

/* The environment asks for 1 MB/s: two processes that read at the same time share it. */
static int shares_bandwidth(const char *path)
{
    char data[1000];
    int fd = open(path, O_RDONLY), status = 1;
    double start = seconds();
    pid_t child = fork();
    int n = (int)pread(fd, data, sizeof data, 0);
    n += (int)pread(fd, data, sizeof data, 0);
    if (!child)
        _exit(n != 2 * sizeof data);
    waitpid(child, &status, 0);
    return status || n != 2 * sizeof data || seconds() - start < 0.004;
}

/* The environment asks for a disk whose head takes 10 ms to move: it does for the first read, not
 * for the second, which goes on from there, and for the third. What lies behind the end of the file
 * is not asked for. */
static int moves_head(const char *path)
{
    char data[100];
    int fd = open(path, O_RDONLY);
    double start = seconds();
    int n = (int)read(fd, data, sizeof data);
    n += (int)pread(fd, data, sizeof data, sizeof data);
    n += (int)pread(fd, data, sizeof data, 0);
    int behind = (int)pread(fd, data, sizeof data, 1 << 30);
    return n != 3 * sizeof data || behind || seconds() - start < 0.020;
}

/* The environment asks for every second read to be short and every third to be interrupted. */
static int disturbs_reads(const char *path)
{
    char data[100];
    struct iovec half[2] = { { data, 40 }, { data + 40, 60 } };
    int fd = open(path, O_RDONLY);
    int first = (int)readv(fd, half, 2), second = (int)preadv(fd, half, 2, 0);
    int third = (int)read(fd, data, sizeof data), is_interrupted = errno == EINTR;
    return first != 100 || second != 50 || third != -1 || !is_interrupted;
}

static int refuses_rings(void)
{
    long ring = syscall(SYS_io_uring_setup, 4, NULL);
    return ring != -1 || errno != ENOSYS;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (strcmp(argv[1], "read") == 0 && argc == 3)
        return fails_third_read(argv[2]);
    if (strcmp(argv[1], "delay") == 0 && argc == 3)
        return delays_reads(argv[2]);
    if (strcmp(argv[1], "bandwidth") == 0 && argc == 3)
        return shares_bandwidth(argv[2]);
    if (strcmp(argv[1], "seek") == 0 && argc == 3)
        return moves_head(argv[2]);
    if (strcmp(argv[1], "disturb") == 0 && argc == 3)
        return disturbs_reads(argv[2]) || refuses_rings();
    if (strcmp(argv[1], "count") == 0)
        return counts_own_allocations();
    if (strcmp(argv[1], "alloc") == 0)
        return fails_one_allocation();
    return 2;
}
