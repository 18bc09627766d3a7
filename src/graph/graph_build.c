/* SPDX-License-Identifier: Apache-2.0 */
/* graph_build.c: from parsed calls to nodes: parameters, types, counts, classes. */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory/purse.h"
#include "base/type.h"
#include "graph/cache_key.h"
#include "graph/choices.h"
#include "graph/class_names.h"
#include "graph/classify.h"
#include "graph/graph.h"
#include "graph/nest.h"
#include "graph/opened.h"
#include "graph/plugin_guard.h"
#include "graph/scan.h"
#include "lang/objects.h"
#include "lang/param_rows.h"
#include "op/implied.h"
#include "op/op_names.h"

#include <stdlib.h>
#include <string.h>

struct builder {
    struct stk_dataset *graph;
    struct stk_error *err;
    struct stk__node *outer; /* whose elements the chain that is built is opened for, or NULL; */
    bool is_streamed;        /* as they come */
};

static int build_chain(struct builder *b, const struct stk_value *value, struct stk__node **out);
static int open_call(struct builder *b, struct stk__node *node);

static struct stk__node *node_new(struct builder *b, const struct stk__op *op)
{
    struct stk_dataset *g = b->graph;
    if (g->n_nodes == g->cap_nodes) {
        int cap = g->cap_nodes ? 2 * g->cap_nodes : 16;
        struct stk__node **grown = realloc(g->node, sizeof(*grown) * (size_t)cap);
        if (!grown)
            return NULL;
        g->node = grown;
        g->cap_nodes = cap;
    }
    struct stk__node *node = stk_arena_alloc(&g->arena, sizeof *node);
    if (!node)
        return NULL;
    node->params = stk_arena_alloc(&g->arena, op->decl.params_size + 1);
    if (!node->params)
        return NULL;
    node->op = op;
    node->id = g->n_nodes;
    g->node[g->n_nodes++] = node;
    return node;
}

static int fail_node(struct builder *b, const struct stk__node *node, int code)
{
    if (b->err) {
        stk__error_prefix(b->err, "%s: ", stk__op_said(node->op));
        b->err->code = code;
        if (!b->err->len) { /* else the op has said which part of the call it means */
            b->err->at = node->at;
            b->err->len = node->len;
        }
    }
    return code;
}

static void prepare_infer(struct builder *b, const struct stk__node *node, struct stk_infer *inf,
                          struct stk__infer_inside *inside)
{
    *inside = (struct stk__infer_inside){
        .world = 1,
        .in_run = node->n_inputs ? node->input[0]->run : 0,
        .in_class = node->n_inputs ? node->input[0]->class : STK__STREAM,
    };
    *inf = (struct stk_infer){ .params = node->params,
                               .n_inputs = node->n_inputs,
                               .reads = UINT32_MAX,
                               .count = node->n_inputs ? node->input[0]->count : STK_UNKNOWN_COUNT,
                               .state = node->state,
                               .arena = &b->graph->arena,
                               .inside = inside };
    for (int i = 0; i < node->n_inputs; i++) {
        inf->in[i] = &node->input[i]->type;
        inf->in_count[i] = node->input[i]->count;
    }
    for (int f = 0; f < STK_MAX_FIELDS; f++)
        inf->from[f] = -1;
    if (node->n_inputs && inf->inside->in_class != STK__INDEXED) {
        const struct stk__node *stream = stk__find_stream(node->input[0]);
        inf->inside->stream_op = stream->op->decl.name;
        inf->inside->stream_why = stream->why;
    }
}

/* The node of the base graph that stands for the same call, as it was built; or NULL. */
static const struct stk__node *known_node(const struct builder *b, const struct stk__node *node)
{
    const struct stk_dataset *base = b->graph->base;
    for (int i = 0; base && i < base->n_nodes; i++) {
        const struct stk__node *known = base->node[i];
        if (known->ordinal == node->ordinal && known->is_inserted == node->is_inserted &&
            !known->is_abandoned)
            return known->absorbed ? known->absorbed : known;
    }
    return NULL;
}

