/* SPDX-License-Identifier: Apache-2.0 */
/* declared.h: calls that stand where a value is wanted: optimizers, schedules, losses, activations. */
#pragma once
#include "lang/lang.h"

/* The call that a value is, and which declaration of the namespace it calls. `what` is how a
 * message begins: "an optimizer is". Fails at the value where it is not one call, and at the name where
 * nothing is called so. */
int stk__declared_call(const struct stk_value *value, const struct stk__namespace *ns,
                       const char *what, const struct stk__call **call, int *which,
                       struct stk_error *err);

/* The same where a name alone stands for a call without arguments: relu, 'relu' or relu(). The call
 * may be made in the arena. */
int stk__declared_name(const struct stk_value *value, const struct stk__namespace *ns,
                       const char *what, struct stk_arena *arena, const struct stk__call **call,
                       int *which, struct stk_error *err);

/* The same with its arguments bound, in the arena: what a declaration that begins with a struct stk_decl reads. */
struct stk__declared {
    const struct stk__call *call;
    const struct stk_decl *decl;
    const void *params;
};
int stk__declared_bound(const struct stk_value *value, const struct stk__namespace *ns,
                        const char *what, struct stk_arena *arena, struct stk__declared *out,
                        struct stk_error *err);
