/* SPDX-License-Identifier: Apache-2.0 */
/* classify.c: what a node's output can do.
 *
 * The class of a node says what its output can do, and with that how it will be run:
 *
 *     indexed     any row by its position       → evaluated from positions; nothing is buffered
 *     addressed   a serial order of such rows   → positions are buffered, never data
 *     stream      next only                     → rows travel
 *
 * A source has the class its table allows; 1:1 ops keep their input's; an op that drops rows
 * makes a stream; order ops over indexed inputs stay indexed, over others they run as serial
 * stages.
 */
#include "graph/classify.h"

#include "base/error.h"
#include "graph/nest.h"
#include "op/implied.h"

static bool is_indexed_source(const struct stk__node *node)
{
    const struct stk__source_table *source = &node->op->source;
    return source->rows && !node->is_opened &&
           !(source->is_stream && source->is_stream(node->state));
}

bool stk__subtree_reads(const struct stk__node *node)
{
    bool reads =
        node->op->flags & STK__OP_FETCH || (node->op->source.locate && node->class == STK__INDEXED);
    for (int i = 0; i < node->n_inputs && !reads; i++)
        reads = stk__subtree_reads(node->input[i]);
    return reads;
}

static void set_class(struct stk__node *node, enum stk__op_class class, const char *why)
{
    node->class = class;
    node->why = why;
}

/* The op that makes the order of rows another one in every pass, or NULL. */
static const struct stk__node *find_shuffle(const struct stk__node *node)
{
    const struct stk__node *found = node->op->flags & STK__OP_SHUFFLES ? node : NULL;
    for (int i = 0; i < stk__node_n_below(node) && !found; i++)
        found = find_shuffle(stk__node_below(node, i));
    return found;
}

bool stk__subtree_shuffles(const struct stk__node *node)
{
    return find_shuffle(node) != NULL;
}

const struct stk__node *stk__find_stream(const struct stk__node *node)
{
    for (int i = 0; i < node->n_inputs && !stk__is_woven(node); i++) /* which says why itself */
        if (node->input[i]->class != STK__INDEXED)
            return stk__find_stream(node->input[i]);
    return node;
}

/* A serial table carries it out, or the executor does. */
static bool can_run_in_order(const struct stk__op *op, enum stk__op_mode mode)
{
    return mode != STK__MODE_ORDER && (op->serial.begin || stk__op_has_source_beside(op) ||
                                       op->flags & (STK__OP_MULTI | STK__OP_REPEAT));
}

static int fail_unindexed(const struct stk__node *node, struct stk_error *err)
{
    const struct stk__node *stream = stk__find_stream(node->input[0]);
    const char *name = stream->op->decl.name;
    const char *hint = node->op->flags & STK__OP_SHUFFLES && node->op->serial.begin
                           ? ", or give buffer_size, a number or auto, to shuffle within a buffer"
                           : "";
    if (stk__is_source(stream->op))
        return stk_fail(err, STK_TYPE,
                        "needs an input that can be read at random, but %s is read in order%s",
                        name, hint);
    return stk_fail(err, STK_TYPE,
                    "needs an input that can be read at random, but %s makes a stream; put it "
                    "before %s%s",
                    name, name, hint);
}

static int classify_order(struct stk__node *node, struct stk_error *err)
{
    const struct stk__op *op = node->op;
    const struct stk__node *shuffle =
        op->flags & STK__OP_STABLE ? find_shuffle(node->input[0]) : NULL;
    if (shuffle)
        return stk_fail(err, STK_TYPE,
                        "must come before %s: which elements it means would change in every epoch",
                        shuffle->op->decl.name);
    enum stk__op_mode mode = op->mode ? op->mode(node->params) : STK__MODE_EITHER;
    enum stk__op_class weakest = STK__INDEXED;
    for (int i = 0; i < node->n_inputs; i++)
        weakest = node->input[i]->class > weakest ? node->input[i]->class : weakest;
    node->is_order = weakest == STK__INDEXED && mode != STK__MODE_SERIAL;
    if (node->is_order) {
        set_class(node, STK__INDEXED, "a function of positions over indexed inputs");
        return STK_OK;
    }
    if (!can_run_in_order(op, mode))
        return fail_unindexed(node, err);
    if (weakest <= STK__ADDRESSED && node->n_inputs == 1 &&
        op->flags & (STK__OP_ADDRESSES | STK__OP_REPEAT))
        set_class(node, STK__ADDRESSED, "keeps addresses of indexed data, no data");
    else
        set_class(node, STK__STREAM,
                  node->n_inputs > 1       ? "an input is not indexed"
                  : weakest == STK__STREAM ? "its input is a stream"
                                           : "looks at one element after the other");
    return STK_OK;
}

