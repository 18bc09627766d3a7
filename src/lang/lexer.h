/* SPDX-License-Identifier: Apache-2.0 */
/* lexer.h: text to tokens, and what the printers must know of characters. */
#pragma once
#include "base/memory/arena.h"

/* Punctuation is its own kind: '(' ')' '[' ']' '{' '}' ',' '.' ':' '=' '+' '-' '*' '/'. */
enum stk__token_kind {
    STK__TOKEN_END = 256,
    STK__TOKEN_NAME,
    STK__TOKEN_STRING,
    STK__TOKEN_INTEGER, /* without a sign, at most 2^63 */
    STK__TOKEN_REAL,
    STK__TOKEN_OBJECT,  /* @name; text is the name */
    STK__TOKEN_VERSION, /* @1; integer is the number */
};

struct stk__token {
    int kind;
    uint32_t at, len; /* bytes; the end of the text is one byte just behind the last token */
    const char *text; /* NAME, OBJECT, STRING (decoded): in the arena, NUL-terminated */
    size_t text_len;
    uint64_t integer;
    double real;
};

struct stk__lexer {
    const char *text; /* NUL-terminated */
    uint32_t pos;     /* just behind the last token */
    struct stk_arena *arena;
};

int stk__lexer_next(struct stk__lexer *lexer, struct stk__token *out, struct stk_error *err);

/* True for [A-Za-z_][A-Za-z0-9_]*. */
bool stk__is_name(const char *text, size_t len);
