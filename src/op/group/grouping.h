/* SPDX-License-Identifier: Apache-2.0 */
/* grouping.h: what an op that makes one element of many (STK__OP_BATCH) tells the executor: its
 * state. Which rows come together, and how the rows of each field become one.
 *
 *     rows      0 1 2 3 4 5 6 7 8          size 3, stride 2, shift 4: an element reaches over
 *     elements  0   2   4                  `span` = 5 rows, and the next one begins `shift` rows
 *                       4   6   8          later
 *
 * A batch is what has a stride of 1 and a shift of its size. With `by` every value of a field, or
 * every range of lengths, is a sequence of rows of its own.
 */
#pragma once
#include "base/rows/gather.h"

enum stk__grouping_by { STK__BY_NOTHING, STK__BY_VALUE, STK__BY_LENGTH };

struct stk__grouping {
    struct stk__gather gather[STK_MAX_FIELDS];
    bool is_bounded; /* one of those may refuse a row */
    int64_t size, shift, stride;
    int n_sizes; /* batches of several sizes in turn, of which `size` is the largest; 0: of one */
    const double *cycled_size; /* [n_sizes] */
    bool drops_remainder;
    bool is_element; /* what comes together is one element: a window, no batch of elements */
    enum stk__grouping_by by;
    int field;          /* by: of the input */
    bool ends_in_order; /* by value: what is left at the end comes by value, else by appearance */
    int n_boundaries;   /* by length: boundary[i - 1] <= length < boundary[i] is bucket i, */
    const double *boundary;    /* [n_boundaries] */
    const double *bucket_size; /* [n_boundaries + 1] which has such elements, */
    bool pads_to_boundary;     /* and pads what differs to the longest it could be */
};

/* Rows that an element reaches over. */
static inline int64_t stk__grouping_span(const struct stk__grouping *g)
{
    return (g->size - 1) * g->stride + 1;
}

/* Returns new in the arena, with runs of `size` rows gathered as `batch` does; NULL and a message
 * when out of memory. */
struct stk__grouping *stk__grouping_new(struct stk_infer *inf, int64_t size, bool drops_remainder,
                                        struct stk_error *err);

/* Sets `by` to a field of whole numbers or text. */
int stk__grouping_by_value(const struct stk_infer *inf, const char *name,
                           struct stk__grouping *grouping, struct stk_error *err);

/* Ends infer: out type, state. n_rows: of every element, or -1. */
int stk__grouping_infer(struct stk_infer *inf, struct stk__grouping *grouping, int64_t n_rows,
                        struct stk_error *err);

/* Rows of every batch, or -1 when the last one may be shorter, if only because bad elements were
 * left out. */
int64_t stk__grouping_rows(const struct stk_infer *inf, const struct stk__grouping *grouping);
