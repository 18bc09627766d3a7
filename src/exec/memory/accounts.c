/* SPDX-License-Identifier: Apache-2.0 */
/* accounts.c: who may take memory. Everything here is called with the lock held.
 *
 * Two sums must stay within the limit of the run. What is booked: every account is charged before
 * memory is taken for it, by an estimate where sizes differ, and owns one unit that it is never
 * refused. And what is really there, counted where it is allocated: it covers what estimates miss,
 * and what is kept for another time. Where either is too much, the run asks the purse of the process for
 * more, then frees what it keeps for another time; if that does not help, the work is not ready.
 *
 *      limit = minima + spare     (a budget of its own: all of it from the start)
 *      booked   chunks ─ reads ─ batches ─ kept rows ─ scratch
 *      there    buffers of the pool, with chunks ─ batches, one of them the consumer's ─ kept rows ─ scratch
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "base/memory/pages.h"
#include "exec/run.h"
#include "io/byte_stream.h"
#include "op/array/array_source.h"

#include <stdlib.h>

enum { STEP_BYTES = 8 << 20 };               /* that a shared run asks the purse for at a time */
static const size_t worth_a_trim = 32 << 20; /* of runs: malloc has kept some of it */

/* ---- what is there ---- */

static size_t scratch_bytes(const struct stk__exec *x)
{
    size_t bytes = 0;
    for (int i = 0; x->crew.worker && i <= x->crew.n_workers; i++)
        bytes += atomic_load_explicit(&x->crew.worker[i].gauge.held_bytes, memory_order_relaxed);
    return bytes;
}

/* Of what was set aside for rows that a stage keeps: those of a serial op lie in the pool. */
static size_t there_of(const struct stk__stage *s)
{
    const struct stk__stage_type *kind = s->plan->kind;
    return kind->there_bytes ? kind->there_bytes(s) : s->plan->held_bytes;
}

static size_t kept_bytes(const struct stk__exec *x)
{
    bool has_own = x->plan->has_own_budget; /* else the process has them */
    size_t bytes = has_own ? x->memory.cached_bytes + x->plan->index_bytes : 0;
    for (int i = 0; i < x->n_stages; i++)
        bytes += there_of(&x->stage[i]) + x->stage[i].memory.held_account.held_bytes;
    return bytes;
}

size_t stk__unpacked_bytes(const struct stk__exec *x)
{
    size_t bytes = 0;
    for (int i = 0; i < x->memory.n_unpacked; i++)
        bytes += stk__chunk_cache_bytes(x->memory.unpacked[i]);
    return bytes;
}

int64_t stk__memory_there(const struct stk__exec *x)
{
    return (int64_t)(stk__depot_bytes(x->depot, x->batcher.n_open) + kept_bytes(x) +
                     scratch_bytes(x) + stk__unpacked_bytes(x));
}

/* ---- giving back ---- */

static void trim_lots(struct stk__exec *x)
{
    for (struct stk__lot **at = &x->memory.all_lots, *lot; (lot = *at);) {
        if (lot->refs) {
            at = &lot->next_all;
            continue;
        }
        *at = lot->next_all;
        stk__lot_free(lot);
    }
    for (int i = 0; i < x->n_stages; i++)
        x->stage[i].memory.free_lots = NULL;
}

/* Scratch of workers that have nothing to do. What libraries left to malloc they must give back themselves. */
static void trim_workers(struct stk__exec *x)
{
    for (int i = 0; x->crew.worker && i <= x->crew.n_workers; i++) {
        struct stk__worker *worker = &x->crew.worker[i];
        if (!worker->is_running && worker != x->crew.chooser)
            stk__gauge_release(&worker->gauge);
    }
}

/* Frees what is kept for another time: scratch, which is booked, too, then what costs least to have
 * again. */
