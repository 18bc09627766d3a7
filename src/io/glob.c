/* SPDX-License-Identifier: Apache-2.0 */
/* glob.c: walks directories along the parts of a pattern.
 *
 * The parts are matched one directory level at a time. `**` looks at each entry twice: as what the
 * next part names, and, if it is a directory, as one more level to go down, with the same listing
 * for both.
 */
#define _GNU_SOURCE
#include "io/glob.h"

#include "base/error.h"
#include "io/directory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PARTS = STK__PATH_BYTES / 2 + 1 };

struct walk {
    const char *part[MAX_PARTS]; /* of the pattern, between its slashes */
    int n_parts;
    char pattern[STK__PATH_BYTES]; /* cut into the parts */
    char path[STK__PATH_BYTES];    /* where the walk is; ends with '/' unless empty */
    size_t len;
    struct stk__paths *out;
    struct stk_error *err;
};

static int walk_part(struct walk *walk, int part, const struct stk__ancestor *up);

bool stk__glob_is_plain(const char *pattern)
{
    return !strpbrk(pattern, "*?[{");
}

static bool is_literal(const char *part)
{
    return !strpbrk(part, "*?[\\");
}

static bool is_deep(const char *part)
{
    return !strcmp(part, "**");
}

/* Puts a name (and '/' for a directory) behind the path. */
static int push(struct walk *walk, const char *name, bool is_directory)
{
    size_t len = strlen(name);
    if (walk->len + len + 2 > sizeof walk->path)
        return stk_fail(walk->err, STK_IO, "a path below '%.200s...' is too long", walk->path);
    memcpy(walk->path + walk->len, name, len + 1);
    walk->len += len;
    if (is_directory)
        memcpy(walk->path + walk->len++, "/", 2);
    return STK_OK;
}

static void pop(struct walk *walk, size_t len)
{
    walk->len = len;
    walk->path[len] = 0;
}

static int add_path(struct walk *walk)
{
    if (stk__paths_add(walk->out, walk->path, walk->len))
        return stk__out_of_memory(walk->err);
    return STK_OK;
}

/* A last part without anything to match: is there such a file? */
static int check_file(struct walk *walk)
{
    struct stat st;
    if (stat(walk->path, &st) == 0)
        return S_ISDIR(st.st_mode) ? STK_OK : add_path(walk);
    if (errno == EACCES)
        return stk_fail(walk->err, STK_IO, "cannot look at '%s': %s", walk->path, strerror(errno));
    return STK_OK;
}

static int walk_literal(struct walk *walk, int part)
{
    size_t before = walk->len;
    bool is_last = part == walk->n_parts - 1;
    int code = push(walk, walk->part[part], !is_last);
    if (!code)
        code = is_last ? check_file(walk) : walk_part(walk, part + 1, NULL);
    pop(walk, before);
    return code;
}

/* An entry of the current directory as what `part` names. */
static int try_entry(struct walk *walk, int part, const char *name, bool is_directory)
{
    bool is_last = part == walk->n_parts - 1;
    size_t before = walk->len;
    if (is_directory == is_last || !stk__glob_match(walk->part[part], name))
        return STK_OK;
    int code = push(walk, name, is_directory);
    if (!code)
        code = is_last ? add_path(walk) : walk_part(walk, part + 1, NULL);
    pop(walk, before);
    return code;
}

static int go_deeper(struct walk *walk, int part, const char *name,
                     const struct stk__ancestor *self)
{
    size_t before = walk->len;
    int code = push(walk, name, true);
    if (!code)
        code = walk_part(walk, part, self);
    pop(walk, before);
    return code;
}

static int walk_entries(struct walk *walk, int part, struct stk__paths *names,
                        const struct stk__ancestor *self)
{
    bool deep = is_deep(walk->part[part]);
    int code = STK_OK;
    for (size_t i = 0; i < names->n && !code; i++) {
        char *name = names->text + names->start[i];
        size_t len = strlen(name);
        bool is_directory = name[len - 1] == '/';
        if (is_directory)
            name[len - 1] = 0;
        code = try_entry(walk, part + deep, name, is_directory);
        if (!code && deep && is_directory && *name != '.')
            code = go_deeper(walk, part, name, self);
    }
    return code;
}

static int walk_part(struct walk *walk, int part, const struct stk__ancestor *up)
{
    struct stk__ancestor self;
    struct stk__paths names = { 0 };
    bool is_missing = false;
    if (is_literal(walk->part[part]))
        return walk_literal(walk, part);
    if (is_deep(walk->part[part]) && stk__is_loop(walk->path, up, &self))
        return STK_OK;
    int code = stk__directory_list(walk->path, &names, &is_missing, walk->err);
    if (!code)
        code = walk_entries(walk, part, &names, &self);
    stk__paths_free(&names);
    return code;
}

