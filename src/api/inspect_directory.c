/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_directory.c: directories: images by class, or files by ending. */
#include "api/inspect.h"

#include "base/counts.h"
#include "base/error.h"
#include "io/directory.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ENDINGS = 1000, SHOWN_ENDINGS = 12, SHOWN_CLASSES = 40 };

/* The ending in lower case, with its dot; "" if there is none. */
static void ending_of(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t n = 0;
    for (; dot && dot != name && dot[n] && n + 1 < size; n++)
        out[n] = (char)tolower((unsigned char)dot[n]);
    out[n] = 0;
}

static bool is_image(const char *ending)
{
    static const char *const words[] = { ".jpg", ".jpeg", ".png" };
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        found |= !strcmp(ending, words[i]);
    return found;
}

static bool accepts_all(const char *name)
{
    (void)name;
    return true;
}

static bool accepts_images(const char *name)
{
    char ending[16];
    ending_of(name, ending, sizeof ending);
    return is_image(ending);
}

/* Classes and how many images each has. Returns how many images there are, or sets *code. */
static size_t count_classes(struct stk__inspection *in, const struct stk__paths *names, int *code,
                            struct stk_error *err)
{
    size_t n_images = 0, n_classes = 0;
    struct stk__text counted = { 0 };
    for (size_t i = 0; i < names->n && !*code; i++) {
        char path[STK__PATH_BYTES];
        const char *name = stk__paths_at(names, i);
        struct stk__paths images = { 0 };
        size_t len = strlen(name);
        if (*name == '.' || !len || name[len - 1] != '/')
            continue;
        snprintf(path, sizeof path, "%s/%.*s", in->path, (int)len - 1, name);
        *code = stk__directory_walk(path, accepts_images, &images, err);
        if (n_classes++ < SHOWN_CLASSES)
            stk__text_add(&counted, "%s%.*s %zu", counted.len ? ", " : "", (int)len - 1, name,
                          images.n);
        n_images += images.n;
        stk__paths_free(&images);
    }
    if (n_images) {
        stk__inspect_count(in, "images", n_images);
        stk__inspect_count(in, "classes", n_classes);
        stk__inspect_say(in, "of each", "%s%s", counted.data ? counted.data : "",
                         n_classes > SHOWN_CLASSES ? ", …" : "");
    }
    in->facts[0].failed |= counted.failed;
    stk__text_free(&counted);
    return n_images;
}

static int count_endings(struct stk__inspection *in, struct stk__counts *counts,
                         struct stk_error *err)
{
    struct stk__paths files = { 0 };
    int code = stk__directory_walk(in->path, accepts_all, &files, err);
    for (size_t i = 0; i < files.n && !code; i++) {
        char ending[16];
        ending_of(stk__paths_at(&files, i), ending, sizeof ending);
        if (stk__counts_add(counts, ending, strlen(ending)))
            code = stk__out_of_memory(err);
    }
    if (!code)
        stk__inspect_count(in, "files", files.n);
    stk__paths_free(&files);
    return code;
}

/* A chain for the files with this ending. */
static void propose(struct stk__inspection *in, const char *ending)
{
    bool is_tfrecord = !strncmp(ending, ".tfrec", 6), is_tar = !strcmp(ending, ".tar");
    in->source = is_tfrecord ? "tfrecord" : is_tar ? "tar" : "files";
    in->is_unseen = is_tfrecord || is_tar;
    stk__text_add(&in->pattern, "%s/**/*%s", in->path, ending);
    stk__text_add(&in->rest, ")%s", is_image(ending) ? ".decode()" : "");
    if (in->is_unseen)
        stk__inspect_note(in, "inspect one of the files to see what is in them");
}

/* The most frequent ending tells how to read them. */
static int describe_files(struct stk__inspection *in, struct stk_error *err)
{
    struct stk__counts counts;
    stk__counts_begin(&counts, MOST_ENDINGS, MOST_ENDINGS * 16);
    int code = count_endings(in, &counts, err);
    struct stk__count *sorted = code ? NULL : stk__counts_sorted(&counts);
    for (size_t i = 0; sorted && i < counts.n && i < SHOWN_ENDINGS; i++) {
        char ending[16];
        snprintf(ending, sizeof ending, "%.*s", (int)sorted[i].bytes, sorted[i].data);
        stk__inspect_count(in, *ending ? ending : "no ending", sorted[i].n);
        if (i == 0 && *ending)
            propose(in, ending);
    }
    if (!code && !sorted)
        code = stk__out_of_memory(err);
    free(sorted);
    stk__counts_free(&counts);
    return code;
}

int stk__inspect_directory(struct stk__inspection *in, struct stk_error *err)
{
    struct stk__paths names = { 0 };
    int code = stk__directory_list(in->path, &names, NULL, err);
    in->format = "directory";
    if (!code && stk__paths_sort(&names))
        code = stk__out_of_memory(err);
    if (!code && count_classes(in, &names, &code, err) && !code) {
        in->source = "image_folder";
        stk__text_add(&in->rest, ").decode()");
    } else if (!code) {
        code = describe_files(in, err);
    }
    stk__paths_free(&names);
    return code;
}
