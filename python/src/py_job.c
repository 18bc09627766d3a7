/* SPDX-License-Identifier: Apache-2.0 */
/* py_job.c: calls of the library that cannot be interrupted run on a thread of their own, so that the
 * main thread can leave them when Ctrl-C is pressed. Only the main thread gets signals; others call
 * directly, and so does everybody where nothing can take long: a thread costs some 30 µs. */
#define _GNU_SOURCE
#include "ext.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Shared by the thread and the one who waits; the last to leave drops the job. */
struct lock {
    pthread_mutex_t mutex;
    pthread_cond_t done;
    bool is_done, is_left; /* guarded by mutex */
};

static atomic_int n_running;

int ext_jobs_running(void)
{
    return atomic_load(&n_running);
}

void ext_jobs_forget(void)
{
    atomic_store(&n_running, 0);
}

bool ext_is_main_thread(void)
{
    return gettid() == getpid();
}

static void lock_free(struct lock *lock)
{
    pthread_cond_destroy(&lock->done);
    pthread_mutex_destroy(&lock->mutex);
    free(lock);
}

static struct lock *lock_new(void)
{
    struct lock *lock = calloc(1, sizeof *lock);
    pthread_condattr_t clock;
    if (!lock)
        return NULL;
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&lock->done, &clock);
    pthread_condattr_destroy(&clock);
    return lock;
}

static void *work(void *context)
{
    struct ext_job *job = context;
    struct lock *lock = job->lock;
    job->run(job);
    pthread_mutex_lock(&lock->mutex);
    bool is_left = lock->is_left;
    lock->is_done = true;
    pthread_cond_signal(&lock->done);
    pthread_mutex_unlock(&lock->mutex);
    if (is_left) { /* else the one who waits frees both, perhaps already */
        job->drop(job);
        lock_free(lock);
    }
    atomic_fetch_sub(&n_running, 1);
    return NULL;
}

/* Starts a detached thread that gets no signals; false if there is none to be had. */
static bool start(struct ext_job *job)
{
    sigset_t all, before;
    pthread_t thread;
    struct lock *lock = lock_new();
    if (!lock)
        return false;
    job->lock = lock;
    atomic_fetch_add(&n_running, 1);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = !pthread_create(&thread, NULL, work, job);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_started) {
        pthread_detach(thread);
    } else {
        atomic_fetch_sub(&n_running, 1);
        lock_free(lock);
    }
    return is_started;
}

/* Waits that long (below a second); true if the job is done. */
static bool wait_for(struct lock *lock, int milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += milliseconds * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_mutex_lock(&lock->mutex);
    while (!lock->is_done && !pthread_cond_timedwait(&lock->done, &lock->mutex, &until))
        continue;
    bool is_done = lock->is_done;
    pthread_mutex_unlock(&lock->mutex);
    return is_done;
}

/* True if it was done after all. */
static bool leave(struct lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    bool is_done = lock->is_done;
    lock->is_left = true;
    pthread_mutex_unlock(&lock->mutex);
    return is_done;
}

int ext_job_run(struct ext_job *job, bool is_quick)
{
    bool is_done;
    if (is_quick || !ext_is_main_thread() || !start(job)) {
        Py_BEGIN_ALLOW_THREADS int n_lent = ext_lease_lend();
        job->run(job);
        ext_lease_take_back(n_lent);
        Py_END_ALLOW_THREADS return 0;
    }
    struct lock *lock = job->lock;
    do {
        Py_BEGIN_ALLOW_THREADS int n_lent = ext_lease_lend();
        is_done = wait_for(lock, EXT_PATIENCE_MS);
        ext_lease_take_back(n_lent);
        Py_END_ALLOW_THREADS
    } while (!is_done && !PyErr_CheckSignals());
    if (is_done || leave(lock)) {
        lock_free(lock);
        if (is_done)
            return 0;
        job->drop(job); /* done, but the signal counts */
    }
    return -1;
}

void ext_job_leave(struct ext_job *job, int milliseconds)
{
    bool is_started = start(job);
    Py_BEGIN_ALLOW_THREADS if (!is_started) job->run(job);
    struct lock *lock = is_started ? job->lock : NULL;
    if (!is_started || wait_for(lock, milliseconds) || leave(lock)) {
        job->drop(job);
        if (lock)
            lock_free(lock);
    }
    Py_END_ALLOW_THREADS
}
