/* SPDX-License-Identifier: Apache-2.0 */
/* attempt.h: what rewrites share: trying a change of the tree, and saying what was done and why. */
#pragma once
#include "base/text.h"
#include "graph/graph.h"

/* A tree as it was before a change. */
struct stk__kept_tree {
    struct stk__node *root;
    struct stk__node *copy; /* of every node */
    struct stk__node **node;
    int n_nodes, n_used, root_id;
};

/* Keeps the tree before nodes of it are moved; every such call is followed by stk__tree_settle. */
int stk__tree_keep(const struct stk_dataset *graph, struct stk__kept_tree *kept,
                   struct stk_error *err);

/* Infers the changed tree. Where it cannot be, or gives other fields or another count than before,
 * everything is put back; `is_kept` says which. */
int stk__tree_settle(struct stk_dataset *graph, struct stk__kept_tree *kept, bool *is_kept,
                     struct stk_error *err);

/* Where the tree refers to a node: the root, or an input of the op above it. */
struct stk__node **stk__node_link(struct stk_dataset *graph, const struct stk__node *node);

/* Row ops, and `read`: n rows in, n rows out. */
bool stk__node_is_row_op(const struct stk__node *node);

/* Work that is worth moving something: decoding, resizing, reading files. */
bool stk__node_is_costly(const struct stk__node *node);

/* A call, shortened where it is long. */
struct stk__call_text {
    char text[80];
};
struct stk__call_text stk__call_text(const struct stk__node *node);

/* Adds to the list of what was done, or could not be. */
int stk__rewrite_tell(struct stk_dataset *graph, const char *name, bool is_done,
                      struct stk_error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The chain as it is after the rewrites; ops that one carries out too follow it with a +, fields that
 * are left of a source's stand behind it in brackets. */
void stk__graph_text(const struct stk_dataset *graph, struct stk__text *out);
