/* SPDX-License-Identifier: Apache-2.0 */
/* purse.c: the budget of the process. Every number is an atomic of its own, so no lock can be held
 * when the process forks; who reads several sees about what they were. */
#define _GNU_SOURCE
#include "base/memory/purse.h"

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/cores.h"

#include <pthread.h>
#include <stdatomic.h>

/* pair with themselves: counters */
static _Atomic int64_t given_limit, measured_limit, promised, fixed, owned, taken;
static _Atomic int64_t kept[STK__N_KEEPERS];
static _Atomic uint64_t measured_at;
static atomic_int n_shared, n_fixed, n_wanting;

/* ---- the limit ---- */

static int64_t measure(void)
{
    const int64_t most = (int64_t)2 << 30, least = (int64_t)64 << 20;
    struct stk__cgroup group;
    stk__cgroup_read("", &group);
    int64_t bytes = stk__memory_available("");
    if (group.memory_left >= 0 && (bytes < 0 || group.memory_left < bytes))
        bytes = group.memory_left;
    bytes = bytes / 4 / stk__cores_count("").local_ranks;
    return bytes > most ? most : bytes < least ? least : bytes;
}

int64_t stk__purse_limit(void)
{
    const uint64_t fresh_ns = 1000000000;
    int64_t limit = atomic_load(&given_limit);
    if (limit)
        return limit;
    limit = atomic_load(&measured_limit);
    if (limit && (atomic_load(&n_shared) || atomic_load(&n_fixed)))
        return limit;
    uint64_t now = stk__clock_ns();
    if (limit && now - atomic_load(&measured_at) < fresh_ns)
        return limit;
    limit = measure();
    atomic_store(&measured_at, now);
    atomic_store(&measured_limit, limit);
    return limit;
}

void stk__purse_set_limit(int64_t bytes)
{
    atomic_store(&given_limit, bytes);
}

/* ---- runs ---- */

static void empty(void)
{
    _Atomic int64_t *all[] = { &promised, &fixed, &owned, &taken };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        atomic_store(all[i], 0);
    for (int i = 0; i < STK__N_KEEPERS; i++)
        atomic_fetch_add(&promised, atomic_load(&kept[i]));
    atomic_store(&n_shared, 0);
    atomic_store(&n_fixed, 0);
    atomic_store(&n_wanting, 0);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, empty);
}

bool stk__purse_join(struct stk__share *share, int64_t bytes, bool is_fixed)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    int64_t limit = stk__purse_limit(), others = atomic_load(&fixed) + atomic_load(&owned);
    if (atomic_load(&given_limit) && others + bytes > limit)
        return false;
    *share = (struct stk__share){ .owned_bytes = bytes, .is_fixed = is_fixed, .has_joined = true };
    atomic_fetch_add(&promised, bytes);
    atomic_fetch_add(is_fixed ? &fixed : &owned, bytes);
    atomic_fetch_add(is_fixed ? &n_fixed : &n_shared, 1);
    return true;
}

static void want(struct stk__share *share, bool is_wanting)
{
    if (share->is_wanting != is_wanting)
        atomic_fetch_add(&n_wanting, is_wanting ? 1 : -1);
    share->is_wanting = is_wanting;
}

void stk__purse_leave(struct stk__share *share)
{
    if (!share->has_joined)
        return;
    stk__purse_give(share, share->taken_bytes);
    want(share, false);
    atomic_fetch_sub(&promised, share->owned_bytes);
    atomic_fetch_sub(share->is_fixed ? &fixed : &owned, share->owned_bytes);
    atomic_fetch_sub(share->is_fixed ? &n_fixed : &n_shared, 1);
    *share = (struct stk__share){ 0 };
}

/* What each shared run would have if all had the same. */
static int64_t part(void)
{
    int n = atomic_load(&n_shared);
    int64_t shared = stk__purse_limit() - atomic_load(&fixed);
    for (int i = 0; i < STK__N_KEEPERS; i++)
        shared -= atomic_load(&kept[i]);
    return shared / (n ? n : 1);
}

/* Whether others are refused while this one has, or with `more` would have, more than its part. */
static bool is_unfair(const struct stk__share *share, int64_t more)
{
    int others = atomic_load(&n_wanting) - share->is_wanting;
    return others > 0 && share->owned_bytes + share->taken_bytes + more > part();
}

/* Adds as many as fit below `most_promised`; at least `least`, or 0. */
static int64_t promise(int64_t least, int64_t most, int64_t most_promised)
{
    int64_t before = atomic_load(&promised), bytes;
    do {
        bytes = most_promised - before;
        bytes = bytes > most ? most : bytes;
        if (bytes < least)
            return 0;
    } while (!atomic_compare_exchange_weak(&promised, &before, before + bytes));
    return bytes;
}

int64_t stk__purse_take(struct stk__share *share, int64_t least, int64_t most)
{
    if (share->is_fixed)
        return 0;
    int64_t limit = stk__purse_limit();
    int64_t bytes = is_unfair(share, least) ? 0 : promise(least, most, limit - limit / 8);
    want(share, bytes == 0);
    share->taken_bytes += bytes;
    atomic_fetch_add(&taken, bytes);
    return bytes;
}

void stk__purse_give(struct stk__share *share, int64_t bytes)
{
    share->taken_bytes -= bytes;
    atomic_fetch_sub(&taken, bytes);
    atomic_fetch_sub(&promised, bytes);
}

bool stk__purse_is_tight(const struct stk__share *share)
{
    bool is_overdrawn = atomic_load(&promised) > stk__purse_limit();
    return !share->is_fixed && (is_overdrawn || is_unfair(share, 0));
}

/* ---- what belongs to no run ---- */

bool stk__purse_reserve(enum stk__keeper keeper, int64_t bytes)
{
    int64_t limit = stk__purse_limit();
    if (atomic_load(&n_wanting) || !promise(bytes, bytes, limit - limit / 4))
        return false;
    atomic_fetch_add(&kept[keeper], bytes);
    return true;
}

void stk__purse_note(enum stk__keeper keeper, int64_t bytes)
{
    atomic_fetch_add(&kept[keeper], bytes);
    atomic_fetch_add(&promised, bytes);
}

struct stk__purse_state stk__purse_look(void)
{
    struct stk__purse_state s = { .limit = stk__purse_limit(),
                                  .fixed = atomic_load(&fixed),
                                  .owned = atomic_load(&owned),
                                  .taken = atomic_load(&taken),
                                  .n_runs = atomic_load(&n_fixed) + atomic_load(&n_shared),
                                  .n_wanting = atomic_load(&n_wanting) };
    s.free = s.limit - atomic_load(&promised);
    for (int i = 0; i < STK__N_KEEPERS; i++)
        s.kept[i] = atomic_load(&kept[i]);
    return s;
}
