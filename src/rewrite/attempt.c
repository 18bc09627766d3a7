/* SPDX-License-Identifier: Apache-2.0 */
/* attempt.c: trying a change of the tree, and saying what was done. */
#include "rewrite/attempt.h"

#include "base/error.h"
#include "graph/nest.h"
#include "lang/lang.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- changing the tree ---- */

static void forget(struct stk__kept_tree *kept)
{
    free(kept->copy);
    free(kept->node);
}

int stk__tree_keep(const struct stk_dataset *graph, struct stk__kept_tree *kept,
                   struct stk_error *err)
{
    size_t n = (size_t)graph->n_nodes;
    *kept = (struct stk__kept_tree){ .root = graph->root,
                                     .copy = malloc(n * sizeof *kept->copy),
                                     .node = malloc(n * sizeof *kept->node),
                                     .n_nodes = graph->n_nodes,
                                     .n_used = graph->n_used,
                                     .root_id = graph->root->id };
    if (!kept->copy || !kept->node) {
        forget(kept);
        return stk__out_of_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        kept->node[i] = graph->node[i];
        kept->copy[i] = *graph->node[i];
    }
    return STK_OK;
}

static void put_back(struct stk_dataset *graph, const struct stk__kept_tree *kept)
{
    for (int i = 0; i < kept->n_nodes; i++) {
        graph->node[i] = kept->node[i];
        *graph->node[i] = kept->copy[i];
    }
    graph->root = kept->root;
    graph->n_nodes = kept->n_nodes;
    graph->n_used = kept->n_used;
}

static bool is_same_field(const struct stk_field *a, const struct stk_field *b)
{
    bool is_same = !strcmp(a->name, b->name) && a->kind == b->kind && a->dtype == b->dtype &&
                   a->rank == b->rank && a->flags == b->flags;
    for (int d = 0; is_same && d < a->rank; d++)
        is_same = a->shape[d] == b->shape[d];
    return is_same;
}

static bool is_same_output(const struct stk__node *a, const struct stk__node *b)
{
    bool is_same = a->type.n_fields == b->type.n_fields && a->count == b->count;
    for (int f = 0; is_same && f < a->type.n_fields; f++)
        is_same = is_same_field(&a->type.field[f], &b->type.field[f]);
    return is_same;
}

int stk__tree_settle(struct stk_dataset *graph, struct stk__kept_tree *kept, bool *is_kept,
                     struct stk_error *err)
{
    struct stk_error local;
    int rc = stk__graph_infer(graph, &local);
    *is_kept = !rc && graph->n_nodes == kept->n_nodes &&
               is_same_output(graph->root, &kept->copy[kept->root_id]);
    if (!*is_kept)
        put_back(graph, kept);
    forget(kept);
    return rc == STK_MEMORY ? stk__out_of_memory(err) : STK_OK;
}

struct stk__node **stk__node_link(struct stk_dataset *graph, const struct stk__node *node)
{
    for (int i = 0; i < graph->n_used; i++)
        for (int k = 0; k < graph->node[i]->n_inputs; k++)
            if (graph->node[i]->input[k] == node)
                return &graph->node[i]->input[k];
    return &graph->root;
}

/* ---- questions ---- */

bool stk__node_is_row_op(const struct stk__node *node)
{
    return node->op->row.run || node->op->flags & STK__OP_FETCH;
}

bool stk__node_is_costly(const struct stk__node *node)
{
    return node->op->flags & (STK__OP_FETCH | STK_OP_HEAVY);
}

/* ---- saying it ---- */

struct stk__call_text stk__call_text(const struct stk__node *node)
{
    enum { MOST = 60 };
    struct stk__call_text call;
    struct stk__text text = { 0 };
    stk__print_call(&node->op->decl, node->params, stk__ops_namespace(), STK__SHORT, &text, NULL);
    const char *data = text.data ? text.data : node->op->decl.name;
    size_t len = strlen(data), shown = len > MOST ? MOST - 1 : len;
    while (shown < len && shown && (data[shown] & 0xc0) == 0x80) /* never half a character */
        shown--;
    snprintf(call.text, sizeof call.text, "%.*s%s", (int)shown, data, shown < len ? "…" : "");
    stk__text_free(&text);
    return call;
}

int stk__rewrite_tell(struct stk_dataset *graph, const char *name, bool is_done,
                      struct stk_error *err, const char *format, ...)
{
    char text[STK_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct stk__rewrite *rewrite = stk_arena_alloc(&graph->arena, sizeof *rewrite);
    const char *kept = stk_arena_text(&graph->arena, text);
    if (!rewrite || !kept)
        return stk__out_of_memory(err);
    *rewrite = (struct stk__rewrite){ .name = name, .text = kept, .is_done = is_done };
    if (graph->last_rewrite)
        graph->last_rewrite->next = rewrite;
    else
        graph->rewrite = rewrite;
    graph->last_rewrite = rewrite;
    return STK_OK;
}

static void add_chain(struct stk__text *out, const struct stk__node *node);

static bool takes_chains(const struct stk__node *node)
{
    const struct stk_param *row = node->op->decl.params;
    while (row && row->name && row->type != STK__ROW_CHAINS)
        row++;
    return row && row->name;
}

/* Ops with chains among their arguments show the chains as they are now, and nothing else. */
static void add_call(struct stk__text *out, const struct stk__node *node)
{
    if (!takes_chains(node)) {
        stk__print_call(&node->op->decl, node->params, stk__ops_namespace(), STK__SHORT, out, NULL);
        for (int f = 0; node->narrowed && f < node->type.n_fields; f++)
            stk__text_add(out, "%s%s%s", f ? ", " : "[", node->type.field[f].name,
                          f + 1 < node->type.n_fields ? "" : "]");
        return;
    }
    stk__text_add(out, "%s(", node->op->decl.name);
    for (int i = 0; i < node->n_inputs; i++) {
        stk__text_add(out, "%s", i ? ", " : "");
        add_chain(out, node->input[i]);
    }
    stk__text_add(out, ")");
}

static void add_absorbed(struct stk__text *out, const struct stk__node *last)
{
    if (!last)
        return;
    add_absorbed(out, last->absorbed);
    stk__text_add(out, " + ");
    add_call(out, last);
}

/* What a node is written behind, or NULL. The chain of interleave stands on what comes before that. */
static const struct stk__node *receiver_of(const struct stk__node *node)
{
    if (node->nest)
        return stk__nest_outer(node);
    bool is_begun =
        node->n_inputs && node->op->flags & STK__OP_ROOT && !node->input[0]->is_inserted;
    return node->n_inputs && !is_begun && !takes_chains(node) ? node->input[0] : NULL;
}

static void add_chain(struct stk__text *out, const struct stk__node *node)
{
    const struct stk__node *receiver = receiver_of(node);
    if (receiver) {
        add_chain(out, receiver);
        stk__text_add(out, ".");
    }
    add_call(out, node);
    add_absorbed(out, node->absorbed);
}

void stk__graph_text(const struct stk_dataset *graph, struct stk__text *out)
{
    add_chain(out, graph->root);
}