static int open_node(struct builder *b, struct stk__node *node)
{
    const struct stk__node *known = known_node(b, node);
    int rc = STK_OK;
    if (known)
        node->state = known->opened;
    else if (node->op->open)
        rc = node->op->open(node->params, &b->graph->arena, &node->state, b->err);
    node->opened = node->state;
    node->is_shared = known != NULL;
    if (!rc && !known && node->opened && node->op->held_bytes)
        node->opened_bytes = node->op->held_bytes(node->opened);
    return rc ? fail_node(b, node, rc) : STK_OK;
}

/* What a parameter of a row's type takes in its struct. */
static size_t field_bytes(const struct stk_param *row)
{
    static const size_t bytes[] = {
        [STK_ROW_INT] = sizeof(int64_t),
        [STK_ROW_REAL] = sizeof(double),
        [STK_ROW_BOOL] = sizeof(bool),
        [STK_ROW_TEXT] = sizeof(char *),
        [STK_ROW_CHOICE] = sizeof(int),
        [STK_ROW_NUMBERS] = sizeof(struct stk_numbers),
        [STK_ROW_TEXTS] = sizeof(struct stk_texts),
        [STK_ROW_PAIRS] = sizeof(struct stk_pairs),
        [STK__ROW_VALUE] = sizeof(struct stk_value *),
        [STK__ROW_CHAINS] = sizeof(struct stk__chains),
    };
    return bytes[row->type];
}

/* Parameters of an op that gets those of another one with its names and types. */
static void share_params(const struct stk__node *node, struct stk__node *other)
{
    for (const struct stk_param *to = other->op->decl.params; to->name; to++) {
        stk__row_put_default(to, (char *)other->params + to->offset);
        for (const struct stk_param *from = node->op->decl.params; from->name; from++)
            if (!strcmp(from->name, to->name) && from->type == to->type)
                memcpy((char *)other->params + to->offset,
                       (const char *)node->params + from->offset, field_bytes(to));
    }
}

/* Puts an op between a node and one of its inputs, or at its end as one more. */
static int put_in(struct builder *b, struct stk__node *node, const struct stk__implied *implied)
{
    struct stk__node *other = node_new(b, implied->op);
    const struct stk__call call = { .name = implied->op->decl.name,
                                    .at = node->at,
                                    .len = node->len,
                                    .n_args = implied->n_args,
                                    .arg = implied->arg };
    int rc = STK_OK;
    if (!other)
        return stk__out_of_memory(b->err);
    if (implied->shares_params)
        share_params(node, other);
    else
        rc = stk__call_bind(&call, &implied->op->decl, &b->graph->arena, other->params, b->err);
    if (rc)
        return rc;
    other->at = node->at;
    other->len = node->len;
    other->ordinal = other->draws_as = node->ordinal;
    other->is_inserted = true;
    if (implied->input < node->n_inputs)
        other->input[other->n_inputs++] = node->input[implied->input];
    else
        node->n_inputs++;
    node->input[implied->input] = other;
    other->is_opened = stk__is_source(other->op) && other->n_inputs && b->is_streamed;
    return open_call(b, other);
}

static int scan_field(struct builder *b, struct stk__node *node)
{
    const char *field = node->op->scan_field ? node->op->scan_field(node->params) : NULL;
    const struct stk__node *known = known_node(b, node);
    if (!field)
        return STK_OK;
    int rc = STK_OK;
    if (node->scanned)
        node->state = node->scanned;
    else if (known)
        node->state = known->scanned;
    else
        rc = stk__scan_node(b->graph, node, field, b->err);
    node->scanned = node->state;
    return rc ? fail_node(b, node, rc) : STK_OK;
}

/* Of an op whose choices are numbers; not in a chain that is opened for elements. */
static int look_at_choices(struct builder *b, struct stk__node *node)
{
    const struct stk__node *known = known_node(b, node);
    if (!node->op->choice.tabulate || node->scanned || node->why_unscanned)
        return STK_OK;
    if (known && (known->scanned || known->why_unscanned)) {
        node->scanned = known->scanned;
        node->why_unscanned = known->why_unscanned;
        return STK_OK;
    }
    if (b->outer)
        node->why_unscanned = "is in a chain that is opened for each element";
    int rc = stk__has_indexed_inputs(node) && !b->outer ? stk__choices_look(b->graph, node, b->err)
                                                        : STK_OK;
    return rc ? fail_node(b, node, rc) : STK_OK;
}

