/* SPDX-License-Identifier: Apache-2.0 */
/* value.h: what the grammar yields. Values live in the arena they were parsed into.
 *
 *     chain := call ('.' call)*     call := name ['@' version] '(' [arg (',' arg)* [',']] ')'
 *     arg := [name '='] value
 *     value := number | string | word | chain | '[' values ']' | '{' key ':' value, … '}'
 *            | '@' name
 *     recipe := (name '=' value)* [chain] ; '#' starts a comment
 *
 * A number is constant arithmetic with + - * / and brackets over literals (12, 0xff, .5, 1e-3)
 * and @names of numbers. Integers have 64 bits; + - * of two integers is an integer, '/' always
 * gives a real, and what overflows or is not finite is an error. A chain or a chain's beginning
 * may be an @name assigned before. Brackets nest at most 64 deep (a list that is a whole
 * argument is free), a chain has at most 1024 calls, a text at most 1 MiB, also when its @names
 * are written out.
 */
#pragma once
#include "base/memory/arena.h"

enum stk__value_kind {
    STK__INT,
    STK__REAL,
    STK__STRING,
    STK__WORD,
    STK__LIST,
    STK__MAP,
    STK__CHAIN,
    STK__OBJECT,
};

struct stk__arg {
    const char *name; /* NULL: positional */
    uint32_t at, len; /* of the name, or of the value */
    const struct stk_value *value;
};

struct stk__call {
    const char *name;
    int version;      /* 0: none written */
    uint32_t at, len; /* of the name */
    int n_args;
    const struct stk__arg *arg;
};

struct stk_value {
    enum stk__value_kind kind;
    uint32_t at, len; /* place in the text, bytes */
    union {
        int64_t integer;
        double real;
        struct {
            const char *text; /* NUL-terminated; strings may also hold NUL bytes */
            size_t text_len;
        };
        struct {
            int n_items;
            const struct stk_value *const *item; /* LIST, MAP: values */
            const struct stk_value *const *key;  /* MAP: strings or words */
        };
        struct {
            int n_calls;
            const struct stk__call *call;
        };
        struct {
            const char *name;
            const struct stk__object *bound; /* borrowed from the objects given to parse */
        } object;
    };
};
