/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe.c: run under interpose.c, checks what it counts and what it makes fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (strcmp(argv[1], "read") == 0 && argc == 3)
        return fails_third_read(argv[2]);
    if (strcmp(argv[1], "delay") == 0 && argc == 3)
        return delays_reads(argv[2]);
    if (strcmp(argv[1], "count") == 0)
        return counts_own_allocations();
    if (strcmp(argv[1], "alloc") == 0)
        return fails_one_allocation();
    return 2;
}
