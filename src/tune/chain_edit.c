/* SPDX-License-Identifier: Apache-2.0 */
/* chain_edit.c: the calls of a chain, taken apart and put together again. */
#include "tune/chain_edit.h"

#include "base/error.h"

#include <string.h>

enum { ROOM = 8 }; /* calls that may be put in */

static int edit_new(struct stk__chain_edit *edit, struct stk_arena *arena, int n)
{
    *edit = (struct stk__chain_edit){ .arena = arena, .cap = n + ROOM };
    edit->call = stk_arena_alloc(arena, (size_t)edit->cap * sizeof *edit->call);
    edit->name = stk_arena_alloc(arena, (size_t)edit->cap * sizeof *edit->name);
    return edit->call && edit->name ? STK_OK : STK_MEMORY;
}

static const char *print_one(struct stk_arena *arena, const struct stk__call *call)
{
    const struct stk_value one = { .kind = STK__CHAIN, .n_calls = 1, .call = call };
    struct stk__text text = { 0 };
    int rc = stk__print_value(&one, stk__ops_namespace(), STK__SHORT, &text, NULL);
    const char *copy = rc || text.failed ? NULL : stk__arena_text_n(arena, text.data, text.len);
    stk__text_free(&text);
    return copy;
}

int stk__edit_begin(struct stk__chain_edit *edit, const struct stk_dataset *dataset,
                    struct stk_arena *arena)
{
    const struct stk_value *chain = dataset->value;
    int rc = edit_new(edit, arena, chain->n_calls);
    for (int i = 0; !rc && i < chain->n_calls; i++) {
        edit->call[i] = print_one(arena, &chain->call[i]);
        edit->name[i] = stk_arena_text(arena, chain->call[i].name);
        rc = edit->call[i] && edit->name[i] ? STK_OK : STK_MEMORY;
        edit->n++;
    }
    return rc;
}

int stk__edit_copy(struct stk__chain_edit *edit, const struct stk__chain_edit *from)
{
    int rc = edit_new(edit, from->arena, from->n);
    if (rc)
        return rc;
    edit->n = from->n;
    memcpy(edit->call, from->call, (size_t)from->n * sizeof *edit->call);
    memcpy(edit->name, from->name, (size_t)from->n * sizeof *edit->name);
    return STK_OK;
}

int stk__edit_find(const struct stk__chain_edit *edit, const char *name, int from)
{
    for (int i = from; i < edit->n; i++)
        if (!strcmp(edit->name[i], name))
            return i;
    return -1;
}

const struct stk__op *stk__edit_op(const struct stk__chain_edit *edit, int at)
{
    return stk__op_find(edit->name[at]);
}

/* "take(5)": take. */
static const char *name_of(struct stk_arena *arena, const char *call)
{
    return stk__arena_text_n(arena, call, strcspn(call, "(@"));
}

int stk__edit_insert(struct stk__chain_edit *edit, int at, const char *call)
{
    const char *name = name_of(edit->arena, call);
    if (edit->n == edit->cap || !name)
        return STK_MEMORY;
    size_t behind = (size_t)(edit->n++ - at);
    memmove(edit->call + at + 1, edit->call + at, behind * sizeof *edit->call);
    memmove(edit->name + at + 1, edit->name + at, behind * sizeof *edit->name);
    edit->call[at] = call;
    edit->name[at] = name;
    return STK_OK;
}

void stk__edit_remove(struct stk__chain_edit *edit, int at)
{
    size_t behind = (size_t)(--edit->n - at);
    memmove(edit->call + at, edit->call + at + 1, behind * sizeof *edit->call);
    memmove(edit->name + at, edit->name + at + 1, behind * sizeof *edit->name);
}

void stk__edit_replace(struct stk__chain_edit *edit, int at, const char *call)
{
    edit->call[at] = call;
}

const char *stk__edit_with(struct stk__chain_edit *edit, int at, const char *argument)
{
    const char *call = edit->call[at];
    size_t len = strlen(call);
    bool has_none = call[len - 2] == '(';
    return stk__arena_printf(edit->arena, "%.*s%s%s)", (int)len - 1, call, has_none ? "" : ", ",
                             argument);
}

const char *stk__edit_text(const struct stk__chain_edit *edit, int first, int end)
{
    struct stk__text text = { 0 };
    for (int i = first; i < end; i++)
        stk__text_add(&text, "%s%s", i > first ? "." : "", edit->call[i]);
    const char *copy =
        text.failed ? NULL : stk__arena_text_n(edit->arena, text.data ? text.data : "", text.len);
    stk__text_free(&text);
    return copy;
}
