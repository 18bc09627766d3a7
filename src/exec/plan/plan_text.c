/* SPDX-License-Identifier: Apache-2.0 */
/* plan_text.c: a plan for people, and as JSON. */
#include "base/json_out.h"
#include "base/type.h"
#include "exec/plan/plan.h"
#include "graph/nest.h"
#include "rewrite/attempt.h"

#include <string.h>

static const char *const class_names[] = { "indexed", "addressed", "stream" };
static void add_bytes(struct stk__text *out, size_t bytes)
{
    if (bytes >= 10u << 20)
        stk__text_add(out, "%.0f MB", (double)bytes / (1 << 20));
    else if (bytes >= 10u << 10)
        stk__text_add(out, "%.0f KB", (double)bytes / (1 << 10));
    else
        stk__text_add(out, "%zu bytes", bytes);
}

static void add_count(struct stk__text *out, int64_t count)
{
    if (count >= 0)
        stk__text_add(out, "%lld", (long long)count);
    else
        stk__text_add(out, count == STK_INFINITE_COUNT ? "endless" : "unknown");
}

enum { MOST = 60 }; /* bytes of a call */

/* The ops that one carries out too, in the order of the text. */
static void add_absorbed(struct stk__text *out, const struct stk__node *last)
{
    if (!last)
        return;
    add_absorbed(out, last->absorbed);
    stk__text_add(out, " and ");
    stk__node_call_text(last, MOST, out);
}

/* What a source says of what it found, or NULL. */
static const char *remark_of(const struct stk__node *node)
{
    return node->op->source.remark ? node->op->source.remark(node->state) : NULL;
}

/* One op: call, class, type. */
static void add_node(struct stk__text *out, const struct stk__node *node, int indent)
{
    stk__text_add(out, "%*s", indent, "");
    stk__node_call_text(node, MOST, out);
    add_absorbed(out, node->absorbed);
    if (node->part_for)
        stk__text_add(out, " of what %s needs", node->part_for->op->decl.name);
    if (node->scaled_for)
        stk__text_add(out, " as large as %s needs", node->scaled_for->op->decl.name);
    bool is_read = node->op->flags & STK__OP_FETCH;
    stk__text_add(out, "  %s",
                  !node->is_inserted ? ""
                  : is_read          ? "(inserted: files must be read first) "
                                     : "(inserted) ");
    stk__text_add(out, "[%s: %s] ", class_names[node->class], node->why);
    stk__type_text(&node->type, out);
    stk__text_add(out, " × ");
    add_count(out, node->count);
    if (remark_of(node))
        stk__text_add(out, "; %s", remark_of(node));
    stk__text_add(out, "\n");
}

/* What a role is shown for; the positions of others are a stage's business. */
static bool is_shown(const struct stk__pnode *p)
{
    return p->role != STK__ROLE_PASS && p->role != STK__ROLE_NEST;
}

/* The nodes whose positions a nest decides: itself, what orders rows in its chain, and the chain of
 * the elements if it is not shown with their rows. */
struct nest_nodes {
    const struct stk__node *node[2 * STK__MAX_STEPS + 1];
    int n;
};

static struct nest_nodes nodes_of_nest(const struct stk__stage_plan *s)
{
    const struct stk__nest_map *map = s->nest;
    struct nest_nodes nodes = { .node = { s->node }, .n = 1 };
    for (int i = 0; i < map->n_inner; i++)
        nodes.node[nodes.n++] = map->inner[i].node;
    if (map->nest->leaf->op->flags & STK__OP_ELEMENT)
        return nodes;
    for (const struct stk__node *node = map->nest->outer;; node = node->input[0]) {
        nodes.node[nodes.n++] = node;
        if (node->n_inputs != 1 || nodes.n == (int)(sizeof nodes.node / sizeof *nodes.node))
            return nodes;
    }
}

static void add_program(struct stk__text *out, const struct stk__pnode *p, int indent)
{
    if (p->role == STK__ROLE_CUT)
        return;
    if (is_shown(p))
        add_node(out, p->node, indent);
    for (int i = 0; i < p->node->n_inputs && p->role != STK__ROLE_SOURCE; i++)
        add_program(out, p->input[i], p->node->n_inputs > 1 ? indent + 4 : indent);
}

