/* SPDX-License-Identifier: Apache-2.0 */
/* nest.h: a chain that is opened for each element of another one (interleave).
 *
 * It has two forms. Where the elements and the chain are indexed nothing is opened while a run is
 * on. The chain stands on an indexed leaf, and an element's own
 * chain is a range of the leaf's rows, its group: the element itself for element(), the rows of one
 * file for a source that was given the files of all elements, else all rows.
 *
 *      outer    files ─▶ shuffle ─▶ element 7 ───┐  which group (positions alone)
 *      leaf     tfrecord | rows of a | rows of b | rows of c |
 *      chain    take(3) ◀── within the group     └──▶ 0 1 2
 *
 * So a row of the whole is an element's position and an ordinal in its group, and both fit into one
 * position:  element * stride + ordinal.  What an element's chain orders is keyed by a path of its
 * own, so that each is shuffled differently.
 *
 * Else elements come as a stream, and chains are opened for them as they do (`is_streamed`): what
 * such a chain begins with is a stream that gets the element (`is_opened` of its node), whatever
 * follows runs as it does in any chain. See exec/stage/weaving.c.
 */
#pragma once
#include "graph/graph.h"

struct stk__nest {
    const struct stk__node *outer; /* gives the elements */
    const struct stk__node *leaf;  /* what the chain begins with */
    /* a source of the elements' files: the node at or below outer whose rows the groups are
     * numbered by, and [n_groups + 1] the leaf's first row of each; else NULL */
    const struct stk__node *listed;
    const uint64_t *first;
    size_t n_groups;
    /* chains are opened as elements come: `outer` is set, and `leaf` if the chain begins with the
     * element */
    bool is_streamed;
    const char *why; /* that is so */
};

/* An op that rewrites positions on the way down. */
struct stk__nest_step {
    const struct stk__node *node;
    uint64_t seed;
    int64_t in_count;
};

enum { STK__MAX_STEPS = 32 };

/* How positions of a nest become positions of its leaf, in one run. */
struct stk__nest_map {
    const struct stk__nest *nest;
    struct stk__nest_step outer[STK__MAX_STEPS]; /* from outer down to what is listed */
    struct stk__nest_step inner[STK__MAX_STEPS]; /* the chain's, from its end to the leaf */
    int n_outer, n_inner;
    int rank, world;
    int64_t n_elements; /* of a pass; below 0: no end */
    /* rows of an element at most; where some have no end, elements that can be numbered */
    uint64_t stride;
    bool is_endless; /* some have no end: ordinal * stride + element */
};

/* Makes the nest of a node whose input is the chain, built on `outer`; fails if one of the two is not
 * indexed. */
int stk__nest_new(struct stk_dataset *graph, struct stk__node *node, const struct stk__node *outer,
                  struct stk_error *err);

/* The same for chains that are opened as elements come, because the indexed form was refused with
 * this message (may be empty). */
int stk__nest_new_streamed(struct stk_dataset *graph, struct stk__node *node,
                           const struct stk__node *outer, const char *refusal,
                           struct stk_error *err);

/* What gives the elements, as the tree has it. */
const struct stk__node *stk__nest_outer(const struct stk__node *node);

/* What a node's rows come from: its inputs, and behind them what gives the elements that a chain is opened
 * for where that does not begin with them. What is asked of all that is below a node is asked of these. */
static inline const struct stk__node *stk__node_below(const struct stk__node *node, int i)
{
    return i < node->n_inputs ? node->input[i] : node->nest->outer;
}

static inline int stk__node_n_below(const struct stk__node *node)
{
    const struct stk__nest *nest = node->nest;
    return node->n_inputs + (nest && !(nest->leaf && nest->leaf->n_inputs));
}

/* True for an op whose chains are opened as elements come. */
static inline bool stk__is_woven(const struct stk__node *node)
{
    return node->nest && node->nest->is_streamed;
}

/* The row of an op that names a field of the element instead of files, or NULL. */
struct stk_texts *stk__nest_reference(const struct stk__op *op, void *params);

/* The values of that field, of all elements there can be; where these come as a stream maybe none. */
int stk__nest_list(struct stk_dataset *graph, const struct stk__node *outer, const char *field,
                   bool is_streamed, struct stk_texts *out, struct stk_error *err);

struct stk__nest_run {
    uint64_t seed;
    int rank, world;
};
int stk__nest_map_init(struct stk__nest_map *map, const struct stk__node *node,
                       const struct stk__nest_run *run, struct stk_error *err);

/* Rows of an element's chain in the pass of this path; below 0: no end. */
int64_t stk__nest_rows(const struct stk__nest_map *map, uint64_t element, uint64_t path);

/* False if it cannot be numbered. */
static inline bool stk__nest_has_place(const struct stk__nest_map *map, uint64_t element)
{
    const uint64_t most = (uint64_t)1 << 56;
    return map->is_endless ? element < map->stride : element < most / map->stride;
}

static inline uint64_t stk__nest_place(const struct stk__nest_map *map, uint64_t element,
                                       uint64_t ordinal)
{
    return map->is_endless ? ordinal * map->stride + element : element * map->stride + ordinal;
}

/* Rewrites places to positions and paths of the leaf, or, for element(), of what it stands for; then
 * `inner` gets the paths within the chain. */
void stk__nest_resolve(const struct stk__nest_map *map, int n, uint64_t *position, uint64_t *path,
                       uint64_t *inner);

/* Elements of a nest, as a count. */
int64_t stk__nest_count(const struct stk__node *node, int rank, int world);
