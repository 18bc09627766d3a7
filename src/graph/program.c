/* SPDX-License-Identifier: Apache-2.0 */
/* program.c: compiling a subtree: roles, destinations, slots. */
#include "graph/program.h"

#include "base/error.h"
#include "base/hash.h"
#include "graph/cache_key.h"
#include "graph/nest.h"

#include <stdlib.h>
#include <string.h>

struct compiler {
    struct stk__program *program;
    struct stk_arena *arena;
    struct stk_error *err;
    bool is_shuffled;
    bool is_nested; /* in the chain of a nest, which has chosen the positions */
    int n_choices;  /* concatenations and caches above */
    bool has_caches;
};

bool stk__node_is_random(const struct stk__node *node)
{
    return node->is_random || node->op->flags & STK_OP_RANDOM;
}

static bool wants_keys(const struct stk__node *node)
{
    return node->wants_keys || stk__node_is_random(node);
}

/* Whether that is so of a node, of what it carries out too, or of anything below it. */
static bool is_somewhere(const struct stk__node *node, bool (*is_so)(const struct stk__node *))
{
    bool found = is_so(node);
    for (const struct stk__node *op = node->absorbed; op && !found; op = op->absorbed)
        found = is_so(op);
    for (int i = 0; i < stk__node_n_below(node) && !found; i++)
        found = is_somewhere(stk__node_below(node, i), is_so);
    return found;
}

bool stk__subtree_is_random(const struct stk__node *node)
{
    return is_somewhere(node, stk__node_is_random);
}

bool stk__subtree_wants_keys(const struct stk__node *node)
{
    return is_somewhere(node, wants_keys);
}

bool stk__pnode_makes(const struct stk__pnode *p, int f)
{
    if (p->role == STK__ROLE_ROW || p->role == STK__ROLE_READ)
        return p->node->from[f] < 0;
    return p->role == STK__ROLE_SOURCE || p->role == STK__ROLE_CONCAT;
}

static enum stk__role role_of(const struct stk__node *node, const struct stk__node *cut)
{
    const struct stk__op *op = node->op;
    if (node == cut)
        return STK__ROLE_CUT;
    if (op->source.rows)
        return STK__ROLE_SOURCE;
    if (op->flags & STK__OP_FETCH)
        return STK__ROLE_READ;
    if (op->row.run)
        return STK__ROLE_ROW;
    if (op->flags & STK__OP_MULTI && node->n_inputs == 1)
        return STK__ROLE_PASS;
    if (op->choice.wanted)
        return STK__ROLE_CONCAT;
    if (node->nest)
        return node->nest->is_streamed ? STK__ROLE_PASS : STK__ROLE_NEST;
    if (op->flags & STK__OP_ELEMENT)
        return STK__ROLE_ELEMENT;
    if (op->flags & STK__OP_CACHE)
        return STK__ROLE_CACHE;
    if (node->is_order && node->n_inputs > 1)
        return op->order.at ? STK__ROLE_CONCAT : STK__ROLE_ZIP;
    return node->is_order ? STK__ROLE_ORDER : STK__ROLE_PASS;
}

/* How large rows are: of some in the middle. What neighbours share is read once, unless they are
 * not read together. */
static bool add_located(struct compiler *c, const struct stk__pnode *p)
{
    enum { SAMPLES = 256 };
    const struct stk__source_table *source = &p->node->op->source;
    uint64_t count = (uint64_t)source->count(p->node->state), index[SAMPLES], bytes = 0;
    int n = count < SAMPLES ? (int)count : SAMPLES, n_places = n * p->n_places;
    struct stk__file_place *place =
        stk_arena_alloc(c->arena, sizeof *place * (size_t)(n_places + 1));
    if (!place)
        return false;
    for (int i = 0; i < n; i++)
        index[i] = (count - (uint64_t)n) / 2 + (uint64_t)i;
    source->locate(p->node->state, n, index, place);
    for (int i = 0; i < n_places; i++) {
        const struct stk__file_place *before = &place[i - p->n_places];
        bool is_shared = i >= p->n_places && !c->is_shuffled && place[i].file == before->file &&
                         place[i].offset == before->offset;
        bytes += is_shared ? 0 : place[i].bytes;
    }
    c->program->located_bytes += n ? bytes / (uint64_t)n + 1 : 1;
    return true;
}

