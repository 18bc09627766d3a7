/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c: a thread that waits for signals.
 *
 * Cancelling takes locks, so no signal handler may do it. The signals are blocked everywhere and
 * one thread fetches them with sigwait. SIGUSR1, sent by ourselves, ends that thread. A second
 * Ctrl-C ends the process at once, for a run that is stuck where cancelling does not reach, such as
 * writing to a full pipe.
 */
#define _GNU_SOURCE
#include "interrupt.h"

#include <unistd.h>

static void *watch(void *context)
{
    struct cli_interrupt *interrupt = context;
    for (int signal; !sigwait(&interrupt->set, &signal);) {
        if (signal == SIGUSR1)
            break;
        if (atomic_exchange(&interrupt->signal, signal))
            _exit(128 + signal);
        if (interrupt->it)
            stk_iterator_cancel(interrupt->it);
    }
    return NULL;
}

/* A shell's background job ignores SIGINT; it must go on doing so. */
static bool is_ignored(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void cli_interrupt_block(struct cli_interrupt *interrupt)
{
    *interrupt = (struct cli_interrupt){ 0 };
    sigemptyset(&interrupt->set);
    sigaddset(&interrupt->set, SIGUSR1);
    if (!is_ignored(SIGINT))
        sigaddset(&interrupt->set, SIGINT);
    if (!is_ignored(SIGTERM))
        sigaddset(&interrupt->set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &interrupt->set, NULL);
}

void cli_interrupt_watch(struct cli_interrupt *interrupt, struct stk_iterator *it)
{
    interrupt->it = it;
    interrupt->has_thread = pthread_create(&interrupt->thread, NULL, watch, interrupt) == 0;
    if (interrupt->has_thread)
        pthread_setname_np(interrupt->thread, "stoker-signal");
    else
        pthread_sigmask(SIG_UNBLOCK, &interrupt->set, NULL);
}

int cli_interrupt_stop(struct cli_interrupt *interrupt)
{
    if (interrupt->has_thread) {
        pthread_kill(interrupt->thread, SIGUSR1);
        pthread_join(interrupt->thread, NULL);
        interrupt->has_thread = false;
    }
    pthread_sigmask(SIG_UNBLOCK, &interrupt->set, NULL);
    return atomic_load(&interrupt->signal);
}
