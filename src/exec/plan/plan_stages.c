/* SPDX-License-Identifier: Apache-2.0 */
/* plan_stages.c: from graph to stages. A chain is followed from its end to its sources; what is above the last
 * batch is the trunk, which the batcher carries out. */
#include "base/error.h"
#include "exec/plan/plan_parts.h"
#include "graph/nest.h"
#include "op/implied.h"
#include "op/order/nesting.h"

#include <stdlib.h>
#include <string.h>

struct planner {
    struct stk__plan *plan;
    struct stk_error *err;
    uint64_t level_count[STK__MAX_LEVELS]; /* passes around the place we are at */
    int n_levels;
    /* the first of those that count: for paths of rows, and for what a stage draws by */
    int first_level, drawn_level;
    const struct stk__node *judge;       /* the last batch, when other ops follow it */
    struct stk__plan *root;              /* the plan whose origins addresses mean */
    const struct stk__stage_plan *given; /* the stage whose elements this plan is opened for */
};

static const struct stk_type no_fields;

static int build_stage(struct planner *p, const struct stk__node *node);
static int build_woven(struct planner *p, const struct stk__node *nest,
                       const struct stk__node *end);

/* ---- small questions about nodes ---- */

static bool is_row_op(const struct stk__node *node)
{
    return node->op->row.run || node->op->flags & STK__OP_FETCH;
}

/* A cache that finds rows by position is part of a segment; another one is a stage. */
static bool is_cache(const struct stk__node *node)
{
    return node->op->flags & STK__OP_CACHE && node->class != STK__STREAM;
}

/* Ops of a segment that leave positions alone. */
static bool is_one_to_one(const struct stk__node *node)
{
    return is_row_op(node) || stk__is_prefetch(node) || is_cache(node);
}

static int push_passes(struct planner *p, const struct stk__node *node)
{
    int64_t count = stk__int_param(node, "count");
    if (p->n_levels == STK__MAX_LEVELS)
        return stk__fail_at(p->err, STK_VALUE, node->at, node->len,
                            "repeat: at most %d inside one another", STK__MAX_LEVELS - 1);
    p->level_count[p->n_levels++] = count < 0 ? UINT64_MAX : (uint64_t)count;
    return STK_OK;
}

/* ---- stages ---- */

static int add_stage(struct planner *p, const struct stk__stage_type *kind,
                     const struct stk__node *node, const struct stk_type *type)
{
    struct stk__plan *plan = p->plan;
    if (plan->n_stages == STK__MAX_STAGES || p->root->n_origins == STK__MAX_ORIGINS)
        return stk__fail_at(p->err, STK_VALUE, node->at, node->len,
                            "the chain needs more than %d stages", STK__MAX_STAGES),
               -1;
    struct stk__stage_plan *s = &plan->stage[plan->n_stages];
    *s = (struct stk__stage_plan){ .kind = kind,
                                   .node = node,
                                   .type = type,
                                   .depth = p->n_levels - 1,
                                   .first_level = p->first_level,
                                   .drawn_level = p->drawn_level };
    memcpy(s->level_count, p->level_count, sizeof s->level_count);
    return plan->n_stages++;
}

static void set_origin(struct planner *p, int stage, const struct stk__program *program,
                       const struct stk__node *source)
{
    struct stk__plan *root = p->root;
    p->plan->stage[stage].is_source = true;
    p->plan->stage[stage].origin = root->n_origins;
    root->origin[root->n_origins++] =
        (struct stk__origin){ program, source, p->plan->stage[stage].opened };
}

static uint64_t pass_count(const struct planner *p, const struct stk__node *node)
{
    int64_t count =
        stk__node_count(node, (int)p->plan->options.rank, (int)p->plan->options.world, NULL);
    return count < 0 ? UINT64_MAX : (uint64_t)count;
}

static int build_choosing(struct planner *p, const struct stk__node *node,
                          const struct stk__program *program)
{
    int s = add_stage(p, &stk__choosing_stage, node, &no_fields);
    if (s < 0)
        return -1;
    stk__node_count(node, (int)p->plan->options.rank, (int)p->plan->options.world,
                    p->plan->stage[s].in_count);
    set_origin(p, s, program, NULL);
    return s;
}

