/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_json.c: the numbers of a run as JSON. Times are seconds. */
#include "api/metrics_text.h"
#include "exec/exec.h"

#include <string.h>

static bool is_first(const struct stk__text *out)
{
    char last = out->len ? out->data[out->len - 1] : '{';
    return last == '{' || last == '[' || last == '\n';
}

/* The name of the next member, with a comma unless it is the first. */
static void add_name(struct stk__text *out, const char *name)
{
    stk__text_add(out, is_first(out) ? "\"%s\": " : ", \"%s\": ", name);
}

static void add_count(struct stk__text *out, const char *name, uint64_t n)
{
    add_name(out, name);
    stk__text_add(out, "%llu", (unsigned long long)n);
}

static void add_real(struct stk__text *out, const char *name, double value)
{
    add_name(out, name);
    stk__text_add_rounded(out, value, 9);
}

static void add_seconds(struct stk__text *out, const char *name, uint64_t ns)
{
    add_real(out, name, (double)ns * 1e-9);
}

static void add_string(struct stk__text *out, const char *name, const char *value)
{
    add_name(out, name);
    stk__text_add_json(out, value, strlen(value));
}

static void open(struct stk__text *out, const char *name, const char *bracket)
{
    add_name(out, name);
    stk__text_add(out, "%s", bracket);
}

/* The next object of a list. */
static void next(struct stk__text *out, int i)
{
    stk__text_add(out, i ? ",\n  {" : "\n  {");
}

static void add_latency(struct stk__text *out, const char *name, const struct stk__latency *latency)
{
    open(out, name, "{");
    add_seconds(out, "p50", stk__latency_at(latency, 0.5));
    add_seconds(out, "p90", stk__latency_at(latency, 0.9));
    add_seconds(out, "p99", stk__latency_at(latency, 0.99));
    add_seconds(out, "max", latency->max_ns);
    stk__text_add(out, "}");
}

static void add_work(struct stk__text *out, const struct stk__work_metrics *work)
{
    add_count(out, "calls", work->calls);
    add_count(out, "rows_in", work->rows_in);
    add_count(out, "rows_out", work->rows_out);
    add_seconds(out, "wall", work->wall_ns);
    add_seconds(out, "cpu", work->cpu_ns);
}

static void add_run(const struct stk__metrics *m, struct stk__text *out)
{
    add_seconds(out, "elapsed", m->elapsed_ns);
    add_count(out, "elements", m->elements);
    add_count(out, "batches", m->batches);
    add_count(out, "epochs", m->epochs);
    add_count(out, "errors", m->errors);
    add_count(out, "tickets", m->tickets);
    add_count(out, "direct_tickets", m->direct_tickets);
    stk__text_add(out, ",\n");
    open(out, "workers", "{");
    add_count(out, "threads", (uint64_t)m->n_workers);
    add_count(out, "limit", (uint64_t)m->workers_limit);
    add_real(out, "busy", stk__metrics_busy_workers(m));
    add_seconds(out, "idle", m->idle_ns);
    stk__text_add(out, "},\n");
    open(out, "window", "{");
    add_count(out, "limit", (uint64_t)m->window);
    add_count(out, "open", (uint64_t)m->n_open);
    add_count(out, "ready", (uint64_t)m->n_queued);
    add_real(out, "mean_ready", stk__metrics_ready_batches(m));
    stk__text_add(out, "},\n");
}

static void add_consumer(const struct stk__consumer_metrics *c, struct stk__text *out)
{
    open(out, "consumer", "{");
    add_seconds(out, "inside", c->inside_ns);
    add_seconds(out, "outside", c->outside_ns);
    add_seconds(out, "waited", c->waited_ns);
    add_seconds(out, "blocked", c->blocked_ns);
    add_count(out, "blocks", c->n_blocked);
    add_latency(out, "next", &c->inside);
    add_latency(out, "step", &c->step);
    stk__text_add(out, "},\n");
}

static void add_reads(const struct stk__read_metrics *reads, struct stk__text *out)
{
    open(out, "reads", "{");
    add_count(out, "count", reads->n);
    add_count(out, "bytes", reads->bytes);
    add_seconds(out, "wall", reads->wall_ns);
    add_count(out, "open", (uint64_t)reads->n_open);
    add_count(out, "depth", (uint64_t)reads->depth);
    add_count(out, "width", (uint64_t)reads->width);
    open(out, "by", "{");
    for (int i = 0; i < STK__N_READERS; i++)
        add_count(out, stk__reader_name((enum stk__reader)i), reads->by[i]);
    stk__text_add(out, "}");
    add_latency(out, "latency", &reads->latency);
    stk__text_add(out, "},\n");
}

