/* SPDX-License-Identifier: Apache-2.0 */
/* chain_edit.h: a chain as a list of the texts of its calls, to make another one of. */
#pragma once
#include "graph/graph.h"

struct stk__chain_edit {
    struct stk_arena *arena;
    const char **call; /* short form, without the dots */
    const char **name; /* of the op */
    int n, cap;
};

/* The calls of a dataset; 0 or STK_MEMORY. Texts live in the arena. */
int stk__edit_begin(struct stk__chain_edit *edit, const struct stk_dataset *dataset,
                    struct stk_arena *arena);

/* A copy that is changed on its own. */
int stk__edit_copy(struct stk__chain_edit *edit, const struct stk__chain_edit *from);

/* The first call of that name at or behind `from`; -1: there is none. */
int stk__edit_find(const struct stk__chain_edit *edit, const char *name, int from);

/* The op of a call. */
const struct stk__op *stk__edit_op(const struct stk__chain_edit *edit, int at);

int stk__edit_insert(struct stk__chain_edit *edit, int at, const char *call);
void stk__edit_remove(struct stk__chain_edit *edit, int at);
void stk__edit_replace(struct stk__chain_edit *edit, int at, const char *call);

/* A call with one more argument at its end. */
const char *stk__edit_with(struct stk__chain_edit *edit, int at, const char *argument);

/* All calls from `first` to before `end`; NULL when out of memory. In the arena. */
const char *stk__edit_text(const struct stk__chain_edit *edit, int first, int end);
