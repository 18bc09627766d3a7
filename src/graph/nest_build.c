/* SPDX-License-Identifier: Apache-2.0 */
/* nest_build.c: what a nested chain may be, and where its groups lie. */
#include "base/error.h"
#include "base/text.h"
#include "base/type.h"
#include "graph/classify.h"
#include "graph/nest.h"
#include "graph/scan.h"

#include <string.h>

static bool is_leaf(const struct stk__node *node)
{
    return stk__is_source(node->op) || node->op->flags & STK__OP_ELEMENT;
}

static bool is_step(const struct stk__node *node)
{
    return node->is_order && node->n_inputs == 1 && node->op->order.at;
}

/* ---- the field of the element ---- */

struct stk_texts *stk__nest_reference(const struct stk__op *op, void *params)
{
    for (const struct stk_param *row = op->decl.params; row->name; row++) {
        struct stk_texts *texts = (void *)((unsigned char *)params + row->offset);
        if (row->type == STK_ROW_TEXTS && row->flags & STK__TAKES_FIELD && texts->is_word)
            return texts;
    }
    return NULL;
}

/* An op that only leaves elements out, or orders them, and need not be a function of positions. */
static bool is_sieve(const struct stk__node *node)
{
    return node->n_inputs == 1 && node->class != STK__INDEXED && !is_leaf(node) &&
           !(node->op->flags & (STK__OP_BATCH | STK__OP_EXPANDS | STK__OP_NESTS));
}

/* The node whose rows give the field its values: below it only positions matter, or, where elements
 * come as a stream, which of the values come and when. */
