/* SPDX-License-Identifier: Apache-2.0 */
/* looking.c: what others may know of a run. */
#include "exec/run.h"

#include <string.h>
#include <unistd.h>

bool stk__exec_is_ours(const struct stk__exec *x)
{
    return x->pid == getpid();
}

const struct stk__plan *stk__exec_plan(const struct stk__exec *x)
{
    return x->plan;
}

struct stk__judge *stk__exec_judge(struct stk__exec *x, int index)
{
    for (int i = 0; i < x->n_stages; i++)
        if (x->plan->stage[i].is_judge && index-- == 0)
            return x->stage[i].plan->kind->judge(&x->stage[i]);
    return index == 0 ? &x->batcher.judge : NULL;
}

void stk__exec_stats(struct stk__exec *x, struct stk_stats *out)
{
    struct stk__judge *judge;
    pthread_mutex_lock(&x->lock);
    const struct stk__cache_metrics cache = stk__cache_metrics_read(x);
    *out = x->watch.stats;
    out->budget_bytes = (uint64_t)x->plan->options.memory;
    out->used_bytes = x->memory.used_bytes;
    out->peak_bytes = x->memory.peak_bytes;
    out->warnings = stk__warnings_read(x);
    out->cache_hits = cache.hits;
    out->cache_misses = cache.misses;
    out->cache_rows = cache.rows;
    out->cache_bytes = cache.bytes;
    out->cache_disk_bytes = cache.disk_bytes;
    out->cache_limit_bytes = cache.limit_bytes;
    out->is_cache_full = cache.is_full;
    memcpy(out->cache_trouble, cache.trouble, sizeof cache.trouble);
    for (int i = 0; (judge = stk__exec_judge(x, i)); i++)
        out->errors += stk__judge_count(judge);
    pthread_mutex_unlock(&x->lock);
}

int stk__exec_error(struct stk__exec *x, uint64_t index, struct stk_error *out)
{
    int rc = STK_END;
    struct stk__judge *judge;
    pthread_mutex_lock(&x->lock);
    for (int i = 0; rc && (judge = stk__exec_judge(x, i)); i++)
        rc = stk__judge_message(judge, &index, out) ? STK_OK : STK_END;
    pthread_mutex_unlock(&x->lock);
    return rc;
}

int stk__exec_memory(struct stk__exec *x, int index, struct stk_memory_use *out)
{
    pthread_mutex_lock(&x->lock);
    int rc = stk__accounts_look(x, index, out);
    pthread_mutex_unlock(&x->lock);
    return rc;
}

int stk__exec_decision(struct stk__exec *x, uint64_t index, struct stk_decision *out)
{
    pthread_mutex_lock(&x->lock);
    bool is_kept = stk__decision_at(x, index, out);
    pthread_mutex_unlock(&x->lock);
    return is_kept ? STK_OK : STK_END;
}

void stk__exec_decisions(struct stk__exec *x,
                         void (*each)(void *ctx, const struct stk_decision *decision), void *ctx)
{
    struct stk_decision d;
    pthread_mutex_lock(&x->lock);
    for (uint64_t i = 0; stk__decision_at(x, i, &d); i++)
        each(ctx, &d);
    pthread_mutex_unlock(&x->lock);
}

void stk__exec_decide(struct stk__exec *x, const char *knob, int64_t from, int64_t to,
                      const char *reason)
{
    pthread_mutex_lock(&x->lock);
    stk__decision_note(x, knob, from, to, "%s", reason);
    pthread_mutex_unlock(&x->lock);
}

/* ---- for tests ---- */

bool stk__exec_is_clean(struct stk__exec *x)
{
    size_t batch = x->batcher.opened_no > x->batcher.current_no ? x->plan->batch_bytes : 0;
    bool is_clean = x->memory.batch_account.held_bytes <= batch;
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__stage *s = &x->stage[i];
        size_t open = s->open_out ? s->open_out->charged : 0;
        is_clean &=
            s->memory.out_account.held_bytes == open && s->memory.io_account.held_bytes == 0;
    }
    return is_clean;
}

/* Reads without the lock: for a watchdog, when everything stands still. */
void stk__exec_dump(struct stk__exec *x, struct stk__text *out)
{
    stk__text_add(
        out,
        "open %d opened_no %llu current_no %llu fill %d queue %d spare %lld stopped %d asleep %d\n",
        x->batcher.n_open, (unsigned long long)x->batcher.opened_no,
        (unsigned long long)x->batcher.current_no, x->batcher.fill, x->deliveries.queue_len,
        (long long)x->memory.spare_bytes, x->is_stopped, x->crew.n_sleeping);
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__stage *s = &x->stage[i];
        stk__text_add(
            out, "stage %d %s, %s, busy %d head %llu opened %llu tail %llu held %zu/%zu end %d\n",
            i, s->plan->node->op->decl.name, s->plan->kind->name, s->is_busy,
            (unsigned long long)s->ring.head, (unsigned long long)s->ring.opened,
            (unsigned long long)s->ring.tail, s->memory.out_account.held_bytes,
            s->memory.io_account.held_bytes, s->is_exhausted);
    }
}
