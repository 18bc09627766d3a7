/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_json.c: the numbers of a run as JSON. Times are seconds. */
#include "base/json_out.h"
#include "exec/exec.h"
#include "graph/graph.h"
#include "report/metrics_text.h"

#include <string.h>

static void add_seconds(struct stk__text *out, const char *name, uint64_t ns)
{
    stk__json_real(out, name, (double)ns * 1e-9);
}

/* The next object of a list, on a line of its own. */
static void next(struct stk__text *out)
{
    stk__json_line(out, 2);
    stk__json_open(out, NULL, '{');
}

static void add_latency(struct stk__text *out, const char *name, const struct stk__latency *latency)
{
    stk__json_open(out, name, '{');
    add_seconds(out, "p50", stk__latency_at(latency, 0.5));
    add_seconds(out, "p90", stk__latency_at(latency, 0.9));
    add_seconds(out, "p99", stk__latency_at(latency, 0.99));
    add_seconds(out, "max", latency->max_ns);
    stk__json_close(out, '}');
}

static void add_work(struct stk__text *out, const struct stk__work_metrics *work)
{
    stk__json_count(out, "calls", work->calls);
    stk__json_count(out, "rows_in", work->rows_in);
    stk__json_count(out, "rows_out", work->rows_out);
    add_seconds(out, "wall", work->wall_ns);
    add_seconds(out, "cpu", work->cpu_ns);
}

static void add_run(const struct stk__metrics *m, struct stk__text *out)
{
    add_seconds(out, "elapsed", m->elapsed_ns);
    stk__json_count(out, "elements", m->elements);
    stk__json_count(out, "batches", m->batches);
    stk__json_count(out, "epochs", m->epochs);
    stk__json_count(out, "errors", m->errors);
    stk__json_count(out, "warnings", m->warnings);
    stk__json_count(out, "tickets", m->tickets);
    stk__json_count(out, "direct_tickets", m->direct_tickets);
    stk__json_line(out, 0);
    stk__json_open(out, "workers", '{');
    stk__json_count(out, "threads", (uint64_t)m->n_workers);
    stk__json_count(out, "limit", (uint64_t)m->workers_limit);
    stk__json_real(out, "busy", stk__metrics_busy_workers(m));
    add_seconds(out, "idle", m->idle_ns);
    stk__json_close(out, '}');
    stk__json_line(out, 0);
    stk__json_open(out, "window", '{');
    stk__json_count(out, "limit", (uint64_t)m->window);
    stk__json_count(out, "open", (uint64_t)m->n_open);
    stk__json_count(out, "ready", (uint64_t)m->n_queued);
    stk__json_real(out, "mean_ready", stk__metrics_ready_batches(m));
    stk__json_close(out, '}');
    stk__json_line(out, 0);
}

static void add_consumer(const struct stk__consumer_metrics *c, struct stk__text *out)
{
    stk__json_open(out, "consumer", '{');
    add_seconds(out, "inside", c->inside_ns);
    add_seconds(out, "outside", c->outside_ns);
    add_seconds(out, "waited", c->waited_ns);
    add_seconds(out, "blocked", c->blocked_ns);
    stk__json_count(out, "blocks", c->n_blocked);
    add_latency(out, "next", &c->inside);
    add_latency(out, "step", &c->step);
    stk__json_close(out, '}');
    stk__json_line(out, 0);
}

static void add_reads(const struct stk__read_metrics *reads, struct stk__text *out)
{
    stk__json_open(out, "reads", '{');
    stk__json_count(out, "count", reads->n);
    stk__json_count(out, "bytes", reads->bytes);
    add_seconds(out, "wall", reads->wall_ns);
    stk__json_count(out, "open", (uint64_t)reads->n_open);
    stk__json_count(out, "depth", (uint64_t)reads->depth);
    stk__json_count(out, "width", (uint64_t)reads->width);
    stk__json_open(out, "by", '{');
    for (int i = 0; i < STK__N_READERS; i++)
        stk__json_count(out, stk__reader_name((enum stk__reader)i), reads->by[i]);
    stk__json_close(out, '}');
    add_latency(out, "latency", &reads->latency);
    stk__json_close(out, '}');
    stk__json_line(out, 0);
}

static void add_cache(const struct stk__cache_metrics *cache, struct stk__text *out)
{
    stk__json_open(out, "cache", '{');
    stk__json_count(out, "caches", (uint64_t)cache->n);
    stk__json_count(out, "hits", cache->hits);
    stk__json_count(out, "misses", cache->misses);
    stk__json_count(out, "rows", cache->rows);
    stk__json_count(out, "bytes", cache->bytes);
    stk__json_count(out, "disk_bytes", cache->disk_bytes);
    stk__json_count(out, "limit", cache->limit_bytes);
    stk__json_count(out, "lost", cache->lost);
    stk__json_name(out, "full");
    stk__text_add(out, cache->is_full ? "true" : "false");
    stk__json_string(out, "trouble", cache->trouble);
    stk__json_close(out, '}');
    stk__json_line(out, 0);
}

