/* SPDX-License-Identifier: Apache-2.0 */
/* nest.c: positions of nested chains. */
#include "graph/nest.h"

#include "base/error.h"
#include "base/hash.h"
#include "op/order/order.h"

#include <string.h>

static struct stk__order_run order_of(const struct stk__nest_map *map,
                                      const struct stk__nest_step *step, const int64_t *in_count)
{
    return (struct stk__order_run){ .params = step->node->params,
                                    .state = step->node->state,
                                    .in_count = in_count,
                                    .n_inputs = 1,
                                    .seed = step->seed,
                                    .rank = map->rank,
                                    .world = map->world };
}

/* ---- groups ---- */

/* Rows of a group below each step of the chain, and what is left of them at its end. */
static int64_t count_inner(const struct stk__nest_map *map, uint64_t group, int64_t *below)
{
    const struct stk__nest *nest = map->nest;
    int64_t n =
        nest->first ? (int64_t)(nest->first[group + 1] - nest->first[group]) : nest->leaf->count;
    for (int i = map->n_inner; i-- > 0;) {
        const struct stk__node *node = map->inner[i].node;
        struct stk__infer_inside inside = { .rank = map->rank, .world = map->world };
        const struct stk_infer inf = { .params = node->params,
                                       .state = node->state,
                                       .n_inputs = 1,
                                       .in = { &node->input[0]->type },
                                       .in_count = { n },
                                       .inside = &inside };
        below[i] = n;
        node->op->order.count(&inf, &n, NULL);
    }
    return n;
}

/* The groups of n elements, in place, through the steps from `from` on. */
static void find_groups(const struct stk__nest_map *map, int from, int n, uint64_t *element,
                        uint64_t *path)
{
    uint8_t input[64];
    for (int i = from; i < map->n_outer; i++) {
        const struct stk__nest_step *step = &map->outer[i];
        const struct stk__order_run run = order_of(map, step, &step->in_count);
        step->node->op->order.at(&run, n, element, path, input);
    }
}

int64_t stk__nest_rows(const struct stk__nest_map *map, uint64_t element, uint64_t path)
{
    int64_t below[STK__MAX_STEPS];
    if (map->nest->first)
        find_groups(map, 0, 1, &element, &path);
    return count_inner(map, element, below);
}

/* ---- places ---- */

enum { BLOCK = 64 };

struct rows {
    uint64_t element[BLOCK], ordinal[BLOCK], inner[BLOCK], group[BLOCK], path[BLOCK];
};

/* Runs of rows of one element, in one pass, go through its chain together. */
static void follow_inner(const struct stk__nest_map *map, int n, struct rows *rows)
{
    int64_t below[STK__MAX_STEPS];
    uint8_t input[BLOCK];
    for (int i = 0, end; i < n && map->n_inner; i = end) {
        for (end = i + 1; end < n && rows->inner[end] == rows->inner[i];)
            end++;
        if (map->nest->first || i == 0)
            count_inner(map, rows->group[i], below);
        for (int k = 0; k < map->n_inner; k++) {
            const struct stk__order_run run = order_of(map, &map->inner[k], &below[k]);
            map->inner[k].node->op->order.at(&run, end - i, rows->ordinal + i, rows->inner + i,
                                             input);
        }
    }
}

static void resolve_block(const struct stk__nest_map *map, int n, const uint64_t *position,
                          const uint64_t *path, struct rows *rows)
{
    for (int i = 0; i < n; i++) {
        uint64_t high = position[i] / map->stride, low = position[i] - high * map->stride;
        rows->element[i] = rows->group[i] = map->is_endless ? low : high;
        rows->ordinal[i] = map->is_endless ? high : low;
        rows->inner[i] = stk__hash_mix(path[i], rows->element[i]);
    }
    if (map->nest->first) {
        memcpy(rows->path, path, sizeof *path * (size_t)n);
        find_groups(map, 0, n, rows->group, rows->path);
    }
    follow_inner(map, n, rows);
}

void stk__nest_resolve(const struct stk__nest_map *map, int n, uint64_t *position, uint64_t *path,
                       uint64_t *inner)
{
    const struct stk__nest *nest = map->nest;
    bool is_element = nest->leaf->op->flags & STK__OP_ELEMENT;
    struct rows rows;
    for (int from = 0; from < n; from += BLOCK) {
        int n_rows = n - from < BLOCK ? n - from : BLOCK;
        resolve_block(map, n_rows, position + from, path + from, &rows);
        for (int i = 0; i < n_rows; i++) {
            uint64_t first = nest->first ? nest->first[rows.group[i]] : 0;
            position[from + i] = is_element ? rows.element[i] : first + rows.ordinal[i];
            if (!is_element)
                path[from + i] = rows.inner[i];
            if (inner)
                inner[from + i] = rows.inner[i];
        }
    }
}

/* ---- how a run numbers them ---- */

static int add_steps(struct stk__nest_step *step, const struct stk__node *from,
                     const struct stk__node *to, const struct stk__nest_run *run)
{
    int n = 0;
    for (; from != to && from->n_inputs; from = from->input[0]) {
        if (!from->is_order)
            continue;
        if (n == STK__MAX_STEPS)
            return -1;
        step[n] = (struct stk__nest_step){ .node = from,
                                           .seed = stk__hash_mix(run->seed, from->draws_as) };
        stk__node_count(from, run->rank, run->world, &step[n++].in_count);
    }
    return n;
}

