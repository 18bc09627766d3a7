/* SPDX-License-Identifier: Apache-2.0 */
/* stretch.c: two looks at the metrics of a run, subtracted. */
#include "tune/stretch.h"

#include "base/cores.h"
#include "graph/graph.h"
#include "lang/lang.h"
#include "op/registry.h"

#include <stdio.h>
#include <string.h>

static double seconds_of(uint64_t first, uint64_t last)
{
    return last > first ? (double)(last - first) * 1e-9 : 0;
}

static double grown(uint64_t first, uint64_t last)
{
    return last > first ? (double)(last - first) : 0;
}

/* The ops that one carries out too, in the order of the text. */
static void add_absorbed(struct stk__text *out, const struct stk__node *last)
{
    if (!last)
        return;
    add_absorbed(out, last->absorbed);
    stk__text_add(out, " and %s", last->op->decl.name);
}

static void name_op(const struct stk__node *node, char *name, size_t size)
{
    const size_t most = 48;
    struct stk__text text = { 0 };
    stk__node_call_text(node, most, &text);
    add_absorbed(&text, node->absorbed);
    snprintf(name, size, "%s", text.data ? text.data : node->op->decl.name);
    stk__text_free(&text);
}

static void add_op(struct stk__stretch *s, const struct stk__op_metrics *first,
                   const struct stk__op_metrics *last)
{
    const struct stk__work_metrics none = { 0 }, *from = first ? &first->work : &none;
    struct stk__stretch_op *op = &s->op[s->n_ops];
    if (s->n_ops == STK__STRETCH_OPS)
        return;
    *op = (struct stk__stretch_op){
        .node = last->node,
        .stage = last->stage,
        .calls = grown(from->calls, last->work.calls),
        .rows = grown(from->rows_in, last->work.rows_in),
        .bytes = grown(first ? first->bytes_out : 0, last->bytes_out),
        .wall_s = seconds_of(from->wall_ns, last->work.wall_ns),
        .cpu_s = seconds_of(from->cpu_ns, last->work.cpu_ns),
    };
    if (last->node)
        name_op(last->node, op->name, sizeof op->name);
    else
        snprintf(op->name, sizeof op->name, "batcher");
    s->n_ops++;
}

/* Whoever asks for a read may do it; while it sleeps there it waits for storage. */
static void add_asking(struct stk__stretch *s, struct stk__stretch_stage *stage, double wall_s,
                       double cpu_s)
{
    s->work_s += cpu_s;
    s->cores_used += cpu_s;
    stage->wait_s[STK__WAIT_READS] += wall_s > cpu_s ? wall_s - cpu_s : 0;
}

static void add_stage(struct stk__stretch *s, const struct stk__stage_metrics *first,
                      const struct stk__stage_metrics *last)
{
    struct stk__stretch_stage *stage = &s->stage[s->n_stages++];
    *stage = (struct stk__stretch_stage){
        .is_serial = last->is_serial || !last->op,
        .is_source = last->is_stream,
        .lock = last->lock,
        .work_s = seconds_of(first ? first->work.wall_ns : 0, last->work.wall_ns),
    };
    snprintf(stage->name, sizeof stage->name, "%s", last->op ? last->op : "batcher");
    for (int w = 0; w < STK__N_WAITS; w++)
        stage->wait_s[w] = seconds_of(first ? first->wait_ns[w] : 0, last->wait_ns[w]);
    s->cores_used += seconds_of(first ? first->work.cpu_ns : 0, last->work.cpu_ns);
    s->work_s += stage->work_s;
    add_asking(s, stage, seconds_of(first ? first->ask.wall_ns : 0, last->ask.wall_ns),
               seconds_of(first ? first->ask.cpu_ns : 0, last->ask.cpu_ns));
}

