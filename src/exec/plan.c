/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: from graph to stages, and how large everything is. */
#include "exec/plan.h"

#include "base/error.h"
#include "base/hash.h"
#include "graph/cache_key.h"
#include "graph/nest.h"
#include "graph/opened.h"
#include "op/nesting.h"

#include <stdio.h>
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
    return node->op->row.run || node->op->flags & STK_OP_FETCH;
}

static bool is_prefetch(const struct stk__node *node)
{
    return node->op->flags & STK_OP_PREFETCH;
}

/* A cache that finds rows by position is part of a segment; another one is a stage. */
static bool is_cache(const struct stk__node *node)
{
    return node->op->flags & STK_OP_CACHE && node->class != STK_STREAM;
}

/* Ops of a segment that leave positions alone. */
static bool is_one_to_one(const struct stk__node *node)
{
    return is_row_op(node) || is_prefetch(node) || is_cache(node);
}

static bool is_passes(const struct stk__node *node)
{
    return node->op->flags & STK_OP_REPEAT && !node->is_order;
}

static int64_t int_param(const struct stk__node *node, const char *name)
{
    return *(const int64_t *)stk__node_param(node, name);
}

static int push_passes(struct planner *p, const struct stk__node *node)
{
    int64_t count = int_param(node, "count");
    if (p->n_levels == STK__MAX_LEVELS)
        return stk__fail_at(p->err, STK_VALUE, node->at, node->len,
                            "repeat: at most %d inside one another", STK__MAX_LEVELS - 1);
    p->level_count[p->n_levels++] = count < 0 ? UINT64_MAX : (uint64_t)count;
    return STK_OK;
}

/* ---- stages ---- */

static int add_stage(struct planner *p, enum stk__stage_kind kind, const struct stk__node *node,
                     const struct stk_type *type)
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
    int s = add_stage(p, STK__CHOOSING, node, &no_fields);
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
    int s = add_stage(p, STK__NESTING, node, &no_fields);
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
    if (node->class == STK_INDEXED) {
        int s = add_stage(p, STK__POSITIONS, node, &no_fields);
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
    if (is_passes(node) && push_passes(p, node))
        return -1;
    if (is_cache(node))
        p->drawn_level = p->n_levels;
    int input = build_positions(p, node->input[0], program);
    p->n_levels = n_levels;
    p->drawn_level = drawn_level;
    if (input < 0 || is_passes(node) || is_one_to_one(node))
        return input;
    int s = add_stage(p, STK__SERIAL, node, &no_fields);
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
        bool is_filter = node->op->flags & STK_OP_FILTER;
        if (!is_one_to_one(node) || (*nest && is_filter))
            break;
        if (!(node->op->flags & STK_OP_FETCH))
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
        reads = node->op->flags & STK_OP_FETCH;
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
        nest || base->class == STK_STREAM || (has_read(node, base) && stk__subtree_reads(base));
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
    else if (base->class == STK_ADDRESSED)
        input = build_order(p, node, base, program);
    if (input < 0 && (is_cut || base->class == STK_ADDRESSED))
        return -1;
    int s = add_stage(p, STK__SEGMENT, node, &node->type);
    if (s < 0)
        return -1;
    plan->stage[s].program = program;
    plan->stage[s].takes_positions = !nest && base->class == STK_ADDRESSED;
    if (input >= 0) {
        plan->stage[s].n_inputs = 1;
        plan->stage[s].input[0] = input;
    } else {
        plan->stage[s].count = pass_count(p, base);
        set_origin(p, s, program, NULL);
    }
    return s;
}

