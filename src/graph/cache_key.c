/* SPDX-License-Identifier: Apache-2.0 */
/* cache_key.c: a text of all that decides what a cache gets, and its hash. */
#define _GNU_SOURCE
#include "graph/cache_key.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/type.h"
#include "graph/named_files.h"
#include "graph/nest.h"
#include "lang/lang.h"
#include "op/source/path_source.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* FORMAT rises when records change, CODECS when a decoder starts to yield other pixels. */
enum { FORMAT = 2, CODECS = 1 };

const struct stk_value *stk__cache_chain(const struct stk_value *chain, int n_calls,
                                         struct stk_arena *arena)
{
    struct stk_value *first = stk_arena_alloc(arena, sizeof *first);
    if (first) {
        *first = *chain;
        first->n_calls = n_calls;
    }
    return first;
}

/* ---- what makes its elements ---- */

/* An op that was put in for a call has that call's ordinal. */
static uint64_t add_ops(uint64_t sum, const struct stk__node *node)
{
    for (int i = 0; i < stk__node_n_below(node); i++)
        sum = add_ops(sum, stk__node_below(node, i));
    sum = stk__hash_mix(sum, (uint64_t)node->ordinal << 1 | node->is_inserted);
    for (const struct stk__node *more = node->absorbed; more; more = more->absorbed)
        sum = stk__hash_mix(sum, more->ordinal);
    return sum;
}

static uint64_t add_type(uint64_t sum, const struct stk_type *type)
{
    for (int f = 0; f < type->n_fields; f++) {
        const struct stk_field *field = &type->field[f];
        const uint8_t form[] = { field->kind, field->dtype, field->rank };
        sum = stk__hash_bytes(sum, field->name, strlen(field->name));
        sum = stk__hash_bytes(sum, form, sizeof form);
        sum = stk__hash_bytes(sum, field->shape, field->rank * sizeof *field->shape);
    }
    return sum;
}

uint64_t stk__cache_made_by(const struct stk__node *cache)
{
    return add_type(add_ops(0, cache->input[0]), &cache->type);
}

/* ---- what has no text ---- */

static bool has_object(const struct stk_value *value)
{
    bool found = value->kind == STK__OBJECT;
    bool has_items = value->kind == STK__LIST || value->kind == STK__MAP;
    for (int i = 0; has_items && i < value->n_items && !found; i++)
        found = has_object(value->item[i]);
    for (int c = 0; value->kind == STK__CHAIN && c < value->n_calls && !found; c++)
        for (int i = 0; i < value->call[c].n_args && !found; i++)
            found = has_object(value->call[c].arg[i].value);
    return found;
}

/* A read whose files no text names. */
static const struct stk__node *find_read(const struct stk__node *node)
{
    const struct stk__node *found = NULL;
    for (int f = 0; node->op->flags & STK__OP_FETCH && f < node->type.n_fields; f++) {
        if (node->from[f] >= 0)
            continue;
        const struct stk__node *source = stk__graph_trace(node->input[0], f);
        if (!source || source->op->source.rows != stk__path_source_rows)
            return node;
    }
    for (int i = 0; i < stk__node_n_below(node) && !found; i++)
        found = find_read(stk__node_below(node, i));
    return found;
}

static int check_named(const struct stk__node *node, struct stk_error *err)
{
    if (*(const char *const *)stk__node_param(node, "key"))
        return STK_OK;
    if (has_object(node->chain))
        return stk__fail_at(err, STK_VALUE, node->at, node->len,
                            "cache: a function or an array before it has no text that would change "
                            "when it does; give key='…', and another one when it changes");
    const struct stk__node *read = find_read(node);
    return !read ? STK_OK
                 : stk__fail_at(err, STK_VALUE, node->at, node->len,
                                "cache: which files %s reads shows only as it does, so a change of "
                                "one would not be noticed; give key='…', and another one when they "
                                "change",
                                read->op->decl.name);
}

/* ---- files ---- */

