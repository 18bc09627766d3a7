/* SPDX-License-Identifier: Apache-2.0 */
/* json_out.c: see json_out.h. */
#include "base/json_out.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* True if what comes next needs no comma before it. */
static bool is_first(const struct stk__text *out)
{
    size_t len = out->len;
    while (len && out->data[len - 1] == ' ')
        len--;
    return !len || strchr("{[:\n", out->data[len - 1]);
}

void stk__json_name(struct stk__text *out, const char *name)
{
    if (!is_first(out))
        stk__text_add(out, out->is_tight ? "," : ", ");
    if (!name)
        return;
    stk__text_add_json(out, name, strlen(name));
    stk__text_add(out, out->is_tight ? ":" : ": ");
}

void stk__json_open(struct stk__text *out, const char *name, char bracket)
{
    stk__json_name(out, name);
    stk__text_add_n(out, &bracket, 1);
}

void stk__json_close(struct stk__text *out, char bracket)
{
    stk__text_add_n(out, &bracket, 1);
}

void stk__json_line(struct stk__text *out, int indent)
{
    stk__text_add(out, "%s\n%*s", is_first(out) ? "" : ",", indent, "");
}

void stk__json_count(struct stk__text *out, const char *name, uint64_t n)
{
    stk__json_name(out, name);
    stk__text_add(out, "%" PRIu64, n);
}

void stk__json_whole(struct stk__text *out, const char *name, int64_t n)
{
    stk__json_name(out, name);
    stk__text_add(out, "%" PRId64, n);
}

void stk__json_wholes(struct stk__text *out, const char *name, const int64_t *item, int n)
{
    stk__json_open(out, name, '[');
    for (int i = 0; i < n; i++)
        stk__json_whole(out, NULL, item[i]);
    stk__json_close(out, ']');
}

/* What JSON has no number for: null, or more than a reader can hold, which it takes for infinity. */
static bool add_unbounded(struct stk__text *out, double value)
{
    if (!isfinite(value))
        stk__text_add(out, isnan(value) ? "null" : value < 0 ? "-1e999" : "1e999");
    return !isfinite(value);
}

void stk__json_real(struct stk__text *out, const char *name, double value)
{
    stk__json_name(out, name);
    if (!add_unbounded(out, value))
        stk__text_add_rounded(out, value, 9);
}

void stk__json_exact(struct stk__text *out, const char *name, double value)
{
    stk__json_name(out, name);
    if (!add_unbounded(out, value))
        stk__text_add_real(out, value);
}

void stk__json_fixed(struct stk__text *out, const char *name, double value, int digits)
{
    stk__json_name(out, name);
    if (!add_unbounded(out, value))
        stk__text_add(out, "%.*f", digits, value);
}

void stk__json_bool(struct stk__text *out, const char *name, bool value)
{
    stk__json_name(out, name);
    stk__text_add(out, value ? "true" : "false");
}

void stk__json_null(struct stk__text *out, const char *name)
{
    stk__json_name(out, name);
    stk__text_add(out, "null");
}

void stk__json_bytes(struct stk__text *out, const char *name, const char *value, size_t len)
{
    stk__json_name(out, name);
    stk__text_add_json(out, value, len);
}

void stk__json_string(struct stk__text *out, const char *name, const char *value)
{
    if (value)
        stk__json_bytes(out, name, value, strlen(value));
    else
        stk__json_null(out, name);
}
