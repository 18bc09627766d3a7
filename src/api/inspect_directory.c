/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_directory.c: directories: images by class, or files by ending. */
#include "api/inspect.h"

#include "base/counts.h"
#include "base/error.h"
#include "codec/codec.h"
#include "io/directory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_ENDINGS = 1000, SHOWN_ENDINGS = 12, SHOWN_CLASSES = 40 };

/* The ending as it is written, with its dot; "" if there is none. */
static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? dot : "";
}

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

struct classes {
    size_t n, n_images, n_beside; /* images beside the directories of the classes */
    struct stk__text of_each;
    struct stk__counts others; /* endings of what is not an image */
    size_t n_others;
};

/* Counts the files of one class. */
static int count_class(struct stk__inspection *in, struct classes *classes, const char *name,
                       size_t len, struct stk_error *err)
{
    char path[STK__PATH_BYTES];
    struct stk__paths files = { 0 };
    size_t n_images = 0;
    snprintf(path, sizeof path, "%s/%.*s", in->path, (int)len, name);
    int code = stk__directory_walk(path, accepts_all, &files, NULL, err);
    for (size_t i = 0; i < files.n && !code; i++) {
        const char *ending = ending_of(stk__paths_at(&files, i));
        bool is_other = !is_image(ending);
        n_images += !is_other;
        classes->n_others += is_other;
        if (is_other && stk__counts_add(&classes->others, ending, strlen(ending)))
            code = stk__out_of_memory(err);
    }
    if (classes->n++ < SHOWN_CLASSES)
        stk__text_add(&classes->of_each, "%s%.*s %zu", classes->of_each.len ? ", " : "", (int)len,
                      name, n_images);
    classes->n_images += n_images;
    stk__paths_free(&files);
    return code;
}