static int build_nesting(struct planner *p, const struct stk__node *node,
                         const struct stk__program *program)
{
    int s = add_stage(p, &stk__nesting_stage, node, &no_fields);
    if (s < 0)
        return -1;
    p->plan->stage[s].nest = program->nest;
    set_origin(p, s, program, NULL);
    return s;
}

/* The serial stages that choose positions of an indexed subtree; row ops on the way run later,
 * in a segment. */
static int build_positions(struct planner *p, const struct stk__node *node,
                           const struct stk__program *program)
{
    if (node->class == STK__INDEXED) {
        int s = add_stage(p, &stk__positions_stage, node, &no_fields);
        if (s < 0)
            return -1;
        p->plan->stage[s].count = pass_count(p, node);
        set_origin(p, s, program, NULL);
        return s;
    }
    if (node->op->choice.wanted)
        return build_choosing(p, node, program);
    if (node->nest)
        return build_nesting(p, node, program);
    int n_levels = p->n_levels, drawn_level = p->drawn_level;
    if (stk__is_passes(node) && push_passes(p, node))
        return -1;
    if (is_cache(node))
        p->drawn_level = p->n_levels;
    int input = build_positions(p, node->input[0], program);
    p->n_levels = n_levels;
    p->drawn_level = drawn_level;
    if (input < 0 || stk__is_passes(node) || is_one_to_one(node))
        return input;
    int s = add_stage(p, &stk__serial_stage, node, &no_fields);
    if (s >= 0) {
        p->plan->stage[s].n_inputs = 1;
        p->plan->stage[s].input[0] = input;
    }
    return s;
}

/* Where the rows of a segment ending in `node` come in: below its row ops, and above the second
 * of two reads that depend on one another. Row ops at the end of chains that are woven run behind
 * that: then `nest` is what weaves them. A filter there decides whose turn it is, and stays. */
static const struct stk__node *segment_base(const struct stk__node *node,
                                            const struct stk__node **nest)
{
    const struct stk__node *read = NULL;
    *nest = NULL;
    for (;; node = node->input[0]) {
        if (stk__is_woven(node) && !*nest && !read) {
            *nest = node;
            continue;
        }
        if (!is_one_to_one(node) || (*nest && node->is_filter))
            break;
        if (!(node->op->flags & STK__OP_FETCH))
            continue;
        if (read)
            return read->input[0];
        read = node;
    }
    return read && stk__subtree_reads(node) ? read->input[0] : node;
}

static bool has_read(const struct stk__node *node, const struct stk__node *base)
{
    bool reads = false;
    for (; node != base && !reads; node = node->input[0])
        reads = node->op->flags & STK__OP_FETCH;
    return reads;
}

/* The stages that choose the positions of a segment. */
static int build_order(struct planner *p, const struct stk__node *node,
                       const struct stk__node *base, const struct stk__program *program)
{
    int drawn_level = p->drawn_level;
    for (; node != base; node = node->input[0])
        if (is_cache(node))
            p->drawn_level = p->n_levels;
    int s = build_positions(p, base, program);
    p->drawn_level = drawn_level;
    return s;
}

static int build_segment(struct planner *p, const struct stk__node *node)
{
    struct stk__plan *plan = p->plan;
    const struct stk__node *nest, *base = segment_base(node, &nest);
    bool is_cut =
        nest || base->class == STK__STREAM || (has_read(node, base) && stk__subtree_reads(base));
    const struct stk__program_options options = { .seed = (uint64_t)plan->options.seed,
                                                  .rank = (int)plan->options.rank,
                                                  .world = (int)plan->options.world,
                                                  .has_keys = plan->has_keys,
                                                  .has_caches = true };
    struct stk__program *program;
    if (stk__program_new(node, is_cut ? base : NULL, &options, &plan->arena, &program, p->err))
        return -1;
    int input = -1;
    if (is_cut)
        input = nest ? build_woven(p, nest, base) : build_stage(p, base);
    else if (base->class == STK__ADDRESSED)
        input = build_order(p, node, base, program);
    if (input < 0 && (is_cut || base->class == STK__ADDRESSED))
        return -1;
    int s = add_stage(p, &stk__segment_stage, node, &node->type);
    if (s < 0)
        return -1;
    plan->stage[s].program = program;
    plan->stage[s].takes_positions = !nest && base->class == STK__ADDRESSED;
    if (input >= 0) {
        plan->stage[s].n_inputs = 1;
        plan->stage[s].input[0] = input;
    } else {
        plan->stage[s].count = pass_count(p, base);
        set_origin(p, s, program, NULL);
    }
    return s;
}

