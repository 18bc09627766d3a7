/* SPDX-License-Identifier: Apache-2.0 */
/* nest_build.c: what a nested chain may be, and where its groups lie. */
#include "base/error.h"
#include "base/type.h"
#include "graph/nest.h"
#include "graph/scan.h"

#include <string.h>

static bool is_row_op(const struct stk__node *node)
{
    return node->op->row.run || node->op->flags & STK_OP_FETCH;
}

static bool is_leaf(const struct stk__node *node)
{
    return node->op->source.rows || node->op->source.next || node->op->flags & STK_OP_ELEMENT;
}

static bool is_step(const struct stk__node *node)
{
    return node->is_order && node->n_inputs == 1 && node->op->order.at;
}

/* ---- the field of the element ---- */

struct stk_texts *stk__nest_reference(const struct stk_op *op, void *params)
{
    for (const struct stk_param *row = op->decl.params; row->name; row++) {
        struct stk_texts *texts = (void *)((unsigned char *)params + row->offset);
        if (row->type == STK_ROW_TEXTS && row->flags & STK_TAKES_FIELD && texts->is_word)
            return texts;
    }
    return NULL;
}

/* The node whose rows give the field its values: below it only positions matter. */
static const struct stk__node *find_listed(const struct stk__node *node, int *field)
{
    for (;; node = node->input[0]) {
        if (is_row_op(node) && node->from[*field] >= 0)
            *field = node->from[*field];
        else if (!is_step(node) && !(node->op->flags & STK_OP_PREFETCH))
            return node;
    }
}

static int check_listed(const struct stk__node *listed, const char *field, struct stk_error *err)
{
    if (listed->count < 0)
        return stk_fail(err, STK_TYPE,
                        "the files of all elements are looked at beforehand, but there is no last "
                        "value of '%s'",
                        field);
    if (listed->count == 0)
        return stk_fail(err, STK_VALUE, "there is no element to open a file for");
    if (stk__subtree_shuffles(listed) || stk__node_count(listed, 0, 2, NULL) != listed->count)
        return stk_fail(err, STK_TYPE,
                        "%s makes '%s' of elements in an order that changes; put what orders them "
                        "behind it",
                        listed->op->decl.name, field);
    return STK_OK;
}

struct listing {
    struct stk_arena *arena;
    const char **item;
    int field;
};

static int list_texts(void *ctx, const struct stk_chunk *chunk, int64_t first)
{
    const struct listing *listing = ctx;
    for (int i = 0; i < chunk->n; i++) {
        const struct stk_span *span = &chunk->column[listing->field].span[i];
        char *text = stk_arena_alloc(listing->arena, span->bytes + 1);
        if (!text)
            return STK_MEMORY;
        memcpy(text, span->data, span->bytes);
        if (strlen(text) != span->bytes || span->bytes == 0)
            return STK_VALUE;
        listing->item[first + i] = text;
    }
    return STK_OK;
}

int stk__nest_list(struct stk_dataset *graph, const struct stk__node *outer, const char *field,
                   struct stk_texts *out, struct stk_error *err)
{
    int f = stk_type_find(&outer->type, field);
    if (f < 0)
        return stk_fail(err, STK_NAME,
                        "the element has no field '%s'; the name of a file is written in quotes",
                        field);
    if (outer->type.field[f].kind != STK_BYTES)
        return stk_fail(err, STK_TYPE, "field '%s' is no text, so it cannot name a file", field);
    const struct stk__node *listed = find_listed(outer, &f);
    int rc = check_listed(listed, field, err);
    if (rc)
        return rc;
    size_t n = (size_t)listed->count;
    const char **item = n < INT32_MAX ? stk_arena_alloc(&graph->arena, n * sizeof *item) : NULL;
    if (!item)
        return stk__out_of_memory(err);
    struct listing listing = { &graph->arena, item, f };
    rc = stk__scan_rows(graph, listed, field, &(struct stk__scan){ list_texts, &listing }, err);
    *out = (struct stk_texts){ item, (int)n, false };
    return rc != STK_VALUE
               ? rc
               : stk_fail(err, rc, "a value of '%s' is empty or has a NUL byte: no file", field);
}