/* Cuts a pattern at its slashes. `**` at the end is `**` and `*`; two in a row are one. */
static void cut_parts(struct walk *walk, const char *pattern)
{
    char *s = strcpy(walk->pattern, pattern);
    walk->n_parts = 0;
    pop(walk, 0);
    if (*s == '/')
        push(walk, "", true);
    for (char *part, *rest = s; (part = strtok_r(rest, "/", &rest));) {
        bool is_repeated = walk->n_parts && is_deep(walk->part[walk->n_parts - 1]) && is_deep(part);
        if (!is_repeated)
            walk->part[walk->n_parts++] = part;
    }
    if (walk->n_parts && is_deep(walk->part[walk->n_parts - 1]))
        walk->part[walk->n_parts++] = "*";
}

/* The deepest directory that exists on the way to what the pattern could match. */
static const char *nearest_directory(const char *pattern, char *text)
{
    strcpy(text, pattern);
    text[strcspn(text, "*?[{")] = 0;
    for (;;) {
        char *slash = strrchr(text, '/');
        if (!slash)
            return ".";
        if (slash == text)
            return "/";
        *slash = 0;
        if (stk__is_directory(text))
            return text;
    }
}

/* What a directory holds, in words: what was meant is often there under another name. */
static const char *describe(const char *directory, char *text, size_t bytes)
{
    struct stk__paths names = { 0 };
    const char *example[2] = { NULL, NULL };
    size_t n[2] = { 0, 0 };
    bool is_missing = false;
    text[0] = 0;
    int code = stk__directory_list(directory, &names, &is_missing, NULL);
    for (size_t i = 0; i < names.n && !code; i++) {
        const char *name = stk__paths_at(&names, i);
        bool is_file = name[strlen(name) - 1] != '/';
        if (!n[is_file]++ || strcmp(name, example[is_file]) < 0)
            example[is_file] = name;
    }
    if (!code && !names.n)
        snprintf(text, bytes, ", which is empty");
    else if (!code && n[true])
        snprintf(text, bytes, ", which holds %zu file%s such as '%.100s'", n[true],
                 n[true] == 1 ? "" : "s", example[true]);
    else if (!code)
        snprintf(text, bytes, ", which holds only directories such as '%.100s'", example[false]);
    stk__paths_free(&names);
    return text;
}

static int fail_unmatched(const char *pattern, struct stk_error *err)
{
    char path[STK__PATH_BYTES], holds[200];
    const char *near = nearest_directory(pattern, path);
    return stk_fail(err, STK_IO, "no file matches '%s' (the nearest existing directory is '%s'%s)",
                    pattern, near, describe(near, holds, sizeof holds));
}

static int add_plain(const char *path, struct stk__paths *out, struct stk_error *err)
{
    if (!*path)
        return stk_fail(err, STK_VALUE, "a file name is empty");
    if (stk__is_directory(path))
        return stk_fail(err, STK_VALUE,
                        "'%s' is a directory; write '%s%s**' for the files below it", path, path,
                        path[strlen(path) - 1] == '/' ? "" : "/");
    if (stk__paths_add(out, path, strlen(path)))
        return stk__out_of_memory(err);
    return STK_OK;
}

static int glob_readings(const struct stk__paths *readings, struct stk__paths *out,
                         struct stk_error *err)
{
    struct walk walk = { .out = out, .err = err };
    int code = STK_OK;
    for (size_t i = 0; i < readings->n && !code; i++) {
        cut_parts(&walk, stk__paths_at(readings, i));
        if (walk.n_parts)
            code = walk_part(&walk, 0, NULL);
    }
    return code;
}

int stk__glob(const char *pattern, struct stk__paths *out, struct stk_error *err)
{
    struct stk__paths readings = { 0 };
    struct stat st;
    size_t len = strlen(pattern), before = out->n;
    if (stk__glob_is_plain(pattern) || lstat(pattern, &st) == 0)
        return add_plain(pattern, out, err);
    if (pattern[len - 1] == '/')
        return stk_fail(err, STK_VALUE, "the pattern '%s' names directories; write '%s*' for files",
                        pattern, pattern);
    int code = stk__glob_braces(pattern, &readings, err);
    if (!code)
        code = glob_readings(&readings, out, err);
    stk__paths_free(&readings);
    return !code && out->n == before ? fail_unmatched(pattern, err) : code;
}

static int add_sorted(const char *pattern, struct stk__paths *out, struct stk_error *err)
{
    struct stk__paths found = { 0 };
    int code = stk__glob(pattern, &found, err);
    if (!code && stk__paths_sort(&found))
        code = stk__out_of_memory(err);
    for (size_t i = 0; i < found.n && !code; i++) {
        const char *path = stk__paths_at(&found, i);
        code = stk__paths_add(out, path, strlen(path)) ? stk__out_of_memory(err) : STK_OK;
    }
    stk__paths_free(&found);
    return code;
}

int stk__glob_all(const struct stk_texts *patterns, struct stk__paths *out, struct stk_error *err)
{
    int code = STK_OK;
    for (int i = 0; i < patterns->n && !code; i++) {
        if (strcmp(patterns->item[i], "-"))
            code = add_sorted(patterns->item[i], out, err);
        else if (stk__paths_add(out, "-", 1)) /* whatever there is of that name */
            code = stk__out_of_memory(err);
    }
    return code;
}
