/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c: op_list.def as a sorted namespace. */
#include "op/registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OP(name) extern const struct stk_op stk__op_##name;
#include "op/op_list.def"
#undef OP

static const struct stk_op *const built_in[] = {
#define OP(name) &stk__op_##name,
#include "op/op_list.def"
#undef OP
};

enum { N_BUILT_IN = sizeof built_in / sizeof *built_in, MAX_OPS = N_BUILT_IN + 64 };

static const struct stk_decl *decls[MAX_OPS];
static struct stk__namespace pipelines = { .name = "pipeline", .decl = decls };
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct stk_decl *const *)a)->name,
                  (*(const struct stk_decl *const *)b)->name);
}

static void fill(void)
{
    for (int i = 0; i < N_BUILT_IN; i++)
        decls[i] = &built_in[i]->decl;
    pipelines.n_decls = N_BUILT_IN;
    qsort(decls, N_BUILT_IN, sizeof *decls, by_name);
}

const struct stk__namespace *stk__ops_namespace(void)
{
    pthread_once(&once, fill);
    return &pipelines;
}

const struct stk_op *stk__op_find(const char *name)
{
    const struct stk_decl *decl = stk__namespace_find(stk__ops_namespace(), name);
    return decl ? stk__op_of(decl) : NULL;
}

int stk__op_register(const struct stk_op *op, struct stk_error *err)
{
    if (stk__op_find(op->decl.name))
        return stk_fail(err, STK_NAME, "an op named %s exists already", op->decl.name);
    if (pipelines.n_decls == MAX_OPS)
        return stk_fail(err, STK_STATE, "no room for more ops");
    decls[pipelines.n_decls++] = &op->decl;
    qsort(decls, (size_t)pipelines.n_decls, sizeof *decls, by_name);
    return STK_OK;
}
