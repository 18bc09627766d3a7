/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_directory.c: directories: images by class, or files by kind, of one part where there are several
 * (train, val, …): elements of a part for testing must not get among those for training. */
#include "look/inspect.h"

#include "base/counts.h"
#include "base/error.h"
#include "codec/image/codec.h"
#include "io/directory.h"
#include "lang/quote.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_ENDINGS = 1000, SHOWN_ENDINGS = 12, SHOWN_CLASSES = 40 };

static bool is_image(const char *ending)
{
    return *ending && stk__is_image_ending(ending + 1);
}

static bool accepts_all(const char *name)
{
    (void)name;
    return true;
}

/* ---- images by class ---- */

struct folder {
    size_t n_files, n_images;
    bool is_part;
};

struct classes {
    size_t n, n_images, n_files;
    size_t n_beside, n_files_beside; /* images, and files, beside the directories of the classes */
    struct stk__paths names;
    struct folder *folder;     /* [n] */
    struct stk__counts others; /* endings of what is not an image */
    size_t n_others;
};

static bool is_part_name(const char *name, size_t len);

/* Counts the files of one class. */
static int count_class(const char *dir, struct classes *classes, const char *name, size_t len,
                       struct stk_error *err)
{
    char path[STK__PATH_BYTES];
    struct stk__paths files = { 0 };
    struct folder *folder = &classes->folder[classes->n++];
    if (stk__paths_add(&classes->names, name, len))
        return stk__out_of_memory(err);
    snprintf(path, sizeof path, "%s/%.*s", dir, (int)len, name);
    int code = stk__directory_walk(path, accepts_all, &files, NULL, err);
    for (size_t i = 0; i < files.n && !code; i++) {
        const char *ending = stk__ending_of(stk__paths_at(&files, i));
        bool is_other = !is_image(ending);
        folder->n_images += !is_other;
        classes->n_others += is_other;
        if (is_other && stk__counts_add(&classes->others, ending, strlen(ending)))
            code = stk__out_of_memory(err);
    }
    folder->n_files = files.n;
    folder->is_part = is_part_name(name, len);
    classes->n_images += folder->n_images;
    classes->n_files += files.n;
    stk__paths_free(&files);
    return code;
}

static int count_classes(const char *dir, struct classes *classes, struct stk_error *err)
{
    struct stk__paths names = { 0 };
    int code = stk__directory_list(dir, &names, NULL, err);
    classes->folder = calloc(names.n + 1, sizeof *classes->folder);
    if (!code && (!classes->folder || stk__paths_sort(&names)))
        code = stk__out_of_memory(err);
    for (size_t i = 0; i < names.n && !code; i++) {
        const char *name = stk__paths_at(&names, i);
        size_t len = strlen(name);
        if (*name != '.' && name[len - 1] == '/')
            code = count_class(dir, classes, name, len - 1, err);
        else if (*name != '.')
            classes->n_beside += is_image(stk__ending_of(name));
        classes->n_files_beside += *name != '.' && name[len - 1] != '/';
    }
    stk__paths_free(&names);
    return code;
}

static void say_classes(struct stk__inspection *in, const struct classes *classes)
{
    struct stk__text list = { 0 };
    for (size_t i = 0; i < classes->n && i < SHOWN_CLASSES; i++)
        stk__text_add(&list, "%s%s %zu", i ? ", " : "", stk__paths_at(&classes->names, i),
                      classes->folder[i].n_images);
    stk__inspect_count(in, "images", classes->n_images);
    stk__inspect_count(in, "classes", classes->n);
    stk__inspect_say(in, "of each", "%s%s", list.data ? list.data : "",
                     classes->n > SHOWN_CLASSES ? ", …" : "");
    in->facts[0].failed |= list.failed;
    stk__text_free(&list);
}

/* ".txt 2, .tif 1", the most frequent first. */
static int list_endings(const struct stk__counts *counts, struct stk__text *out,
                        struct stk_error *err)
{
    struct stk__count *sorted = stk__counts_sorted(counts);
    if (!sorted)
        return stk__out_of_memory(err);
    for (size_t i = 0; i < counts->n && i < SHOWN_ENDINGS; i++) {
        stk__text_add(out, "%s", i ? ", " : "");
        stk__text_add_n(out, sorted[i].bytes ? sorted[i].data : "no ending",
                        sorted[i].bytes ? sorted[i].bytes : strlen("no ending"));
        stk__text_add(out, " %" PRIu64, sorted[i].n);
    }
    stk__text_add(out, "%s", counts->n > SHOWN_ENDINGS ? ", …" : "");
    free(sorted);
    return STK_OK;
}

static bool has_several(const struct classes *classes)
{
    size_t n = 0;
    for (size_t i = 0; i < classes->n; i++)
        n += classes->folder[i].n_images > 0;
    return n > 1;
}

static int describe_classes(struct stk__inspection *in, const char *dir,
                            const struct classes *classes, struct stk_error *err)
{
    struct stk__text others = { 0 };
    say_classes(in, classes);
    in->source = "image_folder";
    if (dir != in->path)
        stk__text_add(&in->pattern, "%s", dir);
    stk__text_add(&in->rest, ").decode()");
    if (has_several(classes))
        stk__inspect_note(in, "one class comes after the other: for training put shuffle() before "
                              "decode()");
    if (classes->n_beside)
        stk__inspect_note(in, "left out: %zu image%s in no class folder", classes->n_beside,
                          classes->n_beside > 1 ? "s" : "");
    if (!classes->n_others)
        return STK_OK;
    int code = list_endings(&classes->others, &others, err);
    stk__inspect_note(in, "left out: %zu other file%s (%s)", classes->n_others,
                      classes->n_others > 1 ? "s" : "", others.data ? others.data : "");
    in->facts[0].failed |= others.failed;
    stk__text_free(&others);
    return code;
}

