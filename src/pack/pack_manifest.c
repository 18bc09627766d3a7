/* SPDX-License-Identifier: Apache-2.0 */
/* pack_manifest.c: the manifest, and the journal that becomes it.
 *
 * Both begin with the same head, a line of JSON for everything that decides the bytes of the shards,
 * and go on with a line for each shard that is done. So whether two packs are the same is whether
 * their heads are the same text, and the first line that differs says why not.
 */
#define _GNU_SOURCE
#include "pack/pack.h"

#include "base/json_out.h"
#include "base/type.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the head ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void add_text(struct stk__text *out, const char *name, const char *value)
{
    stk__json_line(out, 2);
    stk__json_string(out, name, value);
}

static void add_number(struct stk__text *out, const char *name, int64_t value)
{
    stk__json_line(out, 2);
    stk__json_whole(out, name, value);
}

/* Names of the numbers in a field of labels, for whoever reads the files (op/source/packed_classes.h). */
static void add_classes(struct stk__text *out, const struct stk_dataset *dataset, const char *field)
{
    const char *name = stk_dataset_class_name(dataset, field, 0);
    if (!name)
        return;
    stk__json_open(out, "classes", '[');
    for (int64_t i = 0; name; name = stk_dataset_class_name(dataset, field, ++i))
        stk__json_string(out, NULL, name);
    stk__json_close(out, ']');
}

static void add_fields(struct stk__text *out, const struct stk__pack *pack,
                       const struct stk_dataset *dataset)
{
    stk__json_line(out, 2);
    stk__json_open(out, "fields", '[');
    for (int f = 0; f < pack->type.n_fields; f++) {
        const struct stk_field *field = &pack->type.field[f];
        struct stk__text type = { 0 };
        stk__field_text(field, &type);
        stk__json_line(out, 4);
        stk__json_open(out, NULL, '{');
        stk__json_string(out, "name", field->name);
        stk__json_string(out, "type", type.data ? type.data : "");
        stk__json_string(out, "stored", pack->format->describe(field));
        add_classes(out, dataset, field->name);
        stk__json_close(out, '}');
        out->failed = out->failed || type.failed;
        stk__text_free(&type);
    }
    stk__text_add(out, "\n  ]");
}

static void add_run(struct stk__text *out, const struct stk__pack *pack)
{
    static const char *const policies[] = { "fail", "skip", "replace" };
    const struct stk__options *o = &pack->options;
    add_number(out, "seed", o->seed);
    add_number(out, "epoch", o->epoch);
    add_number(out, "rank", o->rank);
    add_number(out, "world", o->world);
    add_text(out, "on_error", policies[o->on_error]);
    add_number(out, "variants", pack->wanted->variants);
    stk__json_line(out, 2);
    stk__json_bool(out, "keep_original", pack->wanted->keep_original);
    add_text(out, "division", pack->is_ranged ? "ranges" : "round robin");
    if (pack->is_ranged)
        add_number(out, "positions", (int64_t)pack->n_elements);
}

int stk__pack_head(struct stk__pack *pack, const struct stk_dataset *dataset, struct stk_error *err)
{
    static const char *const forms[] = { "none", "gzip", "zlib" };
    struct stk__text out = { 0 };
    char hash[20], *chain = stk_dataset_text(dataset, true);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)dataset->hash);
    stk__json_open(&out, NULL, '{');
    add_text(&out, "stoker", stk_version());
    add_text(&out, "format", pack->format->name);
    add_text(&out, "compression", forms[pack->form]);
    add_text(&out, "out", base_name(pack->wanted->out));
    add_number(&out, "n_shards", pack->n_shards);
    add_text(&out, "chain", chain ? chain : "");
    add_text(&out, "chain_hash", hash);
    add_run(&out, pack);
    add_fields(&out, pack, dataset);
    stk__json_line(&out, 2);
    stk__json_open(&out, "shards", '[');
    stk__text_add(&out, "\n");
    pack->head = chain && !out.failed ? stk__text_take(&out) : NULL;
    stk__text_free(&out);
    stk_text_free(chain);
    return pack->head ? STK_OK : stk__out_of_memory(err);
}

