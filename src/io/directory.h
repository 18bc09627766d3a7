/* SPDX-License-Identifier: Apache-2.0 */
/* directory.h: reading directories. */
#pragma once
#include "io/paths.h"

enum { STK__PATH_BYTES = 4096 }; /* longest path handled, with its NUL */

/* Appends the names in a directory, in no order, without "." and ".."; those of directories (and
 * of links to them) end with '/'. A failure names the directory; with `is_missing` given, a
 * directory that does not exist or is a file is no failure but sets it. */
int stk__directory_list(const char *path, struct stk__paths *names, bool *is_missing,
                        struct stk_error *err);

bool stk__is_directory(const char *path);

/* A directory that a walk has entered and those above it: links may lead back up. */
struct stk__ancestor {
    uint64_t device, inode;
    const struct stk__ancestor *up;
};

/* Fills in `self` for a directory below `up`; true if it is one of those above it, or cannot be
 * read. */
bool stk__is_loop(const char *path, const struct stk__ancestor *up, struct stk__ancestor *self);

/* Appends every file below a directory, at any depth, that `accepts` likes (it sees the name
 * alone), and adds to *n_refused, if given, how many it did not. Names that begin with a dot are
 * left out and not counted. */
int stk__directory_walk(const char *path, bool (*accepts)(const char *name), struct stk__paths *out,
                        size_t *n_refused, struct stk_error *err);