static int build_serial(struct planner *p, const struct stk__node *node)
{
    int input[STK_MAX_INPUTS];
    for (int i = 0; i < node->n_inputs; i++)
        if ((input[i] = build_stage(p, node->input[i])) < 0)
            return -1;
    bool is_join = node->op->flags & STK_OP_MULTI || node->op->beside;
    enum stk__stage_kind kind = node->op->flags & STK_OP_BATCH ? STK__BATCHING
                                : node->op->choice.wanted      ? STK__MIXING
                                : !is_join                     ? STK__SERIAL
                                : node->op->order.at           ? STK__CHAINING
                                                               : STK__ZIPPING;
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
    int s = input < 0 ? -1 : add_stage(p, STK__CACHING, node, &node->type);
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
    bool is_given = node->is_opened && node->op->flags & STK_OP_ELEMENT;
    int index = add_stage(p, is_given ? STK__GIVEN : STK__STREAMING, node, &node->type);
    if (index < 0)
        return -1;
    struct stk__stage_plan *s = &p->plan->stage[index];
    s->may_block = node->op->flags & STK_OP_BLOCKS;
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
    if (is_prefetch(node))
        return build_stage(p, node->input[0]);
    if (is_row_op(node) || node->class != STK_STREAM)
        return build_segment(p, node);
    if (node->op->source.next || node->is_opened)
        return build_stream(p, node);
    if (stk__is_woven(node)) {
        const struct stk__node *nest, *end = segment_base(node, &nest);
        return end == node->input[0] ? build_woven(p, node, end) : build_segment(p, node);
    }
    if (node->op->flags & STK_OP_CACHE)
        return build_caching(p, node);
    if (!is_passes(node))
        return build_serial(p, node);
    int n_levels = p->n_levels;
    if (push_passes(p, node))
        return -1;
    int s = build_stage(p, node->input[0]);
    p->n_levels = n_levels;
    return s;
}

/* ---- the trunk: what only lets batches pass above the last batch belongs to the batcher ---- */

static bool is_gate(const struct stk__node *node)
{
    return node->op->flags & STK_OP_ADDRESSES && !node->is_order && node->op->serial.step &&
           !node->op->serial.held_rows;
}