/* ---- lines ---- */

static void add_line(struct stk__text *out, const struct stk__pack *pack, int64_t s)
{
    const struct stk__pack_shard *shard = &pack->shard[s];
    char crc[12];
    snprintf(crc, sizeof crc, "%08x", shard->crc);
    stk__text_add(out, "    ");
    stk__json_open(out, NULL, '{');
    stk__json_whole(out, "shard", s);
    stk__json_count(out, "elements", shard->n_elements);
    stk__json_count(out, "bytes", shard->bytes);
    stk__json_string(out, "crc32c", crc);
    stk__json_string(out, "file", base_name(shard->path));
    stk__json_close(out, '}');
}

/* A line that is not exactly as it was written is none: the process may have ended in it. */
static void read_line(struct stk__pack *pack, const char *line, size_t len)
{
    long long s;
    unsigned long long n_elements, bytes;
    unsigned crc;
    char text[256] = "";
    snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : 0), line);
    if (sscanf(text, " {\"shard\": %lld, \"elements\": %llu, \"bytes\": %llu, \"crc32c\": \"%x\"",
               &s, &n_elements, &bytes, &crc) != 4 ||
        s < 0 || s >= pack->n_shards)
        return;
    struct stk__pack_shard *shard = &pack->shard[s], before = *shard;
    struct stk__text again = { 0 };
    shard->n_elements = n_elements;
    shard->bytes = bytes;
    shard->crc = crc;
    shard->is_done = true;
    add_line(&again, pack, s);
    if (again.failed || again.len != len || memcmp(again.data, line, len) != 0)
        *shard = before;
    stk__text_free(&again);
}

static void read_lines(struct stk__pack *pack, const char *text)
{
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        bool has_comma = end > text && end[-1] == ',';
        read_line(pack, text, (size_t)(end - text) - has_comma);
    }
}

/* ---- what is there ---- */

static int fail_errno(struct stk_error *err, const char *act, const char *path)
{
    char reason[128];
    return stk_fail(err, STK_IO, "cannot %s %s: %s", act, path,
                    strerror_r(errno, reason, sizeof reason));
}