static void add_file(void *to, const char *path)
{
    uint64_t *sum = to;
    struct stat info;
    if (stat(path, &info))
        return;
    const int64_t number[] = { (int64_t)info.st_size, (int64_t)info.st_mtim.tv_sec,
                               (int64_t)info.st_mtim.tv_nsec };
    *sum = stk__hash_bytes(*sum, path, strlen(path));
    *sum = stk__hash_bytes(*sum, number, sizeof number);
}

static int sum_files(const struct stk__node *node, uint64_t *sum)
{
    int rc = STK_OK;
    *sum = 0;
    if (stk__cache_files(node->state, sum))
        return STK_OK;
    if (!(rc = stk__named_files(node->chain, add_file, sum)))
        stk__cache_set_files(node->state, *sum);
    return rc;
}

/* ---- the text ---- */

static bool draws(const struct stk__node *node)
{
    return stk__subtree_wants_keys(node) || stk__subtree_shuffles(node);
}

/* Something before it takes the run's rank and world. */
static bool is_sharded(const struct stk__node *node)
{
    bool found = !strcmp(node->op->decl.name, "shard") &&
                 *(const int64_t *)stk__node_param(node, "num_shards") == STK_NONE;
    for (int i = 0; i < stk__node_n_below(node) && !found; i++)
        found = is_sharded(stk__node_below(node, i));
    return found;
}

static int describe(const struct stk__node *node, const struct stk__cache_way *way,
                    struct stk__text *text, struct stk_error *err)
{
    const char *key = *(const char *const *)stk__node_param(node, "key");
    uint64_t sum;
    if (sum_files(node, &sum))
        return stk__out_of_memory(err);
    stk__text_add(text, "elements  ");
    stk__type_text(way->type, text);
    stk__text_add(text, "\nfiles     %016llx\n", (unsigned long long)sum);
    int64_t count = stk__node_count(node->input[0], way->rank, way->world, NULL);
    if (count >= 0)
        stk__text_add(text, "count     %lld\n", (long long)count);
    if (draws(node))
        stk__text_add(text, "seed      %llu\n", (unsigned long long)way->seed);
    if (is_sharded(node))
        stk__text_add(text, "rank      %d of %d\n", way->rank, way->world);
    if (key)
        stk__text_add(text, "key       %s\n", key);
    stk__text_add(text, "place     %u, %d, %d\nversions  format %d, codecs %d\nchain     ",
                  node->ordinal, way->origin, way->parts, FORMAT, CODECS);
    int rc = stk__print_value(node->chain, stk__ops_namespace(), STK__CANONICAL, text, err);
    stk__text_add(text, "\n");
    return rc ? rc : text->failed ? stk__out_of_memory(err) : STK_OK;
}

static int open_on_disk(const struct stk__node *node, const struct stk__cache_way *way,
                        const char *directory, struct stk__kept **out, struct stk_error *err)
{
    struct stk__text text = { 0 }, path = { 0 };
    int rc = check_named(node, err);
    if (!rc)
        rc = describe(node, way, &text, err);
    if (!rc) {
        bool is_packed = *(const int *)stk__node_param(node, "compression");
        uint64_t first = stk__hash_bytes(is_packed, text.data, text.len);
        stk__text_add(&path, "%s/%016llx%016llx", directory, (unsigned long long)first,
                      (unsigned long long)stk__hash_bytes(~first, text.data, text.len));
        const struct stk__kept_home home = { path.data, text.data, is_packed ? 3 : 0 };
        *out = path.failed ? NULL : stk__cache_kept(node->state, way, &home);
        rc = *out ? STK_OK : stk__out_of_memory(err);
    }
    stk__text_free(&text);
    stk__text_free(&path);
    return rc;
}

int stk__cache_open(const struct stk__node *node, const struct stk__cache_way *way,
                    struct stk__kept **out, struct stk_error *err)
{
    const char *directory = *(const char *const *)stk__node_param(node, "directory");
    if (directory && strcmp(directory, "auto"))
        return open_on_disk(node, way, directory, out, err);
    *out = stk__cache_kept(node->state, way, &(struct stk__kept_home){ 0 });
    return *out ? STK_OK : stk__out_of_memory(err);
}
