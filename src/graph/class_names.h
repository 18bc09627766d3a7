/* SPDX-License-Identifier: Apache-2.0 */
/* class_names.h: names of the numbers that a field of labels holds.
 *
 * A source numbers its classes itself, so the same number may mean another class elsewhere. Where
 * labels of several sources meet, their names are what tells.
 */
#pragma once
#include "graph/graph.h"
#include "lang/objects.h"

/* Where the names of a field come from. */
struct stk__class_names {
    const struct stk__node *source;
    const char *field; /* its name there */
};

/* False where the field has no names. */
bool stk__class_names_find(const struct stk__node *node, int field, struct stk__class_names *out);

/* The name of a number; NULL: it has none. */
const char *stk__class_names_at(const struct stk__class_names *names, int64_t value);

/* Fails where a node passes labels of several inputs on that number their classes differently. */
int stk__class_names_agree(const struct stk__node *node, struct stk_error *err);

/* Chains that stand for their class names in a value become lists of these names: what is kept,
 * printed and compared afterwards says by itself which number means what. */
int stk__class_names_write_out(const struct stk_value *value, const struct stk_objects *objects,
                               struct stk_arena *arena, struct stk_error *err);
