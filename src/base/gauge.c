/* SPDX-License-Identifier: Apache-2.0 */
/* gauge.c: what a worker's arenas hold. */
#define _GNU_SOURCE
#include "base/gauge.h"

#include <pthread.h>
#include <stdatomic.h>

static _Thread_local struct stk__gauge *in_force;
static pthread_mutex_t permit = PTHREAD_MUTEX_INITIALIZER;

static void renew_permit(void) /* whoever had it is not in the child */
{
    pthread_mutex_init(&permit, NULL);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, renew_permit);
}

struct stk__gauge *stk__gauge_use(struct stk__gauge *gauge)
{
    struct stk__gauge *before = in_force;
    in_force = gauge;
    if (gauge)
        gauge->peak_bytes = atomic_load_explicit(&gauge->held_bytes, memory_order_relaxed);
    return before;
}

void stk__gauge_count(struct stk__gauge *gauge, size_t more_bytes, size_t fewer_bytes)
{
    size_t held = atomic_load_explicit(&gauge->held_bytes, memory_order_relaxed);
    held = held + more_bytes - fewer_bytes;
    atomic_store_explicit(&gauge->held_bytes, held, memory_order_relaxed);
    gauge->peak_bytes = held > gauge->peak_bytes ? held : gauge->peak_bytes;
}

void stk__gauge_join(struct stk_arena *arena)
{
    if (!in_force)
        return;
    arena->gauge = in_force;
    arena->next_gauged = in_force->first;
    in_force->first = arena;
    stk__gauge_count(in_force, arena->total_bytes, 0);
}

void stk__gauge_part(struct stk_arena *arena)
{
    if (!arena->gauge)
        return;
    struct stk_arena **at = &arena->gauge->first;
    while (*at && *at != arena)
        at = &(*at)->next_gauged;
    if (*at)
        *at = arena->next_gauged;
    stk__gauge_count(arena->gauge, 0, arena->total_bytes);
    arena->gauge = NULL;
}

void stk__gauge_release(struct stk__gauge *gauge)
{
    for (struct stk_arena *arena = gauge->first; arena; arena = arena->next_gauged)
        stk__arena_free(arena);
}

bool stk__gauge_expect(size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct stk__gauge *gauge = in_force;
    if (!gauge)
        return false;
    size_t held = atomic_load_explicit(&gauge->held_bytes, memory_order_relaxed);
    size_t wanted = bytes > held ? bytes : held; /* what the last element left is used again */
    if (wanted <= gauge->granted_bytes || gauge->grant(gauge->ctx, wanted, false))
        return false;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&permit);
    gauge->grant(gauge->ctx, wanted, true);
    return true;
}

void stk__permit_return(void)
{
    pthread_mutex_unlock(&permit);
}