/* ---- parts: train, val, … ---- */

/* Whether a directory's name is that of a part: train, Val, test_images, train2017. */
static bool is_part_name(const char *name, size_t len)
{
    static const char *const all[] = { "train",      "training",   "val",     "valid",
                                       "validation", "test",       "testing", "dev",
                                       "eval",       "evaluation", "holdout" };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t n = strlen(all[i]);
        if (len >= n && !strncasecmp(name, all[i], n) &&
            (len == n || !isalpha((unsigned char)name[n])))
            return true;
    }
    return false;
}

/* Whether the directories that hold what counts (images, or else files) are parts, all of them. */
static bool has_parts(const struct classes *classes)
{
    bool by_images = classes->n_images > 0;
    size_t n_parts = 0;
    for (size_t i = 0; i < classes->n; i++) {
        const struct folder *f = &classes->folder[i];
        if (!(by_images ? f->n_images : f->n_files))
            continue;
        if (!f->is_part)
            return false;
        n_parts++;
    }
    return n_parts > 0 && classes->n_files_beside <= classes->n_files;
}

/* The part for training, or else the first. */
static size_t main_part(const struct classes *classes)
{
    size_t first = classes->n;
    for (size_t i = 0; i < classes->n; i++) {
        const struct folder *f = &classes->folder[i];
        if (!f->is_part || !f->n_files)
            continue;
        if (!strncasecmp(stk__paths_at(&classes->names, i), "train", 5))
            return i;
        first = first == classes->n ? i : first;
    }
    return first;
}

static const char *slash_behind(const char *dir)
{
    return dir[strlen(dir) - 1] == '/' ? "" : "/";
}

static void add_recipe(struct stk__text *out, const char *dir, const char *name)
{
    struct stk__text path = { 0 };
    stk__text_add(&path, "%s%s%s", dir, slash_behind(dir), name);
    stk__text_add(out, "%simage_folder(", strncasecmp(name, "test", 4) ? "valid = " : "");
    stk__quote(out, path.data ? path.data : "");
    stk__text_add(out, ", classes=@train).decode() in a recipe reads it with the classes of train");
    out->failed |= path.failed;
    stk__text_free(&path);
}

static void note_folder(struct stk__inspection *in, const char *dir, const char *name,
                        const struct folder *folder)
{
    bool has_classes = in->source && !strcmp(in->source, "image_folder") && folder->n_images;
    struct stk__text how = { 0 };
    if (folder->is_part && has_classes)
        add_recipe(&how, dir, name);
    else
        stk__text_add(&how, "inspect '%s%s%s' to see what reads it", dir, slash_behind(dir), name);
    stk__inspect_note(in, "left out: the %s %s with %zu file%s; %s",
                      folder->is_part ? "part" : "directory", name, folder->n_files,
                      folder->n_files == 1 ? "" : "s", how.data ? how.data : "");
    in->notes[0].failed |= how.failed;
    stk__text_free(&how);
}

static int describe_at(struct stk__inspection *in, const char *dir, bool is_part,
                       struct stk_error *err);

static int describe_parts(struct stk__inspection *in, const char *dir,
                          const struct classes *classes, struct stk_error *err)
{
    char path[STK__PATH_BYTES];
    size_t chosen = main_part(classes);
    struct stk__text all = { 0 };
    for (size_t i = 0; i < classes->n; i++)
        if (classes->folder[i].is_part)
            stk__text_add(&all, "%s%s %zu", all.len ? ", " : "", stk__paths_at(&classes->names, i),
                          classes->folder[i].n_files);
    stk__inspect_say(in, "parts", "%s", all.data ? all.data : "");
    in->facts[0].failed |= all.failed;
    stk__text_free(&all);
    snprintf(path, sizeof path, "%s%s%s", dir, slash_behind(dir),
             stk__paths_at(&classes->names, chosen));
    int code = describe_at(in, path, true, err);
    for (size_t i = 0; i < classes->n && !code; i++)
        if (i != chosen && classes->folder[i].n_files)
            note_folder(in, dir, stk__paths_at(&classes->names, i), &classes->folder[i]);
    if (!code && classes->n_files_beside)
        stk__inspect_note(in, "left out: %zu file%s beside the parts", classes->n_files_beside,
                          classes->n_files_beside > 1 ? "s" : "");
    return code;
}

/* ---- the whole ---- */

static int describe_at(struct stk__inspection *in, const char *dir, bool is_part,
                       struct stk_error *err)
{
    struct classes classes = { 0 };
    stk__counts_begin(&classes.others, MOST_ENDINGS, MOST_ENDINGS * 16);
    int code = count_classes(dir, &classes, err);
    if (!code && !is_part && has_parts(&classes))
        code = describe_parts(in, dir, &classes, err);
    else if (!code && classes.n_images && classes.n_images >= classes.n_beside)
        code = describe_classes(in, dir, &classes, err);
    else if (!code)
        code = stk__inspect_files(in, dir, err);
    stk__paths_free(&classes.names);
    free(classes.folder);
    stk__counts_free(&classes.others);
    return code;
}

int stk__inspect_directory(struct stk__inspection *in, struct stk_error *err)
{
    in->format = "directory";
    return describe_at(in, in->path, false, err);
}
