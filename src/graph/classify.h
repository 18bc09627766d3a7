/* SPDX-License-Identifier: Apache-2.0 */
/* classify.h: the class of a node, from its op and the classes of its inputs. */
#pragma once
#include "graph/graph.h"

/* Sets a node's class, why it has it, and whether an order table carries it out. */
int stk__node_classify(struct stk__node *node, struct stk_error *err);

bool stk__has_indexed_inputs(const struct stk__node *node);

/* The op that made what is not indexed so; those behind it only kept the class. */
const struct stk__node *stk__find_stream(const struct stk__node *node);
