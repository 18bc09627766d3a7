/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h: looking at one field of every row while a dataset is built. */
#pragma once
#include "graph/graph.h"

/* Hashes `field` of every row of the node's indexed input and hands the hashes to the op's scan.
 * The field must be there without reading files. */
int stk__scan_node(struct stk_dataset *graph, struct stk__node *node, const char *field,
                   struct stk_error *err);
