/* SPDX-License-Identifier: Apache-2.0 */
/* choices.c: reads the numbers of a choosing op's first input into a table.
 *
 * That takes the work of all those numbers while a dataset is built, so it is done only where they are
 * cheap, few enough and the same in every pass; else the op reads them as they come, as a stream. An
 * endless input is no hindrance where it repeats what is finite, or where the other inputs end first.
 */
#include "graph/choices.h"

#include "base/error.h"
#include "graph/nest.h"
#include "graph/scan.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 1 << 24 };

static bool is_dear(const struct stk__node *node)
{
    bool found = node->is_heavy || node->op->flags & STK_OP_HEAVY || node->op->exclusive;
    for (int i = 0; i < stk__node_n_below(node) && !found; i++)
        found = is_dear(stk__node_below(node, i));
    return found;
}

/* Whether shard() is somewhere below. */
static bool differs_by_rank(const struct stk__node *node)
{
    bool found = stk__node_count(node, 0, 2, NULL) != node->count ||
                 stk__node_count(node, 1, 2, NULL) != node->count;
    for (int i = 0; i < stk__node_n_below(node) && !found; i++)
        found = differs_by_rank(stk__node_below(node, i));
    return found;
}

static const char *find_hindrance(const struct stk__node *numbers)
{
    if (stk__subtree_shuffles(numbers) || stk__subtree_is_random(numbers))
        return "the numbers that choose differ between passes";
    if (differs_by_rank(numbers))
        return "the numbers that choose differ between ranks";
    return is_dear(numbers) ? "the numbers that choose take long to make" : NULL;
}

/* What an endless input repeats, or the input. */
static const struct stk__node *find_period(const struct stk__node *node)
{
    bool is_repeat = node->op->flags & STK__OP_REPEAT && node->is_order;
    return is_repeat && node->count == STK_INFINITE_COUNT ? node->input[0] : node;
}

/* ---- reading ---- */

struct reading {
    uint8_t *number;
    int field, dtype, n_inputs;
};

static int read_numbers(void *ctx, const struct stk__chunk *chunk, int64_t first)
{
    const struct reading *reading = ctx;
    const struct stk_column *column = &chunk->column[reading->field];
    for (int i = 0; i < chunk->n; i++) {
        const uint8_t *data = column->data + (size_t)i * column->stride;
        int64_t wide;
        int32_t narrow;
        memcpy(&narrow, data, sizeof narrow);
        if (reading->dtype == STK_I32)
            wide = narrow;
        else
            memcpy(&wide, data, sizeof wide);
        if (wide < 0 || wide >= reading->n_inputs)
            return STK_VALUE;
        reading->number[first + i] = (uint8_t)wide;
    }
    return STK_OK;
}

/* Why numbers could not be read, where that is no failure. */
static const char *name_hindrance(int code)
{
    return code == STK_TYPE    ? "the numbers that choose are known only after reading files"
           : code == STK_VALUE ? "a number that chooses means no input"
                               : "a number that chooses could not be made";
}

static int tabulate(struct stk_dataset *graph, struct stk__node *node,
                    const struct reading *reading, int64_t n, bool is_endless,
                    struct stk_error *err)
{
    int64_t in_count[STK_MAX_INPUTS];
    struct stk__known_choices choices = { .number = reading->number,
                                          .n = n,
                                          .is_endless = is_endless,
                                          .in_count = in_count,
                                          .n_inputs = node->n_inputs };
    for (int i = 0; i < node->n_inputs; i++) {
        in_count[i] = node->input[i]->count;
        choices.counts_differ |= differs_by_rank(node->input[i]);
    }
    void *state = node->state;
    int rc = node->op->choice.tabulate(node->params, &choices, &graph->arena, &state, err);
    node->scanned = state;
    if (!rc && !state)
        node->why_unscanned = choices.counts_differ
                                  ? "inputs end elsewhere on other ranks"
                                  : "what inputs have for the numbers is too long to be listed";
    return rc;
}

/* Numbers of the period that are read: all, or as many as can matter where the other inputs end. */
static int64_t count_numbers(const struct stk__node *node, const struct stk__node *period)
{
    int64_t in_count[STK_MAX_INPUTS], n = period->count;
    for (int i = 0; i < node->n_inputs; i++)
        in_count[i] = node->input[i]->count;
    int64_t needed = node->op->choice.n_needed(node->params, node->n_inputs, in_count);
    bool is_part = needed >= 0 && (n == STK_INFINITE_COUNT || needed < n);
    return is_part ? needed : n;
}

int stk__choices_look(struct stk_dataset *graph, struct stk__node *node, struct stk_error *err)
{
    const struct stk__node *period = find_period(node->input[0]);
    int field = node->op->choice.number_field(node->state);
    int64_t n = count_numbers(node, period);
    node->why_unscanned = find_hindrance(period);
    if (!node->why_unscanned && n < 0)
        node->why_unscanned = "the selector is infinite";
    if (!node->why_unscanned && n > MOST_NUMBERS)
        node->why_unscanned = "the numbers that choose are too many to look at beforehand";
    if (node->why_unscanned)
        return STK_OK;
    const struct stk_field *chosen_by = &period->type.field[field];
    struct reading reading = { malloc((size_t)n + 1), field, chosen_by->dtype, node->n_inputs - 1 };
    if (!reading.number)
        return stk__out_of_memory(err);
    const struct stk__scan scan = { read_numbers, &reading, n };
    struct stk_error hindrance;
    int rc = stk__scan_rows(graph, period, chosen_by->name, &scan, &hindrance);
    if (rc == STK_MEMORY)
        stk__out_of_memory(err);
    else if (rc) {
        node->why_unscanned = name_hindrance(rc);
        rc = STK_OK;
    } else
        rc =
            tabulate(graph, node, &reading, n, period != node->input[0] && n == period->count, err);
    free(reading.number);
    return rc;
}