/* The last batch, where bad rows are judged; NULL: they may go further, to what joins or forgives. */
static const struct stk__node *find_judge(const struct stk__node *node)
{
    while (node && !(node->op->flags & STK__OP_BATCH)) {
        bool is_one = node->n_inputs == 1 && !node->nest;
        bool goes_on = (is_one || stk__op_has_source_beside(node->op)) &&
                       !(node->op->flags & STK__OP_FORGIVES);
        node = goes_on ? node->input[0] : NULL;
    }
    return node;
}

static int build_serial(struct planner *p, const struct stk__node *node)
{
    int input[STK_MAX_INPUTS];
    for (int i = 0; i < node->n_inputs; i++)
        if ((input[i] = build_stage(p, node->input[i])) < 0)
            return -1;
    bool is_join = node->op->flags & STK__OP_MULTI || stk__op_has_source_beside(node->op);
    const struct stk__stage_type *kind = node->op->flags & STK__OP_BATCH ? &stk__batching_stage
                                         : node->op->choice.wanted       ? &stk__mixing_stage
                                         : !is_join                      ? &stk__serial_stage
                                         : node->op->order.at            ? &stk__chaining_stage
                                                                         : &stk__zipping_stage;
    int s = add_stage(p, kind, node, &node->type);
    if (s >= 0) {
        p->plan->stage[s].is_judge = node == p->judge;
        p->plan->stage[s].n_inputs = node->n_inputs;
        memcpy(p->plan->stage[s].input, input, sizeof input);
    }
    return s;
}

/* What comes before sees the first of the passes around it. */
static int build_caching(struct planner *p, const struct stk__node *node)
{
    int first_level = p->first_level, drawn_level = p->drawn_level;
    int first_origin = p->plan->n_origins;
    p->first_level = p->drawn_level = p->n_levels;
    int input = build_stage(p, node->input[0]);
    p->first_level = first_level;
    p->drawn_level = drawn_level;
    int s = input < 0 ? -1 : add_stage(p, &stk__caching_stage, node, &node->type);
    if (s >= 0) {
        p->plan->stage[s].first_origin = first_origin;
        p->plan->stage[s].n_inputs = 1;
        p->plan->stage[s].input[0] = input;
    }
    return s;
}

/* The files of an element are named by a field. */
static void open_for_elements(struct stk__stage_plan *s)
{
    const struct stk__node *leaf = s->node;
    const char *field = stk__nest_reference(leaf->op, leaf->params)->item[0];
    s->name_field = stk_type_find(&leaf->input[0]->type, field);
    s->opened = leaf->files;
}

static int build_stream(struct planner *p, const struct stk__node *node)
{
    bool is_given = node->is_opened && node->op->flags & STK__OP_ELEMENT;
    int index =
        add_stage(p, is_given ? &stk__given_stage : &stk__streaming_stage, node, &node->type);
    if (index < 0)
        return -1;
    struct stk__stage_plan *s = &p->plan->stage[index];
    s->may_block = node->op->flags & STK__OP_BLOCKS;
    if (is_given) { /* elements keep their addresses */
        s->is_source = true;
        s->has_trace = p->given->has_trace;
        return index;
    }
    if (node->is_opened)
        open_for_elements(s);
    set_origin(p, index, NULL, node);
    return index;
}