static int infer_node(struct builder *b, struct stk__node *node)
{
    struct stk_infer inf;
    struct stk__infer_inside inside;
    for (int attempt = 0;; attempt++) {
        prepare_infer(b, node, &inf, &inside);
        inf.out = &node->type;
        int rc = node->op->infer ? node->op->infer(&inf, b->err) : (stk_infer_pass(&inf), STK_OK);
        if (rc)
            return fail_node(b, node, rc);
        if (!inside.implied.op)
            break;
        if (attempt >= STK_MAX_INPUTS * STK_MAX_FIELDS)
            return stk_fail(b->err, STK_STATE, "%s: asks for %s again and again",
                            node->op->decl.name, inside.implied.op->decl.name);
        rc = put_in(b, node, &inside.implied);
        if (rc)
            return rc;
    }
    node->is_filter = node->op->flags & STK_OP_FILTER && !inside.keeps_all;
    if (!stk__op_is_built_in(node->op) && stk__is_row_op(node->op) &&
        stk__guard_infer(&inf, node->is_filter, b->err))
        return fail_node(b, node, STK_TYPE);
    memcpy(node->from, inf.from, sizeof node->from);
    node->state = inf.state;
    node->scratch_bytes = inf.scratch_bytes;
    node->is_heavy = inside.is_heavy;
    node->n_waiting = inside.n_waiting;
    node->is_random = inside.is_random;
    node->wants_keys = inside.is_random || inside.wants_keys;
    node->reads = inf.reads;
    node->never_fails = inf.never_fails;
    node->is_optional = inf.is_optional;
    node->count = inf.count;
    node->run = inside.run;
    int rc = look_at_choices(b, node);
    if (!rc && (rc = stk__node_classify(node, b->err)))
        fail_node(b, node, rc);
    if (!rc)
        rc = scan_field(b, node);
    if (!rc && node->op->order.count) {
        inf.state = node->state;
        rc = node->op->order.count(&inf, &node->count, b->err);
        if (rc)
            fail_node(b, node, rc);
    }
    if (!rc && node->op->source.count)
        node->count = node->is_opened ? STK_UNKNOWN_COUNT : node->op->source.count(node->state);
    if (!rc && node->nest)
        node->count = stk__nest_count(node, 0, 1);
    if (!rc && (rc = stk__class_names_agree(node, b->err)))
        fail_node(b, node, rc);
    return rc;
}

/* Chains among the arguments become further inputs. */
static int add_inputs(struct builder *b, struct stk__node *node)
{
    for (const struct stk_param *p = node->op->decl.params; p && p->name; p++) {
        if (p->type != STK__ROW_CHAINS)
            continue;
        const struct stk__chains *chains =
            (const void *)((const unsigned char *)node->params + p->offset);
        for (int i = 0; i < chains->n; i++) {
            if (node->n_inputs == STK_MAX_INPUTS)
                return stk__fail_at(b->err, STK_VALUE, node->at, node->len,
                                    "%s: takes at most %d inputs", node->op->decl.name,
                                    STK_MAX_INPUTS);
            int rc = build_chain(b, chains->item[i], &node->input[node->n_inputs]);
            if (rc)
                return rc;
            node->n_inputs++;
        }
    }
    return STK_OK;
}

/* The chain that is opened for each element of `outer` becomes the input. */
static int build_nested(struct builder *b, struct stk__node *node, struct stk__node *outer,
                        bool is_streamed)
{
    const struct builder before = *b;
    b->outer = outer;
    b->is_streamed = is_streamed;
    node->n_inputs = 0;
    int rc = add_inputs(b, node);
    *b = before;
    if (!rc && node->n_inputs != 1)
        rc = stk__fail_at(b->err, STK_VALUE, node->at, node->len, "%s: takes one chain",
                          node->op->decl.name);
    return rc;
}