static void trim(struct stk__exec *x, int64_t bytes)
{
    int64_t before = stk__memory_there(x);
    x->memory.is_trimming = true;
    trim_workers(x);
    if (before - stk__memory_there(x) < bytes)
        stk__pool_trim(x->pool, (size_t)bytes);
    for (int i = 0; i < x->memory.n_unpacked && before - stk__memory_there(x) < bytes; i++)
        stk__chunk_cache_empty(x->memory.unpacked[i]);
    if (before - stk__memory_there(x) < bytes) {
        trim_lots(x);
        stk__pool_trim(x->pool, (size_t)bytes); /* which has them now */
    }
    if (before - stk__memory_there(x) < bytes)
        stk__depot_trim(x->depot);
    x->memory.is_trimming = false;
}

/* A shared run keeps a step at hand; where others need it, nothing. */
static void give_back(struct stk__exec *x)
{
    if (!x->memory.share.taken_bytes || x->memory.is_trimming)
        return;
    const unsigned pause = 16; /* a look at the purse costs as much as a credit */
    bool is_tight = x->memory.is_resting ||
                    (x->memory.n_credits++ % pause == 0 && stk__purse_is_tight(&x->memory.share));
    int64_t keep = is_tight ? 0 : STEP_BYTES + x->memory.share.taken_bytes / 4;
    if (x->memory.spare_bytes <= 2 * keep)
        return;
    int64_t there = stk__memory_there(x);
    x->memory.cleared_bytes = 0;
    if (is_tight && x->memory.limit_bytes - there < x->memory.spare_bytes) {
        trim(x, x->memory.spare_bytes);
        there = stk__memory_there(x);
    }
    int64_t bytes = x->memory.spare_bytes - keep, unused = x->memory.limit_bytes - there;
    bytes = bytes < unused ? bytes : unused;
    bytes = bytes < x->memory.share.taken_bytes ? bytes : x->memory.share.taken_bytes;
    if (bytes <= 0)
        return;
    stk__purse_give(&x->memory.share, bytes);
    x->memory.spare_bytes -= bytes;
    x->memory.limit_bytes -= bytes;
}

/* ---- asking ---- */

static size_t above_unit(const struct stk__account *a, size_t held)
{
    return held > a->unit_bytes ? held - a->unit_bytes : 0;
}

/* What windows and reads leave to the scratch of workers that could be at work, of which there is
 * `held`, up to half of what there is to share out: a worker without scratch is worth more than a
 * batch further ahead. */
static int64_t room_for_workers(const struct stk__exec *x, const struct stk__account *a,
                                size_t held)
{
    if (a == &x->memory.scratch_account || x->plan->is_inner)
        return 0;
    int64_t most = (x->plan->options.memory - (int64_t)x->plan->minimum_bytes) / 2;
    int64_t wanted =
        (int64_t)x->memory.typical_scratch * (x->crew.n_workers ? x->crew.n_workers : 1);
    wanted = wanted < most ? wanted : most;
    return (int64_t)held < wanted ? wanted - (int64_t)held : 0;
}

/* What an account may take whatever the others have, and has not. */
static int64_t owed(const struct stk__account *owner, const struct stk__account *taker,
                    size_t bytes)
{
    return owner == taker || owner->held_bytes >= bytes ? 0 : (int64_t)(bytes - owner->held_bytes);
}

/* What the next chunk of a stage will take beyond what is there: it may have one at hand. */
static size_t fresh_lot(const struct stk__stage *s)
{
    size_t bytes = stk__lot_bytes(s), at_hand = s->memory.free_lots ? s->memory.lot_bytes : 0;
    return bytes > at_hand ? bytes - at_hand : 0;
}

/* The same of all but the one that takes: one unit of each, as large as they are lately. */
static int64_t all_owed(const struct stk__exec *x, const struct stk__account *taker)
{
    int64_t bytes = owed(&x->memory.batch_account, taker, stk__batch_need(x));
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__stage *s = &x->stage[i];
        bool is_placed = x->plan->is_direct && i == x->plan->last;
        if (!is_placed)
            bytes += owed(&s->memory.out_account, taker, fresh_lot(s));
        if (s->plan->program && s->plan->program->n_reads)
            bytes += owed(&s->memory.io_account, taker,
                          s->memory.typical_fetch * (size_t)s->plan->ticket_rows);
    }
    return bytes;
}

/* What is left for what nobody counts: stacks of threads, rings, malloc's own. Of a budget below some MB that is a
 * quarter: with more left, everything that is kept would be freed for every chunk. */