static int add_slots(struct compiler *c, struct stk__pnode *p)
{
    struct stk__program *program = c->program;
    const struct stk__op *op = p->node->op;
    p->thread_slot = p->read_slot = -1;
    if (p->role == STK__ROLE_ROW && op->row.thread_open) {
        p->thread_slot = program->n_thread_slots++;
        program->thread_node[p->thread_slot] = p;
    }
    bool is_located =
        p->role == STK__ROLE_SOURCE && op->source.locate && op->source.n_places(p->node->state) > 0;
    if (p->role == STK__ROLE_READ || is_located) {
        if (program->n_reads == STK__MAX_READS)
            return stk_fail(c->err, STK_VALUE, "at most %d reads per element are possible",
                            STK__MAX_READS);
        p->read_slot = program->n_reads++;
        program->read[p->read_slot] = p;
        p->n_places = is_located ? op->source.n_places(p->node->state) : 1;
        if (is_located && !add_located(c, p))
            return stk__out_of_memory(c->err);
    }
    if (p->role == STK__ROLE_ROW || p->role == STK__ROLE_READ) {
        program->has_filter |= p->node->is_filter;
        program->is_heavy |=
            p->role == STK__ROLE_ROW && (op->flags & STK_OP_HEAVY || p->node->is_heavy);
        program->exclusive = op->exclusive ? op->exclusive : program->exclusive;
        program->scratch_bytes += p->node->scratch_bytes;
    }
    return STK_OK;
}

/* Which output field each field of input i ends up as. */
static void input_dest(const struct stk__pnode *p, int i, int *dest)
{
    const struct stk__node *node = p->node;
    int first = 0;
    for (int k = 0; k < i; k++)
        first += node->input[k]->type.n_fields;
    for (int f = 0; f < STK_MAX_FIELDS; f++)
        dest[f] = -1;
    for (int f = 0; f < node->type.n_fields; f++) {
        bool is_same = p->role == STK__ROLE_ORDER || p->role == STK__ROLE_PASS ||
                       p->role == STK__ROLE_NEST || p->role == STK__ROLE_ELEMENT ||
                       p->role == STK__ROLE_CACHE;
        int from = is_same ? f : node->from[f] - first;
        if (from >= 0 && from < node->input[i]->type.n_fields && dest[from] < 0)
            dest[from] = p->dest[f];
    }
}

static int add_nest(struct compiler *c, const struct stk__node *node)
{
    struct stk__nest_map *map = stk_arena_alloc(c->arena, sizeof *map);
    const struct stk__nest_run run = { c->program->seed, c->program->rank, c->program->world };
    if (!map)
        return stk__out_of_memory(c->err);
    c->program->nest = map;
    c->is_nested = true;
    return stk__nest_map_init(map, node, &run, c->err);
}

static int add_cache(struct compiler *c, struct stk__pnode *p)
{
    struct stk__program *program = c->program;
    const struct stk__cache_way way = { .seed = program->seed,
                                        .rank = program->rank,
                                        .world = program->world,
                                        .type = &p->node->type,
                                        .made_by = stk__cache_made_by(p->node),
                                        .parts =
                                            STK__NO_ADDRESSES | (program->has_keys ? STK__KEYS : 0),
                                        .is_sparse = p->node->class != STK__INDEXED };
    if (program->n_kept == STK__MAX_CACHES)
        return stk__fail_at(c->err, STK_VALUE, p->node->at, p->node->len,
                            "cache: at most %d are possible", STK__MAX_CACHES);
    int rc = stk__cache_open(p->node, &way, &p->kept, c->err);
    if (!rc)
        program->kept[program->n_kept++] = p->kept;
    return rc;
}