bool stk__has_indexed_inputs(const struct stk__node *node)
{
    bool is_indexed = true;
    for (int i = 0; i < node->n_inputs; i++)
        is_indexed &= node->input[i]->class == STK__INDEXED;
    return is_indexed;
}

/* An op whose choices are numbers: where they were looked at beforehand it is an order op. */
static void classify_numbers(struct stk__node *node)
{
    bool is_indexed = stk__has_indexed_inputs(node);
    node->is_order = is_indexed && node->scanned;
    if (node->is_order) {
        node->state = node->scanned;
        set_class(node, STK__INDEXED,
                  "a function of positions; the numbers that choose were looked at beforehand");
    } else
        set_class(node, STK__STREAM, is_indexed ? node->why_unscanned : "an input is not indexed");
}

/* An op that chooses among its inputs, where all of them are indexed or not. */
static void classify_choice(struct stk__node *node)
{
    if (node->op->choice.tabulate)
        classify_numbers(node);
    else if (stk__has_indexed_inputs(node))
        set_class(node, STK__ADDRESSED, "chooses positions of indexed inputs, one after the other");
    else
        set_class(node, STK__STREAM, "an input is not indexed");
}

/* True if the positions of its rows come again in further passes of a repeat. */
static bool repeats_positions(const struct stk__node *node)
{
    for (; node->class == STK__ADDRESSED; node = node->input[0])
        if (node->op->flags & STK__OP_REPEAT)
            return true;
    return false;
}

static void classify_cache(struct stk__node *node)
{
    if (repeats_positions(node->input[0]))
        set_class(node, STK__STREAM, "elements of a repeat are told apart by their order alone");
    else
        set_class(node, node->input[0]->class, "keeps the class of its input");
}

int stk__node_classify(struct stk__node *node, struct stk_error *err)
{
    const struct stk__op *op = node->op;
    if (stk__is_source(op)) {
        bool is_indexed = is_indexed_source(node);
        set_class(node, is_indexed ? STK__INDEXED : STK__STREAM,
                  is_indexed        ? "any element can be made from its position"
                  : node->is_opened ? "is read from front to back for each element"
                  : op->source.locate
                      ? "its files are compressed or come through a pipe: can only be read in order"
                      : "can only be read in order");
        return STK_OK;
    }
    if (node->is_filter)
        set_class(node, STK__STREAM, "drops rows, so positions are known only after reading");
    else if (op->flags & STK__OP_FETCH && stk__subtree_reads(node->input[0]))
        set_class(node, STK__STREAM,
                  "reads what another read led to, so rows are known only after reading");
    else if (op->flags & STK__OP_BATCH)
        set_class(node, STK__STREAM, "its rows are known once bad ones are judged");
    else if (op->flags & STK__OP_EXPANDS)
        set_class(node, STK__STREAM, "how many rows an element makes is known once it is there");
    else if (op->choice.wanted)
        classify_choice(node);
    else if (op->flags & STK__OP_CACHE)
        classify_cache(node);
    else if (stk__is_woven(node))
        set_class(node, STK__STREAM, node->nest->why);
    else if (op->flags & STK__OP_NESTS)
        set_class(node, STK__ADDRESSED, "takes positions of indexed data in turn");
    else if (node->is_opened)
        set_class(node, STK__STREAM, "is one element after the other");
    else if (op->flags & STK__OP_ELEMENT)
        set_class(node, node->input[0]->class, "keeps the class of the element's chain");
    else if (stk__is_row_op(op) || op->flags & STK__OP_PREFETCH)
        set_class(node, node->input[0]->class, "keeps the class of its input");
    else
        return classify_order(node, err);
    return STK_OK;
}
