/* SPDX-License-Identifier: Apache-2.0 */
/* py_lease.c: the random generators that a process has once: random's, NumPy's and PyTorch's.
 *
 * A function that draws from them is given a seed for each element. While it runs on a thread of this
 * process no other such function may, or each would draw what was meant for the other: whoever runs one
 * has the lease, from the moment at which the generators' states are put aside until they are put back.
 *
 *     lease ─▶ GIL ─▶ states aside ─▶ seed, call, seed, call … ─▶ states back ─▶ GIL ─▶ lease
 *
 * It is taken before the GIL, so nobody waits for it who has that. A function may itself wait for batches
 * of another run, whose functions need it: then the one who waits lends it out (ext_lease_lend).
 */
#include "ext.h"

#include <pthread.h>

static pthread_mutex_t lease = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int n_held; /* by this thread: visits within visits */

void ext_lease_take(void)
{
    if (!n_held)
        pthread_mutex_lock(&lease);
    n_held++;
}

void ext_lease_give(void)
{
    if (!--n_held)
        pthread_mutex_unlock(&lease);
}

int ext_lease_lend(void)
{
    int n = n_held;
    n_held = 0;
    if (n)
        pthread_mutex_unlock(&lease);
    return n;
}

void ext_lease_take_back(int n)
{
    if (n)
        pthread_mutex_lock(&lease);
    n_held = n;
}

void ext_lease_after_fork(void)
{
    pthread_mutex_init(&lease, NULL);
    if (n_held)
        pthread_mutex_lock(&lease);
}