static bool is_known_woven(const struct builder *b, const struct stk__node *node)
{
    const struct stk__node *known = known_node(b, node);
    return known && stk__is_woven(known);
}

/* A file that cannot be opened is no reason to refuse a chain: as elements come it is a bad one. */
static bool is_of_files(int rc)
{
    return rc == STK_IO || rc == STK_DATA;
}

/* First as positions of what is indexed; where that is refused, as elements come. */
static int add_nest(struct builder *b, struct stk__node *node)
{
    struct stk__node *outer = node->n_inputs ? node->input[0] : NULL;
    if (!outer)
        return STK_OK; /* refused for having no receiver */
    struct stk_error refusal = { 0 };
    uint32_t n_calls = b->graph->n_calls;
    int first = b->graph->n_nodes, rc = STK_OK;
    if (outer->class == STK__INDEXED && !is_known_woven(b, node)) {
        struct builder trial = *b;
        trial.err = &refusal;
        rc = build_nested(&trial, node, outer, false);
        if (!rc)
            rc = stk__nest_new(b->graph, node, outer, &refusal);
        bool is_refused = rc == STK_TYPE || rc == STK_VALUE || is_of_files(rc);
        if (rc && !is_refused)
            *b->err = refusal;
        if (!is_refused)
            return rc;
    }
    for (int i = first; i < b->graph->n_nodes; i++)
        b->graph->node[i]->is_abandoned = true;
    b->graph->n_calls = n_calls;
    bool has_bad_file = is_of_files(rc);
    rc = build_nested(b, node, outer, true);
    if (!rc)
        rc = stk__nest_new_streamed(b->graph, node, outer, refusal.text, b->err);
    if (!has_bad_file || (rc != STK_TYPE && rc != STK_VALUE))
        return rc;
    if (b->err) /* the file is the cause, not what a stream would need */
        *b->err = refusal;
    return refusal.code;
}

/* The beginning of such a chain: the element itself, or the files that its field names. */
static int begin_nested(struct builder *b, struct stk__node *node)
{
    bool has_files = stk__nest_reference(node->op, node->params) != NULL;
    if (has_files && !stk__op_begins_with(node->op) && !b->is_streamed &&
        !node->op->source.first_rows)
        return stk__fail_at(b->err, STK_TYPE, node->at, node->len,
                            "%s: can only be read from front to back", node->op->decl.name);
    if (has_files || node->op->flags & STK__OP_ELEMENT) {
        node->input[node->n_inputs++] = b->outer;
        node->is_opened = b->is_streamed && !stk__op_begins_with(node->op);
    }
    return STK_OK;
}

/* Of a source that is opened for elements: all datasets that begin with this one share them, and with
 * them the numbers of their rows. */
static int keep_files(struct builder *b, struct stk__node *node)
{
    const struct stk__node *known = known_node(b, node);
    if (!node->is_opened || !stk__is_source(node->op))
        return STK_OK;
    node->files = known ? known->files : stk__opened_new(node);
    return node->files ? STK_OK : stk__out_of_memory(b->err);
}

/* Opens a source that is told its files only to know its fields: one that can be opened is enough. The
 * others are bad where their elements come. */
static int open_with_any(struct builder *b, struct stk__node *node, struct stk_texts *files)
{
    const struct stk_texts all = *files;
    struct stk_error first = { 0 }, unseen = { 0 }, *err = b->err;
    b->err = &first;
    int rc = open_node(b, node), code = rc;
    b->err = &unseen;
    for (int i = 0; is_of_files(rc) && node->is_opened && i <= all.n; i++) {
        *files = (struct stk_texts){ all.item + i, i < all.n, true }; /* at last without a file */
        rc = open_node(b, node);
    }
    b->err = err;
    if (rc && err)
        *err = first;
    return rc ? code : STK_OK;
}

