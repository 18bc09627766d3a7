/* SPDX-License-Identifier: Apache-2.0 */
/* serial.c: stages of ops that see rows in order: take, buffer shuffle, unbatch and so on. */
#include "base/error.h"
#include "exec/plan/plan_parts.h"
#include "exec/stage/stage_steps.h"

#include <string.h>

static bool held_rows(const struct stk__plan *plan, const struct stk__stage_plan *s, uint64_t *rows)
{
    const struct stk__serial_table *op = &s->node->op->serial;
    if (!op->held_rows)
        return false;
    int64_t there = stk__most_rows(plan, s->node->input[0]);
    *rows = stk__at_most(op->held_rows(s->node->state), there);
    return true;
}

static bool keeps_more(const struct stk__stage_plan *s)
{
    return s->node->op->serial.keeps_more;
}

static int begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    const struct stk__serial_start begin = stk__step_begin(x, s);
    return s->plan->node->op->serial.begin(&begin, &s->run, err);
}

static void end(struct stk__stage *s)
{
    if (s->run && s->plan->node->op->serial.end)
        s->plan->node->op->serial.end(s->run);
}

/* Rows that it keeps lie in the pool, which counts them. */
static size_t there_bytes(const struct stk__stage *s)
{
    return s->memory.held_chunks;
}

/* A row for which the op found no memory breaks the stream: with more memory there would be others from here on,
 * and an op behind that counts rows must not take it for one of them. */
static bool is_short_at(struct stk__stage *s, const struct stk__chunk *out, int row)
{
    const struct stk__node *node = s->plan->node;
    const struct stk__fault *fault =
        out->mask[row] == STK_BAD ? stk__chunk_find_fault(out, row) : NULL;
    if (out->mask[row] != STK_BAD || (fault && fault->code != STK_MEMORY))
        return false;
    if (fault && fault->op && strcmp(fault->op, node->op->decl.name))
        return false; /* it came like this */
    stk__describe_fault(s->holder.exec->plan, fault, out->address[row], s->counter[0],
                        &s->breaking);
    return true;
}

static int step_rows(struct stk__stage *s, struct stk__ticket *t)
{
    const struct stk__serial_table *op = &s->plan->node->op->serial;
    struct stk__chunk *out = s->open_out->chunk;
    int left = t->n - t->n_used, row = out->n, n_bad = out->n_bad;
    if (s->is_short)
        return left;
    int used = op->step(s->run, t->chunk, t->out_from + t->n_used, left, out);
    if (out->n_bad == n_bad)
        return used;
    while (row < out->n && !is_short_at(s, out, row))
        row++;
    s->is_short = row < out->n;
    stk__chunk_cut(out, row);
    return s->is_short ? left : used;
}

static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    (void)x;
    if (stk__step_has_rows(s, &s->plan->node->op->serial, w))
        w->used = step_rows(s, w->ticket);
}

static bool is_closed(const struct stk__stage *s)
{
    const struct stk__serial_table *op = &s->plan->node->op->serial;
    return s->is_short || (op->is_closed && op->is_closed(s->run));
}

/* For want of memory. */
static bool breaks(struct stk__stage *s)
{
    if (s->is_short)
        s->broken = s->breaking;
    return s->is_short;
}

const struct stk__stage_type stk__serial_stage = {
    .name = "serial stage",
    .held_rows = held_rows,
    .keeps_more = keeps_more,
    .begin = begin,
    .end = end,
    .there_bytes = there_bytes,
    STK__BY_STEPS,
    .step = step,
    .is_closed = is_closed,
    .breaks = breaks,
};
