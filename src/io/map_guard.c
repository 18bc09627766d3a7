/* SPDX-License-Identifier: Apache-2.0 */
/* map_guard.c: a SIGBUS handler that jumps back into the copy of its thread. */
#define _GNU_SOURCE
#include "io/map_guard.h"

#include "base/crc32c.h"
#include "base/memory/summed_copy.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

/* What a thread is copying. The handler runs in that thread, so nothing is shared. */
struct guard {
    sigjmp_buf back;
    const struct stk__copy *volatile at;
};

static _Thread_local struct guard *volatile current;
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
    struct guard *guard = current;
    const uint8_t *at = info->si_addr;
    if (guard && at >= guard->at->src && at < guard->at->src + guard->at->bytes)
        siglongjmp(guard->back, 1);
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

static void ask_for(const struct stk__copy *copy)
{
    const size_t line = 64, most = 4 * line;
    for (size_t at = 0; at < copy->bytes && at < most; at += line)
        __builtin_prefetch(copy->src + at);
}

static int copy_guarded(const struct stk__copy *copy, int n, uint32_t *crc)
{
    enum { AHEAD = 12 };
    struct guard guard = { .at = copy };
    if (!sigsetjmp(guard.back, 0)) {
        current = &guard;
        for (int i = 0; i < n; i++) {
            guard.at = copy + i;
            if (i + AHEAD < n)
                ask_for(copy + i + AHEAD);
            if (crc)
                *crc = stk__copy_summed(copy[i].dst, copy[i].src, copy[i].bytes, *crc);
            else
                memcpy(copy[i].dst, copy[i].src, copy[i].bytes);
        }
        guard.at = copy + n;
    }
    current = NULL;
    return (int)(guard.at - copy);
}

int stk__guarded_copies(const struct stk__copy *copy, int n)
{
    return copy_guarded(copy, n, NULL);
}

int stk__guarded_copies_summed(const struct stk__copy *copy, int n, uint32_t *crc)
{
    return copy_guarded(copy, n, crc);
}
