/* SPDX-License-Identifier: Apache-2.0 */
/* directory.c: listing directories and walking trees of them, links followed, loops cut. */
#define _GNU_SOURCE
#include "io/directory.h"

#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool entry_is_directory(DIR *dir, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK)
        return entry->d_type == DT_DIR;
    return fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static int add_entry(DIR *dir, const struct dirent *entry, struct stk__paths *names)
{
    char name[sizeof entry->d_name + 1];
    size_t len = strlen(entry->d_name);
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
        return STK_OK;
    memcpy(name, entry->d_name, len);
    if (entry_is_directory(dir, entry))
        name[len++] = '/';
    return stk__paths_add(names, name, len);
}

int stk__directory_list(const char *path, struct stk__paths *names, bool *is_missing,
                        struct stk_error *err)
{
    DIR *dir = opendir(*path ? path : ".");
    if (!dir && is_missing && (errno == ENOENT || errno == ENOTDIR)) {
        *is_missing = true;
        return STK_OK;
    }
    if (!dir && errno == ENOMEM)
        return stk__out_of_memory(err);
    if (!dir)
        return stk_fail(err, STK_IO, "cannot read directory '%s': %s", path, strerror(errno));
    int code = STK_OK;
    for (struct dirent *entry; !code;) {
        errno = 0;
        if (!(entry = readdir(dir)))
            break;
        code = add_entry(dir, entry, names);
    }
    if (code)
        stk__out_of_memory(err);
    else if (errno)
        code = stk_fail(err, STK_IO, "cannot read directory '%s': %s", path, strerror(errno));
    closedir(dir);
    return code;
}

bool stk__is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool stk__is_loop(const char *path, const struct stk__ancestor *up, struct stk__ancestor *self)
{
    struct stat st;
    *self = (struct stk__ancestor){ .up = up };
    if (stat(*path ? path : ".", &st))
        return false;
    self->device = (uint64_t)st.st_dev;
    self->inode = (uint64_t)st.st_ino;
    for (; up; up = up->up)
        if (up->device == self->device && up->inode == self->inode)
            return true;
    return false;
}

struct walk {
    bool (*accepts)(const char *name);
    struct stk__paths *out;
    size_t n_refused;
    struct stk_error *err;
    char path[STK__PATH_BYTES];
    size_t len;
};

static int walk_into(struct walk *walk, const struct stk__ancestor *up);

static int visit(struct walk *walk, const char *name, const struct stk__ancestor *self)
{
    size_t before = walk->len, len = strlen(name);
    bool is_directory = name[len - 1] == '/';
    if (*name == '.')
        return STK_OK;
    if (!is_directory && !walk->accepts(name)) {
        walk->n_refused++;
        return STK_OK;
    }
    if (before + len + 1 > sizeof walk->path)
        return stk_fail(walk->err, STK_IO, "a path below '%s' is too long", walk->path);
    memcpy(walk->path + before, name, len + 1);
    walk->len += len;
    int code =
        is_directory ? walk_into(walk, self) : stk__paths_add(walk->out, walk->path, walk->len);
    if (code && !is_directory)
        stk__out_of_memory(walk->err);
    walk->len = before;
    walk->path[before] = 0;
    return code;
}

static int walk_into(struct walk *walk, const struct stk__ancestor *up)
{
    struct stk__ancestor self;
    struct stk__paths names = { 0 };
    if (stk__is_loop(walk->path, up, &self))
        return STK_OK;
    int code = stk__directory_list(walk->path, &names, NULL, walk->err);
    for (size_t i = 0; i < names.n && !code; i++)
        code = visit(walk, stk__paths_at(&names, i), &self);
    stk__paths_free(&names);
    return code;
}

int stk__directory_walk(const char *path, bool (*accepts)(const char *name), struct stk__paths *out,
                        size_t *n_refused, struct stk_error *err)
{
    struct walk walk = { .accepts = accepts, .out = out, .err = err };
    size_t len = strlen(path);
    bool has_slash = len && path[len - 1] == '/';
    if (len + 2 > sizeof walk.path)
        return stk_fail(err, STK_IO, "the path '%.60s...' is too long", path);
    walk.len = (size_t)snprintf(walk.path, sizeof walk.path, "%s%s", path, has_slash ? "" : "/");
    int code = walk_into(&walk, NULL);
    if (n_refused)
        *n_refused += walk.n_refused;
    return code;
}
