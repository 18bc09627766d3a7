/* SPDX-License-Identifier: Apache-2.0 */
/* glob_match.c: one name against one part of a pattern, and the readings of braces. */
#include "base/error.h"
#include "io/directory.h"
#include "io/glob.h"

#include <stdio.h>
#include <string.h>

enum { MAX_READINGS = 10000 };

static int sequence_len(unsigned char lead)
{
    return lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
}

/* The character at *text, which is moved behind it. A byte that is no UTF-8 is a character of
 * its own. */
static uint32_t next_char(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    int len = sequence_len(*s);
    uint32_t c = len == 1 ? *s : *s & (0xffu >> (len + 1));
    for (int i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            *text += 1;
            return 0x110000u + *s;
        }
        c = c << 6 | (s[i] & 0x3f);
    }
    *text += len;
    return c;
}

static uint32_t next_set_char(const char **text)
{
    if (**text == '\\' && (*text)[1])
        ++*text;
    return next_char(text);
}

/* The ']' that ends the set which begins at `set`, or NULL: then '[' is a plain character. */
static const char *set_end(const char *set)
{
    const char *s = set + 1;
    if (*s == '!' || *s == '^')
        s++;
    if (*s == ']')
        s++;
    for (; *s && *s != ']'; s++)
        if (*s == '\\' && s[1])
            s++;
    return *s ? s : NULL;
}

static bool is_in_set(const char *set, const char *end, uint32_t c)
{
    const char *s = set + 1;
    bool is_negated = *s == '!' || *s == '^', is_found = false;
    if (is_negated)
        s++;
    while (s < end) {
        uint32_t lo = next_set_char(&s), hi = lo;
        if (*s == '-' && s + 1 < end) {
            s++;
            hi = next_set_char(&s);
        }
        is_found |= lo <= c && c <= hi;
    }
    return is_found != is_negated;
}

/* Matches one character and moves both on; leaves them when it does not match. */
static bool match_char(const char **pattern, const char **name)
{
    const char *p = *pattern, *s = *name, *end;
    uint32_t c = next_char(&s);
    bool is_match;
    if (*p == '?') {
        is_match = true;
        p++;
    } else if (*p == '[' && (end = set_end(p))) {
        is_match = is_in_set(p, end, c);
        p = end + 1;
    } else {
        is_match = *p && next_set_char(&p) == c;
    }
    if (is_match) {
        *pattern = p;
        *name = s;
    }
    return is_match;
}

bool stk__glob_match(const char *pattern, const char *name)
{
    const char *after_star = NULL, *retry = NULL;
    bool asks_for_dot = *pattern == '.' || (*pattern == '\\' && pattern[1] == '.');
    if (*name == '.' && !asks_for_dot)
        return false;
    while (*name) {
        if (*pattern == '*') {
            after_star = ++pattern;
            retry = name;
        } else if (!match_char(&pattern, &name)) {
            if (!after_star)
                return false;
            next_char(&retry);
            pattern = after_star;
            name = retry;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

/* One step through a pattern: over an escaped character or a plain one. */
static const char *step(const char *s)
{
    return s + (*s == '\\' && s[1] ? 2 : 1);
}

/* The end of the alternative that begins at s: its ',' or '}', or NULL when there is none. */
static const char *alternative_end(const char *s)
{
    for (int depth = 0; *s; s = step(s)) {
        if (depth == 0 && (*s == ',' || *s == '}'))
            return s;
        depth += (*s == '{') - (*s == '}');
    }
    return NULL;
}

static const char *first_brace(const char *s)
{
    while (*s && *s != '{')
        s = step(s);
    return *s ? s : NULL;
}

/* Appends `pattern` once for each alternative of the brace group at `open`. */
static int expand(const char *pattern, const char *open, struct stk__paths *out)
{
    char reading[STK__PATH_BYTES];
    const char *close = open, *begin = open + 1, *end;
    do
        close = alternative_end(close + 1);
    while (*close == ',');
    do {
        end = alternative_end(begin);
        int len = snprintf(reading, sizeof reading, "%.*s%.*s%s", (int)(open - pattern), pattern,
                           (int)(end - begin), begin, close + 1);
        if (stk__paths_add(out, reading, (size_t)len))
            return STK_MEMORY;
        begin = end + 1;
    } while (*end == ',');
    return STK_OK;
}

static bool is_balanced(const char *open)
{
    const char *end = alternative_end(open + 1);
    while (end && *end == ',')
        end = alternative_end(end + 1);
    return end;
}

/* Reads the list `work` front to back while putting what still has braces behind its end. */
static int expand_all(struct stk__paths *work, struct stk__paths *out, struct stk_error *err)
{
    char pattern[STK__PATH_BYTES];
    for (size_t i = 0; i < work->n; i++) {
        snprintf(pattern, sizeof pattern, "%s", stk__paths_at(work, i));
        const char *open = first_brace(pattern);
        if (open && !is_balanced(open))
            return stk_fail(err, STK_VALUE, "the pattern '%s' has a { without its }", pattern);
        if (work->n > MAX_READINGS)
            return stk_fail(err, STK_VALUE, "the braces of '%s' stand for more than %d patterns",
                            stk__paths_at(work, 0), MAX_READINGS);
        int code =
            open ? expand(pattern, open, work) : stk__paths_add(out, pattern, strlen(pattern));
        if (code)
            return stk__out_of_memory(err);
    }
    return STK_OK;
}

int stk__glob_braces(const char *pattern, struct stk__paths *out, struct stk_error *err)
{
    struct stk__paths work = { 0 };
    size_t len = strlen(pattern);
    if (len >= STK__PATH_BYTES)
        return stk_fail(err, STK_VALUE, "the pattern '%.60s...' is too long", pattern);
    int code = stk__paths_add(&work, pattern, len);
    code = code ? stk__out_of_memory(err) : expand_all(&work, out, err);
    stk__paths_free(&work);
    return code;
}
