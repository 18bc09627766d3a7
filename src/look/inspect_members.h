/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_members.h: files that hold several arrays: what each is, and which are read together. */
#pragma once
#include "io/paths.h"
#include "look/inspect.h"

/* How the arrays of a file are spoken of, and what is known of their storage. */
struct stk__members {
    const char *noun;         /* "datasets" */
    const char *look_options; /* of the source, to look at one: ", hold=0" */
    struct stk__paths names;
    void (*add_storage)(void *ctx, const char *name, struct stk__text *out); /* or NULL */
    void *ctx;
};

/* Describes the arrays, and ends the chain so that it reads all of them, or the largest group that has
 * one number of elements. A fault of the file is left to the preview. */
int stk__inspect_members(struct stk__inspection *in, const struct stk__members *members,
                         struct stk_error *err);
