/* SPDX-License-Identifier: Apache-2.0 */
/* run_metrics.c: snapshots of what a run has counted. */
#define _GNU_SOURCE
#include "exec/watch/run_metrics.h"

#include "base/clock.h"
#include "base/cores.h"
#include "exec/run.h"

#include <stdlib.h>
#include <string.h>

const char *stk__wait_name(enum stk__wait wait)
{
    static const char *const names[] = {
#define WAIT_TEXT(name, text) text,
        STK__WAIT_LIST(WAIT_TEXT)
#undef WAIT_TEXT
    };
    return names[wait];
}

const char *stk__owner_name(enum stk__owner owner)
{
    static const char *const names[] = { "chunks",  "reads", "state",    "batches",
                                         "scratch", "cache", "unpacked", "pool" };
    return names[owner];
}

/* ---- room ---- */

/* What only hands positions or rows on is no op of its own. */
static bool is_shown(const struct stk__pnode *p)
{
    return p->role != STK__ROLE_CUT && p->role != STK__ROLE_PASS;
}

static int count_ops(const struct stk__plan *plan)
{
    int n = 1; /* the batcher */
    for (int i = 0; i < plan->n_stages; i++) {
        const struct stk__program *program = plan->stage[i].program;
        n += program ? 0 : 1;
        for (int k = 0; program && k < program->n_nodes; k++)
            n += is_shown(program->node[k]);
    }
    return n;
}

struct stk__metrics *stk__metrics_new(const struct stk__exec *x)
{
    const size_t per_stage = 3, of_run = 5; /* accounts */
    struct stk__metrics *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    size_t n_stages = (size_t)x->n_stages;
    m->op = calloc((size_t)count_ops(x->plan), sizeof *m->op);
    m->stage = calloc(n_stages + 1, sizeof *m->stage);
    m->account = calloc(per_stage * n_stages + of_run, sizeof *m->account);
    if (m->op && m->stage && m->account)
        return m;
    stk__metrics_free(m);
    return NULL;
}

void stk__metrics_free(struct stk__metrics *m)
{
    if (!m)
        return;
    free(m->op);
    free(m->stage);
    free(m->account);
    free(m);
}

/* ---- ops and stages: the sum over all workers ---- */

static void add_meter(struct stk__work_metrics *work, const struct stk__meter *meter)
{
    work->calls += stk__counted(&meter->calls);
    work->rows_in += stk__counted(&meter->rows_in);
    work->rows_out += stk__counted(&meter->rows_out);
    work->wall_ns += stk__counted(&meter->wall_ns);
    work->cpu_ns += stk__counted(&meter->cpu_ns);
}

static uint64_t field_bytes(const struct stk_type *type, int f)
{
    return type->field[f].kind == STK_FIXED ? stk_field_bytes(&type->field[f]) : 0;
}

static uint64_t row_bytes(const struct stk_type *type)
{
    uint64_t bytes = 0;
    for (int f = 0; f < type->n_fields; f++)
        bytes += field_bytes(type, f);
    return bytes;
}

/* Rows go through all nodes of a program, except that some inputs of a concatenation get some, and
 * that filters drop some on the way; `n_dropped` of them so far. */
static void add_op(const struct stk__exec *x, struct stk__metrics *m, int stage,
                   const struct stk__pnode *p, uint64_t *n_dropped)
{
    struct stk__op_metrics *op = &m->op[m->n_ops++];
    uint64_t per_row = 0, dropped = 0;
    *op = (struct stk__op_metrics){ .node = p->node, .stage = stage };
    for (int i = 0; i <= x->crew.n_workers; i++) {
        const struct stk__meter *meter =
            &x->crew.worker[i].op_meter[x->stage[stage].first_meter + p->number];
        add_meter(&op->work, meter);
        dropped += stk__counted(&meter->rows_dropped);
        op->warnings += stk__counted(&meter->rows_warned);
        op->bytes_out += stk__counted(&meter->span_bytes);
    }
    if (!p->is_part) {
        op->work.calls = m->stage[stage].work.calls;
        op->work.rows_in = m->stage[stage].work.rows_in - *n_dropped;
    }
    op->work.rows_out = op->work.rows_in - dropped;
    *n_dropped += dropped;
    for (int f = 0; f < p->node->type.n_fields; f++)
        per_row += stk__pnode_makes(p, f) ? field_bytes(&p->node->type, f) : 0;
    op->bytes_out += op->work.rows_out * per_row;
}

