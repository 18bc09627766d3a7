/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_files.c: the files of a directory, by kind.
 *
 * A kind is an ending, together with those that one chain reads as well (.csv and .csv.gz, all images, shards
 * such as .tfrecord-00000-of-00010). What reads a kind is what the first of its files says when it is
 * inspected alone; the last one is looked at too, because .txt may be anything. The most frequent kind that
 * stoker knows is proposed; notes have the others.
 */
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

enum { MOST_ENDINGS = 1000, SHOWN_ENDINGS = 12, MOST_TRIED = 6, ENDING_ROOM = 48 };

static const char shards[] = "-*-of-*";

/* ---- endings ---- */

const char *stk__ending_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? dot : "";
}

static bool is_packing(const char *ending, size_t n)
{
    static const char *const all[] = { ".gz", ".zst", ".zz", ".zlib" };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strlen(all[i]) == n && !strncasecmp(ending, all[i], n))
            return true;
    return false;
}

/* Letters of "-00000-of-00010" at the end of a text, or 0. */
static size_t shard_letters(const char *text, size_t n)
{
    size_t at = n, digits = n;
    while (at && isdigit((unsigned char)text[at - 1]))
        at--;
    if (at == n || at < 4 || memcmp(text + at - 4, "-of-", 4) != 0)
        return 0;
    at -= 4;
    digits = at;
    while (at && isdigit((unsigned char)text[at - 1]))
        at--;
    return at < digits && at && text[at - 1] == '-' ? n - at + 1 : 0;
}

/* The ending with that of the format before a compression's; numbers of shards become stars. What is longer
 * than that of any format is the rest of a title, and no ending. */
static void write_ending(const char *path, char out[ENDING_ROOM])
{
    const char *ending = stk__ending_of(path);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (is_packing(ending, strlen(ending))) {
        const char *dot = ending;
        while (dot > name && dot[-1] != '.')
            dot--;
        ending = dot > name + 1 ? dot - 1 : ending;
    }
    size_t n = strlen(ending), cut = shard_letters(ending, n);
    int room = snprintf(out, ENDING_ROOM, "%.*s%s", (int)(n - cut), ending, cut ? shards : "");
    if (room >= ENDING_ROOM)
        *out = 0;
}

static bool is_image(const char *ending)
{
    return *ending && stk__is_image_ending(ending + 1);
}

static bool is_tfrecord(const char *ending)
{
    return !strncasecmp(ending, ".tfrec", 6);
}

/* Letters without those of the compression. Files that are read at random stay apart: unpacked only. */
static size_t bare_letters(const char *ending)
{
    static const char *const arrays[] = { ".npy", ".npz", ".h5", ".hdf5" };
    const char *last = strrchr(ending, '.');
    size_t n = strlen(ending);
    if (!last || last == ending || !is_packing(last, strlen(last)))
        return n;
    size_t bare = (size_t)(last - ending);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (strlen(arrays[i]) == bare && !strncasecmp(ending, arrays[i], bare))
            return n;
    return bare;
}

/* Files that one chain reads. */
static bool are_alike(const char *a, const char *b)
{
    size_t n = bare_letters(a);
    bool is_same = n == bare_letters(b) && !strncasecmp(a, b, n);
    return is_same || (is_image(a) && is_image(b)) || (is_tfrecord(a) && is_tfrecord(b));
}

/* What hardly anything but data has; others may be lists, notes and settings beside it. */
static bool is_known(const char *ending)
{
    static const char *const all[] = { ".csv", ".tsv", ".jsonl", ".ndjson", ".npy",
                                       ".npz", ".h5",  ".hdf5",  ".tar",    ".tgz" };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (are_alike(ending, all[i]))
            return true;
    return is_image(ending) || is_tfrecord(ending);
}

/* ---- kinds ---- */

/* An ending with its count. */
struct kind {
    char ending[ENDING_ROOM];
    uint64_t n, n_alike;
    bool is_done; /* tried, or one that is alike was */
};

struct listing {
    const char *dir;
    struct stk__paths files; /* sorted */
    struct kind *kind;       /* the most frequent first */
    size_t n;
};

static bool accepts_all(const char *name)
{
    (void)name;
    return true;
}

