/* SPDX-License-Identifier: Apache-2.0 */
/* registry.h: the list of ops. */
#pragma once
#include "lang/lang.h"

/* The namespace of pipelines: every op's declaration, sorted by name. */
const struct stk__namespace *stk__ops_namespace(void);

/* The op behind a declaration of that namespace (the declaration is its first member). */
static inline const struct stk_op *stk__op_of(const struct stk_decl *decl)
{
    return (const struct stk_op *)(const void *)decl;
}

const struct stk_op *stk__op_find(const char *name);

/* Adds an op for the life of the process; not thread-safe, before the first dataset. For tests. */
int stk__op_register(const struct stk_op *op, struct stk_error *err);
