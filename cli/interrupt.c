/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c: a thread that waits for signals.
 *
 * Cancelling takes locks, so no signal handler may do it. The signals are blocked everywhere and
 * one thread fetches them with sigwait. SIGUSR1, sent by ourselves, ends that thread. Where the first
 * signal finds the command writing into a pipe that nobody reads, no cancelling reaches it: the
 * thread looks after it, and ends the process. Whether the command is writing it cannot see, only
 * that nobody could, so who has something to save is given time. A second Ctrl-C ends it at once.
 */
#define _GNU_SOURCE
#include "interrupt.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS_EVERY_MS = 250, SAVES_WITHIN_MS = 10000 };

static bool is_full(int fd)
{
    struct pollfd output = { .fd = fd, .events = POLLOUT };
    return poll(&output, 1, 0) == 0;
}

/* True if standard output or standard error was full at so many looks, one after the other. */
static bool is_stuck(const struct cli_interrupt *interrupt, int *n_full)
{
    const int most = interrupt->saves ? SAVES_WITHIN_MS / LOOKS_EVERY_MS : 1;
    bool is_full_now = is_full(STDOUT_FILENO) || is_full(STDERR_FILENO);
    *n_full = is_full_now ? *n_full + 1 : 0;
    return *n_full > most;
}

/* The next signal, or 0 where one has come before and it is time to look at the output. */
static int next_signal(const struct cli_interrupt *interrupt)
{
    const struct timespec patience = { .tv_nsec = LOOKS_EVERY_MS * 1000000L };
    int signal = 0;
    if (!atomic_load(&interrupt->signal))
        return sigwait(&interrupt->set, &signal) ? SIGUSR1 : signal;
    signal = sigtimedwait(&interrupt->set, NULL, &patience);
    return signal > 0 ? signal : 0;
}

static void *watch(void *context)
{
    struct cli_interrupt *interrupt = context;
    int n_full = 0;
    for (int signal; (signal = next_signal(interrupt)) != SIGUSR1;) {
        if (!signal && is_stuck(interrupt, &n_full))
            _exit(128 + atomic_load(&interrupt->signal));
        if (!signal)
            continue;
        if (atomic_exchange(&interrupt->signal, signal) || atomic_load(&interrupt->ends_at_once))
            _exit(128 + signal);
        stk_cancel_all();
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

int cli_interrupt_signal(const struct cli_interrupt *interrupt)
{
    return atomic_load(&interrupt->signal);
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