static const struct stk__node *find_listed(const struct stk__node *node, int *field)
{
    for (;; node = node->input[0]) {
        bool is_kept = stk__is_row_op(node->op) || is_sieve(node);
        if (is_kept && node->from[*field] >= 0)
            *field = node->from[*field];
        else if (!is_step(node) && !(node->op->flags & STK__OP_PREFETCH))
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

static int list_texts(void *ctx, const struct stk__chunk *chunk, int64_t first)
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

static int find_field(const struct stk__node *outer, const char *field, int *out,
                      struct stk_error *err)
{
    int f = *out = stk_type_find(&outer->type, field);
    if (f < 0)
        return stk_fail(err, STK_NAME,
                        "the element has no field '%s'; the name of a file is written in quotes",
                        field);
    if (outer->type.field[f].kind != STK_BYTES)
        return stk_fail(err, STK_TYPE, "field '%s' is no text, so it cannot name a file", field);
    return STK_OK;
}

int stk__nest_list(struct stk_dataset *graph, const struct stk__node *outer, const char *field,
                   bool is_streamed, struct stk_texts *out, struct stk_error *err)
{
    int f, rc = find_field(outer, field, &f, err);
    if (rc)
        return rc;
    const struct stk__node *listed = find_listed(outer, &f);
    bool is_known =
        listed->class == STK__INDEXED && listed->count > 0 && !stk__subtree_reads(listed);
    *out = (struct stk_texts){ .is_word = is_streamed };
    if (is_streamed && !is_known)
        return STK_OK;
    rc = is_streamed ? STK_OK : check_listed(listed, field, err);
    if (rc)
        return rc;
    size_t n = (size_t)listed->count;
    const char **item = n < INT32_MAX ? stk_arena_alloc(&graph->arena, n * sizeof *item) : NULL;
    if (!item)
        return stk__out_of_memory(err);
    struct listing listing = { &graph->arena, item, f };
    rc = stk__scan_rows(graph, listed, field, &(struct stk__scan){ list_texts, &listing, 0 }, err);
    *out = (struct stk_texts){ item, (int)n, is_streamed };
    return rc != STK_VALUE
               ? rc
               : stk_fail(err, rc, "a value of '%s' is empty or has a NUL byte: no file", field);
}

/* ---- what may be in the chain ---- */

/* Why an op keeps a chain from being a function of positions: the reason to open it as elements
 * come. */
static int refuse(const struct stk__node *node, const char *why, struct stk_error *err)
{
    return stk__fail_at(err, STK_TYPE, node->at, node->len, "%s: %s", node->op->decl.name, why);
}

static int check_op(const struct stk__node *node, struct stk_error *err)
{
    if (node->is_filter)
        return refuse(node, "which elements it leaves is known only once they are made", err);
    bool is_plain = stk__is_row_op(node->op) || node->op->flags & STK__OP_PREFETCH;
    if ((is_plain && node->class == STK__INDEXED) || (is_step(node) && !node->op->scan_field))
        return STK_OK;
    return refuse(node, "is no function of positions of one input", err);
}

static int check_leaf(const struct stk__node *leaf, struct stk_error *err)
{
    return leaf->class == STK__INDEXED ? STK_OK
                                       : refuse(leaf, "can only be read from front to back", err);
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
    int rc = nest ? check_leaf(leaf, err) : stk__out_of_memory(err);
    for (const struct stk__node *op = node->input[0]; !rc && op != leaf; op = op->input[0])
        rc = check_op(op, err);
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

/* ---- chains that are opened as elements come ---- */

const struct stk__node *stk__nest_outer(const struct stk__node *node)
{
    const struct stk__node *leaf = node->nest->leaf;
    return leaf && leaf->n_inputs ? leaf->input[0] : node->nest->outer;
}

/* Counts what begins with the element in a chain; `leaf` is one of those. What is opened in the chain
 * for elements of its own begins with the chain of these. */
static int count_opened(const struct stk__node *node, const struct stk__node **leaf)
{
    if (node->is_opened) {
        *leaf = node;
        return 1;
    }
    if (stk__is_woven(node))
        return count_opened(stk__nest_outer(node), leaf);
    int n = 0;
    for (int i = 0; i < node->n_inputs; i++)
        n += count_opened(node->input[i], leaf);
    return n;
}

/* What is kept of one element's chain would be taken for the next one's. */
static const struct stk__node *find_cache(const struct stk__node *node)
{
    if (node->op->flags & STK__OP_CACHE)
        return node;
    const struct stk__node *found = NULL;
    for (int i = 0; i < node->n_inputs && !node->is_opened && !found; i++)
        found = find_cache(node->input[i]);
    return found;
}

/* The first op that is no function of positions, of the elements or else of the chain. */
static const struct stk__node *find_cause(const struct stk__node *chain,
                                          const struct stk__node *outer)
{
    const struct stk__node *cause = outer->class == STK__INDEXED ? chain : outer;
    for (int i = 0; i < cause->n_inputs && !cause->is_opened;) {
        bool is_it = cause->input[i]->class != STK__INDEXED;
        cause = is_it ? cause->input[i] : cause;
        i = is_it ? 0 : i + 1;
    }
    return cause;
}

static const char *tell_why(struct stk_dataset *graph, const struct stk__node *chain,
                            const struct stk__node *outer, const char *refusal)
{
    const struct stk__node *cause = find_cause(chain, outer);
    bool is_told = cause->is_opened && refusal[0];
    struct stk__text text = { 0 };
    stk__text_add(&text, "chains are opened as elements come; %s%s%s",
                  is_told ? refusal : cause->op->decl.name, is_told ? "" : ": ",
                  is_told ? "" : cause->why);
    char *why = text.data ? stk_arena_text(&graph->arena, text.data) : NULL;
    stk__text_free(&text);
    return why;
}

int stk__nest_new_streamed(struct stk_dataset *graph, struct stk__node *node,
                           const struct stk__node *outer, const char *refusal,
                           struct stk_error *err)
{
    struct stk__nest *nest = stk_arena_alloc(&graph->arena, sizeof *nest);
    const char *why = tell_why(graph, node->input[0], outer, refusal);
    if (!nest || !why)
        return stk__out_of_memory(err);
    *nest = (struct stk__nest){ .outer = outer, .is_streamed = true, .why = why };
    if (count_opened(node->input[0], &nest->leaf) > 1)
        return stk__fail_at(err, STK_TYPE, nest->leaf->at, nest->leaf->len,
                            "%s: a chain that is opened for each element may begin with it in one "
                            "place only",
                            nest->leaf->op->decl.name);
    const struct stk__node *cache = find_cache(node->input[0]);
    if (cache)
        return stk__fail_at(err, STK_TYPE, cache->at, cache->len,
                            "%s: cannot be in a chain that is opened as elements come; put it "
                            "behind %s(…)",
                            cache->op->decl.name, node->op->decl.name);
    node->nest = nest;
    return STK_OK;
}
