/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: a plan as a whole: its birth, what its stages mean for each other, one element of it, its death. */
#include "exec/plan/plan.h"

#include "base/error.h"
#include "base/hash.h"
#include "exec/plan/plan_parts.h"
#include "graph/cache_key.h"
#include "graph/opened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- stages together ---- */

static void decide_direct(struct stk__plan *plan)
{
    const struct stk__stage_plan *last = &plan->stage[plan->last];
    plan->why_staged = NULL;
    if (!last->program)
        plan->why_staged = "a serial stage comes last";
    else if (last->program->has_filter)
        plan->why_staged = "a filter leaves holes";
    for (int f = 0; f < last->type->n_fields && !plan->why_staged; f++)
        if (last->type->field[f].kind != STK_FIXED)
            plan->why_staged = "a field differs in shape between rows";
    plan->is_direct = !plan->why_staged;
}

int stk__stage_parts(const struct stk__plan *plan, const struct stk__stage_plan *stage)
{
    return (plan->has_keys ? STK__KEYS : 0) | (stage->has_trace ? STK__TRACE : 0);
}

int stk__batch_parts(const struct stk__plan *plan)
{
    int parts = stk__stage_parts(plan, &plan->stage[plan->last]);
    return plan->batch ? parts & ~STK__TRACE : parts;
}

static bool has_trace(const struct stk__plan *plan, const struct stk__stage_plan *s)
{
    bool keeps = s->n_inputs && !(s->node->op->flags & STK__OP_EXPANDS);
    if (s->kind->has_trace)
        return s->kind->has_trace(plan, s);
    return s->kind->makes_traces || (keeps && plan->stage[s->input[0]].has_trace);
}

/* Stages come after their inputs. */
void stk__plan_set_trace(struct stk__plan *plan)
{
    for (int i = 0; i < plan->n_stages; i++)
        plan->stage[i].has_trace = has_trace(plan, &plan->stage[i]);
}

/* Where rows of elements came from is read by unbatch, and by who gets an element that is no batch; a cache keeps it
 * for chains that may. It takes twice as many bytes as the rows of a batch of numbers: nobody else has it. */
static void drop_unread_traces(struct stk__plan *plan)
{
    bool is_read[STK__MAX_STAGES] = { 0 };
    is_read[plan->last] = !plan->batch;
    for (int i = plan->n_stages; i-- > 0;) {
        struct stk__stage_plan *s = &plan->stage[i];
        s->has_trace = s->has_trace && (is_read[i] || s->kind->keeps_traces);
        bool reads = s->kind->reads_traces || s->node->op->flags & STK__OP_EXPANDS ||
                     (s->has_trace && !s->kind->makes_traces);
        for (int k = 0; k < s->n_inputs; k++)
            is_read[s->input[k]] |= reads;
    }
}

int stk__plan_add_kept(struct stk__plan *plan, struct stk__kept *kept, struct stk_error *err)
{
    if (plan->n_kept == STK__MAX_CACHES)
        return stk_fail(err, STK_VALUE, "cache: at most %d are possible", STK__MAX_CACHES);
    plan->kept[plan->n_kept++] = kept;
    return STK_OK;
}

/* What caches of the run keep. */
static int find_caches(struct stk__plan *plan, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < plan->n_stages && !rc; i++) {
        struct stk__stage_plan *s = &plan->stage[i];
        if (s->kind->open)
            rc = s->kind->open(plan, s, err);
        for (int k = 0; s->program && k < s->program->n_kept && !rc; k++)
            rc = stk__plan_add_kept(plan, s->program->kept[k], err);
    }
    return rc;
}

/* What counts or keeps rows begins anew with each of its passes. */
static void set_restart(struct stk__plan *plan)
{
    plan->restart_level = STK__MAX_LEVELS - 1;
    for (int i = 0; i < plan->n_stages; i++) {
        const struct stk__stage_plan *s = &plan->stage[i];
        bool has_state = !s->program || s->is_source;
        if (has_state && s->depth < plan->restart_level)
            plan->restart_level = s->depth;
    }
}

/* Where others carry rows out, as many workers as can wait for them. */
static void set_waiting(struct stk__plan *plan)
{
    for (int i = 0; i < plan->graph->n_nodes; i++)
        if (plan->options.workers < plan->graph->node[i]->n_waiting)
            plan->options.workers = plan->graph->node[i]->n_waiting;
}

/* ---- birth and death ---- */

static int check_rank(const struct stk__options *options, struct stk_error *err)
{
    if (options->rank < options->world)
        return STK_OK;
    return stk_fail(err, STK_VALUE,
                    "rank: there is no rank %lld in a world of %lld; ranks count from 0",
                    (long long)options->rank, (long long)options->world);
}

/* What a cache keeps has keys, so that all datasets that share it can use it. */
static bool has_cache(const struct stk_dataset *graph)
{
    for (int i = 0; i < graph->n_used; i++)
        if (graph->node[i]->op->flags & STK__OP_CACHE)
            return true;
    return false;
}