static int count_endings(struct listing *l, struct stk__counts *counts, struct stk_error *err)
{
    char ending[ENDING_ROOM];
    int code = stk__directory_walk(l->dir, accepts_all, &l->files, NULL, err);
    if (!code && stk__paths_sort(&l->files))
        code = stk__out_of_memory(err);
    for (size_t i = 0; i < l->files.n && !code; i++) {
        write_ending(stk__paths_at(&l->files, i), ending);
        if (stk__counts_add(counts, ending, strlen(ending)))
            code = stk__out_of_memory(err);
    }
    return code;
}

static int sort_kinds(struct listing *l, const struct stk__counts *counts, struct stk_error *err)
{
    struct stk__count *sorted = stk__counts_sorted(counts);
    l->kind = calloc(counts->n + 1, sizeof *l->kind);
    l->n = sorted && l->kind ? counts->n : 0;
    for (size_t i = 0; i < l->n; i++) {
        snprintf(l->kind[i].ending, ENDING_ROOM, "%.*s", (int)sorted[i].bytes, sorted[i].data);
        l->kind[i].n = sorted[i].n;
    }
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->n; k++)
            if (are_alike(l->kind[i].ending, l->kind[k].ending))
                l->kind[i].n_alike += l->kind[k].n;
    bool has_room = sorted && l->kind;
    free(sorted);
    return has_room ? STK_OK : stk__out_of_memory(err);
}

static int list(struct listing *l, struct stk_error *err)
{
    struct stk__counts counts;
    stk__counts_begin(&counts, MOST_ENDINGS, MOST_ENDINGS * ENDING_ROOM);
    int code = count_endings(l, &counts, err);
    if (!code)
        code = sort_kinds(l, &counts, err);
    stk__counts_free(&counts);
    return code;
}

static void unlist(struct listing *l)
{
    free(l->kind);
    stk__paths_free(&l->files);
}

/* The most frequent that was not tried yet, with all that are alike; NULL: none. */
static const struct kind *next_kind(struct listing *l)
{
    struct kind *best = NULL;
    for (size_t i = 0; i < l->n; i++) {
        struct kind *k = &l->kind[i];
        bool is_better =
            !best || k->n_alike > best->n_alike ||
            (k->n_alike == best->n_alike && is_known(k->ending) && !is_known(best->ending));
        if (!k->is_done && is_better)
            best = k;
    }
    for (size_t i = 0; best && i < l->n; i++)
        l->kind[i].is_done |= are_alike(l->kind[i].ending, best->ending);
    return best;
}

/* The first or the last file of a kind. */
static const char *file_of(const struct listing *l, const struct kind *kind, bool is_last)
{
    char ending[ENDING_ROOM];
    for (size_t i = 0; i < l->files.n; i++) {
        const char *path = stk__paths_at(&l->files, is_last ? l->files.n - 1 - i : i);
        write_ending(path, ending);
        if (are_alike(ending, kind->ending))
            return path;
    }
    return NULL;
}

/* ---- patterns ---- */

/* A text that a pattern takes literally. */
static void add_literal(struct stk__text *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        stk__text_add(out, "%s%c", strchr("*?[]{},\\", text[i]) ? "\\" : "", text[i]);
}

static void add_ending(struct stk__text *out, const char *ending)
{
    size_t n = strlen(ending), cut = strlen(shards);
    bool has_shards = n >= cut && !strcmp(ending + n - cut, shards);
    add_literal(out, ending, has_shards ? n - cut : n);
    stk__text_add(out, "%s", has_shards ? shards : "");
}

/* Every file below the directory that is of the kind; braces where there are several endings. */
static void add_pattern(struct stk__text *out, const struct listing *l, const struct kind *kind)
{
    const char *separator = "";
    bool is_one = kind->n == kind->n_alike;
    add_literal(out, l->dir, strlen(l->dir));
    stk__text_add(out, "%s**/*", l->dir[strlen(l->dir) - 1] == '/' ? "" : "/");
    if (!*kind->ending)
        return;
    stk__text_add(out, ".%s", is_one ? "" : "{");
    for (size_t i = 0; i < l->n; i++)
        if (are_alike(l->kind[i].ending, kind->ending)) {
            stk__text_add(out, "%s", separator);
            add_ending(out, l->kind[i].ending + 1);
            separator = ",";
        }
    stk__text_add(out, "%s", is_one ? "" : "}");
}

