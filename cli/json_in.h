/* SPDX-License-Identifier: Apache-2.0 */
/* json_in.h: a small JSON reader, for what the library describes as JSON. */
#pragma once
#include "base/json_out.h"

#include <stdbool.h>

enum cli_json_kind {
    CLI_JSON_NULL,
    CLI_JSON_BOOL,
    CLI_JSON_NUMBER,
    CLI_JSON_STRING,
    CLI_JSON_LIST,
    CLI_JSON_MAP,
};

struct cli_json {
    enum cli_json_kind kind;
    char *name; /* its key in a map */
    char *text; /* a string's characters; any other scalar as written */
    struct cli_json *child, *next;
};

/* Returns new; NULL when the text is not JSON or memory is short. */
struct cli_json *cli_json_parse(const char *text);
void cli_json_free(struct cli_json *json);

/* Writes it again, as JSON. */
void cli_json_add(struct stk__text *out, const char *name, const struct cli_json *json);

/* The member of a map, or NULL. */
const struct cli_json *cli_json_get(const struct cli_json *json, const char *name);

/* The text of a map's scalar member, or "". */
const char *cli_json_text(const struct cli_json *json, const char *name);

/* A map's member is there and true. */
bool cli_json_flag(const struct cli_json *json, const char *name);
