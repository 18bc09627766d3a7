/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h: Ctrl-C (and SIGTERM) as a cancelled iterator. */
#pragma once
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stoker/stoker.h>

struct cli_interrupt {
    sigset_t set;
    pthread_t thread;
    bool has_thread;
    struct stk_iterator *it;  /* set before the thread starts */
    atomic_bool ends_at_once; /* nothing would be lost: the first signal ends the process */
    bool saves;        /* what was done is saved after the signal; set before the thread starts */
    atomic_int signal; /* that came, or 0; written by the thread */
};

/* Blocks the signals; to be called before the iterator starts its threads, which inherit the mask.
 */
void cli_interrupt_block(struct cli_interrupt *interrupt);

/* Starts the thread that waits for them. Borrows the iterator until cli_interrupt_stop; NULL: whoever
 * works looks at `signal`. */
void cli_interrupt_watch(struct cli_interrupt *interrupt, struct stk_iterator *it);

/* The signal that came until now, or 0. */
int cli_interrupt_signal(const struct cli_interrupt *interrupt);

/* Ends the thread; returns the signal that came, or 0. */
int cli_interrupt_stop(struct cli_interrupt *interrupt);