/* A source that stands on others is opened with the files they name. */
static int open_call(struct builder *b, struct stk__node *node)
{
    bool is_nested = stk__is_source(node->op) && node->n_inputs && !known_node(b, node);
    struct stk_texts *files = is_nested ? stk__nest_reference(node->op, node->params) : NULL;
    const struct stk_texts given = files ? *files : (struct stk_texts){ 0 };
    int rc = STK_OK;
    if (files)
        rc =
            stk__nest_list(b->graph, node->input[0], given.item[0], node->is_opened, files, b->err);
    if (rc)
        return fail_node(b, node, rc);
    rc = files ? open_with_any(b, node, files) : open_node(b, node);
    if (!rc)
        rc = infer_node(b, node);
    if (files)
        *files = given; /* as it was written */
    return rc ? rc : keep_files(b, node);
}

static int check_receiver(struct builder *b, const struct stk__node *node, bool has_receiver)
{
    const struct stk__op *op = node->op;
    if (op->flags & STK__OP_ROOT && has_receiver)
        return stk__fail_at(b->err, STK_TYPE, node->at, node->len,
                            "%s: begins a chain, so it cannot follow another call", op->decl.name);
    if (!(op->flags & STK__OP_ROOT) && !node->n_inputs)
        return stk__fail_at(
            b->err, STK_TYPE, node->at, node->len,
            "%s: works on data, so a source such as files('*.jpg') must come before it",
            op->decl.name);
    if (op->flags & STK__OP_ELEMENT && !node->n_inputs)
        return stk__fail_at(b->err, STK_TYPE, node->at, node->len,
                            "%s: begins the chain of interleave or flat_map, and nothing else",
                            op->decl.name);
    return STK_OK;
}

static int fail_unknown(struct builder *b, const struct stk__call *call)
{
    int rc = stk__unknown_call(stk__ops_namespace(), call, b->err);
    if (b->err && !strchr(b->err->text, '?')) /* nothing is near */
        stk__error_suffix(b->err, "; stoker ops lists all of them");
    return rc;
}

static int build_call(struct builder *b, const struct stk__call *call, struct stk__node *receiver,
                      struct stk__node **out)
{
    const struct stk_decl *decl = stk__namespace_find(stk__ops_namespace(), call->name);
    if (!decl)
        return fail_unknown(b, call);
    struct stk__node *node = node_new(b, stk__op_of(decl));
    if (!node)
        return stk__out_of_memory(b->err);
    node->at = call->at;
    node->len = call->len;
    node->ordinal = node->draws_as = b->graph->n_calls++;
    if (receiver)
        node->input[node->n_inputs++] = receiver;
    int rc = stk__call_bind(call, decl, &b->graph->arena, node->params, b->err);
    if (!rc && b->outer && !receiver)
        rc = begin_nested(b, node);
    if (!rc)
        rc = node->op->flags & STK__OP_NESTS ? add_nest(b, node) : add_inputs(b, node);
    if (!rc)
        rc = check_receiver(b, node, receiver != NULL);
    if (!rc && node->op->implies.op)
        rc = put_in(b, node, &node->op->implies);
    if (rc)
        return rc;
    *out = node;
    return open_call(b, node);
}

static int build_chain(struct builder *b, const struct stk_value *value, struct stk__node **out)
{
    struct stk__node *node = NULL;
    for (int i = 0; i < value->n_calls; i++) {
        int rc = build_call(b, &value->call[i], node, &node);
        if (rc)
            return rc;
        if (node->op->flags & STK__OP_CACHE &&
            !(node->chain = stk__cache_chain(value, i, &b->graph->arena)))
            return stk__out_of_memory(b->err);
    }
    *out = node;
    return STK_OK;
}

/* The objects that a value names live as long as the dataset. */
static int keep_objects(struct stk_dataset *g, const struct stk_value *value)
{
    int rc = STK_OK;
    bool has_items = value->kind == STK__LIST || value->kind == STK__MAP;
    for (int i = 0; has_items && i < value->n_items && !rc; i++)
        rc = keep_objects(g, value->item[i]);
    for (int c = 0; value->kind == STK__CHAIN && c < value->n_calls && !rc; c++)
        for (int i = 0; i < value->call[c].n_args && !rc; i++)
            rc = keep_objects(g, value->call[c].arg[i].value);
    if (value->kind != STK__OBJECT)
        return rc;
    if (!g->objects && !(g->objects = stk_objects_new()))
        return STK_MEMORY;
    return stk__objects_keep(g->objects, value->object.bound);
}

