/* SPDX-License-Identifier: Apache-2.0 */
/* image_folder.c: images in one directory per class. */
#include "base/error.h"
#include "codec/image/codec.h"
#include "io/directory.h"
#include "op/declaration.h"
#include "op/source/path_source.h"

#include <stdio.h>
#include <string.h>

struct image_folder {
    const char *dir;
    struct stk_texts classes;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(image_folder, dir, NULL, STK_REQUIRED, "directory with one directory per class"),
    STK__CLASSES_ROW(image_folder, classes,
                     "names in the order of their numbers; none: those of the directories, sorted"),
    STK_ROWS_END,
};

static bool is_image(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && stk__is_image_ending(dot + 1);
}

/* Files that a user may take for a part of the data. */
struct left_out {
    size_t n_other;  /* below the classes, and not images */
    size_t n_beside; /* images beside the directories of the classes */
};

/* Classes are the subdirectories, with or without images; names with a dot in front are left
 * out. */
static int find_classes(const char *dir, struct stk__paths *classes, struct left_out *left_out,
                        struct stk_error *err)
{
    struct stk__paths names = { 0 };
    int code = stk__directory_list(dir, &names, NULL, err);
    for (size_t i = 0; i < names.n && !code; i++) {
        const char *name = stk__paths_at(&names, i);
        size_t len = strlen(name);
        left_out->n_beside += *name != '.' && is_image(name);
        if (*name != '.' && name[len - 1] == '/' && stk__paths_add(classes, name, len - 1))
            code = stk__out_of_memory(err);
    }
    stk__paths_free(&names);
    if (!code && stk__paths_sort(classes))
        code = stk__out_of_memory(err);
    if (!code && classes->n == 0)
        code = stk_fail(err, STK_IO,
                        "'%s' has no subdirectories; each class is a directory with "
                        "its images (files() reads a flat one)",
                        dir);
    return code;
}

static int find_images(const char *dir, struct stk__path_source *source, struct left_out *left_out,
                       struct stk_error *err)
{
    char path[STK__PATH_BYTES];
    const char *slash = dir[strlen(dir) - 1] == '/' ? "" : "/";
    int code = STK_OK;
    for (size_t i = 0; i < source->classes.n && !code; i++) {
        int len =
            snprintf(path, sizeof path, "%s%s%s", dir, slash, stk__paths_at(&source->classes, i));
        if (len >= STK__PATH_BYTES)
            return stk_fail(err, STK_IO, "the path '%.60s...' is too long", path);
        code = stk__directory_walk(path, is_image, &source->paths, &left_out->n_other, err);
    }
    if (!code && stk__paths_sort(&source->paths))
        code = stk__out_of_memory(err);
    if (!code && source->paths.n == 0)
        code = stk_fail(err, STK_IO,
                        "no images (.jpg, .jpeg, .png, .webp, .gif, .bmp) below the %zu "
                        "subdirectories of '%s', which hold %zu other files",
                        source->classes.n, dir, left_out->n_other);
    return code;
}

/* The class is the first name behind the directory. */
static int label_images(const char *dir, struct stk__path_source *source, struct stk_error *err)
{
    char name[STK__PATH_BYTES];
    size_t skip = strlen(dir) + (dir[strlen(dir) - 1] != '/');
    if (stk__path_source_label(source))
        return stk__out_of_memory(err);
    for (size_t i = 0; i < source->paths.n; i++) {
        const char *rest = stk__paths_at(&source->paths, i) + skip;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, "/"), rest);
        source->label[i] = stk__paths_find(&source->classes, name);
    }
    return STK_OK;
}

static void remark(struct stk__path_source *source, const struct left_out *left_out)
{
    size_t at = 0, n_other = left_out->n_other, n_beside = left_out->n_beside;
    if (n_other)
        at = (size_t)snprintf(source->remark, sizeof source->remark, "left out: %zu other file%s",
                              n_other, n_other > 1 ? "s" : "");
    if (n_beside)
        snprintf(source->remark + at, sizeof source->remark - at,
                 "%s%zu image%s in no class folder", at ? ", " : "left out: ", n_beside,
                 n_beside > 1 ? "s" : "");
}

static int open_folder(const void *given, struct stk_arena *arena, void **state,
                       struct stk_error *err)
{
    const struct image_folder *p = given;
    struct stk__path_source *source = stk__path_source_new();
    struct left_out left_out = { 0 };
    (void)arena;
    if (!source)
        return stk__out_of_memory(err);
    int code = *p->dir ? STK_OK : stk_fail(err, STK_VALUE, "the directory's name is empty");
    if (!code)
        code = find_classes(p->dir, &source->classes, &left_out, err);
    if (!code)
        code = find_images(p->dir, source, &left_out, err);
    if (!code)
        code = label_images(p->dir, source, err);
    if (!code)
        code = stk__path_source_number(source, &p->classes, err);
    remark(source, &left_out);
    if (code)
        stk__path_source_free(source);
    else
        *state = source;
    return code;
}

const struct stk__op stk__op_image_folder = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "image_folder", 2, "Images in one directory per class.",
              "Fields `path` and `label` (int64) for every .jpg, .jpeg, .png, .webp, .gif and .bmp "
              "file (in capitals too) at any depth below `dir/<class>/`. Classes are the sorted "
              "names of "
              "the directories in `dir`, empty ones included, and are numbered from 0; the names "
              "are the class names of `label`. Files are sorted by bytes. Names that begin with "
              "a dot are left out.\n"
              "\n"
              "    image_folder('train').shuffle().decode().resize(224, 224).batch(32)\n"
              "    image_folder('photos', classes=[cat, dog, owl, wolf]).decode().resize(32, 32)"
              ".batch(8)\n"
              "\n"
              "`classes` says which number each class has: a list of names, or a chain whose class "
              "names they are (in a recipe `classes=@train`, in Python another Dataset). So a "
              "directory that lacks some of the classes keeps the numbers of the others. A "
              "directory whose name is not in the list is an error.\n"
              "\n"
              "Other files are left out; `stoker plan` says how many, and `stoker inspect` "
              "which endings they have. A directory that is missing, has no subdirectories, or "
              "holds no images is an error.",
              params, sizeof(struct image_folder) },
    .flags = STK__OP_ROOT,
    .open = open_folder,
    .close = stk__path_source_free,
    .held_bytes = stk__path_source_bytes,
    .infer = stk__path_source_infer,
    .source = { .count = stk__path_source_count,
                .rows = stk__path_source_rows,
                .describe = stk__path_source_describe,
                .class_name = stk__path_source_class_name,
                .remark = stk__path_source_remark },
};
