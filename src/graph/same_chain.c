/* SPDX-License-Identifier: Apache-2.0 */
/* same_chain.c: chains compared call by call, in canonical form. */
#include "graph/same_chain.h"

#include "base/hash.h"

#include <string.h>

static const struct stk__op *op_of(const struct stk__call *call)
{
    return stk__op_find(call->name);
}

/* A call that changes nothing of what is delivered. */
static bool is_idle(const struct stk__call *call)
{
    const struct stk__op *op = op_of(call);
    return op && op->flags & STK__OP_PREFETCH;
}

static int print_one(const struct stk__call *call, enum stk__print_form form, struct stk__text *out)
{
    const struct stk_value alone = { .kind = STK__CHAIN, .n_calls = 1, .call = call };
    return stk__print_value(&alone, stk__ops_namespace(), form, out, NULL);
}

static uint64_t hash_call(const struct stk__call *call)
{
    struct stk__text text = { 0 };
    uint64_t hash = 0;
    if (!print_one(call, STK__CANONICAL, &text) && text.data)
        hash = stk__hash_bytes(0, text.data, text.len);
    stk__text_free(&text);
    return hash;
}

uint64_t stk__chain_hash(const struct stk_dataset *dataset)
{
    uint64_t hash = 0;
    for (int i = 0; i < dataset->value->n_calls; i++)
        if (!is_idle(&dataset->value->call[i]))
            hash = stk__hash_mix(hash, hash_call(&dataset->value->call[i]));
    return hash;
}

int stk__chain_text(const struct stk_dataset *dataset, struct stk__text *out, struct stk_error *err)
{
    int rc = stk__print_value(dataset->value, stk__ops_namespace(), STK__SHORT, out, err);
    return rc ? rc : out->failed ? stk__out_of_memory(err) : STK_OK;
}

/* The next call that matters, or NULL. */
static const struct stk__call *next_call(const struct stk_value *chain, int *at)
{
    while (*at < chain->n_calls && is_idle(&chain->call[*at]))
        ++*at;
    return *at < chain->n_calls ? &chain->call[(*at)++] : NULL;
}

static bool is_same(const struct stk__call *a, const struct stk__call *b, bool but_batch)
{
    if (!a || !b)
        return a == b;
    bool is_batch = op_of(a) && op_of(a)->flags & STK__OP_BATCH;
    if (but_batch && is_batch && !strcmp(a->name, b->name))
        return true;
    return hash_call(a) == hash_call(b);
}

static int say_difference(const struct stk__call *was, const struct stk__call *is, int number,
                          struct stk_error *err)
{
    struct stk__text then = { 0 }, now = { 0 };
    if (was)
        print_one(was, STK__SHORT, &then);
    if (is)
        print_one(is, STK__SHORT, &now);
    stk_fail(err, STK_STATE, "the state is of another chain: call %d was %.200s, and is %.200s now",
             number, then.data ? then.data : "not there", now.data ? now.data : "not there");
    stk__text_free(&then);
    stk__text_free(&now);
    return STK_STATE;
}

static int compare(const struct stk_value *was, const struct stk_value *is, bool but_batch,
                   struct stk_error *err)
{
    const struct stk__call *a, *b;
    int i = 0, k = 0, number = 1;
    while ((a = next_call(was, &i)), (b = next_call(is, &k)), is_same(a, b, but_batch)) {
        number++;
        if (a)
            continue;
        return but_batch ? STK_OK
                         : stk_fail(err, STK_STATE,
                                    "the state is of another version of stoker: the chain is the "
                                    "same, but one of its ops works in another way now");
    }
    return say_difference(a, b, number, err);
}

int stk__chain_differs(const struct stk_dataset *dataset, const char *was, bool but_batch,
                       struct stk_error *err)
{
    struct stk_arena arena;
    const struct stk_value *value = NULL;
    int rc = STK_STATE;
    stk__arena_init(&arena, 4096);
    if (was && !stk__parse(was, dataset->objects, &arena, &value, NULL) &&
        value->kind == STK__CHAIN)
        rc = compare(value, dataset->value, but_batch, err);
    else
        stk_fail(err, STK_STATE, "the state is of another chain%s%.400s", was ? ": " : "",
                 was ? was : "");
    stk__arena_free(&arena);
    return rc;
}

static bool is_shard_of_world(const struct stk__node *node)
{
    return !strcmp(node->op->decl.name, "shard") &&
           *(const int64_t *)stk__node_param(node, "num_shards") == STK_NONE;
}

bool stk__chain_uses_world(const struct stk_dataset *dataset)
{
    bool uses = false;
    for (int i = 0; i < dataset->n_nodes && !uses; i++)
        uses = is_shard_of_world(dataset->node[i]);
    return uses;
}

/* The last node that does more than work on single elements. */
static const struct stk__node *last_mover(const struct stk__node *node)
{
    while ((node->op->row.run && !node->is_filter) ||
           node->op->flags & (STK__OP_FETCH | STK__OP_PREFETCH))
        node = node->input[0];
    return node;
}

bool stk__chain_ends_in_shard(const struct stk__node *node)
{
    const struct stk__node *last = last_mover(node);
    return is_shard_of_world(last) && last->is_order;
}

const char *stk__chain_mixes_shares(const struct stk__node *node)
{
    const struct stk__node *last = last_mover(node);
    if (is_shard_of_world(last)) /* the first before it of which nothing is reached by position */
        for (last = last->input[0]; last->n_inputs && last->input[0]->class != STK__INDEXED;)
            last = last->input[0];
    return last->op->decl.name;
}
