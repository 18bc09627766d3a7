/* SPDX-License-Identifier: Apache-2.0 */
/* file_tree.h: for tests: a tree of files in a new directory, which is the current one meanwhile.
 * Includers define _GNU_SOURCE first. */
#pragma once
#include "temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[4096], place[TEMPORARY_PATH];

static inline void write_file(const char *path, const char *data, size_t bytes)
{
    char dir[256];
    for (const char *s = path; (s = strchr(s + 1, '/'));) {
        snprintf(dir, sizeof dir, "%.*s", (int)(s - path), path);
        mkdir(dir, 0777);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(fd, data + done, bytes - done);
        assert_true(n > 0);
        done += (size_t)n;
    }
    close(fd);
}

/* From the directory the test was started in. */
static inline void copy_file(const char *from, const char *to)
{
    char path[8192];
    static char data[1 << 20];
    snprintf(path, sizeof path, "%s/%s", home, from);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(data, 1, sizeof data, file);
    fclose(file);
    write_file(to, data, n);
}

static inline void touch(const char *path)
{
    write_file(path, "", 0);
}

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline int enter(void **state)
{
    static const char *const files[] = {
        "tree/a/1.jpg",         "tree/a/2.JPG",    "tree/a/10.jpeg",     "tree/a/note.txt",
        "tree/a/deep/er/3.png", "tree/b/4.png",    "tree/b/.hidden.png", "tree/b/[x].png",
        "tree/b/a,b.png",       "tree/.dot/5.jpg", "tree/c d/6.jpg",     "tree/7.jpg",
        "tree/\xc3\xa4.jpg",    "flat/x.txt",      "flat/y.txt",
    };
    (void)state;
    if (!getcwd(home, sizeof home) || !make_temporary_directory(place, "stoker_sources") ||
        chdir(place))
        return -1;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        touch(files[i]);
    mkdir("tree/empty", 0777);
    mkdir("tree/dir.jpg", 0777);
    return symlink("..", "tree/a/up") || symlink("nowhere", "tree/b/broken.jpg") ||
           symlink("a", "tree/link");
}

static inline int leave(void **state)
{
    (void)state;
    return chdir(home) || nftw(place, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