static int build_stage(struct planner *p, const struct stk__node *node)
{
    if (stk__is_prefetch(node))
        return build_stage(p, node->input[0]);
    if (is_row_op(node) || node->class != STK__STREAM)
        return build_segment(p, node);
    if (node->op->source.next || node->is_opened)
        return build_stream(p, node);
    if (stk__is_woven(node)) {
        const struct stk__node *nest, *end = segment_base(node, &nest);
        return end == node->input[0] ? build_woven(p, node, end) : build_segment(p, node);
    }
    if (node->op->flags & STK__OP_CACHE)
        return build_caching(p, node);
    if (!stk__is_passes(node))
        return build_serial(p, node);
    int n_levels = p->n_levels;
    if (push_passes(p, node))
        return -1;
    int s = build_stage(p, node->input[0]);
    p->n_levels = n_levels;
    return s;
}

/* ---- chains that are opened as elements come ---- */

static struct stk__plan *build_inner(struct planner *p, const struct stk__node *end, int outer,
                                     int64_t n_chains)
{
    const struct stk__plan *plan = p->plan;
    struct stk__plan *inner = calloc(1, sizeof *inner);
    if (!inner) {
        stk__out_of_memory(p->err);
        return NULL;
    }
    atomic_init(&inner->refs, 1);
    stk__arena_init(&inner->arena, 1 << 12);
    inner->graph = stk_dataset_ref(plan->graph);
    inner->given = plan->given;
    inner->options = plan->options;
    inner->options.workers = 0;
    inner->options.io_depth = plan->options.io_depth < 4 ? plan->options.io_depth : 4;
    inner->is_inner = true;
    inner->root = p->root;
    inner->has_keys = plan->has_keys;
    inner->batch_rows = 1;
    struct planner q = { .plan = inner,
                         .err = p->err,
                         .n_levels = 1,
                         .level_count = { 1 },
                         .root = p->root,
                         .given = &plan->stage[outer] };
    inner->last = build_stage(&q, end);
    if (inner->last < 0) {
        stk__plan_unref(inner);
        return NULL;
    }
    stk__plan_size_inner(inner, n_chains);
    return inner;
}

/* Being ahead of the turn pays where rows are waited for, or are work. */
static bool is_slow(const struct stk__plan *inner)
{
    bool is_slow = false;
    for (int i = 0; i < inner->n_stages; i++) {
        const struct stk__stage_plan *s = &inner->stage[i];
        is_slow |= s->kind->is_stream || s->reads_ahead ||
                   (s->program && (s->program->is_heavy || s->program->n_reads));
    }
    return is_slow;
}

static bool may_block(const struct stk__plan *inner)
{
    bool may_block = false;
    for (int i = 0; i < inner->n_stages; i++)
        may_block |= inner->stage[i].may_block;
    return may_block;
}

/* `end`: the node of the chain whose rows are woven; what follows it there runs behind. */
static int build_woven(struct planner *p, const struct stk__node *nest, const struct stk__node *end)
{
    const struct stk__node *before = stk__nest_outer(nest);
    const struct stk__nesting *nesting = nest->state;
    int outer = build_stage(p, before);
    if (outer < 0)
        return -1;
    stk__plan_set_trace(p->plan);
    uint64_t n_elements = pass_count(p, before), most = (uint64_t)nesting->cycle_length;
    int64_t n_chains = (int64_t)(n_elements < 1 ? 1 : n_elements < most ? n_elements : most);
    struct stk__plan *inner = build_inner(p, end, outer, n_chains);
    int index = inner ? add_stage(p, &stk__weaving_stage, nest, &end->type) : -1;
    if (index < 0) {
        if (inner)
            stk__plan_unref(inner);
        return -1;
    }
    struct stk__stage_plan *s = &p->plan->stage[index];
    s->n_inputs = 1;
    s->input[0] = outer;
    s->inner = inner;
    s->n_chains = n_chains;
    s->is_endless = stk__node_count(before, (int)p->plan->options.rank, (int)p->plan->options.world,
                                    NULL) == STK_INFINITE_COUNT;
    s->reads_ahead = is_slow(inner);
    s->may_block = may_block(inner);
    return index;
}

/* ---- the trunk ---- */

