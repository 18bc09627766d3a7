/* SPDX-License-Identifier: Apache-2.0 */
/* json_in.c: recursive descent over a text in memory. */
#define _GNU_SOURCE
#include "json_in.h"

#include "value_text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

struct reader {
    const char *p;
    int depth;
};

static struct cli_json *read_value(struct reader *in);

static void skip_space(struct reader *in)
{
    in->p += strspn(in->p, " \t\r\n");
}

static bool accept(struct reader *in, char c)
{
    skip_space(in);
    bool is_there = *in->p == c;
    in->p += is_there;
    return is_there;
}

static char *put_utf8(char *out, unsigned code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* What follows a backslash. */
static char *read_escape(struct reader *in, char *out)
{
    static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
    char c = *in->p++;
    const char *known = strchr(from, c);
    if (c == 'u' && !memchr(in->p, '"', 4) && !memchr(in->p, 0, 4)) {
        char digits[5] = { in->p[0], in->p[1], in->p[2], in->p[3], 0 };
        in->p += 4;
        return put_utf8(out, (unsigned)strtoul(digits, NULL, 16));
    }
    *out++ = known ? to[known - from] : c;
    return out;
}

/* Bytes up to the closing quote. */
static size_t raw_length(const char *p)
{
    size_t len = 0;
    while (p[len] && p[len] != '"')
        len += p[len] == '\\' && p[len + 1] ? 2 : 1;
    return len;
}

/* Returns new; an escape is never shorter than what it stands for. */
static char *read_string(struct reader *in)
{
    if (!accept(in, '"'))
        return NULL;
    const char *end = in->p + raw_length(in->p);
    char *text = *end ? malloc((size_t)(end - in->p) + 1) : NULL, *out = text;
    if (!text)
        return NULL;
    while (in->p < end) {
        if (*in->p == '\\') {
            in->p++;
            out = read_escape(in, out);
        } else {
            *out++ = *in->p++;
        }
    }
    *out = 0;
    in->p = end + 1;
    return text;
}

static bool read_members(struct reader *in, struct cli_json *json, char close)
{
    struct cli_json **end = &json->child;
    if (accept(in, close))
        return true;
    do {
        char *name = NULL;
        if (json->kind == CLI_JSON_MAP && (!(name = read_string(in)) || !accept(in, ':'))) {
            free(name);
            return false;
        }
        *end = read_value(in);
        if (!*end) {
            free(name);
            return false;
        }
        (*end)->name = name;
        end = &(*end)->next;
    } while (accept(in, ','));
    return accept(in, close);
}

static bool read_scalar(struct reader *in, struct cli_json *json)
{
    size_t len = strcspn(in->p, " \t\r\n,]}");
    if (!len)
        return false;
    json->kind = *in->p == 'n'          ? CLI_JSON_NULL
                 : strchr("tf", *in->p) ? CLI_JSON_BOOL
                                        : CLI_JSON_NUMBER;
    json->text = strndup(in->p, len);
    in->p += len;
    return json->text != NULL;
}

static bool fill_value(struct reader *in, struct cli_json *json)
{
    skip_space(in);
    if (*in->p == '"') {
        json->kind = CLI_JSON_STRING;
        json->text = read_string(in);
        return json->text != NULL;
    }
    if (*in->p != '[' && *in->p != '{')
        return read_scalar(in, json);
    json->kind = *in->p == '[' ? CLI_JSON_LIST : CLI_JSON_MAP;
    char close = *in->p++ == '[' ? ']' : '}';
    return read_members(in, json, close);
}

static struct cli_json *read_value(struct reader *in)
{
    struct cli_json *json = in->depth < MAX_DEPTH ? calloc(1, sizeof *json) : NULL;
    if (!json)
        return NULL;
    in->depth++;
    bool is_good = fill_value(in, json);
    in->depth--;
    if (is_good)
        return json;
    cli_json_free(json);
    return NULL;
}

struct cli_json *cli_json_parse(const char *text)
{
    struct reader in = { .p = text };
    return text ? read_value(&in) : NULL;
}

void cli_json_free(struct cli_json *json)
{
    while (json) {
        struct cli_json *next = json->next;
        cli_json_free(json->child);
        free(json->name);
        free(json->text);
        free(json);
        json = next;
    }
}

void cli_json_add(struct stk__text *out, const char *name, const struct cli_json *json)
{
    bool is_map = json->kind == CLI_JSON_MAP;
    if (json->kind == CLI_JSON_STRING) {
        stk__json_string(out, name, json->text);
    } else if (json->text) {
        stk__json_name(out, name);
        stk__text_add(out, "%s", json->text);
    } else {
        stk__json_open(out, name, is_map ? '{' : '[');
        for (const struct cli_json *member = json->child; member; member = member->next)
            cli_json_add(out, is_map ? member->name : NULL, member);
        stk__json_close(out, is_map ? '}' : ']');
    }
}

const struct cli_json *cli_json_get(const struct cli_json *json, const char *name)
{
    const struct cli_json *member = json && json->kind == CLI_JSON_MAP ? json->child : NULL;
    while (member && strcmp(member->name, name) != 0)
        member = member->next;
    return member;
}

const char *cli_json_text(const struct cli_json *json, const char *name)
{
    const struct cli_json *member = cli_json_get(json, name);
    return member && member->text && member->kind != CLI_JSON_NULL ? member->text : "";
}

bool cli_json_flag(const struct cli_json *json, const char *name)
{
    return !strcmp(cli_json_text(json, name), "true");
}