/* ---- what reads a kind ---- */

static bool is_text(const struct stk__inspection *one)
{
    return one->source && (!strcmp(one->source, "lines") || !strcmp(one->source, "csv") ||
                           !strcmp(one->source, "jsonl"));
}

static void take_text(struct stk__text *into, struct stk__text *from)
{
    stk__text_free(into);
    *into = *from;
    *from = (struct stk__text){ 0 };
}

/* Files of one ending that are text of different kinds have lines in common. */
static int inspect_as_lines(struct stk__inspection *one, struct stk_error *err)
{
    stk__text_free(&one->rest);
    for (int i = 0; i < 2; i++)
        stk__text_free(&one->fields[i]);
    one->source = "lines";
    stk__text_add(&one->rest, ")");
    return stk__inspect_preview(one, err);
}

/* Compares with the last file. */
static int compare_last(struct stk__inspection *one, const char *path, struct stk__text *difference,
                        struct stk_error *err)
{
    struct stk__inspection last = { .path = path };
    int code = strcmp(path, one->path) ? stk__inspect_file(&last, err) : STK_END;
    const char *own = one->rest.data ? one->rest.data : "";
    const char *other = last.rest.data ? last.rest.data : "";
    if (!code && last.source && strcmp(last.source, one->source) != 0) {
        stk__text_add(difference, "'%s' is %s, but '%s' is %s", one->path, one->format, path,
                      last.format);
        code = is_text(one) && is_text(&last) ? inspect_as_lines(one, err) : STK_OK;
    } else if (!code && last.source && strcmp(own, other) != 0) {
        stk__text_add(difference, "'%s' by itself would be read with %s(…%s", path, last.source,
                      other);
    } else if (code && code != STK_END) {
        stk__text_add(difference, "%s", err->text);
    }
    stk__inspection_clear(&last);
    return code == STK_MEMORY ? stk__out_of_memory(err) : STK_OK;
}

/* A file by itself; why nothing reads it is in `remark`. */
static int learn_file(const char *path, struct stk__inspection *one, struct stk__text *remark,
                      struct stk_error *err)
{
    *one = (struct stk__inspection){ .path = path };
    int code = stk__inspect_file(one, err);
    if (code && code != STK_MEMORY)
        stk__text_add(remark, "%s%s", remark->len ? "; " : "", err->text);
    else if (!code && !one->source)
        stk__text_add(remark, "stoker reads '%s' unpacked only", path);
    one->source = code ? NULL : one->source;
    return code == STK_MEMORY ? code : STK_OK;
}

/* Whether a pattern finds them and nothing else. */
static bool has_pattern(const struct listing *l, const struct kind *kind)
{
    return *kind->ending || kind->n_alike == l->files.n;
}

/* What reads the kind: *one has it, if there is something. The last file stands in for a first that is
 * empty or damaged. */
static int learn(const struct listing *l, const struct kind *kind, struct stk__inspection *one,
                 struct stk__text *remark, struct stk_error *err)
{
    const char *first = file_of(l, kind, false), *last = file_of(l, kind, true);
    *one = (struct stk__inspection){ .path = first };
    if (!has_pattern(l, kind)) {
        stk__text_add(remark, "they have no ending that a pattern could go by");
        return STK_OK;
    }
    int code = learn_file(first, one, remark, err);
    if (!code && one->source)
        return compare_last(one, last, remark, err);
    if (!code && first != last) {
        stk__inspection_clear(one);
        code = learn_file(last, one, remark, err);
    }
    return code;
}

static void add_notes(struct stk__inspection *in, const struct stk__inspection *one)
{
    stk__text_add_n(&in->notes[0], one->notes[0].data ? one->notes[0].data : "", one->notes[0].len);
    if (one->notes[1].len)
        stk__text_add(&in->notes[1], "%s%s", in->notes[1].len ? ", " : "", one->notes[1].data);
}

