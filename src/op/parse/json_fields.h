/* SPDX-License-Identifier: Apache-2.0 */
/* json_fields.h: what jsonl and parse_json share: which values of a JSON text are wanted, and how
 * they become rows of fields. */
#pragma once
#include "codec/text/json.h"
#include "lang/lang.h"

/* value, list and array: what can be called in a map of fields. */
extern const struct stk__namespace stk__json_calls;

struct stk__json_field {
    struct stk_field field; /* what it becomes */
    const char *path;
    int want;              /* its number in the tree */
    const void *fallback;  /* where a text lacks it or has null; NULL: the text is bad */
    size_t fallback_bytes; /* of a list or of text */
};

struct stk__json_fields {
    int n;
    struct stk__json_field field[STK_MAX_FIELDS];
    struct stk__json_tree tree;
    int input; /* the field with the texts */
    int first; /* number of the first one's field in the output */
};

/* What a row for such a map says. */
#define STK__JSON_FIELDS_HELP                                                                      \
    "a map from fields to a type, whose path is the field's name; to a path of text; or to a "     \
    "call "                                                                                        \
    "such as value('a.b', int64)"

/* Reads a map from fields to what is wanted. What is kept is in the arena or part of the value. */
int stk__json_fields_read(const struct stk_value *map, struct stk_arena *arena,
                          struct stk__json_fields *out, struct stk_error *err);

/* The output has the wanted fields in the place of the one with the texts (its name, or NULL), and
 * the others untouched. */
int stk__json_fields_infer(struct stk_infer *inf, const char *name, struct stk__json_fields *fields,
                           struct stk_error *err);

/* Rows of texts. With `drops_blank`, texts of nothing but spaces are no elements. STK_OK or
 * STK_MEMORY. */
int stk__json_fields_run(struct stk_rows *rows, const struct stk__json_fields *fields,
                         bool drops_blank);
