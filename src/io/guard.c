/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c: a SIGBUS handler that jumps back into the copy of its thread. */
#define _GNU_SOURCE
#include "io/guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

/* What a thread is copying. The handler runs in that thread, so nothing is shared. */
struct copy {
    sigjmp_buf back;
    const uint8_t *from, *to;
};

static _Thread_local struct copy *volatile current;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before; /* written once, before the handler is in */
static bool is_started;         /* written once, under `once` */

static void hand_on(int number, siginfo_t *info, void *context)
{
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        sigaction(number, &before, NULL); /* the access is tried again, and ends the process */
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    struct copy *copy = current;
    const uint8_t *at = info->si_addr;
    if (copy && at >= copy->from && at < copy->to)
        siglongjmp(copy->back, 1);
    hand_on(number, info, context);
}

static void start(void)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO | SA_NODEFER };
    action.sa_sigaction = on_bus_error;
    sigemptyset(&action.sa_mask);
    is_started = !sigaction(SIGBUS, NULL, &before) && !sigaction(SIGBUS, &action, NULL);
}

bool stk__guard_start(void)
{
    return !pthread_once(&once, start) && is_started;
}

bool stk__guarded_copy(void *dst, const void *src, size_t bytes)
{
    struct copy copy = { .from = src, .to = (const uint8_t *)src + bytes };
    bool is_whole = false;
    if (!sigsetjmp(copy.back, 0)) {
        current = &copy;
        memcpy(dst, src, bytes);
        is_whole = true;
    }
    current = NULL;
    return is_whole;
}
