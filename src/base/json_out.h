/* SPDX-License-Identifier: Apache-2.0 */
/* json_out.h: members of a JSON object, one after the other. Each begins with a comma, unless the text ends with an opening
 * bracket or a new line: then it is the first. */
#pragma once
#include "base/text.h"

/* The name of the next member; its value comes next. */
void stk__json_name(struct stk__text *out, const char *name);
void stk__json_count(struct stk__text *out, const char *name, uint64_t n);
void stk__json_real(struct stk__text *out, const char *name, double value);
void stk__json_bool(struct stk__text *out, const char *name, bool value);

/* NULL is null. */
void stk__json_string(struct stk__text *out, const char *name, const char *value);

/* True if what comes next needs no comma before it. */
bool stk__json_is_first(const struct stk__text *out);