static int64_t uncounted_bytes(const struct stk__exec *x)
{
    int64_t least = x->memory.limit_bytes / 16, most = x->memory.limit_bytes / 4;
    int64_t own = x->memory.own_bytes < most ? x->memory.own_bytes : most;
    return own > least ? own : least;
}

/* How many bytes are missing for `bytes` more, in what is booked. One batch more is about while its fields are
 * brought together. */
static int64_t unbooked(const struct stk__exec *x, const struct stk__account *a, size_t bytes)
{
    size_t more = above_unit(a, a->held_bytes + bytes) - above_unit(a, a->held_bytes);
    int64_t packed = (int64_t)atomic_load_explicit(&x->memory.packed_bytes, memory_order_relaxed);
    return (int64_t)more + packed - x->memory.spare_bytes +
           room_for_workers(x, a, x->memory.scratch_account.held_bytes);
}

/* The same in what is there, where `fresh` bytes will be allocated. */
static int64_t crowded(const struct stk__exec *x, const struct stk__account *a, size_t fresh)
{
    int64_t packed = (int64_t)atomic_load_explicit(&x->memory.packed_bytes, memory_order_relaxed);
    int64_t most = x->memory.limit_bytes - uncounted_bytes(x);
    return stk__memory_there(x) + (int64_t)(x->memory.asked_bytes + fresh) + packed - most +
           all_owed(x, a) + room_for_workers(x, a, scratch_bytes(x));
}

static int64_t missing(const struct stk__exec *x, const struct stk__account *a, size_t bytes,
                       size_t fresh)
{
    int64_t booked = unbooked(x, a, bytes), there = crowded(x, a, fresh);
    return booked > there ? booked : there;
}

bool stk__is_crowded(const struct stk__exec *x, const struct stk__account *a, size_t bytes)
{
    return crowded(x, a, bytes) > 0;
}

bool stk__has_room_for(const struct stk__exec *x, const struct stk__account *a, size_t bytes)
{
    return a->held_bytes == 0 || missing(x, a, bytes, bytes) <= 0;
}

/* From the purse, more the more the run has. */
static bool take(struct stk__exec *x, int64_t bytes)
{
    int64_t most = x->memory.share.taken_bytes / 2;
    most = most > STEP_BYTES ? most : STEP_BYTES;
    int64_t got = stk__purse_take(&x->memory.share, bytes, bytes > most ? bytes : most);
    x->memory.spare_bytes += got;
    x->memory.limit_bytes += got;
    return got > 0;
}

/* Looking at both sums for every chunk would cost more than small chunks do: what there is room for is
 * cleared for a while, a sixteenth of it. */
static bool can_charge(struct stk__exec *x, const struct stk__account *a, size_t bytes,
                       size_t fresh)
{
    bool is_owned = a->held_bytes == 0;
    if ((int64_t)bytes <= x->memory.cleared_bytes) {
        x->memory.cleared_bytes -= (int64_t)bytes;
        return true;
    }
    int64_t short_of = missing(x, a, bytes, fresh);
    if (short_of > 0 && take(x, short_of))
        return true;
    bool is_there = is_owned && !fresh; /* then freeing other things would be for nothing */
    int64_t surplus = short_of > 0 && !is_there ? crowded(x, a, fresh) : 0;
    if (surplus > 0) { /* else there is nothing to be had: what is booked stays so */
        trim(x, surplus);
        short_of = missing(x, a, bytes, fresh);
    }
    x->memory.cleared_bytes = short_of < 0 ? -short_of / 16 : 0;
    return short_of <= 0 || is_owned;
}

bool stk__can_charge(struct stk__exec *x, const struct stk__account *a, size_t bytes)
{
    return can_charge(x, a, bytes, bytes);
}

bool stk__can_open_lot(struct stk__exec *x, const struct stk__stage *s)
{
    return can_charge(x, &s->memory.out_account, stk__lot_bytes(s), fresh_lot(s));
}

static void take_spare(struct stk__exec *x, size_t bytes)
{
    x->memory.spare_bytes -= (int64_t)bytes;
    if (x->memory.cleared_bytes > x->memory.spare_bytes)
        x->memory.cleared_bytes = x->memory.spare_bytes > 0 ? x->memory.spare_bytes : 0;
}

