/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h: declarations of the library, printed for people: ops, layers, known models. */
#pragma once
#include "json_in.h"

struct cli_args;

struct cli_explained {
    char *(*json)(void); /* a list of declarations; returns new */
    const char *one;     /* "op" */
    const char *command; /* that lists them: "stoker ops" */
};

/* The list, or the one that the operand names; as JSON with --json. Returns an exit code. */
int cli_explain_show(const struct cli_explained *what, const struct cli_args *args);

/* Prints the one of that name; false if there is none. */
bool cli_explain_one(const struct cli_explained *what, const char *name);
