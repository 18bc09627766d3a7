/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h: looking at one field of every row while a dataset is built. */
#pragma once
#include "graph/graph.h"

/* Called with blocks of rows, of which the first is number `first`. */
typedef int (*stk__visit_fn)(void *ctx, const struct stk__chunk *chunk, int64_t first);
struct stk__scan {
    stk__visit_fn visit;
    void *ctx;
    int64_t n; /* of the first so many rows; 0: of all */
};

/* Evaluates rows of an indexed node, all of them if it is finite, to look at `field`, which must be there without
 * reading files. */
int stk__scan_rows(struct stk_dataset *graph, const struct stk__node *node, const char *field,
                   const struct stk__scan *scan, struct stk_error *err);

/* Hashes `field` of every row of the node's indexed input and hands the hashes to the op's scan.
 * The field must be there without reading files. */
int stk__scan_node(struct stk_dataset *graph, struct stk__node *node, const char *field,
                   struct stk_error *err);