uint64_t stk__warnings_read(const struct stk__exec *x)
{
    uint64_t n = 0;
    for (int i = 0; i <= x->crew.n_workers; i++)
        for (int k = 0; k < x->watch.n_op_meters; k++)
            n += stk__counted(&x->crew.worker[i].op_meter[k].rows_warned);
    return n;
}

static struct stk__work_metrics sum_work(const struct stk__exec *x, const struct stk__stage *s,
                                         bool is_asking, uint64_t *span_bytes)
{
    struct stk__work_metrics work = { 0 };
    for (int i = 0; i <= x->crew.n_workers; i++) {
        const struct stk__meter *meter =
            &stk__work_meter_of(&x->crew.worker[i], s, is_asking)->meter;
        add_meter(&work, meter);
        *span_bytes += stk__counted(&meter->span_bytes);
    }
    return work;
}

static void count_tickets(const struct stk__ring *r, struct stk__stage_metrics *out)
{
    for (uint64_t seq = r->head; seq < r->tail; seq++) {
        enum stk__ticket_state state = r->slot[seq % r->cap].state;
        out->n_ready += state == STK__READY;
        out->n_running += state == STK__RUNNING;
        out->n_fetching += state == STK__FETCHING;
    }
}

static void read_stage(struct stk__exec *x, struct stk__metrics *m, int i)
{
    const struct stk__stage *s = &x->stage[i];
    const struct stk__program *program = s->plan->program;
    struct stk__stage_metrics *out = &m->stage[i];
    uint64_t span_bytes = 0, n_dropped = 0;
    *out =
        (struct stk__stage_metrics){ .op = s->plan->node->op->decl.name,
                                     .kind = s->plan->kind->name,
                                     .lock = s->plan->program ? s->plan->program->exclusive : NULL,
                                     .is_serial = !s->plan->program,
                                     .is_stream = s->plan->kind->is_stream };
    out->work = sum_work(x, s, false, &span_bytes);
    out->ask = sum_work(x, s, true, &(uint64_t){ 0 });
    for (int k = 0; k < STK__N_WAITS; k++)
        out->wait_ns[k] = s->waiting.wait_ns[k];
    count_tickets(&s->ring, out);
    for (int k = 0; program && k < program->n_nodes; k++)
        if (is_shown(program->node[k]))
            add_op(x, m, i, program->node[k], &n_dropped);
    if (!program)
        m->op[m->n_ops++] =
            (struct stk__op_metrics){ .node = s->plan->node,
                                      .stage = i,
                                      .work = out->work,
                                      .bytes_out = span_bytes +
                                                   out->work.rows_out * row_bytes(s->plan->type) };
}

/* Its stage counts the rows that were moved; most are made where they are delivered. */
static void read_batcher(const struct stk__exec *x, struct stk__metrics *m)
{
    struct stk__stage_metrics *out = &m->stage[x->n_stages];
    *out = (struct stk__stage_metrics){ .work = sum_work(x, NULL, false, &(uint64_t){ 0 }) };
    if (x->plan->batch)
        m->op[m->n_ops++] =
            (struct stk__op_metrics){ .node = x->plan->batch,
                                      .stage = x->n_stages,
                                      .work = { .calls = m->batches,
                                                .rows_in = m->elements,
                                                .rows_out = m->elements,
                                                .wall_ns = out->work.wall_ns,
                                                .cpu_ns = out->work.cpu_ns },
                                      .bytes_out = out->work.rows_out *
                                                   row_bytes(x->plan->stage[x->plan->last].type) };
}

/* ---- memory ---- */

static void add_account(struct stk__metrics *m, enum stk__owner owner, int stage, size_t bytes)
{
    m->account[m->n_accounts++] =
        (struct stk__account_metrics){ .owner = owner,
                                       .stage = stage,
                                       .held_bytes = bytes,
                                       .is_charged = owner < STK__OWNER_UNPACKED };
}

