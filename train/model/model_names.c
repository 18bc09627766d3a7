/* SPDX-License-Identifier: Apache-2.0 */
/* model_names.c: given and counted names. */
#include "train/model/model_names.h"

#include "base/hash.h"

#include <string.h>

enum { LONGEST = 128 };

static const struct stk_param *name_row(const struct stk_decl *decl)
{
    for (const struct stk_param *row = decl->params; row->name; row++)
        if (!strcmp(row->name, "name"))
            return row;
    return NULL;
}

static bool is_taken(const struct stk__names *names, const char *name)
{
    uint64_t hash = stk__hash_bytes(0, name, strlen(name));
    for (int i = 0; i < names->n_taken; i++)
        if (names->taken[i].hash == hash && !strcmp(names->taken[i].name, name))
            return true;
    return false;
}

static int keep(struct stk__build *b, const char *name)
{
    struct stk__names *names = b->names;
    int n = names->n_taken;
    if (!(n & (n - 1))) { /* the capacity is the power of two that n fills */
        struct stk__taken_name *more =
            stk_arena_alloc(b->arena, (n ? (size_t)n * 2 : 1) * sizeof *more);
        if (!more)
            return stk__out_of_memory(b->err);
        if (n)
            memcpy(more, names->taken, (size_t)n * sizeof *more);
        names->taken = more;
    }
    names->taken[names->n_taken++] =
        (struct stk__taken_name){ stk__hash_bytes(0, name, strlen(name)), name };
    b->name = name;
    return STK_OK;
}

static int take_given(struct stk__build *b, const char *name)
{
    size_t len = strlen(name);
    bool is_good = len && len <= LONGEST;
    for (size_t i = 0; i < len; i++)
        is_good &= (unsigned char)name[i] > ' ' && name[i] != 0x7f && name[i] != '/';
    b->name = b->layer->decl.name; /* for messages */
    if (!is_good)
        return stk__build_fail(b, "name", STK_VALUE,
                               "a name has 1 to %d bytes and neither spaces nor '/' in it",
                               LONGEST);
    if (is_taken(b->names, name))
        return stk__build_fail(b, "name", STK_NAME,
                               "another layer is named %s; layers without a name count theirs, as "
                               "conv2d, conv2d_1",
                               name);
    return keep(b, name);
}

static int take_counted(struct stk__build *b)
{
    const struct stk__namespace *layers = &stk__layers;
    const char *base = b->layer->decl.name, *name;
    int which = 0;
    if (!b->names->counted)
        b->names->counted = stk_arena_alloc(b->arena, sizeof(int) * (size_t)layers->n_decls);
    if (!b->names->counted)
        return stk__out_of_memory(b->err);
    while (layers->decl[which] != &b->layer->decl)
        which++;
    do {
        int n = b->names->counted[which]++;
        name = n ? stk__arena_printf(b->arena, "%s_%d", base, n) : base;
        if (!name)
            return stk__out_of_memory(b->err);
    } while (is_taken(b->names, name));
    return keep(b, name);
}

int stk__names_take(struct stk__build *b)
{
    const struct stk_param *row = name_row(&b->layer->decl);
    b->name = NULL;
    if (!row)
        return STK_OK;
    const char *given = *(const char *const *)((const char *)b->params + row->offset);
    return given ? take_given(b, given) : take_counted(b);
}
