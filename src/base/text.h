/* SPDX-License-Identifier: Apache-2.0 */
/* text.h: a string that grows. After a failed allocation it stays empty and `failed` is set. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stk__text {
    char *data; /* NUL-terminated, or NULL when empty */
    size_t len, cap;
    bool failed;
    bool is_tight; /* JSON (json_out.h) has no spaces */
};

void stk__text_add(struct stk__text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void stk__text_add_n(struct stk__text *text, const char *data, size_t len);

/* Bytes of the UTF-8 character at the start of `text`; 0 if there is no valid one. */
size_t stk__utf8_bytes(const char *text, size_t len);

/* A JSON string with its quotes. Bytes b that are not UTF-8 become the character U+00b. */
void stk__text_add_json(struct stk__text *text, const char *value, size_t len);

/* A real that reads back as the same bits, locale-free, always with '.' or 'e' (or nan, inf). */
void stk__text_add_real(struct stk__text *text, double value);

/* The same with that many digits, as %g writes it. */
void stk__text_add_rounded(struct stk__text *text, double value, int digits);

/* Gives the string away (returns new, from malloc; "" when empty, NULL when an allocation
 * failed). */
char *stk__text_take(struct stk__text *text);
void stk__text_free(struct stk__text *text);

/* A real from text, locale-free; returns the end of what was read, or NULL. */
const char *stk__parse_real(const char *text, double *out);

/* The same for float32, rounded once. */
const char *stk__parse_single(const char *text, float *out);