/* May go beyond the spare (an element larger than its estimate): then nobody else gets any until
 * it is back. */
void stk__account_charge(struct stk__exec *x, struct stk__account *a, size_t bytes)
{
    size_t more = above_unit(a, a->held_bytes + bytes) - above_unit(a, a->held_bytes);
    a->held_bytes += bytes;
    a->peak_bytes = a->held_bytes > a->peak_bytes ? a->held_bytes : a->peak_bytes;
    take_spare(x, more);
    x->memory.used_bytes += bytes;
    x->memory.peak_bytes =
        x->memory.used_bytes > x->memory.peak_bytes ? x->memory.used_bytes : x->memory.peak_bytes;
}

void stk__account_credit(struct stk__exec *x, struct stk__account *a, size_t bytes)
{
    if (!bytes)
        return;
    size_t less = above_unit(a, a->held_bytes) - above_unit(a, a->held_bytes - bytes);
    a->held_bytes -= bytes;
    x->memory.spare_bytes += (int64_t)less;
    x->memory.used_bytes -= bytes;
    give_back(x);
}

/* ---- caches ---- */

void stk__hold_cached(struct stk__exec *x, size_t bytes)
{
    x->memory.cached_bytes += bytes;
    x->memory.used_bytes += bytes;
    if (x->plan->has_own_budget)
        take_spare(x, bytes);
    x->memory.peak_bytes =
        x->memory.used_bytes > x->memory.peak_bytes ? x->memory.used_bytes : x->memory.peak_bytes;
}

/* With a budget of its own the run decides, else the process. */
static bool take_leftovers(struct stk__exec *x, size_t bytes)
{
    bool fits =
        bytes <= x->plan->cache_bytes && x->memory.cached_bytes <= x->plan->cache_bytes - bytes;
    if (!fits)
        return false;
    if (!x->plan->has_own_budget)
        return stk__purse_reserve(STK__KEEPS_CACHE, (int64_t)bytes);
    const struct stk__account leftovers = { .held_bytes = 1 };
    if (missing(x, &leftovers, bytes, bytes) > 0)
        return false;
    stk__purse_note(STK__KEEPS_CACHE, (int64_t)bytes);
    return true;
}

bool stk__reserve_cache(void *exec, size_t bytes)
{
    const int pause = 256; /* questions that are not asked after one that was answered with no */
    struct stk__exec *x = exec;
    if (atomic_load_explicit(&x->memory.n_unasked, memory_order_relaxed) > 0) {
        atomic_fetch_sub_explicit(&x->memory.n_unasked, 1, memory_order_relaxed);
        return false;
    }
    pthread_mutex_lock(&x->lock);
    bool is_there = take_leftovers(x, bytes);
    x->memory.is_cache_full = !is_there;
    if (is_there)
        stk__hold_cached(x, bytes);
    pthread_mutex_unlock(&x->lock);
    if (!is_there)
        atomic_store_explicit(&x->memory.n_unasked, pause, memory_order_relaxed);
    return is_there;
}

/* ---- scratch ---- */

/* Pictures may be of any size: until some are seen, a quarter of what there is to share out is set
 * aside for each. */
size_t stk__scratch_guess(const struct stk__plan *plan, const struct stk__stage_plan *s)
{
    const int64_t most = (int64_t)32 << 20;
    int64_t bytes = (int64_t)stk__stage_scratch(s);
    int64_t part = (plan->options.memory - (int64_t)plan->minimum_bytes) / 4;
    part = part < most ? part : most;
    return (size_t)(s->program && s->program->is_heavy && part > bytes ? part : bytes);
}

static void charge_worker(struct stk__exec *x, struct stk__worker *worker, size_t bytes)
{
    size_t had = worker->gauge.granted_bytes;
    if (bytes == had || x->plan->is_inner) /* set aside by the run around it */
        return;
    if (bytes > had)
        stk__account_charge(x, &x->memory.scratch_account, bytes - had);
    else
        stk__account_credit(x, &x->memory.scratch_account, had - bytes);
    worker->gauge.granted_bytes = bytes;
}

