/* SPDX-License-Identifier: Apache-2.0 */
/* team.c: a barrier with a number that rises each time all have come; starting work and its end are
 * such meetings, too. */
#define _GNU_SOURCE
#include "train/trainer/team.h"

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* About 30 µs of a core of 3 GHz: a phase of a small model takes a few hundred. */
enum { SPINS = 2000 };

struct stk__team {
    int n_threads, n_started;
    pthread_t *thread;
    stk__team_fn *work; /* written before a meeting and read behind it */
    void *context;
    bool is_ending;
    _Alignas(64) atomic_int n_here;
    _Alignas(64) atomic_uint meeting; /* pairs with the loads in wait_for; changed under `lock` */
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void relax(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

static void wait_for(struct stk__team *team, unsigned last)
{
    for (int i = 0; i < SPINS; i++, relax())
        if (atomic_load_explicit(&team->meeting, memory_order_acquire) != last)
            return;
    pthread_mutex_lock(&team->lock);
    while (atomic_load_explicit(&team->meeting, memory_order_acquire) == last)
        pthread_cond_wait(&team->changed, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

/* The last to come lets the others go. */
static void meet(struct stk__team *team, int n)
{
    unsigned last = atomic_load_explicit(&team->meeting, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&team->n_here, 1, memory_order_acq_rel) + 1 < n) {
        wait_for(team, last);
        return;
    }
    atomic_store_explicit(&team->n_here, 0, memory_order_relaxed);
    pthread_mutex_lock(&team->lock);
    atomic_store_explicit(&team->meeting, last + 1, memory_order_release);
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
}

void stk__team_meet(struct stk__team *team)
{
    if (team->n_threads > 1)
        meet(team, team->n_threads);
}

struct member {
    struct stk__team *team;
    int number;
};

static void *member_main(void *arg)
{
    struct member me = *(struct member *)arg;
    free(arg);
    pthread_setname_np(pthread_self(), "stk-train");
    for (;;) {
        stk__team_meet(me.team);
        if (me.team->is_ending)
            return NULL;
        me.team->work(me.team->context, me.number);
        stk__team_meet(me.team);
    }
}

static int start_member(struct stk__team *team, int number)
{
    struct member *member = malloc(sizeof *member);
    if (!member)
        return STK_MEMORY;
    *member = (struct member){ team, number };
    if (!pthread_create(&team->thread[team->n_started], NULL, member_main, member)) {
        team->n_started++;
        return STK_OK;
    }
    free(member);
    return STK_STATE;
}

/* Those that are there wait for a meeting of all: they are told to end as a smaller team. */
void stk__team_free(struct stk__team *team)
{
    if (!team)
        return;
    team->is_ending = true;
    if (team->n_started > 0)
        stk__team_meet(team);
    for (int i = 0; i < team->n_started; i++)
        pthread_join(team->thread[i], NULL);
    pthread_cond_destroy(&team->changed);
    pthread_mutex_destroy(&team->lock);
    free(team->thread);
    free(team);
}

/* Where a thread cannot be started, those that were must be let go: the caller comes to their first
 * meeting in place of all that are missing. */
static int start_all(struct stk__team *team, struct stk_error *err)
{
    int rc = STK_OK;
    while (!rc && team->n_started < team->n_threads - 1)
        rc = start_member(team, team->n_started + 1);
    if (!rc)
        return STK_OK;
    atomic_fetch_add_explicit(&team->n_here, team->n_threads - 1 - team->n_started,
                              memory_order_acq_rel);
    return rc == STK_MEMORY ? stk__out_of_memory(err)
                            : stk_fail(err, STK_STATE, "cannot start thread %d of %d",
                                       team->n_started + 2, team->n_threads);
}

int stk__team_new(int n, struct stk__team **out, struct stk_error *err)
{
    struct stk__team *team = aligned_alloc(64, (sizeof *team + 63) / 64 * 64);
    *out = NULL;
    if (!team)
        return stk__out_of_memory(err);
    *team = (struct stk__team){ .n_threads = n };
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->changed, NULL);
    team->thread = calloc((size_t)n, sizeof *team->thread);
    int rc = team->thread ? start_all(team, err) : stk__out_of_memory(err);
    if (rc)
        stk__team_free(team);
    else
        *out = team;
    return rc;
}

int stk__team_size(const struct stk__team *team)
{
    return team->n_threads;
}

void stk__team_run(struct stk__team *team, stk__team_fn *work, void *context)
{
    team->work = work;
    team->context = context;
    stk__team_meet(team);
    work(context, 0);
    stk__team_meet(team);
}

struct stk__team_share stk__share_of(int64_t n, int part, int n_parts)
{
    return (struct stk__team_share){ n * part / n_parts, n * (part + 1) / n_parts };
}
