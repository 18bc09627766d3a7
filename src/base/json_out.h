/* SPDX-License-Identifier: Apache-2.0 */
/* json_out.h: JSON, written piece by piece at the end of a text: whatever prints JSON does it with these.
 *
 * A value has a name in an object and NULL instead of it in a list, or where its name was written before. What
 * comes before it is known from what the text ends with: nothing after an opening bracket, a name or a new
 * line, else a comma. Texts with `is_tight` have no spaces after commas and colons.
 *
 *     stk__json_open(out, NULL, '{');              {
 *     stk__json_whole(out, "rows", 3);             {"rows": 3
 *     stk__json_open(out, "names", '[');           {"rows": 3, "names": [
 *     stk__json_string(out, NULL, "a");            {"rows": 3, "names": ["a"
 *     stk__json_close(out, ']');                   {"rows": 3, "names": ["a"]
 *     stk__json_line(out, 1);                      {"rows": 3, "names": ["a"],⏎␣
 */
#pragma once
#include "base/text.h"

/* '{' or '[', and what ends it. */
void stk__json_open(struct stk__text *out, const char *name, char bracket);
void stk__json_close(struct stk__text *out, char bracket);

/* What comes next is on a line of its own, behind so many spaces. */
void stk__json_line(struct stk__text *out, int indent);

/* The name of the next value, or the comma before an item; the value comes next. */
void stk__json_name(struct stk__text *out, const char *name);

void stk__json_count(struct stk__text *out, const char *name, uint64_t n);
void stk__json_whole(struct stk__text *out, const char *name, int64_t n);
void stk__json_wholes(struct stk__text *out, const char *name, const int64_t *item, int n);

/* With 9 digits; so that it reads back as the same bits; with so many digits behind the point. All write null for
 * NaN and 1e999 for infinity. */
void stk__json_real(struct stk__text *out, const char *name, double value);
void stk__json_exact(struct stk__text *out, const char *name, double value);
void stk__json_fixed(struct stk__text *out, const char *name, double value, int digits);

void stk__json_bool(struct stk__text *out, const char *name, bool value);
void stk__json_null(struct stk__text *out, const char *name);

/* NULL is null. */
void stk__json_string(struct stk__text *out, const char *name, const char *value);
void stk__json_bytes(struct stk__text *out, const char *name, const char *value, size_t len);
