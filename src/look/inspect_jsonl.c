/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_jsonl.c: files with a JSON object on every line: names, and types that all have. */
#include "look/inspect.h"

#include "base/error.h"
#include "codec/text/json.h"
#include "lang/quote.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 100, MOST_NAMES = 64, MOST_LETTERS = 64, MOST_DEPTH = 4 };

enum type { NONE, TEXT, BOOL, WHOLE, REAL, LIST, OTHER };

struct member {
    char path[MOST_LETTERS]; /* as jsonl takes it: name, name.name or ['any name'] */
    enum type type, item;    /* item: of a list */
    int n;                   /* objects that have it */
};

struct walk {
    struct member member[MOST_NAMES];
    int n_members, n_objects, n_unnamed;
    struct stk__sizes sizes;
};

/* What holds both. */
static enum type join(enum type a, enum type b)
{
    if (a == NONE || b == NONE || a == b)
        return a == NONE ? b : a;
    return (a == WHOLE && b == REAL) || (a == REAL && b == WHOLE) ? REAL : OTHER;
}

static enum type type_of(struct stk__json_piece value)
{
    switch (stk__json_kind(value)) {
    case STK__JSON_NULL:
        return NONE;
    case STK__JSON_BOOL:
        return BOOL;
    case STK__JSON_STRING:
        return TEXT;
    case STK__JSON_ARRAY:
        return LIST;
    case STK__JSON_NUMBER: {
        int64_t whole;
        return stk__json_i64(value, value.data + value.bytes, &whole) ? WHOLE : REAL;
    }
    case STK__JSON_OBJECT:
        break;
    }
    return OTHER;
}

/* The path of a member of the object at `path`, which is "" for the whole text; false if it cannot be
 * written, or is too long. */
static bool add_name(const char *path, struct stk__json_piece key, char *out)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    char name[MOST_LETTERS];
    if (!key.data || !key.bytes || key.bytes >= MOST_LETTERS || memchr(key.data, 0, key.bytes))
        return false;
    memcpy(name, key.data, key.bytes);
    name[key.bytes] = 0;
    bool is_plain = strspn(name, letters) == key.bytes;
    const char *form = !is_plain ? "%s['%s']" : *path ? "%s.%s" : "%s%s";
    int n = snprintf(out, MOST_LETTERS, form, path, name);
    return n < MOST_LETTERS && (is_plain || !strpbrk(name, "'\\"));
}

static struct member *find_member(struct walk *walk, const char *path)
{
    for (int i = 0; i < walk->n_members; i++)
        if (!strcmp(walk->member[i].path, path))
            return &walk->member[i];
    if (walk->n_members == MOST_NAMES)
        return NULL;
    struct member *fresh = &walk->member[walk->n_members++];
    memcpy(fresh->path, path, strlen(path));
    return fresh;
}

static void see(struct walk *walk, const char *path, struct stk__json_piece value)
{
    struct member *member = find_member(walk, path);
    enum type type = type_of(value);
    struct stk__json_piece item;
    if (!member)
        return;
    member->n++;
    member->type = join(member->type, type);
    while (type == LIST && stk__json_next(&value, &item))
        member->item = join(member->item, type_of(item));
}

static const uint8_t *skip_space(const uint8_t *p)
{
    while (strchr(" \t\r\n,:", *p) && *p)
        p++;
    return p;
}

/* The members of an object, and those of objects in it. */
static void see_object(struct walk *walk, const char *path, int depth,
                       struct stk__json_piece object)
{
    struct stk__json_piece key, value;
    char inner[MOST_LETTERS];
    while (stk__json_member(&object, &key, &value))
        if (!add_name(path, stk__json_plain(key), inner))
            walk->n_unnamed++;
        else if (stk__json_kind(value) == STK__JSON_OBJECT && depth < MOST_DEPTH)
            see_object(walk, inner, depth + 1, value);
        else
            see(walk, inner, value);
}

/* False if the line is no JSON object. */
static bool see_line(struct walk *walk, const uint8_t *line, size_t bytes,
                     struct stk__json_fault *f)
{
    const struct stk__json_tree tree = { .root.want = -1 };
    struct stk__json_piece text = { line, bytes };
    if (!stk__json_scan(&tree, text, NULL, f))
        return false;
    const uint8_t *p = skip_space(line);
    *f = (struct stk__json_fault){ "it is no object", 0 };
    if (*p != '{')
        return false;
    see_object(walk, "", 0, (struct stk__json_piece){ p, bytes - (size_t)(p - line) });
    walk->n_objects++;
    return true;
}

/* ---- the chain ---- */