static struct stk__pnode *compile(struct compiler *c, const struct stk__node *node, const int *dest)
{
    struct stk__pnode *p = stk_arena_alloc(c->arena, sizeof *p);
    if (!p) {
        stk__out_of_memory(c->err);
        return NULL;
    }
    struct stk__program *program = c->program;
    p->role = role_of(node, program->cut);
    if (p->role == STK__ROLE_NEST && add_nest(c, node))
        return NULL;
    if (c->is_nested && p->role == STK__ROLE_ORDER)
        p->role = STK__ROLE_PASS;
    if (p->role == STK__ROLE_ELEMENT)
        c->is_nested = false;
    p->node = node;
    p->is_filter = p->role == STK__ROLE_ROW && node->is_filter;
    p->is_guarded = p->role == STK__ROLE_ROW && !stk__op_is_built_in(node->op);
    p->seed = stk__hash_mix(program->seed, node->draws_as);
    memcpy(p->dest, dest, sizeof p->dest);
    stk__node_count(node, program->rank, program->world, p->in_count);
    if (add_slots(c, p))
        return NULL;
    if (p->role == STK__ROLE_CACHE && c->has_caches && add_cache(c, p))
        return NULL;
    p->is_part = c->n_choices > 0;
    bool is_choice = p->role == STK__ROLE_CONCAT || p->role == STK__ROLE_CACHE;
    c->n_choices += is_choice;
    bool is_leaf = p->role == STK__ROLE_CUT || p->role == STK__ROLE_SOURCE;
    for (int i = 0; !is_leaf && i < node->n_inputs; i++) {
        int below[STK_MAX_FIELDS];
        input_dest(p, i, below);
        if (p->role == STK__ROLE_CONCAT)
            memset(below, -1, sizeof below);
        if (!(p->input[i] = compile(c, node->input[i], below)))
            return NULL;
    }
    c->n_choices -= is_choice;
    if (p->role == STK__ROLE_ROW && !p->is_guarded && node->op->may_begin &&
        p->input[0]->role == STK__ROLE_READ)
        p->input[0]->judge = node;
    p->number = program->n_nodes++;
    program->node[p->number] = p;
    return p;
}

static int count_nodes(const struct stk__node *node)
{
    int n = 1;
    for (int i = 0; i < node->n_inputs; i++)
        n += count_nodes(node->input[i]);
    return n;
}

int stk__program_new(const struct stk__node *root, const struct stk__node *cut,
                     const struct stk__program_options *options, struct stk_arena *arena,
                     struct stk__program **out, struct stk_error *err)
{
    struct stk__program *program = stk_arena_alloc(arena, sizeof *program);
    if (!program)
        return stk__out_of_memory(err);
    size_t nodes_bytes = sizeof(struct stk__pnode *) * (size_t)count_nodes(root);
    program->thread_node = stk_arena_alloc(arena, nodes_bytes);
    program->node = stk_arena_alloc(arena, nodes_bytes);
    if (!program->thread_node || !program->node)
        return stk__out_of_memory(err);
    program->type = &root->type;
    program->cut = cut;
    program->seed = options->seed;
    program->rank = options->rank;
    program->world = options->world;
    program->has_keys = options->has_keys;
    int dest[STK_MAX_FIELDS];
    for (int f = 0; f < STK_MAX_FIELDS; f++)
        dest[f] = f;
    struct compiler c = { .program = program,
                          .arena = arena,
                          .err = err,
                          .is_shuffled = stk__subtree_shuffles(root),
                          .has_caches = options->has_caches };
    if (!(program->root = compile(&c, root, dest)))
        return err && err->code ? err->code : STK_MEMORY;
    if (program->is_heavy || program->n_reads)
        program->exclusive =
            NULL; /* other work is worth more than that nobody waits for the lock */
    *out = program;
    return STK_OK;
}

int stk__eval_thread_init(struct stk__eval_thread *thread, const struct stk__program *program)
{
    size_t n = (size_t)program->n_thread_slots + 1;
    thread->slot = calloc(n, sizeof *thread->slot);
    thread->is_open = calloc(n, sizeof *thread->is_open);
    return thread->slot && thread->is_open ? STK_OK : STK_MEMORY;
}

void stk__eval_thread_free(struct stk__eval_thread *thread, const struct stk__program *program)
{
    for (int i = 0; thread->slot && thread->is_open && i < program->n_thread_slots; i++)
        if (thread->is_open[i] && program->thread_node[i]->node->op->row.thread_close)
            program->thread_node[i]->node->op->row.thread_close(thread->slot[i]);
    free(thread->slot);
    free(thread->is_open);
    *thread = (struct stk__eval_thread){ 0 };
}
