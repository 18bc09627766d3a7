/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.h: for tests: files and directories of their own below $TMPDIR, or where the system has
 * such. Includers define _GNU_SOURCE first. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEMPORARY_PATH = 200 };

static inline bool name_temporary(char *path, const char *name)
{
    const char *below = getenv("TMPDIR");
    int n =
        snprintf(path, TEMPORARY_PATH, "%s/%s_XXXXXX", below && *below ? below : P_tmpdir, name);
    return n < TEMPORARY_PATH;
}

/* Makes one whose name begins so; `path` has room for TEMPORARY_PATH bytes. */
static inline bool make_temporary_directory(char *path, const char *name)
{
    return name_temporary(path, name) && mkdtemp(path) != NULL;
}

static inline bool make_temporary_file(char *path, const char *name)
{
    int fd = name_temporary(path, name) ? mkstemp(path) : -1;
    return fd >= 0 && !close(fd);
}
