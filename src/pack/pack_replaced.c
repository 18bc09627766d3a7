/* SPDX-License-Identifier: Apache-2.0 */
/* pack_replaced.c: files of an earlier pack, which another one replaces by force.
 *
 * They may have other names than the new ones (another format, another number of shards), and then a pattern
 * would read both. They stay until the new pack is complete; but its manifest is gone by then, and the process
 * may end before. So the lines of its shards go to a file beside the manifest first, which whoever completes a
 * pack there works off: each file it lists that has the size it says and is no shard of the new pack.
 * A chain that reads one of these files, or of the shards, is refused before anything is written.
 */
#define _GNU_SOURCE
#include "pack/pack.h"

#include "codec/text/json.h"
#include "graph/named_files.h"
#include "io/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char line_start[] = "    {\"shard\": ";

static char *list_path(const struct stk__pack *pack)
{
    char *path;
    return asprintf(&path, "%s.replaced", pack->manifest_path) < 0 ? NULL : path;
}

/* ---- before ---- */

static int append_lines(const char *path, const struct stk__text *lines, struct stk_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return stk_fail(err, STK_IO, "cannot create %s: %s", path, strerror(errno));
    int rc = stk__file_write_all(fd, path, lines->data, lines->len, err);
    if (!rc && fdatasync(fd))
        rc = stk_fail(err, STK_IO, "cannot write %s: %s", path, strerror(errno));
    close(fd);
    return rc ? rc : stk__directory_sync(path, err);
}

int stk__pack_remember(const struct stk__pack *pack, const char *text, struct stk_error *err)
{
    struct stk__text lines = { 0 };
    stk__text_add_n(&lines, "\n", 1); /* ends one that was torn */
    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        if (!strncmp(text, line_start, strlen(line_start)))
            stk__text_add_n(&lines, text, (size_t)(end - text) + 1);
    char *path = list_path(pack);
    int rc = lines.failed || !path ? stk__out_of_memory(err) : STK_OK;
    if (!rc && lines.len > 1)
        rc = append_lines(path, &lines, err);
    free(path);
    stk__text_free(&lines);
    return rc;
}

int stk__pack_check_replaced(const struct stk__pack *pack, struct stk_error *err)
{
    char *path = list_path(pack);
    int rc = path ? STK_OK : stk__out_of_memory(err);
    if (!rc && !pack->wanted->force && access(path, F_OK) == 0)
        rc = stk_fail(err, STK_STATE,
                      "%s lists files of an earlier pack, which one that was not completed was to "
                      "replace; choose another name, or replace these files with force",
                      path);
    free(path);
    return rc;
}

/* ---- afterwards ---- */

struct removal {
    const struct stk__pack *pack;
    struct stk__json_tree tree; /* file, bytes */
    struct stk_arena arena;
    struct stk__paths kept; /* names of the new shards */
    struct file_id {
        dev_t device;
        ino_t number;
    } * id; /* of files that would be lost */
    size_t n_ids, n_places;
    char *source;    /* one of them that the chain reads; owned by the arena */
    bool has_failed; /* there was no memory */
};

static int keep_shards(struct removal *r, struct stk_error *err)
{
    int rc = STK_OK;
    for (int64_t s = 0; s < r->pack->n_shards && !rc; s++) {
        const char *path = r->pack->shard[s].path, *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        rc = stk__paths_add(&r->kept, name, strlen(name));
    }
    return rc || stk__paths_sort(&r->kept) ? stk__out_of_memory(err) : STK_OK;
}

/* The name in a line that is whole; NULL: there is none, or it is not beside the manifest. */
static const char *name_of(struct removal *r, const char *line, size_t len, int64_t *bytes)
{
    struct stk__json_piece whole = { (const uint8_t *)line, len }, found[2] = { { 0 } };
    struct stk__json_fault fault;
    size_t n = 0;
    if (!stk__json_scan(&r->tree, whole, found, &fault) || !found[0].data || !found[1].data ||
        stk__json_kind(found[0]) != STK__JSON_STRING ||
        !stk__json_i64(found[1], whole.data + len, bytes))
        return NULL;
    char *name = stk_arena_alloc(&r->arena, found[0].bytes + 1);
    r->has_failed |= !name;
    if (!name || !stk__json_unescape(found[0], (uint8_t *)name, &n, &fault))
        return NULL;
    name[n] = 0;
    return strchr(name, '/') || strlen(name) != n ? NULL : name;
}

static char *path_beside(const char *manifest, const char *name)
{
    const char *slash = strrchr(manifest, '/');
    int len = slash ? (int)(slash - manifest) + 1 : 0;
    char *path;
    return asprintf(&path, "%.*s%s", len, manifest, name) < 0 ? NULL : path;
}

static int remove_file(struct removal *r, const char *name, int64_t bytes, struct stk_error *err)
{
    struct stat status;
    int rc = STK_OK;
    if (stk__paths_find(&r->kept, name) >= 0)
        return STK_OK;
    char *path = path_beside(r->pack->manifest_path, name);
    if (!path)
        return stk__out_of_memory(err);
    bool is_it = !lstat(path, &status) && S_ISREG(status.st_mode) && status.st_size == bytes;
    if (is_it && unlink(path))
        rc = stk_fail(err, STK_IO, "cannot remove %s, which this pack replaces: %s", path,
                      strerror(errno));
    free(path);
    return rc;
}

