/* SPDX-License-Identifier: Apache-2.0 */
/* gates.c: take, skip and shard above the last batch. Each is its op's serial table at work on
 * one row without columns per batch; called with the lock held. */
#include "base/error.h"
#include "base/hash.h"
#include "exec/run.h"

int stk__gates_begin(struct stk__exec *x, struct stk_error *err)
{
    static const struct stk_type no_fields;
    x->batcher.closed_level = -1;
    for (int i = 0; i < x->plan->n_gates; i++) {
        const struct stk__node *node = x->plan->gate[i].node;
        struct stk__gate *gate = &x->batcher.gate[i];
        const struct stk__serial_start begin = {
            .params = node->params,
            .state = node->state,
            .seed = stk__hash_mix((uint64_t)x->plan->options.seed, node->ordinal),
            .rank = (int)x->plan->options.rank,
            .world = (int)x->plan->options.world
        };
        gate->in = stk__chunk_new(&no_fields, 1, false);
        gate->out = stk__chunk_new(&no_fields, 1, false);
        gate->begins_pass = true;
        if (!gate->in || !gate->out)
            return stk__out_of_memory(err);
        int rc = node->op->serial.begin(&begin, &gate->run, err);
        if (rc)
            return rc;
    }
    return STK_OK;
}

void stk__gates_end(struct stk__exec *x)
{
    for (int i = 0; i < x->plan->n_gates; i++) {
        if (x->batcher.gate[i].run && x->plan->gate[i].node->op->serial.end)
            x->plan->gate[i].node->op->serial.end(x->batcher.gate[i].run);
        stk__chunk_free(x->batcher.gate[i].in);
        stk__chunk_free(x->batcher.gate[i].out);
    }
}

static uint64_t pass_path(const struct stk__exec *x, int depth)
{
    uint64_t path = 0;
    for (int level = 0; level <= depth; level++)
        path = stk__hash_mix(path, x->batcher.counter[level]);
    return path;
}

/* A gate that is done: nobody needs the rest of its pass, and what still comes is thrown away
 * unjudged. */
static void close_gate(struct stk__exec *x, int depth)
{
    if (x->batcher.closed_level < 0 || depth < x->batcher.closed_level)
        x->batcher.closed_level = depth;
    stk__close_pass(x, stk__last_stage(x), depth, stk__last_stage(x)->reader.n_ended[depth] + 1);
}

bool stk__gates_let_through(struct stk__exec *x)
{
    bool passes = true;
    int stopped = -1; /* depth of the gate that stops it */
    for (int i = 0; i < x->plan->n_gates && passes; i++) {
        struct stk__gate *gate = &x->batcher.gate[i];
        const struct stk__serial_table *op = &x->plan->gate[i].node->op->serial;
        int depth = x->plan->gate[i].depth;
        if (gate->begins_pass && op->next_epoch)
            op->next_epoch(gate->run, pass_path(x, depth));
        gate->begins_pass = false;
        gate->n_seen++;
        gate->out->n = 0;
        op->step(gate->run, gate->in, 0, 1, gate->out);
        passes = gate->out->n > 0;
        stopped = passes ? -1 : depth;
        if (op->is_closed && op->is_closed(gate->run))
            close_gate(x, depth);
    }
    for (int level = stopped + 1; level <= x->plan->depth; level++)
        x->batcher.n_yielded[level]++;
    return passes;
}

/* A gate may be closed before the first row: take(0). */
void stk__gates_check(struct stk__exec *x)
{
    for (int i = 0; i < x->plan->n_gates; i++) {
        struct stk__gate *gate = &x->batcher.gate[i];
        const struct stk__serial_table *op = &x->plan->gate[i].node->op->serial;
        if (gate->begins_pass && op->next_epoch)
            op->next_epoch(gate->run, pass_path(x, x->plan->gate[i].depth));
        if (gate->begins_pass && op->is_closed && op->is_closed(gate->run))
            close_gate(x, x->plan->gate[i].depth);
        gate->begins_pass = false;
    }
}

void stk__gates_resume(struct stk__exec *x, const struct stk__bookmark *from)
{
    for (int i = 0; i < x->plan->n_gates; i++) {
        struct stk__gate *gate = &x->batcher.gate[i];
        const struct stk__serial_table *op = &x->plan->gate[i].node->op->serial;
        if (!from->n_gated[i])
            continue;
        gate->begins_pass = false;
        if (op->next_epoch)
            op->next_epoch(gate->run, pass_path(x, x->plan->gate[i].depth));
        bool is_closed = false; /* from then on all batches are the same to it */
        for (; gate->n_seen < from->n_gated[i] && !is_closed; gate->n_seen++) {
            gate->out->n = 0;
            op->step(gate->run, gate->in, 0, 1, gate->out);
            is_closed = op->is_closed && op->is_closed(gate->run);
        }
        gate->n_seen = from->n_gated[i];
        if (is_closed)
            close_gate(x, x->plan->gate[i].depth);
    }
}

void stk__gates_end_pass(struct stk__exec *x, int level)
{
    x->batcher.counter[level]++;
    for (int l = level + 1; l <= x->plan->depth; l++)
        x->batcher.counter[l] = 0;
    for (int l = level; l <= x->plan->depth; l++)
        x->batcher.n_yielded[l] = 0;
    for (int i = 0; i < x->plan->n_gates; i++) {
        if (x->plan->gate[i].depth < level)
            continue;
        x->batcher.gate[i].begins_pass = true;
        x->batcher.gate[i].n_seen = 0;
    }
    if (level <= x->batcher.closed_level)
        x->batcher.closed_level = -1;
}