static int hash_text(struct stk_dataset *g, struct stk_error *err)
{
    struct stk__text text = { 0 };
    int rc = stk__print_value(g->value, stk__ops_namespace(), STK__CANONICAL, &text, err);
    if (!rc && text.failed)
        rc = stk__out_of_memory(err);
    if (!rc)
        g->hash = stk__hash_bytes(0, text.data, text.len);
    stk__text_free(&text);
    return rc;
}

/* Swaps the nodes of a subtree to the front, inputs first. */
static void put_in_order(struct stk_dataset *g, struct stk__node *node)
{
    if (node->id < g->n_used)
        return;
    for (int i = 0; i < node->n_inputs; i++)
        put_in_order(g, node->input[i]);
    int place = g->n_used++;
    struct stk__node *other = g->node[place];
    g->node[node->id] = other;
    g->node[place] = node;
    other->id = node->id;
    node->id = place;
}

/* Tells the process how much the graph takes now. */
static void note_bytes(struct stk_dataset *g)
{
    size_t bytes = g->arena.total_bytes;
    for (int i = 0; i < g->n_nodes; i++)
        bytes += g->node[i]->opened_bytes;
    stk__purse_note(STK__KEEPS_INDEX, (int64_t)bytes - (int64_t)g->held_bytes);
    g->held_bytes = bytes;
}

size_t stk__graph_bytes(const struct stk_dataset *g)
{
    size_t bytes = 0;
    for (; g; g = g->base)
        bytes += g->held_bytes;
    return bytes;
}

int stk__graph_new(const char *text, const struct stk_objects *objects, struct stk_dataset *base,
                   struct stk_dataset **out, struct stk_error *err)
{
    struct stk_dataset *g = calloc(1, sizeof *g);
    struct stk_error unseen;
    err = err ? err : &unseen; /* ops look at the code in it */
    if (!g)
        return stk__out_of_memory(err);
    atomic_init(&g->refs, 1);
    g->base = base ? stk_dataset_ref(base) : NULL;
    stk__arena_init(&g->arena, 1 << 14);
    struct builder b = { .graph = g, .err = err };
    int rc = STK_OK;
    if (!(g->text = stk_arena_text(&g->arena, text)))
        rc = stk__out_of_memory(err);
    if (!rc)
        rc = stk__parse(g->text, objects, &g->arena, &g->value, err);
    if (!rc)
        rc = stk__class_names_write_out(g->value, objects, &g->arena, err);
    if (!rc && keep_objects(g, g->value))
        rc = stk__out_of_memory(err);
    if (!rc && g->value->kind != STK__CHAIN)
        rc = stk__fail_at(err, STK_TYPE, g->value->at, g->value->len,
                          "a chain of calls is wanted here");
    if (!rc)
        rc = build_chain(&b, g->value, &g->root);
    if (!rc)
        rc = hash_text(g, err);
    if (!rc)
        put_in_order(g, g->root);
    note_bytes(g);
    if (rc)
        stk__graph_free(g);
    else
        *out = g;
    return rc;
}

int stk__graph_infer(struct stk_dataset *g, struct stk_error *err)
{
    struct builder b = { .graph = g, .err = err };
    int rc = STK_OK;
    g->n_used = 0;
    put_in_order(g, g->root);
    for (int i = 0; i < g->n_used && !rc; i++) {
        g->node[i]->state = g->node[i]->narrowed ? g->node[i]->narrowed : g->node[i]->opened;
        g->node[i]->type = (struct stk_type){ 0 };
        rc = infer_node(&b, g->node[i]);
    }
    g->n_used = 0; /* infer may have put nodes in */
    put_in_order(g, g->root);
    note_bytes(g);
    return rc;
}

void stk__graph_set_form(struct stk_dataset *graph, struct stk_dataset *form)
{
    form->form_of = graph;
    stk_dataset_unref(graph); /* a part does not keep the whole alive */
    atomic_store(&graph->form, form);
}