static const struct stk__node *final_batch(const struct stk__node *root)
{
    while (stk__is_prefetch(root) || stk__is_passes(root) || stk__is_gate(root))
        root = root->input[0];
    if (!(root->op->flags & STK__OP_BATCH) || root->op->flags & STK__OP_GROUPS)
        return NULL;
    return ((const struct stk__grouping *)root->state)->n_sizes ? NULL : root;
}

static int add_gate(struct planner *p, const struct stk__node *node)
{
    struct stk__plan *plan = p->plan;
    if (plan->n_gates == STK__MAX_GATES)
        return stk__fail_at(p->err, STK_VALUE, node->at, node->len,
                            "%s: at most %d such ops after batch", node->op->decl.name,
                            STK__MAX_GATES);
    memmove(plan->gate + 1, plan->gate, sizeof *plan->gate * (size_t)plan->n_gates++);
    plan->gate[0] = (struct stk__gate_plan){ node, p->n_levels - 1 };
    return STK_OK;
}

const struct stk__node *stk__first_of_class(const struct stk__node *node, enum stk__op_class class)
{
    for (int i = 0; i < node->n_inputs && !stk__is_woven(node);) {
        bool is_it = node->input[i]->class >= class;
        node = is_it ? node->input[i] : node;
        i = is_it ? 0 : i + 1;
    }
    return node;
}

static int refuse_replace(struct planner *p, const struct stk__node *node)
{
    node = stk__first_of_class(node, STK__STREAM);
    return stk__fail_at(
        p->err, STK_VALUE, node->at, node->len,
        "%s: on_error=replace needs data that can be read at random, and this makes a stream (%s); "
        "use on_error=skip",
        node->op->decl.name, node->why);
}

/* The op whose choices could not be made again for another element, or NULL. */
static const struct stk__node *find_choice(const struct stk__node *node)
{
    while (node->class == STK__ADDRESSED && !node->op->choice.wanted && !node->nest)
        node = node->input[0];
    return node->class == STK__ADDRESSED ? node : NULL;
}

static int build_trunk(struct planner *p)
{
    struct stk__plan *plan = p->plan;
    const struct stk__node *node = plan->graph->root;
    plan->batch = final_batch(node);
    plan->batch_rows = 1;
    for (; plan->batch && node != plan->batch; node = node->input[0]) {
        int rc = stk__is_passes(node) ? push_passes(p, node)
                 : stk__is_gate(node) ? add_gate(p, node)
                                      : STK_OK;
        if (rc)
            return rc;
    }
    plan->depth = p->n_levels - 1;
    if (plan->batch) {
        const struct stk__grouping *grouping = plan->batch->state;
        plan->batch_rows = grouping->size;
        plan->drops_remainder = grouping->drops_remainder;
        plan->is_bounded = grouping->is_bounded;
        memcpy(plan->gather, grouping->gather, sizeof plan->gather);
        node = plan->batch->input[0];
    }
    p->judge = plan->batch ? NULL : find_judge(node);
    if (p->judge && plan->options.on_error == STK__REPLACE)
        return stk__fail_at(p->err, STK_VALUE, p->judge->at, p->judge->len,
                            "%s: on_error=replace needs batch to be the last op",
                            p->judge->op->decl.name);
    if (node->class == STK__STREAM && plan->options.on_error == STK__REPLACE)
        return refuse_replace(p, node);
    if (plan->options.on_error == STK__REPLACE && find_choice(node))
        return stk__fail_at(p->err, STK_VALUE, find_choice(node)->at, find_choice(node)->len,
                            "%s: on_error=replace cannot choose again; use on_error=skip",
                            find_choice(node)->op->decl.name);
    plan->last = build_stage(p, node);
    for (int f = 0; !plan->batch && f < node->type.n_fields; f++)
        plan->gather[f] = stk__gather_of(&node->type.field[f]);
    return plan->last < 0 ? (p->err && p->err->code ? p->err->code : STK_MEMORY) : STK_OK;
}

int stk__plan_stages(struct stk__plan *plan, struct stk_error *err)
{
    struct planner p = { .plan = plan,
                         .root = plan,
                         .err = err,
                         .n_levels = 1,
                         .level_count = { (uint64_t)stk__options_end_epoch(&plan->options) } };
    return build_trunk(&p);
}
