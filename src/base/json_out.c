/* SPDX-License-Identifier: Apache-2.0 */
/* json_out.c: see json_out.h. */
#include "base/json_out.h"

#include <string.h>

bool stk__json_is_first(const struct stk__text *out)
{
    char last = out->len ? out->data[out->len - 1] : '{';
    return last == '{' || last == '[' || last == '\n';
}

void stk__json_name(struct stk__text *out, const char *name)
{
    stk__text_add(out, stk__json_is_first(out) ? "\"%s\": " : ", \"%s\": ", name);
}

void stk__json_count(struct stk__text *out, const char *name, uint64_t n)
{
    stk__json_name(out, name);
    stk__text_add(out, "%llu", (unsigned long long)n);
}

void stk__json_real(struct stk__text *out, const char *name, double value)
{
    stk__json_name(out, name);
    stk__text_add_rounded(out, value, 9);
}

void stk__json_bool(struct stk__text *out, const char *name, bool value)
{
    stk__json_name(out, name);
    stk__text_add(out, value ? "true" : "false");
}

void stk__json_string(struct stk__text *out, const char *name, const char *value)
{
    stk__json_name(out, name);
    if (value)
        stk__text_add_json(out, value, strlen(value));
    else
        stk__text_add(out, "null");
}