static void read_memory(struct stk__exec *x, struct stk__metrics *m)
{
    m->n_accounts = 0;
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__stage *s = &x->stage[i];
        add_account(m, STK__OWNER_CHUNKS, i, s->memory.out_account.held_bytes);
        if (s->plan->program && s->plan->program->n_reads)
            add_account(m, STK__OWNER_READS, i, s->memory.io_account.held_bytes);
        if (!s->plan->program)
            add_account(m, STK__OWNER_STATE, i,
                        s->plan->held_bytes + s->memory.held_account.held_bytes);
    }
    add_account(m, STK__OWNER_BATCHES, -1, x->memory.batch_account.held_bytes);
    add_account(m, STK__OWNER_SCRATCH, -1, x->memory.scratch_account.held_bytes);
    if (x->plan->n_kept)
        add_account(m, STK__OWNER_CACHE, -1, x->memory.cached_bytes);
    if (x->memory.n_unpacked)
        add_account(m, STK__OWNER_UNPACKED, -1, stk__unpacked_bytes(x));
    add_account(m, STK__OWNER_POOL, -1, stk__pool_bytes(x->pool));
    m->budget_bytes = (uint64_t)x->plan->options.memory;
    m->limit_bytes = (uint64_t)x->memory.limit_bytes;
    m->there_bytes = (uint64_t)stk__memory_there(x);
    m->used_bytes = x->memory.used_bytes;
    m->peak_bytes = x->memory.peak_bytes;
    m->spare_bytes = x->memory.spare_bytes;
}

/* ---- caches ---- */

struct stk__cache_metrics stk__cache_metrics_read(struct stk__exec *x)
{
    struct stk__cache_metrics m = { .n = x->plan->n_kept,
                                    .hits = atomic_load(&x->watch.n_hits),
                                    .misses = atomic_load(&x->watch.n_misses),
                                    .limit_bytes = x->plan->n_kept ? x->plan->cache_bytes : 0,
                                    .is_full = x->memory.is_cache_full };
    for (int i = 0; i < x->plan->n_kept; i++) {
        const struct stk__kept_size size = stk__kept_size(x->plan->kept[i]);
        m.rows += size.rows;
        m.bytes += size.bytes;
        m.disk_bytes += size.disk_bytes;
        m.lost += size.n_lost;
        if (size.why[0])
            memcpy(m.trouble, size.why, sizeof size.why);
    }
    m.is_full |= m.trouble[0] != 0;
    return m;
}

/* ---- the whole ---- */

static void read_run(struct stk__exec *x, struct stk__metrics *m)
{
    m->elements = x->watch.stats.elements;
    m->batches = x->watch.stats.batches;
    m->epochs = x->watch.stats.epochs;
    m->tickets = x->watch.stats.tickets;
    m->direct_tickets = x->watch.stats.direct_tickets;
    m->n_workers = x->crew.n_workers;
    m->workers_limit = x->crew.limit.now;
    m->window = x->batcher.window.now;
    m->n_open = x->batcher.n_open;
    m->n_queued = x->deliveries.queue_len;
    m->idle_ns = x->watch.idle_ns;
    m->consumer = x->watch.consumer.metrics;
    m->consumer.n_asked = x->watch.pulse.n_asked;
    m->consumer.n_ready = x->watch.pulse.n_ready;
    m->consumer.waited_ns = x->watch.pulse.wait_ns + x->watch.consumer.packed_ns;
    if (x->lane)
        stk__lane_look(x->lane, &m->reads);
    m->reads.bytes = x->watch.stats.bytes_read;
}

uint64_t stk__process_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of workers alone: they were born with the run, so that nothing of what came before is in it. */
static uint64_t workers_queued_ns(struct stk__exec *x)
{
    uint64_t queued = 0;
    for (int i = 0; i < x->crew.n_workers; i++) {
        uint64_t now = stk__queued_ns(atomic_load(&x->crew.worker[i].thread_id));
        queued += now ? now : atomic_load(&x->crew.worker[i].queued_ns);
    }
    return queued;
}

void stk__metrics_read(struct stk__exec *x, struct stk__metrics *m)
{
    m->queued_ns = workers_queued_ns(x);
    pthread_mutex_lock(&x->lock);
    uint64_t now = stk__clock_ns();
    stk__waits_settle(x, now);
    m->elapsed_ns = now - x->watch.decisions.began_at;
    m->process_ns = stk__process_ns() - x->watch.process_began;
    m->n_ops = 0;
    m->n_stages = x->n_stages;
    read_run(x, m);
    for (int i = 0; i < x->n_stages; i++)
        read_stage(x, m, i);
    read_batcher(x, m);
    read_memory(x, m);
    m->cache = stk__cache_metrics_read(x);
    m->n_causes = stk__causes_read(&x->watch.causes, m->cause);
    m->warnings = stk__warnings_read(x);
    m->errors = 0;
    for (int i = 0; i < m->n_causes; i++)
        m->errors += m->cause[i].n;
    pthread_mutex_unlock(&x->lock);
}
