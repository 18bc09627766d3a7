/* SPDX-License-Identifier: Apache-2.0 */
/* registry.h: the list of ops. */
#pragma once
#include "lang/lang.h"
#include "op/declaration.h"

/* The namespace of pipelines: every op's declaration, sorted by name. It never changes: ops that
 * are added later are in the one that a later call gives. Any thread. */
const struct stk__namespace *stk__ops_namespace(void);

/* The op behind a declaration of that namespace (the declaration is its first member). */
static inline const struct stk__op *stk__op_of(const struct stk_decl *decl)
{
    return (const struct stk__op *)(const void *)decl;
}

/* Every declaration of an op below src/op; the build makes it of the files. */
extern const struct stk__namespace stk__built_in_ops;

const struct stk__op *stk__op_find(const char *name);

/* Adds ops, all of them or none, for the life of the process: chains hold pointers to them. */
int stk__ops_add(const struct stk__op *const *op, int n, struct stk_error *err);

/* What an op is about, for lists: "sources"; and the place of that among such subjects, from 0. */
const char *stk__op_subject(const struct stk__op *op, int *place);

/* False for ops that were added. */
static inline bool stk__op_is_built_in(const struct stk__op *op)
{
    return !op->plugin;
}
