/* SPDX-License-Identifier: Apache-2.0 */
/* py_deferred.c: a list of things to let go, filled by any thread and emptied by one that has the GIL.
 *
 * The library releases an owner from wherever the last use of it ends: a worker, or a thread of
 * another package that frees a tensor. Taking the GIL there could wait for somebody who waits for
 * that thread.
 */
#include "ext.h"

#include <stdatomic.h>

static _Atomic(struct ext_deferred *) list; /* push: release; take all: acquire */
static atomic_bool is_asked;                /* the interpreter was asked to drain it */

void ext_drain(void)
{
    struct ext_deferred *work = atomic_load_explicit(&list, memory_order_relaxed);
    if (!work)
        return;
    work = atomic_exchange_explicit(&list, NULL, memory_order_acquire);
    for (struct ext_deferred *next; work; work = next) {
        next = work->next;
        work->finish(work);
    }
}

static int drain_when_asked(void *unused)
{
    (void)unused;
    atomic_store(&is_asked, false);
    ext_drain();
    return 0;
}

void ext_defer(struct ext_deferred *work)
{
    work->next = atomic_load_explicit(&list, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&list, &work->next, work, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    if (ext_is_exiting() || atomic_exchange(&is_asked, true))
        return;
    if (Py_AddPendingCall(drain_when_asked, NULL))
        atomic_store(&is_asked, false); /* its queue is full; our next call drains */
}