static void add_cache(const struct stk__cache_metrics *cache, struct stk__text *out)
{
    open(out, "cache", "{");
    add_count(out, "caches", (uint64_t)cache->n);
    add_count(out, "hits", cache->hits);
    add_count(out, "misses", cache->misses);
    add_count(out, "rows", cache->rows);
    add_count(out, "bytes", cache->bytes);
    add_count(out, "disk_bytes", cache->disk_bytes);
    add_count(out, "limit", cache->limit_bytes);
    add_count(out, "lost", cache->lost);
    add_name(out, "full");
    stk__text_add(out, cache->is_full ? "true" : "false");
    add_string(out, "trouble", cache->trouble);
    stk__text_add(out, "},\n");
}

/* The ops that one carries out too, in the order of the text. */
static void add_absorbed(const struct stk__node *last, struct stk__text *out)
{
    if (!last)
        return;
    add_absorbed(last->absorbed, out);
    const char *name = last->op->decl.name;
    stk__text_add(out, is_first(out) ? "" : ", ");
    stk__text_add_json(out, name, strlen(name));
}

static void add_ops(const struct stk__metrics *m, struct stk__text *out)
{
    open(out, "ops", "[");
    for (int i = 0; i < m->n_ops; i++) {
        const struct stk__op_metrics *op = &m->op[i];
        next(out, i);
        add_string(out, "op", op->node->op->decl.name);
        open(out, "with", "[");
        add_absorbed(op->node->absorbed, out);
        stk__text_add(out, "]");
        add_count(out, "stage", (uint64_t)op->stage);
        add_work(out, &op->work);
        add_count(out, "bytes_out", op->bytes_out);
        stk__text_add(out, "}");
    }
    stk__text_add(out, "],\n");
}

static void add_waits(const uint64_t *wait_ns, struct stk__text *out)
{
    open(out, "waits", "{");
    for (int k = STK__WAIT_NOTHING + 1; k < STK__N_WAITS; k++)
        add_seconds(out, stk__wait_name((enum stk__wait)k), wait_ns[k]);
    stk__text_add(out, "}");
}

static void add_stages(const struct stk__metrics *m, struct stk__text *out)
{
    open(out, "stages", "[");
    for (int i = 0; i <= m->n_stages; i++) {
        const struct stk__stage_metrics *stage = &m->stage[i];
        next(out, i);
        add_string(out, "kind", stk__metrics_stage_kind(m, i));
        add_string(out, "op", stk__metrics_stage_op(m, i));
        add_work(out, &stage->work);
        add_seconds(out, "ask", stage->ask.wall_ns);
        add_waits(stage->wait_ns, out);
        open(out, "tickets", "{");
        add_count(out, "ready", (uint64_t)stage->n_ready);
        add_count(out, "running", (uint64_t)stage->n_running);
        add_count(out, "fetching", (uint64_t)stage->n_fetching);
        stk__text_add(out, "}}");
    }
    stk__text_add(out, "],\n");
}

static void add_memory(const struct stk__metrics *m, struct stk__text *out)
{
    open(out, "memory", "{");
    add_count(out, "budget", m->budget_bytes);
    add_count(out, "used", m->used_bytes);
    add_count(out, "peak", m->peak_bytes);
    open(out, "accounts", "[");
    for (int i = 0; i < m->n_accounts; i++) {
        const struct stk__account_metrics *account = &m->account[i];
        next(out, i);
        add_string(out, "owner", stk__owner_name(account->owner));
        if (account->stage >= 0)
            add_count(out, "stage", (uint64_t)account->stage);
        add_count(out, "bytes", account->held_bytes);
        add_name(out, "charged");
        stk__text_add(out, account->is_charged ? "true}" : "false}");
    }
    stk__text_add(out, "]},\n");
}

static void add_causes(const struct stk__metrics *m, struct stk__text *out)
{
    open(out, "causes", "[");
    for (int i = 0; i < m->n_causes; i++) {
        const struct stk__cause *cause = &m->cause[i];
        next(out, i);
        add_string(out, "op", cause->op ? cause->op : "");
        add_string(out, "code", stk_status_text(cause->code));
        add_string(out, "text", cause->text);
        add_count(out, "count", cause->n);
        stk__text_add(out, "}");
    }
    stk__text_add(out, "]");
}

static void add_decisions(struct stk__exec *x, struct stk__text *out)
{
    struct stk_decision d;
    open(out, "tuning", "[");
    pthread_mutex_lock(&x->lock);
    for (int i = 0; stk__decision_at(x, (uint64_t)i, &d); i++) {
        next(out, i);
        add_seconds(out, "seconds", d.at_ns);
        add_string(out, "knob", d.knob);
        add_count(out, "from", (uint64_t)d.from);
        add_count(out, "to", (uint64_t)d.to);
        add_string(out, "reason", d.reason);
        stk__text_add(out, "}");
    }
    pthread_mutex_unlock(&x->lock);
    stk__text_add(out, "]");
}

void stk__metrics_json(const struct stk__metrics *m, struct stk__exec *x, struct stk__text *out)
{
    stk__text_add(out, "{");
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