int stk__pack_read_text(const char *path, char **out, struct stk_error *err)
{
    struct stk__text text = { 0 };
    char piece[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = STK_OK;
    ssize_t n = 0;
    *out = NULL;
    if (fd < 0)
        return errno == ENOENT ? STK_OK : fail_errno(err, "read", path);
    while ((n = read(fd, piece, sizeof piece)) > 0)
        stk__text_add_n(&text, piece, (size_t)n);
    if (n < 0)
        rc = fail_errno(err, "read", path);
    close(fd);
    if (!rc && !(*out = stk__text_take(&text)))
        rc = stk__out_of_memory(err);
    stk__text_free(&text);
    return rc;
}

/* Some characters of a line around a place in it, without what ends the line. */
static int excerpt(const char *line, size_t at, const char **from)
{
    enum { BEFORE = 40, MOST = 120 };
    size_t len = strcspn(line, "\n"), skip = at > BEFORE ? at - BEFORE : 0;
    if (len && line[len - 1] == ',')
        len--;
    skip = skip < len ? skip : len;
    *from = line + skip;
    return (int)(len - skip < MOST ? len - skip : MOST);
}

static int refuse(const struct stk__pack *pack, const char *path, const char *there,
                  struct stk_error *err)
{
    const char *here = pack->head, *line = here, *line_there = there, *from, *from_there;
    for (; *here && *here == *there; here++, there++)
        if (*here == '\n')
            line = here + 1, line_there = there + 1;
    int len_there = excerpt(line_there, (size_t)(there - line_there), &from_there);
    int len = excerpt(line, (size_t)(here - line), &from);
    while (len && *from == ' ' && *from_there == ' ')
        from++, from_there++, len--, len_there--;
    return stk_fail(err, STK_STATE,
                    "%s is of another pack: it has  %.*s  and this one  %.*s ; choose another "
                    "name, or replace its files with force",
                    path, len_there, from_there, len, from);
}

int stk__pack_adopt(struct stk__pack *pack, const char *path, const char *text, bool *is_other,
                    struct stk_error *err)
{
    size_t len = strlen(pack->head);
    *is_other = *text && strncmp(text, pack->head, len) != 0;
    if (*text && !*is_other && !pack->is_bound)
        read_lines(pack, text + len);
    if (*is_other && strstr(text, "\n    {\"shard\": ") && !pack->wanted->force)
        return refuse(pack, path, text, err);
    return STK_OK;
}

/* What a manifest or journal is of. */
enum whose { NOBODYS, OURS, ANOTHERS };

static int adopt_file(struct stk__pack *pack, const char *path, enum whose *whose,
                      struct stk_error *err)
{
    char *text;
    bool is_other = false;
    int rc = stk__pack_read_text(path, &text, err);
    if (!rc && text)
        rc = stk__pack_adopt(pack, path, text, &is_other, err);
    if (!rc && is_other)
        rc = stk__pack_remember(pack, text, err);
    *whose = is_other ? ANOTHERS : !rc && text && *text ? OURS : NOBODYS;
    free(text);
    return rc;
}

static int check_shards(struct stk__pack *pack, struct stk_error *err)
{
    for (int64_t s = 0; s < pack->n_shards; s++) {
        struct stk__pack_shard *shard = &pack->shard[s];
        uint64_t bytes;
        uint32_t crc;
        bool is_there = access(shard->path, F_OK) == 0;
        if (is_there && !shard->is_done && !pack->wanted->force)
            return stk_fail(err, STK_STATE,
                            "%s is there already and %s does not list it; choose another name, or "
                            "replace it with force",
                            shard->path, base_name(pack->manifest_path));
        shard->is_done = shard->is_done && stk__file_sum(shard->path, &bytes, &crc) &&
                         bytes == shard->bytes && crc == shard->crc;
        char *part = stk__file_part_name(shard->path);
        if (!part)
            return stk__out_of_memory(err);
        unlink(part);
        free(part);
        if (!shard->is_done)
            shard->n_elements = shard->bytes = shard->crc = 0;
    }
    return STK_OK;
}

/* ---- the journal ---- */

/* The directory of the files, if it is not there but the one above it is. */
static void make_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
    if (name)
        mkdir(name, 0777); /* opening a file in it says what is wrong */
    free(name);
}

