/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_visit.c: one thread at a time in libhdf5.
 *
 * The lock is the process's, because the library's state is: two datasets over different files
 * would meet in it. It is held for calls only, never while something else is waited for. */
#include "codec/array/hdf5_visit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

void stk__hdf5_enter(struct stk__hdf5_visit *visit)
{
    pthread_mutex_lock(&library_lock);
    if (H5Eget_auto2(H5E_DEFAULT, &visit->print, &visit->ctx) < 0)
        visit->print = NULL;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void stk__hdf5_leave(const struct stk__hdf5_visit *visit)
{
    H5Eclear2(H5E_DEFAULT);
    H5Eset_auto2(H5E_DEFAULT, visit->print, visit->ctx);
    pthread_mutex_unlock(&library_lock);
}

void stk__hdf5_drop(hid_t id)
{
    if (id > 0)
        H5Idec_ref(id);
}

/* Called for every entry of the error stack, the deepest last. */
static herr_t keep_reason(unsigned n, const H5E_error2_t *entry, void *ctx)
{
    char *reason = ctx;
    (void)n;
    if (entry->desc && entry->desc[0]) {
        strncpy(reason, entry->desc, 199);
        reason[199] = 0;
    }
    return 0;
}

/* What a damaged file left behind in the library may keep it from closing when the process ends; it
 * prints so, unless its errors are not wanted. Runs before the library's own function for that. */
static void end_silently(void)
{
    if (pthread_mutex_trylock(&library_lock))
        return;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    pthread_mutex_unlock(&library_lock);
}

/* A file with parts that the library does not know: files written with libver='latest' say so with
 * their versions. */
static int fail_new(struct stk_error *err, const char *what, const char *reason)
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return stk_fail(
        err, STK_DATA,
        "%s (libhdf5: %s): the system's HDF5 library, %u.%u.%u, is older than the file, "
        "or the file is damaged; write it without libver='latest', or install a newer "
        "library",
        what, reason, major, minor, release);
}

int stk__hdf5_fail(struct stk_error *err, const char *what)
{
    static bool is_told; /* under the lock */
    char reason[200] = "";
    if (!is_told)
        is_told = !atexit(end_silently);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_reason, reason);
    H5Eclear2(H5E_DEFAULT);
    if (strstr(reason, "version") || strstr(reason, "unknown"))
        return fail_new(err, what, reason);
    return stk_fail(err, STK_DATA, reason[0] ? "%s (libhdf5: %s)" : "%s", what, reason);
}
