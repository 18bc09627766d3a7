/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_prometheus.c: the numbers of a run in Prometheus' text format, version 0.0.4. */
#include "graph/graph.h"
#include "report/metrics_text.h"

#include <stddef.h>
#include <string.h>

static void add_family(struct stk__text *out, const char *name, const char *type, const char *help)
{
    stk__text_add(out, "# HELP stoker_%s %s\n# TYPE stoker_%s %s\n", name, help, name, type);
}

static bool ends_in_label(const struct stk__text *out)
{
    return out->len && out->data[out->len - 1] == '"';
}

/* One more label; the first one opens the braces. Values are escaped as the format wants it. */
static void add_label(struct stk__text *out, const char *name, const char *value)
{
    stk__text_add(out, ends_in_label(out) ? ",%s=\"" : "{%s=\"", name);
    for (const char *c = value; *c; c++) {
        if (*c == '\n')
            stk__text_add(out, "\\n");
        else
            stk__text_add(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    }
    stk__text_add(out, "\"");
}

static void add_number(struct stk__text *out, const char *name, int value)
{
    stk__text_add(out, ends_in_label(out) ? ",%s=\"%d\"" : "{%s=\"%d\"", name, value);
}

static void add_value(struct stk__text *out, double value)
{
    stk__text_add(out, ends_in_label(out) ? "} " : " ");
    stk__text_add_rounded(out, value, 15);
    stk__text_add(out, "\n");
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static void add_one(struct stk__text *out, const char *name, const char *type, const char *help,
                    double value)
{
    add_family(out, name, type, help);
    stk__text_add(out, "stoker_%s", name);
    add_value(out, value);
}

/* ---- the run ---- */

static void add_run(const struct stk__metrics *m, struct stk__text *out)
{
    add_one(out, "elapsed_seconds", "gauge", "Time since the run began.", seconds(m->elapsed_ns));
    add_one(out, "elements_total", "counter", "Elements delivered.", (double)m->elements);
    add_one(out, "batches_total", "counter", "Batches delivered.", (double)m->batches);
    add_one(out, "epochs_total", "counter", "Epochs delivered to their end.", (double)m->epochs);
    add_one(out, "workers", "gauge", "Threads that compute, the consumer not counted.",
            (double)m->n_workers);
    add_one(out, "workers_limit", "gauge", "Threads that may compute at a time.",
            (double)m->workers_limit);
    add_one(out, "workers_idle_seconds_total", "counter",
            "Time that workers slept for want of work, summed.", seconds(m->idle_ns));
    add_one(out, "window", "gauge", "Batches that may be in flight.", (double)m->window);
    add_one(out, "batches_open", "gauge", "Batches in flight.", (double)m->n_open);
    add_one(out, "batches_ready", "gauge", "Batches that wait for the consumer.",
            (double)m->n_queued);
    add_one(out, "batches_asked_total", "counter", "Batches that the consumer asked for.",
            (double)m->consumer.n_asked);
    add_one(out, "batches_found_ready_total", "counter",
            "Batches that were ready when the consumer asked, summed.",
            (double)m->consumer.n_ready);
}

static void add_summary(struct stk__text *out, const char *name, const char *help,
                        const struct stk__latency *latency, uint64_t sum_ns)
{
    static const char *const quantiles[] = { "0.5", "0.9", "0.99", "1" };
    static const double shares[] = { 0.5, 0.9, 0.99, 1 };
    add_family(out, name, "summary", help);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        stk__text_add(out, "stoker_%s", name);
        add_label(out, "quantile", quantiles[i]);
        add_value(out, seconds(stk__latency_at(latency, shares[i])));
    }
    stk__text_add(out, "stoker_%s_sum", name);
    add_value(out, seconds(sum_ns));
    stk__text_add(out, "stoker_%s_count", name);
    add_value(out, (double)stk__latency_n(latency));
}

static void add_consumer(const struct stk__consumer_metrics *c, struct stk__text *out)
{
    add_one(out, "consumer_outside_seconds_total", "counter",
            "Time between calls of next: the consumer's own.", seconds(c->outside_ns));
    add_one(out, "consumer_waited_seconds_total", "counter",
            "Time in next while no batch was ready.", seconds(c->waited_ns));
    add_one(out, "consumer_blocked_seconds_total", "counter",
            "Part of it in which there was nothing to do for the consumer either.",
            seconds(c->blocked_ns));
    add_summary(out, "next_seconds", "Time in next, per batch.", &c->inside, c->inside_ns);
    add_summary(out, "step_seconds", "Time from one delivery to the next.", &c->step, c->step_ns);
}

static void add_reads(const struct stk__read_metrics *reads, struct stk__text *out)
{
    add_one(out, "read_bytes_total", "counter", "Bytes that were read.", (double)reads->bytes);
    add_one(out, "reads_open", "gauge", "Reads that are asked for and not yet there.",
            (double)reads->n_open);
    add_one(out, "reads_depth", "gauge", "Reads at a time that pay, or that were asked for.",
            (double)reads->depth);
    add_one(out, "reads_width", "gauge", "Reads that may be under way; 0: files are in memory.",
            (double)reads->width);
    add_family(out, "reads_total", "counter", "Reads, by who did them.");
    for (int i = 0; i < STK__N_READERS; i++) {
        stk__text_add(out, "stoker_reads_total");
        add_label(out, "by", stk__reader_name((enum stk__reader)i));
        add_value(out, (double)reads->by[i]);
    }
    add_summary(out, "read_seconds", "Time of a read.", &reads->latency, reads->wall_ns);
}

static void add_cache(const struct stk__cache_metrics *cache, struct stk__text *out)
{
    add_one(out, "cache_hits_total", "counter", "Elements that caches had.", (double)cache->hits);
    add_one(out, "cache_misses_total", "counter", "Elements that caches had not.",
            (double)cache->misses);
    add_one(out, "cache_rows", "gauge", "Elements that caches keep.", (double)cache->rows);
    add_family(out, "cache_bytes", "gauge", "Bytes that they take.");
    stk__text_add(out,
                  "stoker_cache_bytes{on=\"memory\"} %llu\nstoker_cache_bytes{on=\"disk\"} %llu\n",
                  (unsigned long long)cache->bytes, (unsigned long long)cache->disk_bytes);
    add_one(out, "cache_limit_bytes", "gauge", "Bytes of the budget that caches may take.",
            (double)cache->limit_bytes);
    add_one(out, "cache_lost_total", "counter", "Elements on disk that could not be read again.",
            (double)cache->lost);
    add_one(out, "cache_full", "gauge", "1 if there was no room for what last came to a cache.",
            cache->is_full);
}

/* ---- ops and stages: a family is a member of a struct ---- */

struct member {
    const char *name, *help;
    size_t offset; /* of a uint64_t */
    bool is_time;
};

#define OP(field) offsetof(struct stk__op_metrics, field)
static const struct member op_members[] = {
    { "op_calls_total", "Pieces of work of an op.", OP(work.calls), false },
    { "op_rows_in_total", "Rows that came into an op.", OP(work.rows_in), false },
    { "op_rows_out_total", "Rows that an op handed on.", OP(work.rows_out), false },
    { "op_bytes_out_total", "Bytes of the fields that an op made.", OP(bytes_out), false },
    { "op_warnings_total", "Rows made although something is wrong with their data.", OP(warnings),
      false },
    { "op_seconds_total", "Time in an op, over all workers.", OP(work.wall_ns), true },
    { "op_cpu_seconds_total", "CPU time in an op, over all workers.", OP(work.cpu_ns), true },
};

#define STAGE(field) offsetof(struct stk__stage_metrics, field)
static const struct member stage_members[] = {
    { "stage_calls_total", "Tickets or steps of a stage.", STAGE(work.calls), false },
    { "stage_rows_in_total", "Rows that came into a stage.", STAGE(work.rows_in), false },
    { "stage_rows_out_total", "Rows that a stage handed on.", STAGE(work.rows_out), false },
    { "stage_seconds_total", "Time at work for a stage, over all workers.", STAGE(work.wall_ns),
      true },
    { "stage_cpu_seconds_total", "CPU time of it.", STAGE(work.cpu_ns), true },
    { "stage_ask_seconds_total", "Time spent asking for reads.", STAGE(ask.wall_ns), true },
};

static void add_member(struct stk__text *out, const struct member *member, const void *from)
{
    uint64_t n;
    memcpy(&n, (const char *)from + member->offset, sizeof n);
    add_value(out, member->is_time ? seconds(n) : (double)n);
}

static void add_ops(const struct stk__metrics *m, struct stk__text *out)
{
    for (size_t k = 0; k < sizeof op_members / sizeof *op_members; k++) {
        add_family(out, op_members[k].name, "counter", op_members[k].help);
        for (int i = 0; i < m->n_ops; i++) {
            stk__text_add(out, "stoker_%s", op_members[k].name);
            add_label(out, "op", m->op[i].node->op->decl.name);
            add_number(out, "number", i);
            add_number(out, "stage", m->op[i].stage);
            add_member(out, &op_members[k], &m->op[i]);
        }
    }
}

static void add_stage_labels(const struct stk__metrics *m, int i, struct stk__text *out)
{
    add_number(out, "stage", i);
    add_label(out, "kind", stk__metrics_stage_kind(m, i));
    add_label(out, "op", stk__metrics_stage_op(m, i));
}

static void add_waits(const struct stk__metrics *m, struct stk__text *out)
{
    add_family(out, "stage_wait_seconds_total", "counter",
               "Time that a stage could not go on though a worker was idle, by reason.");
    for (int i = 0; i < m->n_stages; i++)
        for (int k = STK__WAIT_NOTHING + 1; k < STK__N_WAITS; k++) {
            stk__text_add(out, "stoker_stage_wait_seconds_total");
            add_stage_labels(m, i, out);
            add_label(out, "reason", stk__wait_name((enum stk__wait)k));
            add_value(out, seconds(m->stage[i].wait_ns[k]));
        }
}

static void add_stages(const struct stk__metrics *m, struct stk__text *out)
{
    for (size_t k = 0; k < sizeof stage_members / sizeof *stage_members; k++) {
        add_family(out, stage_members[k].name, "counter", stage_members[k].help);
        for (int i = 0; i <= m->n_stages; i++) {
            stk__text_add(out, "stoker_%s", stage_members[k].name);
            add_stage_labels(m, i, out);
            add_member(out, &stage_members[k], &m->stage[i]);
        }
    }
    add_waits(m, out);
}

/* ---- memory and errors ---- */

static void add_memory(const struct stk__metrics *m, struct stk__text *out)
{
    add_one(out, "memory_budget_bytes", "gauge", "Bytes that the run may use.",
            (double)m->budget_bytes);
    add_one(out, "memory_used_bytes", "gauge", "Bytes of it in use.", (double)m->used_bytes);
    add_one(out, "memory_peak_bytes", "gauge", "The most that was in use.", (double)m->peak_bytes);
    add_family(out, "memory_bytes", "gauge", "Bytes in use, by owner.");
    for (int i = 0; i < m->n_accounts; i++) {
        stk__text_add(out, "stoker_memory_bytes");
        add_label(out, "owner", stk__owner_name(m->account[i].owner));
        if (m->account[i].stage >= 0)
            add_number(out, "stage", m->account[i].stage);
        add_label(out, "charged", m->account[i].is_charged ? "true" : "false");
        add_value(out, (double)m->account[i].held_bytes);
    }
}

static void add_causes(const struct stk__metrics *m, struct stk__text *out)
{
    add_family(out, "errors_total", "counter", "Bad elements, by cause.");
    for (int i = 0; i < m->n_causes; i++) {
        stk__text_add(out, "stoker_errors_total");
        add_label(out, "op", m->cause[i].op ? m->cause[i].op : "");
        add_label(out, "code", stk_status_text(m->cause[i].code));
        add_label(out, "cause", m->cause[i].text);
        add_value(out, (double)m->cause[i].n);
    }
}

void stk__metrics_prometheus(const struct stk__metrics *m, struct stk__text *out)
{
    add_run(m, out);
    add_consumer(&m->consumer, out);
    add_reads(&m->reads, out);
    add_cache(&m->cache, out);
    add_ops(m, out);
    add_stages(m, out);
    add_memory(m, out);
    add_causes(m, out);
}