/* ---- what may be in the chain ---- */

static int refuse(const struct stk__node *node, const struct stk__node *in, const char *why,
                  struct stk_error *err)
{
    return stk__fail_at(err, STK_TYPE, node->at, node->len, "%s: %s%s%s", node->op->decl.name, why,
                        in ? in->op->decl.name : "", in ? "(…)" : "");
}

static int check_op(const struct stk__node *node, const struct stk__node *nest,
                    struct stk_error *err)
{
    if (node->op->flags & STK_OP_FILTER)
        return refuse(node, nest,
                      "which elements it leaves is known only once they are made, so it cannot be "
                      "in a chain that is opened for each element; put it behind ",
                      err);
    bool is_plain = is_row_op(node) || node->op->flags & STK_OP_PREFETCH;
    if ((is_plain && node->class == STK_INDEXED) || (is_step(node) && !node->op->scan_field))
        return STK_OK;
    return refuse(node, nest,
                  "cannot be in a chain that is opened for each element; there, only ops on single "
                  "elements and take, skip, shard, repeat and shuffle() can be. Put it behind ",
                  err);
}

static int check_leaf(const struct stk__node *leaf, const struct stk__node *nest,
                      struct stk_error *err)
{
    if (leaf->class == STK_INDEXED)
        return STK_OK;
    return stk__fail_at(err, STK_TYPE, leaf->at, leaf->len,
                        "%s: can only be read from front to back (a stream, or compressed files), "
                        "but %s takes elements of several at a time; give all files to one %s, or "
                        "unpack them",
                        leaf->op->decl.name, nest->op->decl.name, leaf->op->decl.name);
}

int stk__nest_check_outer(const struct stk__node *nest, const struct stk__node *outer,
                          struct stk_error *err)
{
    if (outer->class == STK_INDEXED)
        return STK_OK;
    const struct stk__node *first = outer;
    while (first->n_inputs && first->input[0]->class != STK_INDEXED)
        first = first->input[0];
    return stk__fail_at(
        err, STK_TYPE, first->at, first->len,
        "%s: %s needs elements before it that can be reached in any order, which these "
        "cannot%s",
        first->op->decl.name, nest->op->decl.name,
        first->op->flags & STK_OP_SHUFFLES
            ? "; shuffle() without a buffer size shuffles all of them"
            : "");
}

/* The rows of each element's file. */
static int find_rows(struct stk__nest *nest, const char *field, struct stk_error *err)
{
    const struct stk__node *leaf = nest->leaf;
    int f = stk_type_find(&nest->outer->type, field);
    nest->listed = find_listed(nest->outer, &f);
    nest->first = leaf->op->source.first_rows(leaf->state, &nest->n_groups);
    if (nest->n_groups != (size_t)nest->listed->count)
        return stk__fail_at(err, STK_VALUE, leaf->at, leaf->len,
                            "%s: a value of '%s' is a pattern, not the name of one file",
                            leaf->op->decl.name, field);
    return STK_OK;
}

int stk__nest_new(struct stk_dataset *graph, struct stk__node *node, const struct stk__node *outer,
                  struct stk_error *err)
{
    struct stk__nest *nest = stk_arena_alloc(&graph->arena, sizeof *nest);
    const struct stk__node *leaf = node->input[0];
    while (!is_leaf(leaf))
        leaf = leaf->input[0];
    int rc = nest ? check_leaf(leaf, node, err) : stk__out_of_memory(err);
    for (const struct stk__node *op = node->input[0]; !rc && op != leaf; op = op->input[0])
        rc = check_op(op, node, err);
    if (rc)
        return rc;
    *nest = (struct stk__nest){ .outer = outer, .leaf = leaf };
    const struct stk_texts *reference = stk__nest_reference(leaf->op, leaf->params);
    if (reference)
        rc = find_rows(nest, reference->item[0], err);
    node->nest = nest;
    struct stk__nest_map map;
    return rc ? rc : stk__nest_map_init(&map, node, &(struct stk__nest_run){ .world = 1 }, err);
}
