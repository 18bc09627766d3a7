/* SPDX-License-Identifier: Apache-2.0 */
/* cache_cost.c: a short run of what comes before a cache, and what its ops took.
 *
 * One thread does everything, so that the times of ops add up. What is left of the time was spent
 * on reading. Later the work of ops is shared by the workers and reading is not, so that counts in
 * full.
 */
#define _GNU_SOURCE
#include "tune/cache_cost.h"

#include "base/clock.h"
#include "base/memory/pages.h"
#include "exec/exec.h"

static const uint64_t least_ns = 100000000, most_ns = 300000000;
static const uint64_t least_elements = 64;

/* ---- from counters to costs ---- */

static const struct stk__op_metrics *op_of(const struct stk__metrics *m,
                                           const struct stk__node *node)
{
    for (int i = 0; i < m->n_ops; i++)
        if (m->op[i].node == node)
            return &m->op[i];
    return NULL;
}

static double fixed_bytes(const struct stk_field *field)
{
    return field->kind == STK_FIXED ? (double)stk_field_bytes(field) : 0;
}

/* Bytes of a row of the fields without a fixed size that an op made. */
static double span_bytes(const struct stk__metrics *m, const struct stk__node *node)
{
    const struct stk__op_metrics *op = op_of(m, node);
    if (!op || !op->work.rows_out)
        return 0;
    double bytes = (double)op->bytes_out / (double)op->work.rows_out;
    for (int f = 0; f < node->type.n_fields; f++)
        bytes -= !node->n_inputs || node->from[f] < 0 ? fixed_bytes(&node->type.field[f]) : 0;
    return bytes > 0 ? bytes : 0;
}

/* The op below, or at, a place that made its field f. */
static const struct stk__node *maker_of(const struct stk__node *node, int f)
{
    while (node->n_inputs == 1 && !(node->op->flags & STK__OP_BATCH) && node->from[f] >= 0) {
        f = node->from[f];
        node = node->input[0];
    }
    return node;
}

/* What a row takes when it is kept: its fields, and what says which row it is. */
static double row_bytes(const struct stk__metrics *m, const struct stk__node *node)
{
    const struct stk__node *seen[STK_MAX_FIELDS];
    double bytes = 64;
    int n_seen = 0;
    for (int f = 0; f < node->type.n_fields; f++) {
        bytes += fixed_bytes(&node->type.field[f]);
        if (node->type.field[f].kind == STK_FIXED)
            continue;
        const struct stk__node *maker = maker_of(node, f);
        int i = 0;
        while (i < n_seen && seen[i] != maker)
            i++;
        if (i < n_seen)
            continue;
        seen[n_seen++] = maker;
        bytes += span_bytes(m, maker);
    }
    return bytes;
}

/* The part of an op's time that will pass: its work is shared by the workers, but one reads a stream. */
static double passing(const struct stk__metrics *m, const struct stk__op_metrics *op, int workers)
{
    bool is_stream = op->stage < m->n_stages && m->stage[op->stage].is_stream;
    return (double)op->work.wall_ns / (workers > 1 && !is_stream ? workers : 1);
}

void stk__cache_costs(const struct stk__metrics *m, double n, double elapsed_ns, int workers,
                      struct stk__cache_places *places)
{
    double work_ns = 0, passing_ns = 0;
    for (int i = 0; i < m->n_ops; i++) {
        work_ns += (double)m->op[i].work.wall_ns;
        passing_ns += passing(m, &m->op[i], workers);
    }
    double rest_ns = elapsed_ns > work_ns ? elapsed_ns - work_ns : 0;
    double ns = (passing_ns + rest_ns) / n;
    for (int i = 0; i < places->n; i++) {
        struct stk__cache_place *place = &places->place[i];
        const struct stk__op_metrics *op = op_of(m, place->below);
        place->ns = ns > 0 ? ns : 0;
        place->bytes = row_bytes(m, place->below);
        ns -= op ? passing(m, op, workers) / n : 0;
        if (place->below->op->flags & STK__OP_FETCH)
            ns -= rest_ns / n;
    }
}

/* ---- the run ---- */

/* Takes elements until there are enough, or time is up. How many came; `ended` as the run did. */
static uint64_t take_some(struct stk__exec *x, uint64_t began, int *ended, struct stk_error *err)
{
    uint64_t n = 0, now = began;
    *ended = STK_OK;
    while (!*ended && now - began < (n < least_elements ? most_ns : least_ns)) {
        struct stk_batch *batch = NULL;
        int rc = stk__exec_next(x, 10, &batch, err);
        n += rc == STK_OK;
        if (!rc)
            stk_batch_unref(batch);
        *ended = rc == STK_AGAIN ? STK_OK : rc;
        now = stk__clock_ns();
    }
    return n;
}

static int measure(struct stk__exec *x, int workers, struct stk__cache_places *places,
                   int64_t *count, struct stk_error *err)
{
    int ended;
    uint64_t began = stk__clock_ns();
    uint64_t n = take_some(x, began, &ended, err);
    double elapsed_ns = (double)(stk__clock_ns() - began);
    if (!n)
        return stk_fail(err, STK_DATA, "no element came");
    struct stk__metrics *m = stk__metrics_new(x);
    if (!m)
        return stk_fail(err, STK_MEMORY, "out of memory");
    stk__metrics_read(x, m);
    if (ended == STK_END)
        *count = (int64_t)n;
    stk__cache_costs(m, (double)n, elapsed_ns, workers, places);
    stk__metrics_free(m);
    return STK_OK;
}

int stk__cache_measure(struct stk_dataset *graph, const struct stk__options *given, int workers,
                       struct stk__cache_places *places, int64_t *count, struct stk_error *err)
{
    struct stk__options options = *given;
    struct stk__plan *plan = NULL;
    struct stk__exec *x = NULL;
    options.workers = 0;
    options.epochs = 1;
    options.epoch = 0;
    options.trace = 0;
    options.on_error = STK__SKIP;
    int rc = stk__plan_new(graph, &options, &plan, err);
    if (!rc)
        rc = stk__exec_new(plan, NULL, &x, err);
    if (!rc)
        rc = measure(x, workers, places, count, err);
    if (x)
        stk__exec_free(x);
    if (plan)
        stk__plan_unref(plan);
    stk__memory_trim(); /* the run may begin much later */
    return rc;
}
