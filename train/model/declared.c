/* SPDX-License-Identifier: Apache-2.0 */
/* declared.c: one call, or a name for it, found in its namespace. */
#include "train/model/declared.h"

#include "base/error.h"

static int fail_not_a_call(const struct stk_value *value, const struct stk__namespace *ns,
                           const char *what, struct stk_error *err)
{
    struct stk__text names = { 0 };
    for (int i = 0; i < ns->n_decls; i++)
        stk__text_add(&names, "%s%s", i ? ", " : "", ns->decl[i]->name);
    if (names.failed)
        return stk__out_of_memory(err);
    stk__fail_at(err, STK_VALUE, value->at, value->len, "%s one call of %s", what, names.data);
    stk__text_free(&names);
    return STK_VALUE;
}

static int find(const struct stk__call *call, const struct stk__namespace *ns, int *which,
                struct stk_error *err)
{
    const struct stk_decl *decl = stk__namespace_find(ns, call->name);
    if (!decl)
        return stk__unknown_call(ns, call, err);
    for (*which = 0; ns->decl[*which] != decl;)
        ++*which;
    return STK_OK;
}

int stk__declared_call(const struct stk_value *value, const struct stk__namespace *ns,
                       const char *what, const struct stk__call **call, int *which,
                       struct stk_error *err)
{
    if (value->kind != STK__CHAIN || value->n_calls != 1)
        return fail_not_a_call(value, ns, what, err);
    *call = value->call;
    return find(*call, ns, which, err);
}

int stk__declared_name(const struct stk_value *value, const struct stk__namespace *ns,
                       const char *what, struct stk_arena *arena, const struct stk__call **call,
                       int *which, struct stk_error *err)
{
    bool is_name = value->kind == STK__WORD || value->kind == STK__STRING;
    if (!is_name)
        return stk__declared_call(value, ns, what, call, which, err);
    struct stk__call *made = stk_arena_alloc(arena, sizeof *made);
    if (!made)
        return stk__out_of_memory(err);
    *made = (struct stk__call){ .name = value->text, .at = value->at, .len = value->len };
    *call = made;
    return find(made, ns, which, err);
}

int stk__declared_bound(const struct stk_value *value, const struct stk__namespace *ns,
                        const char *what, struct stk_arena *arena, struct stk__declared *out,
                        struct stk_error *err)
{
    int which;
    int rc = stk__declared_call(value, ns, what, &out->call, &which, err);
    if (rc)
        return rc;
    out->decl = ns->decl[which];
    void *params = stk_arena_alloc(arena, out->decl->params_size);
    out->params = params;
    return params ? stk__call_bind(out->call, out->decl, arena, params, err)
                  : stk__out_of_memory(err);
}
