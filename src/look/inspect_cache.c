/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_cache.c: directories that `cache` keeps elements in: of which chain, how many of how many,
 * and whether they can be read.
 *
 * Nothing in it is changed. A run may write it meanwhile; then what was there when it was looked at
 * is described.
 */
#define _GNU_SOURCE
#include "look/inspect.h"

#include "base/error.h"
#include "base/memory/arena.h"
#include "io/directory.h"
#include "lang/lang.h"
#include "op/cache/kept.h"
#include "op/registry.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_CHARS = 32, TEXT_BYTES = 1 << 16 };

/* What was found in the directory of one chain. */
struct found {
    char text[TEXT_BYTES]; /* what it is of */
    uint64_t n, bytes, n_bad, n_checked, rest_bytes;
    int64_t count; /* elements of a pass; below 0: nobody knows */
    bool is_whole, is_busy, is_checked;
};

/* ---- telling them from other directories ---- */

static bool is_file(const char *directory, const char *name)
{
    char path[STK__PATH_BYTES];
    struct stat info;
    int len = snprintf(path, sizeof path, "%s/%s", directory, name);
    return len > 0 && (size_t)len < sizeof path && !stat(path, &info) && S_ISREG(info.st_mode);
}

static bool is_of_one_chain(const char *path)
{
    return is_file(path, "rows") && is_file(path, "text") && is_file(path, "lock");
}

/* "…32 hexadecimal digits/", as directories are listed. */
static bool is_key(const char *name)
{
    int n = 0;
    while (isdigit((unsigned char)name[n]) || (name[n] >= 'a' && name[n] <= 'f'))
        n++;
    return n == KEY_CHARS && !strcmp(name + n, "/");
}

/* The directories of its chains; `path` is the whole one. */
static int list_chains(const char *directory, struct stk__paths *out, struct stk_error *err)
{
    struct stk__paths names = { 0 };
    int rc = stk__directory_list(directory, &names, NULL, err);
    for (size_t i = 0; i < names.n && !rc; i++) {
        char path[STK__PATH_BYTES];
        const char *name = stk__paths_at(&names, i);
        int len = snprintf(path, sizeof path, "%s/%.*s", directory, KEY_CHARS, name);
        if (is_key(name) && (size_t)len < sizeof path && is_of_one_chain(path) &&
            stk__paths_add(out, path, (size_t)len))
            rc = stk__out_of_memory(err);
    }
    if (!rc && stk__paths_sort(out))
        rc = stk__out_of_memory(err);
    stk__paths_free(&names);
    return rc;
}

bool stk__is_cache_directory(const char *path)
{
    struct stk__paths chains = { 0 };
    struct stk_error unseen;
    bool is_cache = is_of_one_chain(path) || (!list_chains(path, &chains, &unseen) && chains.n > 0);
    stk__paths_free(&chains);
    return is_cache;
}

/* ---- looking at one ---- */

static void read_text(const char *directory, char *out)
{
    char path[STK__PATH_BYTES];
    snprintf(path, sizeof path, "%s/text", directory);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out, TEXT_BYTES - 1);
    out[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
}

/* What a line of the text says of its word; "" if there is none. */
static struct stk__line_value {
    char text[4096];
} value_of(const char *text, const char *word)
{
    struct stk__line_value value = { "" };
    size_t len = strlen(word);
    for (const char *line = text; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, word, len) && line[len] == ' ') {
            line += len + strspn(line + len, " ");
            snprintf(value.text, sizeof value.text, "%.*s", (int)strcspn(line, "\n"), line);
            break;
        }
    return value;
}

/* Reads records until that is enough. */
static int check_records(struct stk__row_log *log, struct found *found)
{
    struct stk__log_entry entry;
    uint64_t walk = 0, bytes = 0;
    while (stk__row_log_next(log, &walk, &entry)) {
        if (bytes > STK__INSPECTED_BYTES) {
            found->is_checked = false;
            break;
        }
        struct stk__copy piece = { malloc(entry.bytes + 1), NULL, entry.bytes };
        if (!piece.dst)
            return STK_MEMORY;
        found->n_bad += !stk__row_log_read(log, &entry, &piece, 1);
        found->n_checked++;
        bytes += entry.bytes;
        free(piece.dst);
    }
    return STK_OK;
}

static uint64_t size_of(const char *directory, const char *name)
{
    char path[STK__PATH_BYTES];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return stat(path, &info) ? 0 : (uint64_t)info.st_size;
}

static int look(const char *directory, struct found *found, struct stk_error *err)
{
    struct stk__row_log *log;
    uint64_t end = 0;
    *found = (struct found){ .is_checked = true, .is_busy = stk__row_log_is_busy(directory) };
    int rc = stk__row_log_look(directory, &log, err);
    if (rc)
        return rc;
    const struct stk__log_state state = stk__row_log_state(log);
    bool has_end = stk__kept_end_of(log, &end);
    read_text(directory, found->text);
    const struct stk__line_value count = value_of(found->text, "count");
    found->n = state.n - has_end;
    found->count = has_end ? (int64_t)end : *count.text ? strtoll(count.text, NULL, 10) : -1;
    found->is_whole = found->count >= 0 && found->n >= (uint64_t)found->count;
    found->bytes = size_of(directory, "rows") + size_of(directory, "index");
    found->rest_bytes = size_of(directory, "rows") - state.bytes;
    found->n_bad = state.n_lost;
    if (check_records(log, found))
        rc = stk__out_of_memory(err);
    stk__row_log_close(log);
    found->is_whole &= !found->n_bad;
    return rc;
}