void stk__graph_free(struct stk_dataset *g)
{
    if (atomic_load(&g->form))
        stk__graph_free(atomic_load(&g->form));
    for (int i = g->n_nodes; i-- > 0;) {
        if (!g->node[i]->is_shared)
            stk__opened_free(g->node[i]->files);
        if (g->node[i]->op->close && g->node[i]->opened && !g->node[i]->is_shared)
            g->node[i]->op->close(g->node[i]->opened);
    }
    stk__purse_note(STK__KEEPS_INDEX, -(int64_t)g->held_bytes);
    free(g->node);
    stk_objects_free(g->objects);
    stk__arena_free(&g->arena);
    if (!g->form_of)
        stk_dataset_unref(g->base);
    free(g);
}

struct stk_dataset *stk_dataset_ref(struct stk_dataset *dataset)
{
    struct stk_dataset *whole = dataset->form_of ? dataset->form_of : dataset;
    atomic_fetch_add_explicit(&whole->refs, 1, memory_order_relaxed);
    return dataset;
}

void stk_dataset_unref(struct stk_dataset *dataset)
{
    struct stk_dataset *whole = dataset && dataset->form_of ? dataset->form_of : dataset;
    if (whole && atomic_fetch_sub_explicit(&whole->refs, 1, memory_order_acq_rel) == 1)
        stk__graph_free(whole);
}

bool stk__graph_step_back(const struct stk__node *node, int *field, int *input)
{
    if (!node->n_inputs || stk__is_source(node->op))
        return false;
    int from = node->op->flags & STK__OP_BATCH ? *field : node->from[*field], i = 0;
    if (from < 0)
        return false;
    for (; i + 1 < node->n_inputs && from >= node->input[i]->type.n_fields; i++)
        from -= node->input[i]->type.n_fields;
    *field = from;
    *input = i;
    return true;
}

const struct stk__node *stk__graph_trace(const struct stk__node *node, int field)
{
    int input;
    while (stk__graph_step_back(node, &field, &input))
        node = node->input[input];
    return node->n_inputs && !stk__is_source(node->op) ? NULL : node;
}

const void *stk__node_param(const struct stk__node *node, const char *name)
{
    const struct stk_param *row = node->op->decl.params;
    while (strcmp(row->name, name))
        row++;
    return (const unsigned char *)node->params + row->offset;
}

bool stk__node_merges(const struct stk__node *node)
{
    return node->op->flags & (STK__OP_BATCH | STK__OP_MERGES);
}

bool stk__node_may_exceed(const struct stk__node *node)
{
    bool may = stk__node_merges(node);
    for (int i = 0; i < node->n_inputs && !may; i++)
        may = stk__node_may_exceed(node->input[i]);
    return may;
}

void stk__node_call_text(const struct stk__node *node, size_t most, struct stk__text *out)
{
    struct stk__text call = { 0 };
    stk__print_call(&node->op->decl, node->params, stk__ops_namespace(), STK__SHORT, &call, NULL);
    if (call.len > most)
        stk__text_add(out, "%.*s…", (int)most - 1, call.data);
    else
        stk__text_add(out, "%s", call.data ? call.data : "");
    stk__text_free(&call);
}

int64_t stk__node_count(const struct stk__node *node, int rank, int world, int64_t *in_count)
{
    struct stk__infer_inside inside = { .rank = rank, .world = world };
    struct stk_infer inf = { .params = node->params,
                             .state = node->state,
                             .n_inputs = node->n_inputs,
                             .count = node->count,
                             .inside = &inside };
    for (int i = 0; i < node->n_inputs; i++) {
        inf.in[i] = &node->input[i]->type;
        inf.in_count[i] = stk__node_count(node->input[i], rank, world, NULL);
        if (in_count)
            in_count[i] = inf.in_count[i];
    }
    if (node->nest)
        return stk__nest_count(node, rank, world);
    bool is_one_to_one =
        stk__is_row_op(node->op) || node->op->flags & (STK__OP_PREFETCH | STK__OP_CACHE);
    int64_t count =
        is_one_to_one && node->count != STK_UNKNOWN_COUNT ? inf.in_count[0] : node->count;
    if (node->op->order.count)
        node->op->order.count(&inf, &count, NULL);
    return count;
}