/* What came behind the first look. */
static void set_batch_times(struct stk__stretch *s, const struct stk__latency *first,
                            const struct stk__latency *last)
{
    struct stk__latency between = { .max_ns = last->max_ns };
    for (int i = 0; i < STK__LATENCY_BUCKETS; i++)
        between.count[i] = last->count[i] - first->count[i];
    s->batch_p50_s = (double)stk__latency_at(&between, 0.5) * 1e-9;
    s->batch_p99_s = (double)stk__latency_at(&between, 0.99) * 1e-9;
}

static void set_consumer(struct stk__stretch *s, const struct stk__consumer_metrics *first,
                         const struct stk__consumer_metrics *last)
{
    const uint64_t idle_ns = 20000; /* between batches: a loop that does nothing with them */
    double inside = seconds_of(first->inside_ns, last->inside_ns);
    double outside = seconds_of(first->outside_ns, last->outside_ns);
    double all = inside + outside > 0 ? inside + outside : 1,
           n = grown(first->n_asked, last->n_asked);
    s->waited = seconds_of(first->waited_ns, last->waited_ns) / all;
    s->blocked = seconds_of(first->blocked_ns, last->blocked_ns) / all;
    s->outside = outside / all;
    s->step_s = n > 0 ? outside / n : 0;
    s->ready = n > 0 ? grown(first->n_ready, last->n_ready) / n : 0;
    s->has_consumer = s->step_s * 1e9 > (double)idle_ns;
    set_batch_times(s, &first->step, &last->step);
}

void stk__stretch_between(const struct stk__metrics *first, const struct stk__metrics *last,
                          const struct stk__plan *plan, struct stk__stretch *out)
{
    static const struct stk__metrics nothing;
    const struct stk__metrics *from = first ? first : &nothing;
    *out = (struct stk__stretch){
        .seconds = seconds_of(from->elapsed_ns, last->elapsed_ns),
        .elements = grown(from->elements, last->elements),
        .batches = grown(from->batches, last->batches),
        .cores = stk__cores_count("").usable,
        .workers = (int)stk__plan_options(plan)->workers,
        .queued_s = seconds_of(from->queued_ns, last->queued_ns),
        .reads = grown(from->reads.n, last->reads.n),
        .read_bytes = grown(from->reads.bytes, last->reads.bytes),
        .read_s = seconds_of(from->reads.wall_ns, last->reads.wall_ns),
        .budget_bytes = (double)last->budget_bytes,
        .used_bytes = (double)last->used_bytes,
        .peak_bytes = (double)last->peak_bytes,
        .cache_hits = grown(from->cache.hits, last->cache.hits),
        .cache_misses = grown(from->cache.misses, last->cache.misses),
        .cache_rows = (double)last->cache.rows,
        .cache_bytes = (double)last->cache.bytes,
        .cache_disk_bytes = (double)last->cache.disk_bytes,
        .is_cache_full = last->cache.is_full,
    };
    set_consumer(out, &from->consumer, &last->consumer);
    if (!first) /* what came before its first next and after its last is not of interest */
        out->seconds = seconds_of(0, last->consumer.inside_ns + last->consumer.outside_ns);
    for (int i = 0; i < last->n_ops; i++)
        add_op(out, first ? &first->op[i] : NULL, &last->op[i]);
    for (int i = 0; i <= last->n_stages; i++)
        add_stage(out, first ? &first->stage[i] : NULL, &last->stage[i]);
    if (out->seconds > 0)
        out->cores_used /= out->seconds;
    if (out->seconds > 0)
        out->process_cores_used = seconds_of(from->process_ns, last->process_ns) / out->seconds;
}

double stk__stretch_rate(const struct stk__stretch *s)
{
    return s->seconds > 0 ? s->elements / s->seconds : 0;
}

long long stk__stretch_sample(const struct stk__stretch *s, int most)
{
    double n = stk__stretch_rate(s);
    return n < 64 ? 64 : n > most ? most : (long long)n;
}

int stk__stretch_costliest(const struct stk__stretch *s)
{
    int most = -1;
    for (int i = 0; i < s->n_ops; i++)
        if (s->op[i].cpu_s > 0 && (most < 0 || s->op[i].cpu_s > s->op[most].cpu_s))
            most = i;
    return most;
}