static const char *const words[] = { "text", "text", "bool", "int64", "float64", "list", NULL };
static const char *const defaults[] = { "''", "''", "false", "0", "0.0", "[]", NULL };

/* value('score', float64, default_value=0.0), list('ids', int64) or int64. */
static void add_type(struct stk__inspection *in, const struct walk *walk, const struct member *m)
{
    bool is_optional = m->n < walk->n_objects;
    if (!strpbrk(m->path, ".[") && !is_optional && m->type != LIST) {
        stk__text_add(&in->rest, "%s", words[m->type]);
        return;
    }
    stk__text_add(&in->rest, "%s(", m->type == LIST ? "list" : "value");
    stk__quote(&in->rest, m->path);
    stk__text_add(&in->rest, ", %s", words[m->type == LIST ? m->item : m->type]);
    if (is_optional)
        stk__text_add(&in->rest, ", default_value=%s", defaults[m->type]);
    stk__text_add(&in->rest, ")");
}

static bool is_taken(const struct member *m)
{
    bool is_list = m->type == LIST && m->item >= TEXT && m->item < LIST;
    return is_list || (m->type > NONE && m->type < LIST);
}

/* A field is named as the path; one name alone without its brackets. */
static void add_field_name(struct stk__inspection *in, const struct member *m)
{
    size_t len = strlen(m->path);
    char name[MOST_LETTERS];
    bool is_bracketed = m->path[0] == '[' && strchr(m->path, ']') == m->path + len - 1;
    snprintf(name, sizeof name, "%.*s", (int)(is_bracketed ? len - 4 : len),
             m->path + (is_bracketed ? 2 : 0));
    stk__quote_name(&in->rest, name);
}

static void propose(struct stk__inspection *in, const struct walk *walk)
{
    int n = 0;
    stk__text_add(&in->rest, ", {");
    for (int i = 0; i < walk->n_members; i++) {
        const struct member *m = &walk->member[i];
        if (!is_taken(m) || n == STK_MAX_FIELDS) {
            stk__inspect_note(in, "%s is left out: %s", m->path,
                              is_taken(m) ? "there are too many"
                                          : "it has no values, or not of one type");
            continue;
        }
        stk__text_add(&in->rest, "%s", n++ ? ", " : "");
        add_field_name(in, m);
        stk__text_add(&in->rest, ": ");
        add_type(in, walk, m);
    }
    if (walk->n_unnamed)
        stk__inspect_note(in, "names that are long, or have quotes, are left out");
    stk__text_add(&in->rest, "})");
    in->source = n ? "jsonl" : "lines";
    if (!n) {
        stk__text_free(&in->rest);
        stk__text_add(&in->rest, ")");
    }
}

static bool recognises(const struct stk__inspection *in)
{
    return stk__inspect_text.recognises(in) && *skip_space(in->head) == '{';
}

/* The line at *at, without its end; false if it is not all there. */
static bool next_line(const struct stk__inspection *in, size_t *at, size_t *bytes)
{
    const uint8_t *end = *at < in->n_head ? memchr(in->head + *at, '\n', in->n_head - *at) : NULL;
    if (*at >= in->n_head || (!end && !in->is_whole))
        return false;
    *bytes = end ? (size_t)(end - in->head) - *at : in->n_head - *at;
    return true;
}

static int describe(struct stk__inspection *in, struct stk_error *err)
{
    struct walk *walk = calloc(1, sizeof *walk);
    size_t at = 0, bytes;
    struct stk__json_fault fault = { 0 };
    bool is_right = true;
    if (!walk)
        return stk__out_of_memory(err);
    while (next_line(in, &at, &bytes)) {
        bool is_empty = strspn((const char *)in->head + at, " \t\r") >= bytes;
        if (walk->n_objects < LOOKED_AT && !is_empty && is_right) {
            is_right = see_line(walk, in->head + at, bytes, &fault);
            if (!is_right)
                stk__inspect_note(in, "line %" PRIu64 ", byte %zu of it: %s", walk->sizes.n + 1,
                                  fault.at, fault.what ? fault.what : "it is no JSON");
        }
        stk__sizes_add(&walk->sizes, bytes);
        at += bytes + 1;
        if (walk->sizes.n <= STK__PREVIEWED)
            in->sample_bytes = at < in->n_head ? at : in->n_head;
    }
    in->is_damaged |= !is_right;
    in->format = walk->n_objects ? "JSON lines" : "text";
    stk__inspect_sizes(in, "lines", &walk->sizes, at < in->n_head ? at : in->n_head);
    if (walk->sizes.n)
        propose(in, walk);
    free(walk);
    return STK_OK;
}

const struct stk__inspector stk__inspect_jsonl = { recognises, describe };