static const struct stk__node *final_batch(const struct stk__node *root)
{
    while (is_prefetch(root) || is_passes(root) || is_gate(root))
        root = root->input[0];
    if (!(root->op->flags & STK_OP_BATCH) || root->op->flags & STK_OP_GROUPS)
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

/* The op that first made more than positions are needed for: of this class or worse. */
static const struct stk__node *first_of_class(const struct stk__node *node, enum stk_class class)
{
    for (int i = 0; i < node->n_inputs;) {
        bool is_it = node->input[i]->class >= class;
        node = is_it ? node->input[i] : node;
        i = is_it ? 0 : i + 1;
    }
    return node;
}

static int refuse_replace(struct planner *p, const struct stk__node *node)
{
    node = first_of_class(node, STK_STREAM);
    return stk__fail_at(
        p->err, STK_VALUE, node->at, node->len,
        "%s: on_error=replace needs data that can be read at random, and this makes a stream (%s); "
        "use on_error=skip",
        node->op->decl.name, node->why);
}

/* The op whose choices could not be made again for another element, or NULL. */
static const struct stk__node *find_choice(const struct stk__node *node)
{
    while (node->class == STK_ADDRESSED && !node->op->choice.wanted && !node->nest)
        node = node->input[0];
    return node->class == STK_ADDRESSED ? node : NULL;
}

static int build_trunk(struct planner *p)
{
    struct stk__plan *plan = p->plan;
    const struct stk__node *node = plan->graph->root;
    plan->batch = final_batch(node);
    plan->batch_rows = 1;
    for (; plan->batch && node != plan->batch; node = node->input[0]) {
        int rc = is_passes(node) ? push_passes(p, node)
                 : is_gate(node) ? add_gate(p, node)
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
    for (p->judge = plan->batch ? NULL : node; p->judge && !(p->judge->op->flags & STK_OP_BATCH);) {
        bool is_one = p->judge->n_inputs == 1 && !p->judge->nest;
        p->judge = is_one || p->judge->op->beside ? p->judge->input[0] : NULL;
    }
    if (p->judge && plan->options.on_error == STK__REPLACE)
        return stk__fail_at(p->err, STK_VALUE, p->judge->at, p->judge->len,
                            "%s: on_error=replace needs batch to be the last op",
                            p->judge->op->decl.name);
    if (node->class == STK_STREAM && plan->options.on_error == STK__REPLACE)
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

static void decide_direct(struct stk__plan *plan)
{
    const struct stk__stage_plan *last = &plan->stage[plan->last];
    plan->why_staged = NULL;
    if (last->kind != STK__SEGMENT)
        plan->why_staged = "a serial stage comes last";
    else if (last->program->has_filter)
        plan->why_staged = "a filter leaves holes";
    for (int f = 0; f < last->type->n_fields && !plan->why_staged; f++)
        if (last->type->field[f].kind != STK_FIXED)
            plan->why_staged = "a field differs in shape between rows";
    plan->is_direct = !plan->why_staged;
}

/* ---- sizes ---- */

int stk__stage_parts(const struct stk__plan *plan, const struct stk__stage_plan *stage)
{
    return (plan->has_keys ? STK__KEYS : 0) | (stage->has_trace ? STK__TRACE : 0);
}

/* Stages come after their inputs. */
static void set_trace(struct stk__plan *plan)
{
    for (int i = 0; i < plan->n_stages; i++) {
        struct stk__stage_plan *s = &plan->stage[i];
        bool keeps = s->n_inputs && !(s->node->op->flags & STK_OP_EXPANDS);
        if (s->kind == STK__GIVEN)
            continue;
        if (s->kind == STK__WEAVING) {
            s->has_trace = s->inner->stage[s->inner->last].has_trace;
            continue;
        }
        int input = s->kind == STK__MIXING ? s->n_inputs - 1 : 0; /* the first may only choose */
        s->has_trace =
            s->kind == STK__BATCHING || (keeps && plan->stage[s->input[input]].has_trace);
    }
}

static int add_kept(struct stk__plan *plan, struct stk__kept *kept, struct stk_error *err)
{
    if (plan->n_kept == STK__MAX_CACHES)
        return stk_fail(err, STK_VALUE, "cache: at most %d are possible", STK__MAX_CACHES);
    plan->kept[plan->n_kept++] = kept;
    return STK_OK;
}

/* A segment that makes a row of each it takes need not make those that the cache behind it has. */
static int open_cache(struct stk__plan *plan, struct stk__stage_plan *s, struct stk_error *err)
{
    const struct stk__cache_way way = { .seed = (uint64_t)plan->options.seed,
                                        .rank = (int)plan->options.rank,
                                        .world = (int)plan->options.world,
                                        .type = s->type,
                                        .behind = s->node->input[0]->ordinal,
                                        .origin = s->first_origin,
                                        .parts = stk__stage_parts(plan, s) };
    struct stk__stage_plan *in = &plan->stage[s->input[0]];
    int rc = stk__cache_open(s->node, &way, &s->kept, err);
    if (in->kind == STK__SEGMENT && !in->is_source && !in->program->has_filter) {
        in->kept = s->kept;
        in->kept_depth = s->depth;
    }
    return rc ? rc : add_kept(plan, s->kept, err);
}

/* What caches of the run keep. */
static int find_caches(struct stk__plan *plan, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < plan->n_stages && !rc; i++) {
        struct stk__stage_plan *s = &plan->stage[i];
        if (s->kind == STK__CACHING)
            rc = open_cache(plan, s, err);
        for (int k = 0; s->program && k < s->program->n_kept && !rc; k++)
            rc = add_kept(plan, s->program->kept[k], err);
    }
    return rc;
}

/* What counts or keeps rows begins anew with each of its passes. */
static void set_restart(struct stk__plan *plan)
{
    plan->restart_level = STK__MAX_LEVELS - 1;
    for (int i = 0; i < plan->n_stages; i++) {
        const struct stk__stage_plan *s = &plan->stage[i];
        bool has_state = s->kind != STK__SEGMENT || s->is_source;
        if (has_state && s->depth < plan->restart_level)
            plan->restart_level = s->depth;
    }
}

/* Rows that are not fixed show their size only when they are there; until then: a file or an
 * image, or a string. */
static size_t row_bytes(const struct stk_type *type, bool is_heavy, size_t small)
{
    const size_t large = 1 << 16;
    size_t bytes = 0;
    for (int f = 0; f < type->n_fields; f++) {
        const struct stk_field *field = &type->field[f];
        bool is_large = is_heavy || field->kind == STK_SHAPED;
        bytes += field->kind == STK_FIXED ? stk_field_bytes(field) : is_large ? large : small;
    }
    return bytes;
}

/* What a string of the stage's rows takes: as much as all of its row where that is known. */
static size_t small_bytes(const struct stk__stage_plan *s)
{
    const size_t usual = 256;
    size_t located = s->kind == STK__SEGMENT ? s->program->located_bytes : 0;
    return located ? located : usual;
}

/* Rows that wait to become one element, or, of windows, twice as many: they are moved rarely. */
static uint64_t grouped_rows(const struct stk__grouping *g)
{
    double rows = 0;
    uint64_t span = (uint64_t)stk__grouping_span(g);
    for (int i = 0; g->by == STK__BY_LENGTH && i <= g->n_boundaries; i++)
        rows += g->bucket_size[i];
    return rows > 0 ? (uint64_t)rows : g->shift < (int64_t)span ? 2 * span : span;
}

/* Rows a serial op keeps: what it asks for, but never more than its input has. */
static size_t held_rows(const struct stk__stage_plan *s)
{
    const struct stk__node *node = s->node;
    uint64_t rows = s->kind == STK__BATCHING     ? grouped_rows(node->state)
                    : node->op->serial.held_rows ? node->op->serial.held_rows(node->state)
                                                 : 0;
    int64_t there = node->input[0]->count;
    return there >= 0 && rows > (uint64_t)there ? (size_t)there : rows;
}

/* Rows that one of a stage's is made of. */
static size_t rows_of_one(const struct stk__stage_plan *s)
{
    const struct stk__grouping *g = s->kind == STK__BATCHING ? s->node->state : NULL;
    double rows = g ? (double)g->size : 1;
    for (int i = 0; g && g->by == STK__BY_LENGTH && i <= g->n_boundaries; i++)
        rows = g->bucket_size[i] > rows ? g->bucket_size[i] : rows;
    int64_t there = g ? s->node->input[0]->count : -1;
    return there >= 0 && rows > (double)there ? (size_t)there : (size_t)rows;
}

/* Rows that are files or images, as far as anybody can tell. */
static bool is_large(const struct stk__stage_plan *s)
{
    const size_t most_small = 4096;
    if (s->kind != STK__SEGMENT)
        return false;
    size_t located = s->program->located_bytes;
    return s->program->is_heavy || (s->program->n_reads && (!located || located > most_small));
}

/* What one row of a stage takes; an element made of rows as much as those. */
static size_t stage_row_bytes(const struct stk__plan *plan, const struct stk__stage_plan *s,
                              bool is_heavy)
{
    if (s->kind != STK__BATCHING)
        return row_bytes(s->type, is_heavy, small_bytes(s));
    const struct stk__stage_plan *in = &plan->stage[s->input[0]];
    return rows_of_one(s) *
           (row_bytes(in->type, is_large(in), small_bytes(in)) + sizeof(struct stk_address));
}

/* One where a row is work enough; a few where it is only read, so that requests are asked for
 * together; else as many as stay in the first-level cache. */
static int ticket_rows(const struct stk__plan *plan, const struct stk__stage_plan *s)
{
    /* chains may be open by the hundred */
    const size_t chunk_bytes = plan->is_inner ? 1 << 13 : 1 << 15, read_bytes = 1 << 17;
    /* functions of the caller may be slow, and a lock that is taken for 64 rows costs little */
    const size_t most = s->kind == STK__SEGMENT && s->program->exclusive ? 64 : 1024;
    if (s->kind == STK__SEGMENT && s->program->is_heavy)
        return 1;
    size_t rows = chunk_bytes / (stage_row_bytes(plan, s, false) + sizeof(struct stk_address));
    size_t located = s->kind == STK__SEGMENT ? s->program->located_bytes : 0;
    if (located)
        rows = rows < read_bytes / located ? rows : read_bytes / located;
    else if (s->kind == STK__SEGMENT && s->program->n_reads)
        rows = plan->options.is_depth_auto ? 4 : (size_t)plan->options.io_depth / 8;
    rows = rows < 1 ? 1 : rows > most ? most : rows;
    bool is_cut =
        plan->is_direct && s == &plan->stage[plan->last] && rows > (uint64_t)plan->batch_rows;
    return is_cut ? (int)plan->batch_rows : (int)rows;
}

static bool keeps_rows(const struct stk__stage_plan *s)
{
    return s->kind == STK__BATCHING || (s->kind == STK__SERIAL && s->node->op->serial.held_rows);
}

/* What a stage keeps of its input. */
static size_t held_bytes(const struct stk__plan *plan, const struct stk__stage_plan *s)
{
    if (s->kind == STK__WEAVING) {
        const struct stk__stage_plan *outer = &plan->stage[s->input[0]];
        size_t element = stk__chunk_bytes(outer->type, 1, stk__stage_parts(plan, outer));
        return (size_t)s->n_chains * ((size_t)s->inner->options.memory + element);
    }
    if (!keeps_rows(s))
        return 0;
    const struct stk__stage_plan *in = &plan->stage[s->input[0]];
    size_t row = row_bytes(in->type, false, small_bytes(in)) + sizeof(struct stk_address) + 1;
    return stk__chunk_bytes(in->type, 1, stk__stage_parts(plan, in)) + row * s->held_rows;
}

static void size_stages(struct stk__plan *plan)
{
    for (int i = 0; i < plan->n_stages; i++) {
        struct stk__stage_plan *s = &plan->stage[i];
        s->ticket_rows = ticket_rows(plan, s);
        size_t variable = stage_row_bytes(plan, s, is_large(s)) * (size_t)s->ticket_rows;
        s->unit_bytes =
            stk__chunk_bytes(s->type, s->ticket_rows, stk__stage_parts(plan, s)) + variable;
        s->held_rows = keeps_rows(s) ? held_rows(s) : 0;
        s->held_bytes = held_bytes(plan, s);
    }
    const struct stk__stage_plan *last = &plan->stage[plan->last];
    plan->batch_bytes =
        row_bytes(last->type, is_large(last), small_bytes(last)) * (size_t)plan->batch_rows +
        (sizeof(struct stk_address) + 1) * (size_t)plan->batch_rows + 4096;
}

static int64_t prefetch_window(const struct stk__node *node)
{
    for (; is_prefetch(node) || is_passes(node) || is_gate(node); node = node->input[0])
        if (is_prefetch(node) && int_param(node, "buffer_size") > 0)
            return int_param(node, "buffer_size");
    return STK_AUTO;
}

/* How many batches fit in so many bytes, within bounds. */
static int64_t fit_batches(const struct stk__plan *plan, size_t bytes, int64_t least, int64_t most)
{
    int64_t fit = (int64_t)(bytes / (plan->batch_bytes + 1));
    return fit < least ? least : fit > most ? most : fit;
}

static void size_window(struct stk__plan *plan)
{
    const size_t window_bytes = (size_t)48 << 20;
    int64_t window = plan->options.window;
    if (window == STK_AUTO)
        window = prefetch_window(plan->graph->root);
    plan->is_window_given = window != STK_AUTO;
    if (!plan->is_window_given)
        window = fit_batches(plan, window_bytes, 2, 16);
    plan->window = plan->max_window = (int)(window > 4096 ? 4096 : window);
    if (!plan->is_window_given)
        plan->max_window = (int)fit_batches(plan, (size_t)plan->options.memory / 4, window, 64);
    int64_t in_flight = 2 * plan->options.io_depth + 2 * plan->options.workers;
    plan->ring = in_flight < 16 ? 16 : in_flight > 1024 ? 1024 : (int)in_flight;
}

/* What is missing, and which op keeps most of it. */
static int fail_budget(const struct stk__plan *plan, const struct stk__stage_plan *keeper,
                       struct stk_error *err)
{
    struct stk__text text = { 0 };
    bool is_much = keeper->held_bytes > plan->minimum_bytes / 2;
    if (plan->index_bytes > plan->minimum_bytes / 2)
        stk__text_add(&text, "; lists of files and indices take %zu of them", plan->index_bytes);
    if (is_much)
        stk__text_add(&text, "; %s keeps %zu of them", keeper->node->op->decl.name,
                      keeper->held_bytes);
    int rc = stk__fail_at(err, STK_BUDGET, is_much ? keeper->node->at : 0,
                          is_much ? keeper->node->len : 0,
                          "memory: this chain needs at least %zu bytes (one batch is %zu), but the "
                          "budget is %lld%s",
                          plan->minimum_bytes, plan->batch_bytes, (long long)plan->options.memory,
                          text.data ? text.data : "");
    stk__text_free(&text);
    return rc;
}

/* One unit of every account. */
static size_t stages_bytes(const struct stk__plan *plan)
{
    size_t least = 0;
    for (int i = 0; i < plan->n_stages; i++) {
        const struct stk__stage_plan *s = &plan->stage[i];
        least += s->unit_bytes + s->held_bytes;
        if (s->program && s->program->n_reads)
            least += 1 << 16;
    }
    return least;
}

size_t stk__stage_scratch(const struct stk__stage_plan *s)
{
    const size_t head = 512; /* of a block */
    return s->program
               ? s->program->scratch_bytes * (size_t)s->ticket_rows + STK__SCRATCH_BLOCK + head
               : 0;
}

/* Of one ticket, whichever stage it is of. */
static void size_scratch(struct stk__plan *plan)
{
    for (int i = 0; i < plan->n_stages; i++) {
        size_t bytes = stk__stage_scratch(&plan->stage[i]);
        plan->scratch_bytes = bytes > plan->scratch_bytes ? bytes : plan->scratch_bytes;
    }
}

static int check_budget(struct stk__plan *plan, struct stk_error *err)
{
    size_scratch(plan);
    size_t least = plan->batch_bytes + plan->scratch_bytes + stages_bytes(plan);
    plan->index_bytes = stk__graph_bytes(plan->graph);
    if (plan->has_own_budget)
        least += plan->index_bytes;
    const struct stk__stage_plan *keeper = plan->stage;
    for (int i = 0; i < plan->n_stages; i++)
        keeper = plan->stage[i].held_bytes > keeper->held_bytes ? &plan->stage[i] : keeper;
    plan->minimum_bytes = least;
    return least > (uint64_t)plan->options.memory ? fail_budget(plan, keeper, err) : STK_OK;
}

size_t stk__plan_least(const struct stk__plan *plan)
{
    return plan->minimum_bytes + (plan->has_own_budget ? 0 : plan->index_bytes);
}

/* Ops that keep what they have seen share half of what the others leave. */
static void size_kept(struct stk__plan *plan)
{
    size_t n = 0;
    for (int i = 0; i < plan->n_stages; i++)
        n += plan->stage[i].kind == STK__SERIAL && plan->stage[i].node->op->serial.keeps_more;
    for (int i = 0; i < plan->n_stages; i++)
        if (plan->stage[i].kind == STK__SERIAL && plan->stage[i].node->op->serial.keeps_more)
            plan->stage[i].kept_bytes =
                ((size_t)plan->options.memory - plan->minimum_bytes) / 2 / n;
}

/* Caches get what is left when the window is full and every worker has a chunk of each stage. */
static void size_cache(struct stk__plan *plan)
{
    double wanted = (double)plan->minimum_bytes + (double)plan->batch_bytes * plan->window;
    double n_chunks = 2 + 2 * (double)plan->options.workers;
    for (int i = 0; i < plan->n_stages; i++) {
        const struct stk__stage_plan *s = &plan->stage[i];
        wanted += n_chunks * (double)s->unit_bytes + (double)s->kept_bytes;
        if (s->program && s->program->n_reads)
            wanted += (double)plan->options.io_depth * 65536;
    }
    double left = (double)plan->options.memory - wanted;
    plan->cache_bytes = left > 0 ? (size_t)left : 0;
}

static int check_rank(const struct stk__options *options, struct stk_error *err)
{
    if (options->rank < options->world)
        return STK_OK;
    return stk_fail(err, STK_VALUE,
                    "rank: there is no rank %lld in a world of %lld; ranks count from 0",
                    (long long)options->rank, (long long)options->world);
}

/* What a cache keeps has keys, so that all datasets that share it can use it. */
static bool has_cache(const struct stk_dataset *graph)
{
    for (int i = 0; i < graph->n_used; i++)
        if (graph->node[i]->op->flags & STK_OP_CACHE)
            return true;
    return false;
}

/* ---- chains that are opened as elements come ---- */

/* Of its stages each has one unit, and the last one another, so that it can be ahead. */
static void size_inner(struct stk__plan *inner)
{
    set_trace(inner);
    size_stages(inner);
    inner->window = 1;
    inner->ring = 8;
    inner->minimum_bytes = stages_bytes(inner);
    inner->options.memory = (int64_t)(inner->minimum_bytes + inner->stage[inner->last].unit_bytes);
}

static struct stk__plan *build_inner(struct planner *p, const struct stk__node *end, int outer)
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
    size_inner(inner);
    return inner;
}

/* Being ahead of the turn pays where rows are waited for, or are work. */
static bool is_slow(const struct stk__plan *inner)
{
    bool is_slow = false;
    for (int i = 0; i < inner->n_stages; i++) {
        const struct stk__stage_plan *s = &inner->stage[i];
        is_slow |= s->kind == STK__STREAMING || s->reads_ahead ||
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
    set_trace(p->plan);
    struct stk__plan *inner = build_inner(p, end, outer);
    int index = inner ? add_stage(p, STK__WEAVING, nest, &end->type) : -1;
    if (index < 0) {
        if (inner)
            stk__plan_unref(inner);
        return -1;
    }
    uint64_t n_elements = pass_count(p, before), most = (uint64_t)nesting->cycle_length;
    struct stk__stage_plan *s = &p->plan->stage[index];
    s->n_inputs = 1;
    s->input[0] = outer;
    s->inner = inner;
    s->n_chains = (int64_t)(n_elements < 1 ? 1 : n_elements < most ? n_elements : most);
    s->is_endless = stk__node_count(before, (int)p->plan->options.rank, (int)p->plan->options.world,
                                    NULL) == STK_INFINITE_COUNT;
    s->reads_ahead = is_slow(inner);
    s->may_block = may_block(inner);
    return index;
}

/* ---- birth and death ---- */

int stk__plan_new(struct stk_dataset *graph, const struct stk__options *options,
                  struct stk__plan **out, struct stk_error *err)
{
    struct stk__plan *plan = calloc(1, sizeof *plan);
    struct stk_error local = { 0 };
    if (!plan)
        return stk__out_of_memory(err);
    atomic_init(&plan->refs, 1);
    stk__arena_init(&plan->arena, 1 << 14);
    plan->graph = graph;
    stk_dataset_ref(graph);
    plan->given = plan->options = *options;
    plan->has_own_budget = options->memory != STK_AUTO;
    plan->is_workers_given = options->workers != STK_AUTO;
    stk__options_resolve(&plan->options);
    plan->has_keys = stk__subtree_is_random(graph->root) || has_cache(graph) ||
                     plan->options.on_error == STK__REPLACE;
    struct planner p = { .plan = plan,
                         .root = plan,
                         .err = &local,
                         .n_levels = 1,
                         .level_count = { (uint64_t)stk__options_end_epoch(&plan->options) } };
    int rc = stk__options_resolve_world(&plan->options, &local);
    if (!rc)
        rc = check_rank(&plan->options, &local);
    if (!rc)
        rc = build_trunk(&p);
    if (!rc) {
        decide_direct(plan);
        set_trace(plan);
        rc = find_caches(plan, &local);
    }
    if (!rc) {
        set_restart(plan);
        size_stages(plan);
        size_window(plan);
        rc = check_budget(plan, &local);
    }
    if (!rc) {
        size_kept(plan);
        size_cache(plan);
    }
    if (rc) {
        if (err)
            *err = local;
        stk__plan_unref(plan);
        return rc;
    }
    *out = plan;
    return STK_OK;
}

/* The number of the batch that comes out of the gates as number `index`. */
static uint64_t behind_gates(const struct stk__plan *plan, int64_t index)
{
    uint64_t position = (uint64_t)index, path = 0;
    for (int i = plan->n_gates; i-- > 0;) {
        const struct stk__node *node = plan->gate[i].node;
        const struct stk_order_run run = { .params = node->params,
                                           .state = node->state,
                                           .n_inputs = 1,
                                           .in_count = &node->input[0]->count,
                                           .rank = (int)plan->options.rank,
                                           .world = (int)plan->options.world };
        uint8_t input = 0;
        node->op->order.at(&run, 1, &position, &path, &input);
    }
    return position;
}

static int refuse_narrow(const struct stk__node *rows, struct stk_error *err)
{
    if (rows->class == STK_INDEXED)
        return stk_fail(err, STK_TYPE,
                        "elements cannot be reached by number behind a repeat of batches");
    const struct stk__node *node = first_of_class(rows, STK_ADDRESSED);
    return stk__fail_at(err, STK_TYPE, node->at, node->len,
                        "%s: elements cannot be reached by number from here on: %s",
                        node->op->decl.name, node->why);
}

int stk__plan_narrow(struct stk__plan *plan, int64_t index, struct stk_error *err)
{
    const struct stk__node *rows_of = plan->batch ? plan->batch->input[0] : plan->graph->root;
    struct stk__stage_plan *only =
        &plan->stage[0]; /* positions that are counted through, in one segment */
    if (rows_of->class != STK_INDEXED || plan->depth)
        return refuse_narrow(rows_of, err);
    int64_t n =
        stk__node_count(plan->graph->root, (int)plan->options.rank, (int)plan->options.world, NULL);
    if (index < 0 || (n >= 0 && index >= n))
        return stk_fail(err, STK_VALUE, "there is no element %lld: they count from 0 to %lld",
                        (long long)index, (long long)n - 1);
    uint64_t rows = (uint64_t)plan->batch_rows;
    only->first = behind_gates(plan, index) * rows;
    only->count = only->count - only->first < rows ? only->count : only->first + rows;
    plan->n_gates = 0;
    return STK_OK;
}

struct stk__plan *stk__plan_ref(struct stk__plan *plan)
{
    atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    return plan;
}

void stk__plan_unref(struct stk__plan *plan)
{
    if (atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (int i = 0; i < plan->n_stages; i++)
        if (plan->stage[i].inner)
            stk__plan_unref(plan->stage[i].inner);
    stk__arena_free(&plan->arena);
    stk_dataset_unref(plan->graph);
    free(plan);
}

void stk__plan_describe(const struct stk__plan *plan, struct stk_address address, char *text,
                        size_t size)
{
    if (address.where == STK__NO_WHERE) {
        snprintf(text, size, "no element");
        return;
    }
    const struct stk__origin *origin = &plan->origin[stk__where_origin(address.where)];
    uint64_t index = stk__where_position(address.where);
    const struct stk__node *source = origin->source;
    if (origin->opened) {
        stk__opened_describe(origin->opened, index, text, size);
        return;
    }
    if (origin->program)
        source = stk__eval_locate(origin->program, index, address.path, &index);
    if (source->op->source.describe)
        source->op->source.describe(source->state, index, text, size);
    else
        snprintf(text, size, "%s element %llu", source->op->decl.name, (unsigned long long)index);
}