/* How much of that the chooser does not have from the ticket before. */
static size_t fresh_scratch(const struct stk__exec *x, size_t bytes)
{
    size_t held = atomic_load_explicit(&x->crew.chooser->gauge.held_bytes, memory_order_relaxed);
    return bytes > held ? bytes - held : 0;
}

bool stk__scratch_begin(struct stk__exec *x, const struct stk__stage *s)
{
    size_t bytes = s->memory.typical_scratch;
    bool has_room = can_charge(x, &x->memory.scratch_account, bytes, fresh_scratch(x, bytes));
    if (!has_room && x->memory.n_scratching)
        return false;
    x->memory.n_scratching++;
    charge_worker(x, x->crew.chooser, bytes);
    return true;
}

void stk__scratch_undo(struct stk__exec *x)
{
    x->memory.n_scratching--;
    charge_worker(x, x->crew.chooser, 0);
}

static void give_back_library(struct stk__worker *worker)
{
    stk__memory_give_back(worker->gauge.library_bytes);
    stk__gauge_forget_library(&worker->gauge);
}

/* By the worker itself. */
static void release(struct stk__worker *worker)
{
    stk__gauge_release(&worker->gauge);
    if (worker->gauge.library_bytes)
        give_back_library(worker);
}

/* malloc keeps it for each thread: where all of them would have more than an eighth of the budget, it goes back after
 * every piece of work, which takes far longer than that. */
void stk__scratch_unload(const struct stk__exec *x, struct stk__worker *worker)
{
    size_t all = worker->gauge.library_bytes * (size_t)(x->crew.n_workers + 1);
    if (all > (size_t)x->memory.budget_bytes / 8)
        give_back_library(worker);
}

void stk__scratch_rest(const struct stk__exec *x, struct stk__worker *worker)
{
    if (x->memory.is_resting)
        release(worker);
}

/* While pieces of work grow beyond what was set aside for them, nothing is kept for the next ones. */
static bool is_overfull(struct stk__exec *x)
{
    int64_t beyond = stk__memory_there(x) + uncounted_bytes(x) - x->memory.limit_bytes;
    return beyond > 0 && !x->plan->is_inner && !take(x, beyond);
}

void stk__scratch_leave(struct stk__exec *x, struct stk__worker *worker)
{
    size_t held = atomic_load_explicit(&worker->gauge.held_bytes, memory_order_relaxed);
    bool is_much = held > STK__SCRATCH_BLOCK && x->memory.share.is_fixed && !x->plan->is_inner;
    if (!is_much)
        return;
    int64_t used = stk__memory_there(x) + uncounted_bytes(x) + (int64_t)x->memory.typical_scratch;
    if (used > x->memory.limit_bytes)
        release(worker);
}

void stk__scratch_end(struct stk__exec *x, struct stk__stage *s, struct stk__worker *worker)
{
    size_t peak = worker->gauge.peak_bytes, before = s->memory.typical_scratch;
    x->memory.n_scratching--;
    worker->most_scratch = peak > worker->most_scratch ? peak : worker->most_scratch;
    charge_worker(x, worker, 0); /* what it keeps is there, but not booked */
    if (is_overfull(x))
        release(worker);
    if (x->memory.n_scratch_waiting)
        pthread_cond_broadcast(&x->memory.scratch_back);
    if (peak == before)
        return;
    s->memory.typical_scratch = peak > before ? peak : before - (before - peak) / 8;
    x->memory.typical_scratch = 0;
    for (int i = 0; i < x->n_stages; i++)
        if (x->stage[i].memory.typical_scratch > x->memory.typical_scratch)
            x->memory.typical_scratch = x->stage[i].memory.typical_scratch;
}

/* Until somebody gives scratch back; stages wait for memory meanwhile. */
static void sleep_for_scratch(struct stk__exec *x, struct stk__stage *s)
{
    x->memory.n_scratch_waiting++;
    if (s)
        s->waiting.lacks_scratch = true;
    stk__waits_look(x, stk__clock_ns());
    x->watch.n_idle++;
    pthread_cond_wait(&x->memory.scratch_back, &x->lock);
    stk__waits_settle(x, stk__clock_ns());
    x->watch.n_idle--;
    x->memory.n_scratch_waiting--;
}