/* Another process may remove the journal while we wait to lock it. */
static int lock_journal(struct stk__pack *pack, struct stk_error *err)
{
    struct stat status = { 0 };
    while (!status.st_nlink) {
        if (pack->journal >= 0)
            close(pack->journal);
        pack->journal = open(pack->journal_path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (pack->journal < 0)
            return fail_errno(err, "create", pack->journal_path);
        if (flock(pack->journal, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
            close(pack->journal);
            pack->journal = -1;
            return stk_fail(err, STK_STATE, "another process is packing to '%s'",
                            pack->wanted->out);
        }
        if (fstat(pack->journal, &status))
            return fail_errno(err, "read", pack->journal_path);
    }
    return STK_OK;
}

static int append(const struct stk__pack *pack, const struct stk__text *text, struct stk_error *err)
{
    int rc = text->failed ? stk__out_of_memory(err) : STK_OK;
    if (!rc)
        rc = stk__file_write_all(pack->journal, pack->journal_path, text->data, text->len, err);
    if (!rc && fdatasync(pack->journal))
        rc = fail_errno(err, "write", pack->journal_path);
    return rc;
}

/* Lines that are good already are written again after those of an earlier run: a journal is only
 * ever added to, except one that lists nothing of ours. A line that ends the torn one before it is
 * void, so a newline comes first. */
static int begin_journal(struct stk__pack *pack, bool is_other, struct stk_error *err)
{
    struct stk__text text = { 0 };
    struct stat status;
    if (fstat(pack->journal, &status) || (is_other && ftruncate(pack->journal, 0)))
        return fail_errno(err, "write", pack->journal_path);
    if (is_other || !status.st_size)
        stk__text_add_n(&text, pack->head, strlen(pack->head));
    else
        stk__text_add_n(&text, "\n", 1);
    for (int64_t s = 0; s < pack->n_shards; s++) {
        if (!pack->shard[s].is_done)
            continue;
        add_line(&text, pack, s);
        stk__text_add_n(&text, ",\n", 2);
    }
    int rc = append(pack, &text, err);
    stk__text_free(&text);
    return rc;
}

/* With force, the shards of another chain lose their manifest before the first one is replaced. */
int stk__pack_open_journal(struct stk__pack *pack, struct stk_error *err)
{
    enum whose manifest = NOBODYS, journal = NOBODYS;
    make_directory(pack->manifest_path);
    int rc = lock_journal(pack, err);
    if (!rc)
        rc = adopt_file(pack, pack->manifest_path, &manifest, err);
    if (!rc)
        rc = adopt_file(pack, pack->journal_path, &journal, err);
    if (!rc && manifest != OURS && journal != OURS)
        rc = stk__pack_check_replaced(pack, err);
    if (!rc)
        rc = check_shards(pack, err);
    if (!rc && manifest == ANOTHERS && unlink(pack->manifest_path))
        rc = fail_errno(err, "remove", pack->manifest_path);
    if (!rc)
        rc = begin_journal(pack, journal == ANOTHERS, err);
    if (!rc)
        rc = stk__directory_sync(pack->journal_path, err);
    return rc;
}

int stk__pack_note_shard(struct stk__pack *pack, int64_t shard, struct stk_error *err)
{
    struct stk__text text = { 0 };
    add_line(&text, pack, shard);
    stk__text_add_n(&text, ",\n", 2);
    int rc = append(pack, &text, err);
    stk__text_free(&text);
    return rc;
}

/* Positions of the chain that gave no element were bad. */
static void add_totals(struct stk__text *out, const struct stk__pack *pack)
{
    uint64_t n_elements = 0, bytes = 0;
    for (int64_t s = 0; s < pack->n_shards; s++) {
        n_elements += pack->shard[s].n_elements;
        bytes += pack->shard[s].bytes;
    }
    stk__text_add(out, "  ]");
    stk__json_line(out, 2);
    stk__json_count(out, "elements", n_elements);
    stk__json_line(out, 2);
    stk__json_count(out, "bytes", bytes);
    stk__text_add(out, "\n}\n");
}

int stk__pack_write_manifest(struct stk__pack *pack, struct stk_error *err)
{
    struct stk__text text = { 0 };
    stk__text_add_n(&text, pack->head, strlen(pack->head));
    for (int64_t s = 0; s < pack->n_shards; s++) {
        add_line(&text, pack, s);
        stk__text_add(&text, s + 1 < pack->n_shards ? ",\n" : "\n");
    }
    add_totals(&text, pack);
    int rc = text.failed ? stk__out_of_memory(err)
                         : stk__file_write_whole(pack->manifest_path, text.data, text.len, err);
    stk__text_free(&text);
    if (!rc)
        rc = stk__pack_remove_replaced(pack, err);
    if (!rc && unlink(pack->journal_path))
        rc = fail_errno(err, "remove", pack->journal_path);
    return rc;
}

void stk__pack_close_journal(struct stk__pack *pack)
{
    char *text;
    if (pack->journal < 0)
        return;
    stk__pack_read_text(pack->journal_path, &text, NULL);
    bool is_empty = text && !strstr(text, "\n    {\"shard\": ");
    free(text);
    if (is_empty)
        unlink(pack->journal_path);
    close(pack->journal); /* and so the lock */
    pack->journal = -1;
}
