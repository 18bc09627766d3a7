/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h: a chain as a tree of typed, classified nodes. Immutable once built. */
#pragma once
#include "base/memory/arena.h"
#include "lang/value.h"
#include "op/registry.h"

#include <stdatomic.h>

struct stk__node {
    const struct stk__op *op;
    void *params, *state;
    void *opened;  /* what open made; state, unless infer or a scan put another one there */
    void *scanned; /* what a scan of all rows made, or NULL */
    const char *why_unscanned; /* why choices were not looked at beforehand, or NULL */
    void *narrowed;            /* what makes some fields of a source alone, or NULL */
    bool is_shared;            /* opened belongs to a graph that this one keeps alive */
    size_t opened_bytes;       /* what it keeps outside of the arena, unless it is shared */
    int n_inputs;
    struct stk__node *input[STK_MAX_INPUTS];
    struct stk_type type;
    int from[STK_MAX_FIELDS]; /* see stk_infer */
    uint32_t reads;           /* likewise */
    bool never_fails, is_optional;
    bool is_filter; /* may mark rows dead */
    int64_t count;
    int64_t run; /* see stk_infer */
    enum stk__op_class class;
    const char *why;   /* why it has this class, for `plan` */
    bool is_order;     /* carried out by its order table: a pure function of positions */
    bool is_inserted;  /* put in by us, not written by the user */
    int id;            /* index into graph->node */
    uint32_t ordinal;  /* of the call in the user's text, counted in reading order */
    uint32_t draws_as; /* ordinal that seeds the op: its own, also when it carries out others */
    uint32_t at, len;  /* of the call's name in that text */
    size_t scratch_bytes;
    bool is_heavy; /* likewise */
    int n_waiting;
    bool wants_keys, is_random;
    /* the op above that this one carries out too, as it was, or NULL; its own absorbed is the one
     * before it */
    const struct stk__node *absorbed;
    /* the op above that gets only the part it asks for, or NULL; that says how large is enough */
    const struct stk__node *part_for, *scaled_for;
    const struct stk_value *chain; /* of a cache: the calls before it */
    const struct stk__nest *nest;  /* of an op that opens its input for each element; see nest.h */
    bool is_opened;            /* begins a chain that is opened anew for each element as it comes */
    struct stk__opened *files; /* and is given those of a field; those that were opened */
    bool is_abandoned;         /* of a chain that was then built in another way */
};

/* What a pass did, or would have done, in words. */
struct stk__rewrite {
    const char *name, *text;
    bool is_done;
    struct stk__rewrite *next;
};

/* What a dataset is. */
struct stk_dataset {
    atomic_int refs;
    struct stk_dataset
        *base; /* its calls are the first ones here, and what they opened is shared; or NULL */
    /* the same calls rewritten with what was learned of them, which is what runs; a part of this one
     * and counted with it; NULL: there is none (yet) */
    _Atomic(struct stk_dataset *) form;
    struct stk_dataset *form_of; /* of such a form */
    struct stk_arena arena;      /* holds everything below */
    char *text;                  /* as given */
    const struct stk_value *value;
    struct stk_objects
        *objects; /* the arrays the chain names, kept alive; NULL when it names none */
    struct stk__node *root;
    /* all there ever were; the first n_used are those of the tree, inputs before what they go into */
    struct stk__node **node;
    int n_nodes, n_used, cap_nodes;
    struct stk__rewrite *rewrite, *last_rewrite; /* in the order they were made */
    bool is_placed; /* its cache(auto) is where it was chosen to be (op/cache/cache.h) */
    uint32_t n_calls;
    uint64_t hash;     /* of the canonical text */
    size_t held_bytes; /* of the arena and of what its nodes opened: on the purse of the process */
};

/* Parses, binds, infers and classifies. `base`, kept alive if not NULL, is a graph whose text
 * the new one begins with. Returns new. */
int stk__graph_new(const char *text, const struct stk_objects *objects, struct stk_dataset *base,
                   struct stk_dataset **out, struct stk_error *err);
void stk__graph_free(struct stk_dataset *graph);

/* Makes `form`, built on `graph`, a part of it. Takes the form; once for a graph. */
void stk__graph_set_form(struct stk_dataset *graph, struct stk_dataset *form);

/* After nodes of a graph that nobody shares yet were moved or changed: types, counts and classes of
 * all of them again, and the order of graph->node. */
int stk__graph_infer(struct stk_dataset *graph, struct stk_error *err);

/* Bytes that lists of files, indices and all else of a dataset take, with what it shares. */
size_t stk__graph_bytes(const struct stk_dataset *graph);

/* The source node that a row of this field comes from, following untouched fields; NULL when
 * computed. Of inputs that take turns, the first. */
const struct stk__node *stk__graph_trace(const struct stk__node *node, int field);

/* A step of that way back: the input that a field comes from, and which field it is there. False
 * when it is computed here, or the node is a source. */
bool stk__graph_step_back(const struct stk__node *node, int *field, int *input);

/* A parameter of a node's call, by name; the name must be one the op declares. */
const void *stk__node_param(const struct stk__node *node, const char *name);

/* True if it makes one row of many, and bad rows pass beside those it makes. */
bool stk__node_merges(const struct stk__node *node);

/* True if bad rows may make a pass longer than the node's count: it, or something below it, merges. */
bool stk__node_may_exceed(const struct stk__node *node);

/* A node's call in short, cut where it is longer than `most` bytes. */
void stk__node_call_text(const struct stk__node *node, size_t most, struct stk__text *out);

/* Elements of a node's output when shard() means this rank of this world. in_count, when not
 * NULL, gets the inputs' counts. */
int64_t stk__node_count(const struct stk__node *node, int rank, int world, int64_t *in_count);

/* True if bytes of files are read for its rows: by `read`, or by a located source. */
bool stk__subtree_reads(const struct stk__node *node);

/* True if something in the subtree draws random numbers. */
bool stk__subtree_is_random(const struct stk__node *node);

/* True if something in the subtree is told which element it works on, to draw by it: what is random,
 * and functions that may be. */
bool stk__subtree_wants_keys(const struct stk__node *node);

/* True if the op itself draws. */
bool stk__node_is_random(const struct stk__node *node);

/* True if its rows come in another order in every pass. */
bool stk__subtree_shuffles(const struct stk__node *node);

static inline bool stk__is_row_op(const struct stk__op *op)
{
    return op->row.run || op->flags & STK__OP_FETCH;
}

static inline bool stk__is_source(const struct stk__op *op)
{
    return op->source.rows || op->source.next;
}