/* Waits for room as long as somebody else is at work, who will give some back. */
static bool wait_for_scratch(struct stk__exec *x, struct stk__stage *s, size_t bytes)
{
    bool has_room;
    while (!(has_room = stk__can_charge(x, &x->memory.scratch_account, bytes)) &&
           x->memory.n_scratching > x->memory.n_scratch_waiting + 1)
        sleep_for_scratch(x, s);
    return has_room;
}

/* Called by a worker at work, without the lock. */
bool stk__scratch_grant(void *ctx, size_t wanted_bytes, bool is_forced)
{
    struct stk__worker *worker = ctx;
    struct stk__exec *x = worker->exec;
    pthread_mutex_lock(&x->lock);
    size_t has = worker->gauge.granted_bytes;
    if (wanted_bytes > x->memory.typical_scratch)
        x->memory.typical_scratch =
            wanted_bytes; /* windows and reads leave room for it from now on */
    bool is_granted =
        wanted_bytes <= has || is_forced || wait_for_scratch(x, worker->at, wanted_bytes - has);
    if (is_granted && wanted_bytes > has)
        charge_worker(x, worker, wanted_bytes);
    pthread_mutex_unlock(&x->lock);
    return is_granted;
}

/* ---- birth and death ---- */

static void find_unpacked(struct stk__exec *x, const struct stk__program *program)
{
    for (int k = 0; program && k < program->n_nodes; k++) {
        const struct stk__node *node = program->node[k]->node;
        struct stk__chunk_cache *chunks = stk__array_source_chunks(node->op, node->state);
        for (int i = 0; i < x->memory.n_unpacked; i++)
            chunks = x->memory.unpacked[i] == chunks ? NULL : chunks;
        if (chunks && x->memory.n_unpacked < STK__MAX_UNPACKED)
            x->memory.unpacked[x->memory.n_unpacked++] = chunks;
    }
}

/* They get an eighth of what there is to share out: enough for chunks that several workers are at, and what
 * does not fit is unpacked again. */
static void limit_unpacked(struct stk__exec *x)
{
    for (int i = 0; i < x->plan->n_stages; i++)
        find_unpacked(x, x->plan->stage[i].program);
    int64_t part = (x->plan->options.memory - (int64_t)x->plan->minimum_bytes) / 8;
    for (int i = 0; i < x->memory.n_unpacked; i++)
        stk__chunk_cache_limit(x->memory.unpacked[i], (size_t)part / (size_t)x->memory.n_unpacked);
}

/* What the run has that no account is charged for. A stream may turn out to be compressed. */
static int64_t own_bytes(const struct stk__exec *x)
{
    const struct stk__plan *plan = x->plan;
    size_t bytes = sizeof *x + plan->ring_bytes;
    bytes += (size_t)STK__THREAD_BYTES * (size_t)(x->crew.n_workers + 1);
    for (int i = 0; i < plan->n_stages; i++)
        bytes += plan->stage[i].kind->is_stream ? STK__UNPACKING_BYTES : 0;
    return (int64_t)bytes;
}

int stk__accounts_begin(struct stk__exec *x, struct stk_error *err)
{
    const struct stk__plan *plan = x->plan;
    int64_t least = (int64_t)plan->minimum_bytes;
    bool is_fixed = plan->has_own_budget;
    x->memory.own_bytes = own_bytes(x);
    x->memory.batch_account.unit_bytes = plan->batch_bytes;
    x->memory.scratch_account.unit_bytes = plan->scratch_bytes;
    if (plan->is_inner) { /* the run around it has all of its memory */
        x->memory.share.is_fixed = true;
        x->memory.spare_bytes = plan->options.memory - least;
        x->memory.limit_bytes = INT64_MAX / 4;
        return STK_OK;
    }
    limit_unpacked(x);
    x->memory.limit_bytes = is_fixed ? plan->options.memory : least;
    x->memory.spare_bytes = x->memory.limit_bytes - least;
    for (int i = 0; i < plan->n_kept; i++)
        stk__hold_cached(x, stk__kept_size(plan->kept[i]).bytes);
    if (stk__purse_join(&x->memory.share, x->memory.limit_bytes, is_fixed))
        return STK_OK;
    struct stk__purse_state s = stk__purse_look();
    return stk_fail(err, STK_BUDGET,
                    "memory: this run needs %lld bytes, but other runs of the process have %lld of "
                    "its %lld (memory_limit)",
                    (long long)x->memory.limit_bytes, (long long)(s.fixed + s.owned),
                    (long long)s.limit);
}