static void find_stride(struct stk__nest_map *map)
{
    const uint64_t most_elements = 1 << 20; /* opened, of those that have no last one */
    const struct stk__nest *nest = map->nest;
    int64_t below[STK__MAX_STEPS];
    bool is_empty = true;
    map->stride = 1;
    for (uint64_t g = 0; g < (nest->first ? nest->n_groups : 1); g++) {
        int64_t n = count_inner(map, g, below);
        map->is_endless |= n < 0;
        is_empty &= n == 0;
        map->stride = n > 0 && (uint64_t)n > map->stride ? (uint64_t)n : map->stride;
    }
    if (is_empty)
        map->n_elements = 0; /* however many there are: they would be gone through for nothing */
    if (map->is_endless)
        map->stride = map->n_elements > 0 ? (uint64_t)map->n_elements : most_elements;
}

int stk__nest_map_init(struct stk__nest_map *map, const struct stk__node *node,
                       const struct stk__nest_run *run, struct stk_error *err)
{
    const struct stk__nest *nest = node->nest;
    *map = (struct stk__nest_map){ .nest = nest, .rank = run->rank, .world = run->world };
    map->n_inner = add_steps(map->inner, node->input[0], nest->leaf, run);
    if (nest->first)
        map->n_outer = add_steps(map->outer, nest->outer, nest->listed, run);
    if (map->n_inner < 0 || map->n_outer < 0)
        return stk__fail_at(err, STK_VALUE, node->at, node->len,
                            "%s: at most %d ops may change the order before it or in its chain",
                            node->op->decl.name, STK__MAX_STEPS);
    map->n_elements = stk__node_count(nest->outer, run->rank, run->world, NULL);
    find_stride(map);
    if (map->n_elements > 0 && !stk__nest_has_place(map, (uint64_t)map->n_elements - 1))
        return stk__fail_at(err, STK_VALUE, node->at, node->len,
                            "%s: these are more elements than can be numbered",
                            node->op->decl.name);
    return STK_OK;
}

/* ---- counting ---- */

static int64_t times(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return 0;
    if (a < 0 || b < 0)
        return STK_INFINITE_COUNT;
    return a > STK__MAX_COUNT / b ? STK_UNKNOWN_COUNT : a * b;
}

static bool shuffles_between(const struct stk__node *from, const struct stk__node *to)
{
    for (; from != to && from->n_inputs; from = from->input[0])
        if (from->op->flags & STK__OP_SHUFFLES)
            return true;
    return false;
}

/* Rows of n elements that come in the same order in every pass. */
static int64_t sum_rows(const struct stk__nest_map *map, int from, int64_t n)
{
    int64_t below[STK__MAX_STEPS], sum = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t group = (uint64_t)i, path = 0;
        find_groups(map, from, 1, &group, &path);
        int64_t rows = count_inner(map, group, below);
        if (rows < 0)
            return STK_INFINITE_COUNT;
        sum += rows;
    }
    return sum;
}

/* Shuffles of all elements, and repeats, leave alone which rows there are. */
static int64_t count_listed(const struct stk__nest_map *map, int rank, int world)
{
    const struct stk__node *node = map->nest->outer, *listed = map->nest->listed;
    int64_t n_passes = 1;
    int step = 0;
    for (; node != listed && node->n_inputs; node = node->input[0]) {
        if (!node->is_order)
            continue;
        int64_t count = stk__node_count(node, rank, world, NULL);
        if (node->op->flags & STK__OP_REPEAT)
            n_passes = times(n_passes, *(const int64_t *)stk__node_param(node, "count"));
        else if (count != map->outer[step].in_count)
            break;
        step++;
    }
    int64_t n = stk__node_count(node, rank, world, NULL);
    if (n < 0)
        return STK_INFINITE_COUNT;
    return shuffles_between(node, listed) ? STK_UNKNOWN_COUNT
                                          : times(n_passes, sum_rows(map, step, n));
}

/* Known where all chains have as many elements. */
static int64_t count_streamed(const struct stk__node *node, int rank, int world)
{
    int64_t n = stk__node_count(stk__nest_outer(node), rank, world, NULL);
    int64_t each = stk__node_count(node->input[0], rank, world, NULL);
    bool is_known = n == 0 || each == 0 || (n != STK_UNKNOWN_COUNT && each != STK_UNKNOWN_COUNT);
    return is_known ? times(n, each) : STK_UNKNOWN_COUNT;
}

int64_t stk__nest_count(const struct stk__node *node, int rank, int world)
{
    if (node->nest->is_streamed)
        return count_streamed(node, rank, world);
    struct stk__nest_map map;
    struct stk_error unseen;
    if (stk__nest_map_init(&map, node, &(struct stk__nest_run){ 0, rank, world }, &unseen))
        return STK_UNKNOWN_COUNT;
    if (map.n_elements == 0)
        return 0;
    return map.nest->first ? count_listed(&map, rank, world)
                           : times(map.n_elements, stk__nest_rows(&map, 0, 0));
}
