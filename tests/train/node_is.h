/* SPDX-License-Identifier: Apache-2.0 */
/* node_is.h: kinds of nodes by their names. */
#pragma once
#include "train/model/node_kind.h"

#include <string.h>

static inline bool node_is(const struct stk__model_node *node, const char *kind)
{
    return strcmp(node->kind->name, kind) == 0;
}