int stk__plan_new(struct stk_dataset *graph, const struct stk__options *options,
                  struct stk__plan **out, struct stk_error *err)
{
    struct stk__plan *plan = calloc(1, sizeof *plan);
    struct stk_error local = { 0 };
    if (!plan)
        return stk__out_of_memory(err);
    atomic_init(&plan->refs, 1);
    stk__arena_init(&plan->arena, 1 << 14);
    plan->graph = graph;
    stk_dataset_ref(graph);
    plan->given = plan->options = *options;
    plan->has_own_budget = options->memory != STK_AUTO;
    plan->is_workers_given = options->workers != STK_AUTO;
    stk__options_resolve(&plan->options);
    if (!plan->is_workers_given)
        set_waiting(plan);
    plan->has_keys = stk__subtree_wants_keys(graph->root) || has_cache(graph) ||
                     plan->options.on_error == STK__REPLACE;
    int rc = stk__options_resolve_world(&plan->options, &local);
    if (!rc)
        rc = check_rank(&plan->options, &local);
    if (!rc)
        rc = stk__plan_stages(plan, &local);
    if (!rc) {
        decide_direct(plan);
        stk__plan_set_trace(plan);
        drop_unread_traces(plan);
        rc = find_caches(plan, &local);
    }
    if (!rc) {
        set_restart(plan);
        rc = stk__plan_size(plan, &local);
    }
    if (rc) {
        if (err)
            *err = local;
        stk__plan_unref(plan);
        return rc;
    }
    *out = plan;
    return STK_OK;
}

struct stk__plan *stk__plan_ref(struct stk__plan *plan)
{
    atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    return plan;
}

void stk__plan_unref(struct stk__plan *plan)
{
    if (atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (int i = 0; i < plan->n_stages; i++)
        if (plan->stage[i].inner)
            stk__plan_unref(plan->stage[i].inner);
    stk__arena_free(&plan->arena);
    stk_dataset_unref(plan->graph);
    free(plan);
}

/* ---- one element ---- */

/* The number of the batch that comes out of the gates as number `index`. */
static uint64_t behind_gates(const struct stk__plan *plan, int64_t index)
{
    uint64_t position = (uint64_t)index, path = 0;
    for (int i = plan->n_gates; i-- > 0;) {
        const struct stk__node *node = plan->gate[i].node;
        const struct stk__order_run run = { .params = node->params,
                                            .state = node->state,
                                            .n_inputs = 1,
                                            .in_count = &node->input[0]->count,
                                            .rank = (int)plan->options.rank,
                                            .world = (int)plan->options.world };
        uint8_t input = 0;
        node->op->order.at(&run, 1, &position, &path, &input);
    }
    return position;
}

static int refuse_narrow(const struct stk__node *rows, struct stk_error *err)
{
    if (rows->class == STK__INDEXED)
        return stk_fail(err, STK_TYPE,
                        "elements cannot be reached by number behind a repeat of batches");
    const struct stk__node *node = stk__first_of_class(rows, STK__ADDRESSED);
    return stk__fail_at(err, STK_TYPE, node->at, node->len,
                        "%s: elements cannot be reached by number from here on: %s",
                        node->op->decl.name, node->why);
}

int stk__plan_narrow(struct stk__plan *plan, int64_t index, struct stk_error *err)
{
    const struct stk__node *rows_of = plan->batch ? plan->batch->input[0] : plan->graph->root;
    struct stk__stage_plan *only =
        &plan->stage[0]; /* positions that are counted through, in one segment */
    if (rows_of->class != STK__INDEXED || plan->depth)
        return refuse_narrow(rows_of, err);
    int64_t n =
        stk__node_count(plan->graph->root, (int)plan->options.rank, (int)plan->options.world, NULL);
    if (index < 0 || (n >= 0 && index >= n))
        return stk_fail(err, STK_VALUE, "there is no element %lld: they count from 0 to %lld",
                        (long long)index, (long long)n - 1);
    uint64_t rows = (uint64_t)plan->batch_rows;
    only->first = behind_gates(plan, index) * rows;
    only->count = only->count - only->first < rows ? only->count : only->first + rows;
    plan->n_gates = 0;
    return STK_OK;
}

void stk__plan_describe(const struct stk__plan *plan, struct stk__address address, char *text,
                        size_t size)
{
    if (address.where == STK__NO_WHERE) {
        snprintf(text, size, "no element");
        return;
    }
    const struct stk__plan *root = plan->root ? plan->root : plan;
    const struct stk__origin *origin = &root->origin[stk__where_origin(address.where)];
    uint64_t index = stk__where_position(address.where);
    const struct stk__node *source = origin->source;
    if (origin->opened) {
        stk__opened_describe(origin->opened, index, text, size);
        return;
    }
    if (origin->program)
        source = stk__eval_locate(origin->program, index, address.path, &index);
    if (source->op->source.describe)
        source->op->source.describe(source->state, index, text, size);
    else
        snprintf(text, size, "%s element %llu", source->op->decl.name, (unsigned long long)index);
}

/* ---- for whoever has one run ---- */

const struct stk__options *stk__plan_options(const struct stk__plan *plan)
{
    return &plan->options;
}

const struct stk__options *stk__plan_given(const struct stk__plan *plan)
{
    return &plan->given;
}

struct stk_dataset *stk__plan_graph(const struct stk__plan *plan)
{
    return plan->graph;
}

size_t stk__plan_cache_bytes(const struct stk__plan *plan)
{
    return plan->cache_bytes;
}

bool stk__plan_delivers_batches(const struct stk__plan *plan)
{
    const struct stk__node *node = plan->graph->root;
    if (plan->batch || !plan->stage[plan->last].has_trace)
        return plan->batch != NULL;
    while (!(node->op->flags & STK__OP_BATCH))
        node = node->input[0];
    return !((const struct stk__grouping *)node->state)->is_element;
}

const struct stk__node *stk__plan_node(const struct stk__plan *plan, int stage, int op)
{
    const struct stk__stage_plan *s = &plan->stage[stage];
    return op < 0 ? s->node : s->program->node[op]->node;
}