static void add_stage(struct stk__text *out, const struct stk__plan *plan, int index, int indent)
{
    const struct stk__stage_plan *s = &plan->stage[index];
    stk__text_add(out, "%*s└─ %s", indent, "", s->kind->name);
    stk__text_add(out, ", %d row%s a ticket, ", s->ticket_rows, s->ticket_rows == 1 ? "" : "s");
    add_bytes(out, s->unit_bytes);
    stk__text_add(out, " a chunk");
    if (s->program && s->program->exclusive)
        stk__text_add(out, ", one worker at a time");
    if (s->held_bytes) {
        stk__text_add(out, ", keeps %zu row%s, ", s->held_rows, s->held_rows == 1 ? "" : "s");
        add_bytes(out, s->held_bytes);
    }
    if (s->program && s->program->n_reads)
        stk__text_add(out, ", up to %lld reads in flight", (long long)plan->options.io_depth);
    stk__text_add(out, "\n");
    if (s->program)
        add_program(out, s->program->root, indent + 6);
    else if (s->nest) {
        const struct nest_nodes nodes = nodes_of_nest(s);
        for (int i = 0; i < nodes.n; i++)
            add_node(out, nodes.node[i], indent + 6);
    } else if (!s->kind->only_counts)
        add_node(out, s->node, indent + 6);
    if (s->inner) {
        stk__text_add(out, "%*s%lld at a time%s:\n", indent + 6, "", (long long)s->n_chains,
                      s->reads_ahead ? ", ahead of their turns" : "");
        add_stage(out, s->inner, s->inner->last, indent + 6);
    }
    for (int i = 0; i < s->n_inputs; i++)
        add_stage(out, plan, s->input[i], indent + 3);
}

static int64_t epoch_count(const struct stk__plan *plan)
{
    return stk__node_count(plan->graph->root, (int)plan->options.rank, (int)plan->options.world,
                           NULL);
}

static struct stk__kept_size cached(const struct stk__plan *plan)
{
    struct stk__kept_size all = { 0 };
    for (int i = 0; i < plan->n_kept; i++) {
        const struct stk__kept_size size = stk__kept_size(plan->kept[i]);
        all.rows += size.rows;
        all.bytes += size.bytes;
        all.disk_bytes += size.disk_bytes;
    }
    return all;
}

static void add_caches(struct stk__text *out, const struct stk__plan *plan)
{
    const struct stk__kept_size all = cached(plan);
    if (!plan->n_kept)
        return;
    if (plan->cache_bytes) {
        stk__text_add(out, "cache, up to ");
        add_bytes(out, plan->cache_bytes);
        stk__text_add(out, " that nobody else needs");
    } else
        stk__text_add(out, "cache, for which the budget leaves nothing: memory= gives it some");
    stk__text_add(out, "; it has %llu element%s in ", (unsigned long long)all.rows,
                  all.rows == 1 ? "" : "s");
    add_bytes(out, (size_t)all.bytes);
    if (all.disk_bytes) {
        stk__text_add(out, " and ");
        add_bytes(out, (size_t)all.disk_bytes);
        stk__text_add(out, " on disk");
    }
    stk__text_add(out, "\n");
}

void stk__plan_text(const struct stk__plan *plan, struct stk__text *out)
{
    const struct stk__options *o = &plan->options;
    stk__text_add(out, "%lld worker%s", (long long)o->workers, o->workers == 1 ? "" : "s");
    if (plan->wanted_workers > o->workers)
        stk__text_add(out,
                      " (not %lld, whose threads would take more than a quarter of the budget)",
                      (long long)plan->wanted_workers);
    stk__text_add(out, ", budget ");
    add_bytes(out, (size_t)o->memory);
    stk__text_add(out, " (at least ");
    add_bytes(out, stk__plan_least(plan));
    stk__text_add(out, " needed), seed %lld, %s an epoch: ", (long long)o->seed,
                  plan->batch ? "batches" : "elements");
    add_count(out, epoch_count(plan));
    stk__text_add(out, "\n");
    add_caches(out, plan);
    for (int i = plan->n_gates; i-- > 0;) {
        stk__text_add(out, "batches through ");
        stk__node_call_text(plan->gate[i].node, MOST, out);
        stk__text_add(out, "\n");
    }
    if (plan->batch)
        stk__text_add(out, "batcher, %lld rows a batch, ", (long long)plan->batch_rows);
    else
        stk__text_add(out, "elements one by one, ");
    add_bytes(out, plan->batch_bytes);
    stk__text_add(out, " each, %d in flight, ", plan->window);
    if (plan->is_direct)
        stk__text_add(out, "direct: rows are written where they are delivered\n");
    else
        stk__text_add(out, "staged, because %s\n", plan->why_staged);
    add_stage(out, plan, plan->last, 0);
}

/* ---- JSON ---- */

static void json_absorbed(struct stk__text *out, const struct stk__node *last)
{
    if (last->absorbed)
        json_absorbed(out, last->absorbed);
    stk__json_string(out, NULL, last->op->decl.name);
}