static int count_classes(struct stk__inspection *in, struct classes *classes, struct stk_error *err)
{
    struct stk__paths names = { 0 };
    int code = stk__directory_list(in->path, &names, NULL, err);
    if (!code && stk__paths_sort(&names))
        code = stk__out_of_memory(err);
    for (size_t i = 0; i < names.n && !code; i++) {
        const char *name = stk__paths_at(&names, i);
        size_t len = strlen(name);
        if (*name != '.' && name[len - 1] == '/')
            code = count_class(in, classes, name, len - 1, err);
        else if (*name != '.')
            classes->n_beside += is_image(ending_of(name));
    }
    stk__paths_free(&names);
    return code;
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

static int describe_classes(struct stk__inspection *in, const struct classes *classes,
                            struct stk_error *err)
{
    struct stk__text others = { 0 };
    stk__inspect_count(in, "images", classes->n_images);
    stk__inspect_count(in, "classes", classes->n);
    stk__inspect_say(in, "of each", "%s%s", classes->of_each.data ? classes->of_each.data : "",
                     classes->n > SHOWN_CLASSES ? ", …" : "");
    in->source = "image_folder";
    stk__text_add(&in->rest, ").decode()");
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

/* ---- other files, by ending ---- */

static int count_endings(struct stk__inspection *in, struct stk__counts *counts,
                         struct stk_error *err)
{
    struct stk__paths files = { 0 };
    int code = stk__directory_walk(in->path, accepts_all, &files, NULL, err);
    for (size_t i = 0; i < files.n && !code; i++) {
        const char *ending = ending_of(stk__paths_at(&files, i));
        if (stk__counts_add(counts, ending, strlen(ending)))
            code = stk__out_of_memory(err);
    }
    if (!code)
        stk__inspect_count(in, "files", files.n);
    stk__paths_free(&files);
    return code;
}

static bool is_tfrecord(const char *ending)
{
    return !strncasecmp(ending, ".tfrec", 6);
}

/* Files that one chain reads: all images, or one ending in capitals or not. */
static bool are_alike(const char *a, const char *b)
{
    return !strcasecmp(a, b) || (is_image(a) && is_image(b)) || (is_tfrecord(a) && is_tfrecord(b));
}

/* An ending with its count; longer ones than any format has are cut and match nothing. */
struct kind {
    char ending[32];
    uint64_t n;
};

static struct kind *kinds_of(const struct stk__counts *counts)
{
    struct stk__count *sorted = stk__counts_sorted(counts);
    struct kind *kinds = calloc(counts->n + 1, sizeof *kinds);
    for (size_t i = 0; sorted && kinds && i < counts->n; i++) {
        snprintf(kinds[i].ending, sizeof kinds[i].ending, "%.*s", (int)sorted[i].bytes,
                 sorted[i].data);
        kinds[i].n = sorted[i].n;
    }
    if (!sorted) {
        free(kinds);
        kinds = NULL;
    }
    free(sorted);
    return kinds;
}

/* The kind that most files are of, together with those that are alike. */
static size_t most_frequent(const struct kind *kinds, size_t n)
{
    size_t best = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t total = 0;
        for (size_t k = 0; k < n; k++)
            total += are_alike(kinds[i].ending, kinds[k].ending) ? kinds[k].n : 0;
        if (total > most) {
            most = total;
            best = i;
        }
    }
    return best;
}

/* A text that a pattern takes literally. */
static void add_literal(struct stk__text *out, const char *text)
{
    for (; *text; text++)
        stk__text_add(out, "%s%c", strchr("*?[]{},\\", *text) ? "\\" : "", *text);
}

/* Every file below `dir` whose ending is like this one; braces where there are several. */
static void add_pattern(struct stk__text *out, const char *dir, const struct kind *kinds, size_t n,
                        const char *like)
{
    const char *separator = "";
    size_t n_alike = 0;
    for (size_t i = 0; i < n; i++)
        n_alike += are_alike(kinds[i].ending, like);
    add_literal(out, dir);
    stk__text_add(out, "%s**/*.%s", dir[strlen(dir) - 1] == '/' ? "" : "/", n_alike > 1 ? "{" : "");
    for (size_t i = 0; i < n; i++)
        if (are_alike(kinds[i].ending, like)) {
            stk__text_add(out, "%s", separator);
            add_literal(out, kinds[i].ending + 1);
            separator = ",";
        }
    stk__text_add(out, "%s", n_alike > 1 ? "}" : "");
}

/* A chain for the files with this ending and those alike. */
static void propose(struct stk__inspection *in, const struct kind *kinds, size_t n,
                    const char *ending)
{
    bool is_tar = !strcasecmp(ending, ".tar");
    in->source = is_tfrecord(ending) ? "tfrecord" : is_tar ? "tar" : "files";
    in->is_unseen = is_tfrecord(ending) || is_tar;
    add_pattern(&in->pattern, in->path, kinds, n, ending);
    stk__text_add(&in->rest, ")%s", is_image(ending) ? ".decode()" : "");
    if (in->is_unseen)
        stk__inspect_note(in, "inspect one of the files to see what is in them");
}

static int describe_files(struct stk__inspection *in, struct stk_error *err)
{
    struct stk__counts counts;
    stk__counts_begin(&counts, MOST_ENDINGS, MOST_ENDINGS * 16);
    int code = count_endings(in, &counts, err);
    struct kind *kinds = code ? NULL : kinds_of(&counts);
    for (size_t i = 0; kinds && i < counts.n && i < SHOWN_ENDINGS; i++)
        stk__inspect_count(in, *kinds[i].ending ? kinds[i].ending : "no ending", kinds[i].n);
    size_t best = kinds ? most_frequent(kinds, counts.n) : 0;
    if (kinds && *kinds[best].ending)
        propose(in, kinds, counts.n, kinds[best].ending);
    if (!code && !kinds)
        code = stk__out_of_memory(err);
    free(kinds);
    stk__counts_free(&counts);
    return code;
}

int stk__inspect_directory(struct stk__inspection *in, struct stk_error *err)
{
    struct classes classes = { 0 };
    in->format = "directory";
    stk__counts_begin(&classes.others, MOST_ENDINGS, MOST_ENDINGS * 16);
    int code = count_classes(in, &classes, err);
    if (!code && classes.n_images && classes.n_images >= classes.n_beside)
        code = describe_classes(in, &classes, err);
    else if (!code)
        code = describe_files(in, err);
    in->facts[0].failed |= classes.of_each.failed;
    stk__text_free(&classes.of_each);
    stk__counts_free(&classes.others);
    return code;
}
