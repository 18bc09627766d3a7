/* SPDX-License-Identifier: Apache-2.0 */
/* gauge.c: what a worker's arenas hold. */
#define _GNU_SOURCE
#include "base/memory/gauge.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static _Thread_local struct stk__gauge *in_force;
static pthread_mutex_t permit = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool has_permit;

static void renew_permit(void) /* whoever had it is not in the child */
{
    pthread_mutex_init(&permit, NULL);
    has_permit = false;
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

struct stk__gauge *stk__gauge_pause(void)
{
    struct stk__gauge *paused = in_force;
    in_force = NULL;
    return paused;
}

void stk__gauge_resume(struct stk__gauge *paused)
{
    in_force = paused;
}

void stk__gauge_count(struct stk__gauge *gauge, size_t more_bytes, size_t fewer_bytes)
{
    size_t held = atomic_load_explicit(&gauge->held_bytes, memory_order_relaxed);
    held = held + more_bytes - fewer_bytes;
    atomic_store_explicit(&gauge->held_bytes, held, memory_order_relaxed);
    gauge->peak_bytes = held > gauge->peak_bytes ? held : gauge->peak_bytes;
}

size_t stk__gauge_room(const struct stk__gauge *gauge)
{
    size_t held = atomic_load_explicit(&gauge->held_bytes, memory_order_relaxed);
    if (gauge->is_unlimited)
        return SIZE_MAX;
    return gauge->granted_bytes > held ? gauge->granted_bytes - held : 0;
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

static void take_permit(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&permit);
    has_permit = true;
}

static size_t held_by(const struct stk__gauge *gauge)
{
    return atomic_load_explicit(&gauge->held_bytes, memory_order_relaxed);
}

/* Gives back what ops have left that are done, except for the arena that asks; returns how much that was. */
static size_t shed(const struct stk__gauge *gauge, const struct stk_arena *asking)
{
    size_t before = held_by(gauge);
    for (struct stk_arena *arena = gauge->first; arena; arena = arena->next_gauged)
        if (arena != asking && stk__arena_is_empty(arena))
            stk__arena_free(arena);
    return before - held_by(gauge);
}

/* Who has the permit does not wait for others, who may wait for it. */
static void ask(struct stk__gauge *gauge, const struct stk_arena *asking, size_t wanted_bytes)
{
    if (wanted_bytes <= gauge->granted_bytes)
        return;
    wanted_bytes -= shed(gauge, asking);
    if (wanted_bytes <= gauge->granted_bytes)
        return;
    if (!has_permit && gauge->grant(gauge->ctx, wanted_bytes, false))
        return;
    if (!has_permit)
        take_permit();
    gauge->grant(gauge->ctx, wanted_bytes, true);
}

/* Work that nothing was set aside for takes small pieces, and asks where it knows of more. */
void stk__gauge_grow(const struct stk_arena *arena, size_t bytes)
{
    const size_t worth_asking = (size_t)128 << 10;
    struct stk__gauge *gauge = arena->gauge;
    bool is_set_aside = gauge->granted_bytes && !gauge->is_unlimited;
    if (gauge == in_force && is_set_aside && bytes > worth_asking)
        ask(gauge, arena, held_by(gauge) + bytes);
}

/* What the last element left is used again, but not for one that is larger than what was usual. */
void stk__gauge_expect(size_t bytes)
{
    struct stk__gauge *gauge = in_force;
    if (!gauge)
        return;
    size_t held = held_by(gauge), larger = bytes > held ? bytes : held;
    ask(gauge, NULL, bytes > gauge->granted_bytes ? bytes + held : larger);
}

void stk__gauge_expect_more(size_t bytes, size_t library_bytes)
{
    struct stk__gauge *gauge = in_force;
    if (!gauge)
        return;
    size_t had = gauge->library_bytes;
    size_t more = library_bytes > had ? library_bytes - had : 0;
    ask(gauge, NULL, held_by(gauge) + bytes + more);
    gauge->library_bytes = had + more;
    stk__gauge_count(gauge, more, 0);
}

void stk__gauge_forget_library(struct stk__gauge *gauge)
{
    stk__gauge_count(gauge, 0, gauge->library_bytes);
    gauge->library_bytes = 0;
}

void stk__permit_return(void)
{
    if (!has_permit)
        return;
    has_permit = false;
    pthread_mutex_unlock(&permit);
}
