/* SPDX-License-Identifier: Apache-2.0 */
/* py_gil.c: the GIL for threads of the library, which come and go without Python's knowledge.
 *
 * A worker that runs generators gets a thread state at its first call and keeps it until it ends.
 * PyGILState_Ensure would make one for every call. That is slow, and it is dangerous: states are
 * made and deleted under a lock of the interpreter, and a fork that finds that lock taken gives a
 * child that hangs (CPython up to 3.11 takes it before it is made new). So the few moments in which
 * we make and delete states are kept apart from forks by `forks`.
 */
#include "ext.h"

#include <pthread.h>

static PyInterpreterState *interpreter;
static pthread_key_t key;     /* the state of a worker */
static pthread_mutex_t forks; /* held by a fork, and by who makes or deletes a state */

static void before_fork(void)
{
    pthread_mutex_lock(&forks);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&forks);
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&forks, NULL);
    ext_lease_after_fork();
}

/* A worker ends. */
static void drop_state(void *state)
{
    if (ext_is_exiting())
        return; /* the interpreter has it, or had it */
    PyEval_AcquireThread(state);
    PyThreadState_Clear(state);
    PyEval_ReleaseThread(state);
    pthread_mutex_lock(&forks);
    PyThreadState_Delete(state);
    pthread_mutex_unlock(&forks);
}

int ext_gil_begin(void)
{
    interpreter = PyInterpreterState_Get();
    if (pthread_mutex_init(&forks, NULL) || pthread_key_create(&key, drop_state) ||
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child)) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* The state of this worker; NULL if there is none to be had. */
static PyThreadState *own_state(void)
{
    PyThreadState *state = pthread_getspecific(key);
    if (state)
        return state;
    pthread_mutex_lock(&forks);
    state = PyThreadState_New(interpreter);
    pthread_mutex_unlock(&forks);
    if (state)
        pthread_setspecific(key, state);
    return state;
}

struct ext_gil ext_gil_take(void)
{
    struct ext_gil gil = { .own = pthread_getspecific(key) };
    if (!gil.own && !PyGILState_GetThisThreadState())
        gil.own = own_state();
    if (gil.own)
        PyEval_AcquireThread(gil.own);
    else
        gil.state = PyGILState_Ensure(); /* a thread of Python, which has its own state */
    return gil;
}

void ext_gil_give(struct ext_gil gil)
{
    if (gil.own)
        PyEval_ReleaseThread(gil.own);
    else
        PyGILState_Release(gil.state);
}