/* ---- telling ---- */

/* The calls without parameters that are as they are by themselves; as written, where that does not
 * stand for itself. */
static void add_chain(const char *text, struct stk__text *out)
{
    const struct stk__line_value chain = value_of(text, "chain");
    struct stk_arena arena;
    const struct stk_value *value;
    struct stk_error unseen;
    stk__arena_init(&arena, 1 << 12);
    if (stk__parse(chain.text, NULL, &arena, &value, &unseen) ||
        stk__print_value(value, stk__ops_namespace(), STK__SHORT, out, &unseen))
        stk__text_add(out, "%s", chain.text);
    stk__arena_free(&arena);
}

/* The last part of a path, which may end with slashes. */
static struct key {
    char text[KEY_CHARS + 1];
} key_of(const char *directory)
{
    struct key key;
    size_t end = strlen(directory);
    while (end > 1 && directory[end - 1] == '/')
        end--;
    size_t start = end;
    while (start && directory[start - 1] != '/')
        start--;
    snprintf(key.text, sizeof key.text, "%.*s", (int)(end - start), directory + start);
    return key;
}

static void note_damage(struct stk__inspection *in, const char *directory, const struct found *f)
{
    const struct key name = key_of(directory);
    const char *key = name.text;
    if (f->n_bad)
        stk__inspect_note(in, "%.8s: %" PRIu64 " element%s cannot be read and %s made again", key,
                          f->n_bad, f->n_bad == 1 ? "" : "s", f->n_bad == 1 ? "is" : "are");
    if (f->rest_bytes && !f->is_busy)
        stk__inspect_note(in,
                          "%.8s: %" PRIu64
                          " bytes behind the last good element are no element; the "
                          "next run cuts them off",
                          key, f->rest_bytes);
    if (!f->is_checked)
        stk__inspect_note(in,
                          "%.8s: the checksums of %" PRIu64 " of %" PRIu64
                          " elements were looked at; a run checks all that it reads",
                          key, f->n_checked, f->n);
    if (f->is_busy)
        stk__inspect_note(in, "%.8s: a run writes it now", key);
    in->is_damaged |= f->n_bad || (f->rest_bytes && !f->is_busy);
}

static void tell_one(struct stk__inspection *in, const char *directory, const struct found *f,
                     const char *chain)
{
    static const char *const words[] = { "elements", "files", "seed", "rank", "key", "versions" };
    stk__inspect_say(in, "name", "%s", key_of(directory).text);
    stk__inspect_say(in, "made by", "%s", chain);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct stk__line_value value = value_of(f->text, words[i]);
        if (*value.text)
            stk__inspect_say(in, words[i], "%s", value.text);
    }
    stk__inspect_count(in, "kept", f->n);
    if (f->count >= 0)
        stk__inspect_count(in, "of", (uint64_t)f->count);
    stk__inspect_count(in, "bytes", f->bytes);
    stk__inspect_say(in, "complete", "%s", f->is_whole ? "yes" : "no");
    stk__inspect_count(in, "damaged", f->n_bad);
}

static void tell_of_several(struct stk__inspection *in, const char *directory,
                            const struct found *f, const char *chain)
{
    char name[9], of[32] = "", how[48];
    snprintf(name, sizeof name, "%.8s", key_of(directory).text);
    snprintf(how, sizeof how, "%s", f->is_whole ? "complete" : "not complete");
    if (f->n_bad)
        snprintf(how, sizeof how, "%" PRIu64 " damaged", f->n_bad);
    if (f->count >= 0)
        snprintf(of, sizeof of, " of %" PRId64, f->count);
    stk__inspect_say(in, name, "%" PRIu64 "%s elements, %.1f MB, %s: %.300s", f->n, of,
                     (double)f->bytes / (1 << 20), how, chain);
}

int stk__inspect_cache(struct stk__inspection *in, struct stk_error *err)
{
    struct stk__paths chains = { 0 };
    struct found *found = malloc(sizeof *found);
    bool is_one = is_of_one_chain(in->path);
    uint64_t n = 0, bytes = 0;
    int rc = found ? STK_OK : stk__out_of_memory(err);
    in->format = "cache";
    if (!rc && is_one && stk__paths_add(&chains, in->path, strlen(in->path)))
        rc = stk__out_of_memory(err);
    else if (!rc && !is_one)
        rc = list_chains(in->path, &chains, err);
    if (!rc && !is_one)
        stk__inspect_count(in, "chains", chains.n);
    for (size_t i = 0; i < chains.n && !rc; i++) {
        const char *directory = stk__paths_at(&chains, i);
        if ((rc = look(directory, found, err)))
            break;
        struct stk__text chain = { 0 };
        add_chain(found->text, &chain);
        if (is_one)
            tell_one(in, directory, found, chain.data ? chain.data : "");
        else
            tell_of_several(in, directory, found, chain.data ? chain.data : "");
        in->facts[0].failed |= chain.failed;
        stk__text_free(&chain);
        note_damage(in, directory, found);
        n += found->n;
        bytes += found->bytes;
    }
    if (!rc && !is_one) {
        stk__inspect_count(in, "kept", n);
        stk__inspect_count(in, "bytes", bytes);
    }
    free(found);
    stk__paths_free(&chains);
    return rc;
}