static void json_node(struct stk__text *out, const struct stk__node *node)
{
    struct stk__text text = { 0 };
    stk__json_open(out, NULL, '{');
    stk__json_string(out, "op", node->op->decl.name);
    stk__print_call(&node->op->decl, node->params, stk__ops_namespace(), STK__CANONICAL, &text,
                    NULL);
    stk__json_string(out, "call", text.data ? text.data : "");
    stk__text_free(&text);
    stk__type_text(&node->type, &text);
    stk__json_string(out, "type", text.data ? text.data : "");
    stk__text_free(&text);
    stk__json_string(out, "class", class_names[node->class]);
    stk__json_string(out, "why", node->why);
    if (remark_of(node))
        stk__json_string(out, "remark", remark_of(node));
    if (node->absorbed) {
        stk__json_open(out, "absorbed", '[');
        json_absorbed(out, node->absorbed);
        stk__json_close(out, ']');
    }
    stk__json_whole(out, "count", node->count);
    stk__json_bool(out, "inserted", node->is_inserted);
    stk__json_close(out, '}');
}

static void json_program(struct stk__text *out, const struct stk__pnode *p)
{
    if (p->role == STK__ROLE_CUT)
        return;
    if (is_shown(p))
        json_node(out, p->node);
    for (int i = 0; i < p->node->n_inputs && p->role != STK__ROLE_SOURCE; i++)
        json_program(out, p->input[i]);
}

static void json_stages(struct stk__text *out, const struct stk__plan *plan);

static void json_stage(struct stk__text *out, const struct stk__plan *plan, int index)
{
    const struct stk__stage_plan *s = &plan->stage[index];
    stk__json_open(out, NULL, '{');
    stk__json_string(out, "kind", s->kind->name);
    stk__json_whole(out, "ticket_rows", s->ticket_rows);
    stk__json_count(out, "chunk_bytes", s->unit_bytes);
    stk__json_count(out, "held_rows", s->held_rows);
    stk__json_count(out, "held_bytes", s->held_bytes);
    stk__json_open(out, "inputs", '[');
    for (int i = 0; i < s->n_inputs; i++)
        stk__json_whole(out, NULL, s->input[i]);
    stk__json_close(out, ']');
    stk__json_open(out, "nodes", '[');
    if (s->program)
        json_program(out, s->program->root);
    else if (s->nest) {
        const struct nest_nodes nodes = nodes_of_nest(s);
        for (int i = 0; i < nodes.n; i++)
            json_node(out, nodes.node[i]);
    } else
        json_node(out, s->node);
    stk__json_close(out, ']');
    if (s->inner) {
        stk__json_whole(out, "open", s->n_chains);
        stk__json_bool(out, "ahead", s->reads_ahead);
        json_stages(out, s->inner);
    }
    stk__json_close(out, '}');
}

static void json_stages(struct stk__text *out, const struct stk__plan *plan)
{
    stk__json_open(out, "stages", '[');
    for (int i = 0; i < plan->n_stages; i++)
        json_stage(out, plan, i);
    stk__json_close(out, ']');
}

/* What the passes made of the chain. */
static void json_rewrites(struct stk__text *out, const struct stk_dataset *graph)
{
    struct stk__text chain = { 0 };
    stk__graph_text(graph, &chain);
    stk__json_string(out, "chain", chain.data ? chain.data : "");
    stk__text_free(&chain);
    stk__json_open(out, "rewrites", '[');
    for (const struct stk__rewrite *r = graph->rewrite; r; r = r->next) {
        stk__json_open(out, NULL, '{');
        stk__json_string(out, "pass", r->name);
        stk__json_bool(out, "done", r->is_done);
        stk__json_string(out, "text", r->text);
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
}

static void json_numbers(struct stk__text *out, const struct stk__plan *plan)
{
    stk__json_whole(out, "workers", plan->options.workers);
    stk__json_whole(out, "memory", plan->options.memory);
    stk__json_count(out, "minimum_bytes", stk__plan_least(plan));
    stk__json_whole(out, "seed", plan->options.seed);
    stk__json_whole(out, "window", plan->window);
    stk__json_whole(out, "io_depth", plan->options.io_depth);
    stk__json_whole(out, "count", epoch_count(plan));
    stk__json_whole(out, "batch_rows", plan->batch ? plan->batch_rows : 0);
    stk__json_count(out, "batch_bytes", plan->batch_bytes);
    stk__json_count(out, "cache_bytes", plan->n_kept ? plan->cache_bytes : 0);
    stk__json_count(out, "cached_rows", cached(plan).rows);
    stk__json_bool(out, "direct", plan->is_direct);
    stk__json_string(out, "why_staged", plan->why_staged ? plan->why_staged : "");
}

void stk__plan_json(const struct stk__plan *plan, struct stk__text *out)
{
    stk__json_open(out, NULL, '{');
    json_numbers(out, plan);
    json_stages(out, plan);
    json_rewrites(out, plan->graph);
    stk__json_close(out, '}');
}