/* The ops that one carries out too, in the order of the text. */
static void add_absorbed(const struct stk__node *last, struct stk__text *out)
{
    if (!last)
        return;
    add_absorbed(last->absorbed, out);
    stk__json_string(out, NULL, last->op->decl.name);
}

static void add_ops(const struct stk__metrics *m, struct stk__text *out)
{
    stk__json_open(out, "ops", '[');
    for (int i = 0; i < m->n_ops; i++) {
        const struct stk__op_metrics *op = &m->op[i];
        next(out);
        stk__json_string(out, "op", op->node->op->decl.name);
        stk__json_open(out, "with", '[');
        add_absorbed(op->node->absorbed, out);
        stk__json_close(out, ']');
        stk__json_count(out, "stage", (uint64_t)op->stage);
        add_work(out, &op->work);
        stk__json_count(out, "bytes_out", op->bytes_out);
        stk__json_count(out, "warnings", op->warnings);
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
    stk__json_line(out, 0);
}

static void add_waits(const uint64_t *wait_ns, struct stk__text *out)
{
    stk__json_open(out, "waits", '{');
    for (int k = STK__WAIT_NOTHING + 1; k < STK__N_WAITS; k++)
        add_seconds(out, stk__wait_name((enum stk__wait)k), wait_ns[k]);
    stk__json_close(out, '}');
}

static void add_stages(const struct stk__metrics *m, struct stk__text *out)
{
    stk__json_open(out, "stages", '[');
    for (int i = 0; i <= m->n_stages; i++) {
        const struct stk__stage_metrics *stage = &m->stage[i];
        next(out);
        stk__json_string(out, "kind", stk__metrics_stage_kind(m, i));
        stk__json_string(out, "op", stk__metrics_stage_op(m, i));
        add_work(out, &stage->work);
        add_seconds(out, "ask", stage->ask.wall_ns);
        add_waits(stage->wait_ns, out);
        stk__json_open(out, "tickets", '{');
        stk__json_count(out, "ready", (uint64_t)stage->n_ready);
        stk__json_count(out, "running", (uint64_t)stage->n_running);
        stk__json_count(out, "fetching", (uint64_t)stage->n_fetching);
        stk__json_close(out, '}');
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
    stk__json_line(out, 0);
}

static void add_memory(const struct stk__metrics *m, struct stk__text *out)
{
    stk__json_open(out, "memory", '{');
    stk__json_count(out, "budget", m->budget_bytes);
    stk__json_count(out, "used", m->used_bytes);
    stk__json_count(out, "peak", m->peak_bytes);
    stk__json_open(out, "accounts", '[');
    for (int i = 0; i < m->n_accounts; i++) {
        const struct stk__account_metrics *account = &m->account[i];
        next(out);
        stk__json_string(out, "owner", stk__owner_name(account->owner));
        if (account->stage >= 0)
            stk__json_count(out, "stage", (uint64_t)account->stage);
        stk__json_count(out, "bytes", account->held_bytes);
        stk__json_bool(out, "charged", account->is_charged);
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
    stk__json_close(out, '}');
    stk__json_line(out, 0);
}

static void add_causes(const struct stk__metrics *m, struct stk__text *out)
{
    stk__json_open(out, "causes", '[');
    for (int i = 0; i < m->n_causes; i++) {
        const struct stk__cause *cause = &m->cause[i];
        next(out);
        stk__json_string(out, "op", cause->op ? cause->op : "");
        stk__json_string(out, "code", stk_status_text(cause->code));
        stk__json_string(out, "text", cause->text);
        stk__json_count(out, "count", cause->n);
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
}

static void add_decision(void *ctx, const struct stk_decision *d)
{
    struct stk__text *out = ctx;
    next(out);
    add_seconds(out, "seconds", d->at_ns);
    stk__json_string(out, "knob", d->knob);
    stk__json_count(out, "from", (uint64_t)d->from);
    stk__json_count(out, "to", (uint64_t)d->to);
    stk__json_string(out, "reason", d->reason);
    stk__json_close(out, '}');
}

static void add_decisions(struct stk__exec *x, struct stk__text *out)
{
    stk__json_open(out, "tuning", '[');
    stk__exec_decisions(x, add_decision, out);
    stk__json_close(out, ']');
}

void stk__metrics_json(const struct stk__metrics *m, struct stk__exec *x, struct stk__text *out)
{
    stk__json_open(out, NULL, '{');
    add_run(m, out);
    add_consumer(&m->consumer, out);
    add_reads(&m->reads, out);
    add_cache(&m->cache, out);
    add_ops(m, out);
    add_stages(m, out);
    add_memory(m, out);
    add_causes(m, out);
    add_decisions(x, out);
    stk__text_add(out, "}\n");
}
