/* SPDX-License-Identifier: Apache-2.0 */
/* interpose.c: for LD_PRELOAD; counts allocations and fails the n-th; what happens to files is in
 * interpose_files.c.
 *
 *     STOKER_FAIL_ALLOC=n    the n-th allocation returns NULL
 *     STOKER_COUNT_FILE=f    at exit, the counts as JSON: allocations in all, by stoker's own, by
 *                            library; opens and reads of data files; what slow storage was asked for
 *
 * Counting starts when this library is initialised, so the loader's own work is left alone. A program
 * can read the counts while it runs: dlsym(RTLD_DEFAULT, "interpose_count"). "Own" are calls that come
 * straight from libstoker, the command, or a test program; strdup and the like count for libc. Where
 * storage is slow allocations are not counted: that takes time, too.
 */
#define _GNU_SOURCE
#include "interpose_files.h"
#include "storage.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static atomic_ulong n_allocs, n_own_allocs;
static atomic_bool counting_allocs;
static unsigned long fail_alloc;

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

__attribute__((constructor)) static void start(void)
{
    fail_alloc = storage_number("STOKER_FAIL_ALLOC");
    files_start();
    atomic_store(&counting_allocs, !storage_is_slow());
}

static void write_counts(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    struct storage_counts device = storage_counts();
    fprintf(file, "{\"allocs\": %lu, \"own_allocs\": %lu, \"reads\": %lu, ", atomic_load(&n_allocs),
            atomic_load(&n_own_allocs), files_stop());
    fprintf(file, "\"calls\": %lu, ", files_calls());
    fprintf(file, "\"requests\": %lu, \"seeks\": %lu, \"travel\": %lu, \"bytes\": %lu, ",
            device.n_requests, device.n_seeks, device.travel, device.bytes);
    fprintf(file, "\"libraries\": {");
    for (int i = 0; i < n_libraries; i++)
        fprintf(file, "%s\"%s\": %lu", i ? ", " : "", libraries[i].name, libraries[i].n_allocs);
    fprintf(file, "}}\n");
    fclose(file);
}

__attribute__((destructor)) static void finish(void)
{
    atomic_store(&counting_allocs, false);
    const char *path = getenv("STOKER_COUNT_FILE");
    if (path)
        write_counts(path);
}