/* The kind is what the chain reads. */
static void propose(struct stk__inspection *in, const struct listing *l, const struct kind *kind,
                    struct stk__inspection *one, const struct stk__text *remark)
{
    in->source = one->source;
    in->is_unseen = true;
    in->is_damaged |= one->is_damaged;
    add_pattern(&in->pattern, l, kind);
    take_text(&in->rest, &one->rest);
    for (int i = 0; i < 2; i++)
        take_text(&in->fields[i], &one->fields[i]);
    add_notes(in, one);
    if (kind->n_alike > 1)
        stk__inspect_note(in, "fields and options are those of '%s', one of %" PRIu64 " files",
                          one->path, kind->n_alike);
    if (remark->len)
        stk__inspect_note(in, "not all of these files are alike: %s", remark->data);
}

static void note_other(struct stk__inspection *in, const struct listing *l, const struct kind *kind,
                       const struct stk__inspection *one, const struct stk__text *remark)
{
    struct stk__text how = { 0 };
    const char *reason = remark->data ? remark->data : "";
    if (one->source) {
        struct stk__text pattern = { 0 };
        add_pattern(&pattern, l, kind);
        stk__text_add(&how, "%s(", one->source);
        stk__quote(&how, pattern.data ? pattern.data : "");
        stk__text_add(&how, "%s reads them", one->rest.data ? one->rest.data : ")");
        in->notes[0].failed |= pattern.failed;
        stk__text_free(&pattern);
    }
    stk__inspect_note(in, "left out: %" PRIu64 " of %s%s: %s%s%s", kind->n_alike,
                      *kind->ending ? kind->ending : "no ending",
                      kind->n != kind->n_alike ? " and the like" : "", how.data ? how.data : "",
                      how.len && *reason ? "; " : "", reason);
    in->notes[0].failed |= how.failed;
    stk__text_free(&how);
}

/* The most frequent kind that nothing reads, and why. */
struct unread {
    const struct kind *kind; /* or NULL */
    struct stk__text remark;
};

static int try_kind(struct stk__inspection *in, const struct listing *l, const struct kind *kind,
                    struct unread *unread, struct stk_error *err)
{
    struct stk__inspection one;
    struct stk__text remark = { 0 };
    int code = learn(l, kind, &one, &remark, err);
    if (!code && one.source && !in->source) {
        propose(in, l, kind, &one, &remark);
    } else if (!code && !one.source && !unread->kind && has_pattern(l, kind)) {
        unread->kind = kind;
        take_text(&unread->remark, &remark);
    } else if (!code) {
        note_other(in, l, kind, &one, &remark);
    }
    in->notes[0].failed |= remark.failed;
    stk__text_free(&remark);
    stk__inspection_clear(&one);
    return code;
}

/* As bytes, if there is nothing else. */
static void propose_unread(struct stk__inspection *in, const struct listing *l,
                           const struct unread *unread)
{
    const struct stk__inspection nothing = { 0 };
    if (in->source) {
        note_other(in, l, unread->kind, &nothing, &unread->remark);
        return;
    }
    in->source = "files";
    in->is_unseen = true;
    add_pattern(&in->pattern, l, unread->kind);
    stk__text_add(&in->rest, ").read()");
    if (unread->remark.len)
        stk__inspect_note(in, "they are read as bytes: %s", unread->remark.data);
}

int stk__inspect_files(struct stk__inspection *in, const char *dir, struct stk_error *err)
{
    struct listing l = { .dir = dir };
    struct unread unread = { 0 };
    const struct kind *kind;
    int code = list(&l, err);
    uint64_t n_more = l.files.n; /* also those of endings beyond the ones that are counted */
    if (!code)
        stk__inspect_count(in, "files", l.files.n);
    for (size_t i = 0; !code && i < l.n && i < SHOWN_ENDINGS; i++)
        stk__inspect_count(in, *l.kind[i].ending ? l.kind[i].ending : "no ending", l.kind[i].n);
    for (int i = 0; !code && i < MOST_TRIED && (kind = next_kind(&l)); i++) {
        code = try_kind(in, &l, kind, &unread, err);
        n_more -= kind->n_alike;
    }
    if (!code && unread.kind)
        propose_unread(in, &l, &unread);
    if (!code && n_more)
        stk__inspect_note(in, "left out: %" PRIu64 " of other endings; inspect one of them",
                          n_more);
    in->notes[0].failed |= unread.remark.failed;
    stk__text_free(&unread.remark);
    unlist(&l);
    return code;
}
