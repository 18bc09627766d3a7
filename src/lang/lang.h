/* SPDX-License-Identifier: Apache-2.0 */
/* lang.h: text to values, values to parameters, and back to text. Knows no op. */
#pragma once
#include "base/error.h"
#include "base/text.h"
#include "lang/param_rows.h"
#include "lang/value.h"

/* Things that can be called where a value is wanted: pipelines now; models, schedules, … later. */
struct stk__namespace {
    const char *name;
    const struct stk_decl *const *decl;
    int n_decls;
};

const struct stk_decl *stk__namespace_find(const struct stk__namespace *ns, const char *name);

/* The known name nearest to a misspelt one (edit distance), or NULL if none is near. `names`
 * ends with NULL. */
const char *stk__nearest_name(const char *name, const char *const *names);

/* Fails with STK_NAME at the call, offering the nearest known name. */
int stk__unknown_call(const struct stk__namespace *ns, const struct stk__call *call,
                      struct stk_error *err);

/* Parses a chain, or a recipe: assignments, then optionally a chain; the result is the chain or
 * else the last assignment. @name finds earlier assignments, then objects (may be NULL). The
 * text may be freed after. */
int stk__parse(const char *text, const struct stk_objects *objects, struct stk_arena *arena,
               const struct stk_value **out, struct stk_error *err);

/* All that a recipe without a chain at its end assigns: as arguments, so that they can be bound. */
struct stk__assignments {
    int n;
    const struct stk__arg *arg;
    const bool *is_used; /* a later one names it */
};
int stk__parse_assignments(const char *text, const struct stk_objects *objects,
                           struct stk_arena *arena, struct stk__assignments *out,
                           struct stk_error *err);

/* Fills params (params_size bytes, cleared by this call) from defaults and arguments. Every
 * fault names the call, the parameter and what it takes, and points at the argument. Texts and
 * values stay where the call has them; arrays are made in the arena. A row whose default is none
 * takes the word none. */
int stk__call_bind(const struct stk__call *call, const struct stk_decl *decl,
                   struct stk_arena *arena, void *params, struct stk_error *err);

enum stk__print_form { STK__SHORT, STK__CANONICAL };

/* Prints one bound call. Short: positional while that is possible, defaults left out, keywords
 * after. Canonical: name@version and every parameter by name. Nested chains are bound against
 * ns. */
int stk__print_call(const struct stk_decl *decl, const void *params,
                    const struct stk__namespace *ns, enum stk__print_form form,
                    struct stk__text *out, struct stk_error *err);

/* Prints a value; chains in it are bound against ns and printed in the form asked for, or as
 * they were written if ns is NULL. Both printers append to out, and what they print is UTF-8. */
int stk__print_value(const struct stk_value *value, const struct stk__namespace *ns,
                     enum stk__print_form form, struct stk__text *out, struct stk_error *err);

/* Declarations as JSON: one object with name, version, summary, doc and params; or only what
 * stands between its braces, for a caller that has more to say. */
void stk__decl_json(const struct stk_decl *decl, struct stk__text *out);
void stk__decl_json_members(const struct stk_decl *decl, struct stk__text *out);