/* Chunks that nobody will write to. */
static void drop_open(struct stk__exec *x)
{
    for (int i = 0; i < x->n_stages; i++) {
        struct stk__stage *s = &x->stage[i];
        if (s->is_busy)
            continue;
        stk__lot_unref(x, s->open_out);
        s->open_out = NULL;
    }
}

void stk__accounts_rest(struct stk__exec *x)
{
    if (x->memory.is_resting)
        return;
    x->memory.is_resting = true;
    x->crew.chooser = NULL;
    drop_open(x);
    trim(x, INT64_MAX);
    give_back(x);
    if (x->memory.peak_bytes >= worth_a_trim)
        stk__memory_trim();
}

void stk__accounts_end(struct stk__exec *x)
{
    stk__purse_leave(&x->memory.share);
}

void stk__accounts_forget(size_t taken_bytes)
{
    static atomic_size_t
        n_left; /* of runs that have ended since malloc last gave back what it keeps */
    size_t left = atomic_fetch_add(&n_left, taken_bytes) + taken_bytes;
    if (left >= worth_a_trim && stk__memory_trim())
        atomic_store(&n_left, 0);
}

/* ---- looking ---- */

static void add(struct stk_memory_use *use, const struct stk__account *a, size_t always)
{
    use->held_bytes += a->held_bytes + always;
    use->peak_bytes += a->peak_bytes + always;
}

static void look_at_scratch(const struct stk__exec *x, struct stk_memory_use *out)
{
    out->held_bytes = scratch_bytes(x);
    for (int i = 0; i <= x->crew.n_workers; i++)
        out->peak_bytes += x->crew.worker[i].most_scratch;
    if (out->peak_bytes > x->memory.peak_bytes) /* which workers had at different times */
        out->peak_bytes = x->memory.peak_bytes;
}

static void look_at_unpacked(const struct stk__exec *x, struct stk_memory_use *out)
{
    out->held_bytes = stk__unpacked_bytes(x);
    for (int i = 0; i < x->memory.n_unpacked; i++)
        out->peak_bytes += stk__chunk_cache_peak(x->memory.unpacked[i]);
}

int stk__accounts_look(const struct stk__exec *x, int index, struct stk_memory_use *out)
{
    static const char *const names[] = { "batches", "chunks",  "reads",    "state", "scratch",
                                         "cache",   "indices", "unpacked", "pool" };
    enum { BATCHES, CHUNKS, READS, STATE, SCRATCH, CACHE, INDICES, UNPACKED, POOL, N_OWNERS };
    if (index < 0 || index >= N_OWNERS)
        return STK_END;
    *out = (struct stk_memory_use){ .owner = names[index] };
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__stage *s = &x->stage[i];
        if (index == CHUNKS)
            add(out, &s->memory.out_account, 0);
        else if (index == READS)
            add(out, &s->memory.io_account, 0);
        else if (index == STATE)
            add(out, &s->memory.held_account, s->plan->held_bytes);
    }
    if (index == BATCHES)
        add(out, &x->memory.batch_account, 0);
    else if (index == SCRATCH) /* not what was set aside for it */
        look_at_scratch(x, out);
    else if (index == CACHE) /* which only grows */
        out->held_bytes = out->peak_bytes = x->memory.cached_bytes;
    else if (index == INDICES)
        out->held_bytes = out->peak_bytes = x->plan->index_bytes;
    else if (index == UNPACKED)
        look_at_unpacked(x, out);
    else if (index == POOL) {
        out->held_bytes = stk__pool_bytes(x->pool);
        out->peak_bytes = stk__pool_peak(x->pool);
    }
    return STK_OK;
}
