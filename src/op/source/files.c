/* SPDX-License-Identifier: Apache-2.0 */
/* files.c: files by pattern or by name. */
#include "base/error.h"
#include "io/directory.h"
#include "io/glob.h"
#include "op/declaration.h"
#include "op/source/path_source.h"

#include <string.h>

struct files {
    struct stk_texts pattern;
    struct stk_numbers labels;
    struct stk_texts classes;
};

enum { LABELS_PARENT = 0 };
static const char *const label_words[] = { "parent", NULL };

static const struct stk_param params[] = {
    STK_TEXTS_ROW(files, pattern, 1, INT32_MAX, STK_REQUIRED,
                  "a pattern or a path, or a list of them"),
    STK_NUMBERS_ROW(files, labels, label_words, 1, INT32_MAX, STK_TAKES_NONE,
                    "a whole number for each file, or parent: from the name of its directory"),
    STK__CLASSES_ROW(files, classes,
                     "with labels=parent: names in the order of their numbers; none: sorted"),
    STK_ROWS_END,
};

/* The name of the directory that holds a file, into `name`; false if the path has none. */
static bool parent_name(const char *path, char *name)
{
    const char *end = strrchr(path, '/');
    while (end && end > path && end[-1] == '/')
        end--;
    if (!end || end == path || end - path >= STK__PATH_BYTES)
        return false;
    const char *begin = end;
    while (begin > path && begin[-1] != '/')
        begin--;
    memcpy(name, begin, (size_t)(end - begin));
    name[end - begin] = 0;
    return true;
}

static int label_by_parent(struct stk__path_source *source, struct stk_error *err)
{
    char name[STK__PATH_BYTES];
    for (size_t i = 0; i < source->paths.n; i++) {
        const char *path = stk__paths_at(&source->paths, i);
        if (!parent_name(path, name))
            return stk_fail(err, STK_VALUE,
                            "'%s' has no directory in its path to take a label from", path);
        if (stk__paths_add(&source->classes, name, strlen(name)))
            return stk__out_of_memory(err);
    }
    if (stk__paths_sort(&source->classes))
        return stk__out_of_memory(err);
    for (size_t i = 0; i < source->paths.n; i++) {
        parent_name(stk__paths_at(&source->paths, i), name);
        source->label[i] = stk__paths_find(&source->classes, name);
    }
    return STK_OK;
}

static int check_labels(const struct files *p, size_t n_files, struct stk_error *err)
{
    if ((size_t)p->labels.n != n_files)
        return stk_fail(err, STK_VALUE, "there are %d labels for %zu files", p->labels.n, n_files);
    for (int i = 0; i < p->labels.n; i++) {
        double label = p->labels.item[i];
        if (!(label >= -0x1p53 && label <= 0x1p53) || label != (double)(int64_t)label)
            return stk_fail(err, STK_VALUE, "label %d is %g; labels are whole numbers", i + 1,
                            label);
    }
    return STK_OK;
}

/* Every item of the list is a path, not a pattern: labels belong to the list as it was written. */
static int label_listed(const struct files *p, struct stk__path_source *source,
                        struct stk_error *err)
{
    for (size_t i = 0; i < source->paths.n; i++)
        source->label[i] = INT64_MIN;
    for (int i = 0; i < p->pattern.n; i++) {
        int64_t *at = &source->label[stk__paths_find(&source->paths, p->pattern.item[i])];
        int64_t label = (int64_t)p->labels.item[i];
        if (*at != INT64_MIN && *at != label)
            return stk_fail(err, STK_VALUE, "'%s' is listed twice, with labels %lld and %lld",
                            p->pattern.item[i], (long long)*at, (long long)label);
        *at = label;
    }
    return STK_OK;
}

static bool is_list_of_paths(const struct files *p, const struct stk__path_source *source)
{
    for (int i = 0; i < p->pattern.n; i++)
        if (stk__paths_find(&source->paths, p->pattern.item[i]) < 0)
            return false;
    return true;
}

static int label_files(const struct files *p, struct stk__path_source *source,
                       struct stk_error *err)
{
    bool is_parent = p->labels.n == 0 && p->labels.choice == LABELS_PARENT;
    if (p->classes.n && !is_parent)
        return stk_fail(err, STK_VALUE, "classes names the directories of labels=parent");
    if (p->labels.n == 0 && p->labels.choice < 0)
        return STK_OK;
    if (stk__path_source_label(source))
        return stk__out_of_memory(err);
    if (is_parent) {
        int code = label_by_parent(source, err);
        return code ? code : stk__path_source_number(source, &p->classes, err);
    }
    bool is_listed = is_list_of_paths(p, source);
    int code = check_labels(p, is_listed ? (size_t)p->pattern.n : source->paths.n, err);
    if (!code && is_listed)
        return label_listed(p, source, err);
    for (size_t i = 0; i < source->paths.n && !code; i++)
        source->label[i] = (int64_t)p->labels.item[i];
    return code;
}

static int open_files(const void *given, struct stk_arena *arena, void **state,
                      struct stk_error *err)
{
    const struct files *p = given;
    struct stk__path_source *source = stk__path_source_new();
    (void)arena;
    if (!source)
        return stk__out_of_memory(err);
    int code = STK_OK;
    for (int i = 0; i < p->pattern.n && !code; i++)
        code = stk__glob(p->pattern.item[i], &source->paths, err);
    if (!code && stk__paths_sort(&source->paths))
        code = stk__out_of_memory(err);
    if (!code)
        code = label_files(p, source, err);
    if (code)
        stk__path_source_free(source);
    else
        *state = source;
    return code;
}

const struct stk__op stk__op_files = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "files", 1, "Files by pattern or by name.",
              "A field `path` for each file, sorted by bytes over all patterns; a file that is "
              "matched twice appears once. The list is made when the dataset is. In a pattern "
              "`*` is any text within a name, `?` one character, `[a-z]` one of a set, `[!a-z]` "
              "one not of a set, `{a,b}` one of several texts, and `**` any number of "
              "directories; a backslash takes the meaning from the character behind it. Names "
              "that begin with a dot must be asked for (`.*`), directories are left out, links "
              "are followed. A pattern that is the exact name of a file means that file.\n"
              "\n"
              "    files('train/*/*.jpg').decode()\n"
              "    files('data/**/*.{jpg,jpeg,png}', labels=parent)\n"
              "    files(['a.png', 'b.png'], labels=[0, 1])\n"
              "\n"
              "A pattern that matches nothing and a directory that cannot be read are errors. A "
              "path without pattern characters is taken as it is: if there is no such file, its "
              "element is bad when it is read.\n"
              "\n"
              "With labels there is a field `label` (int64). `parent` numbers the sorted names "
              "of the directories the files are in, and the names are the class names; `classes` "
              "gives the numbers, as with image_folder. A list of numbers belongs to the paths as "
              "they are listed, or, where there are patterns, to "
              "the sorted files.\n"
              "\n"
              "tf.data's list_files differs: it shuffles by default, `*` matches dotfiles, and a "
              "file that is matched twice appears twice.",
              params, sizeof(struct files) },
    .flags = STK__OP_ROOT,
    .open = open_files,
    .close = stk__path_source_free,
    .held_bytes = stk__path_source_bytes,
    .infer = stk__path_source_infer,
    .source = { .count = stk__path_source_count,
                .rows = stk__path_source_rows,
                .describe = stk__path_source_describe,
                .class_name = stk__path_source_class_name },
};