typedef int per_file(struct removal *r, const char *name, int64_t bytes, struct stk_error *err);

static int each_listed(struct removal *r, const char *text, per_file *carry_out,
                       struct stk_error *err)
{
    int rc = STK_OK;
    for (const char *end; !rc && (end = strchr(text, '\n')); text = end + 1) {
        bool has_comma = end > text && end[-1] == ',';
        int64_t bytes;
        const char *name = name_of(r, text, (size_t)(end - text) - has_comma, &bytes);
        if (name)
            rc = carry_out(r, name, bytes, err);
    }
    return !rc && r->has_failed ? stk__out_of_memory(err) : rc;
}

static int removal_begin(struct removal *r, const struct stk__pack *pack, struct stk_error *err)
{
    *r = (struct removal){ .pack = pack, .tree.root.want = -1 };
    stk__arena_init(&r->arena, 1024);
    return stk__json_tree_add(&r->tree, "file", &r->arena, NULL) < 0 ||
                   stk__json_tree_add(&r->tree, "bytes", &r->arena, NULL) < 0
               ? stk__out_of_memory(err)
               : STK_OK;
}

static void removal_end(struct removal *r)
{
    free(r->id);
    stk__paths_free(&r->kept);
    stk__arena_free(&r->arena);
}

static int remove_all(const struct stk__pack *pack, const char *text, struct stk_error *err)
{
    struct removal r;
    int rc = removal_begin(&r, pack, err);
    if (!rc)
        rc = keep_shards(&r, err);
    if (!rc)
        rc = each_listed(&r, text, remove_file, err);
    removal_end(&r);
    return rc;
}

int stk__pack_remove_replaced(const struct stk__pack *pack, struct stk_error *err)
{
    char *path = list_path(pack), *text = NULL;
    int rc = path ? stk__pack_read_text(path, &text, err) : stk__out_of_memory(err);
    if (!rc && text) {
        rc = remove_all(pack, text, err);
        if (!rc)
            unlink(path);
    }
    free(text);
    free(path);
    return rc;
}

/* ---- what the chain reads is not replaced ---- */

static int note_id(struct removal *r, const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return STK_OK; /* it is not there */
    if (r->n_ids == r->n_places) {
        size_t n = 2 * r->n_places + 16;
        struct file_id *more = realloc(r->id, n * sizeof *more);
        if (!more)
            return STK_MEMORY;
        r->id = more;
        r->n_places = n;
    }
    r->id[r->n_ids++] = (struct file_id){ status.st_dev, status.st_ino };
    return STK_OK;
}

static int note_listed(struct removal *r, const char *name, int64_t bytes, struct stk_error *err)
{
    (void)bytes;
    char *path = path_beside(r->pack->manifest_path, name);
    int rc = path && !note_id(r, path) ? STK_OK : stk__out_of_memory(err);
    free(path);
    return rc;
}

static int note_text(struct removal *r, const char *path, struct stk_error *err)
{
    char *text = NULL;
    int rc = stk__pack_read_text(path, &text, err);
    if (!rc && text)
        rc = each_listed(r, text, note_listed, err);
    free(text);
    return rc;
}

static int compare_ids(const void *a, const void *b)
{
    const struct file_id *left = a, *right = b;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    return (left->device > right->device) - (left->device < right->device);
}

static void look_at_source(void *context, const char *path)
{
    struct removal *r = context;
    struct stat status;
    if (r->source || stat(path, &status))
        return;
    struct file_id id = { status.st_dev, status.st_ino };
    if (bsearch(&id, r->id, r->n_ids, sizeof id, compare_ids)) {
        r->source = stk__arena_text_n(&r->arena, path, strlen(path));
        r->has_failed |= !r->source;
    }
}

static int find_source(struct removal *r, const struct stk_value *chain, struct stk_error *err)
{
    if (!r->n_ids)
        return STK_OK;
    qsort(r->id, r->n_ids, sizeof *r->id, compare_ids);
    if (stk__named_files(chain, look_at_source, r) || r->has_failed)
        return stk__out_of_memory(err);
    return !r->source ? STK_OK
                      : stk_fail(err, STK_STATE,
                                 "the chain reads %s, which this pack would replace; choose "
                                 "another name, and remove the old files afterwards",
                                 r->source);
}

int stk__pack_check_sources(const struct stk__pack *pack, const struct stk_value *chain,
                            struct stk_error *err)
{
    if (!pack->wanted->force)
        return STK_OK; /* nothing is replaced */
    struct removal r;
    int rc = removal_begin(&r, pack, err);
    for (int64_t s = 0; s < pack->n_shards && !rc; s++)
        rc = note_id(&r, pack->shard[s].path) ? stk__out_of_memory(err) : STK_OK;
    if (!rc)
        rc = note_text(&r, pack->manifest_path, err);
    if (!rc)
        rc = note_text(&r, pack->journal_path, err);
    char *left = list_path(pack);
    if (!rc)
        rc = left ? note_text(&r, left, err) : stk__out_of_memory(err);
    free(left);
    if (!rc)
        rc = find_source(&r, chain, err);
    removal_end(&r);
    return rc;
}
