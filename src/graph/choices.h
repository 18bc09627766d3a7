/* SPDX-License-Identifier: Apache-2.0 */
/* choices.h: looking at the numbers that choose among indexed inputs, before anything runs. */
#pragma once
#include "graph/graph.h"

/* Sets what was scanned of a node whose inputs are indexed, or why the numbers were not looked at: they
 * are too many or too dear, or they are not the same in every pass. Fails only without memory. */
int stk__choices_look(struct stk_dataset *graph, struct stk__node *node, struct stk_error *err);
