/* SPDX-License-Identifier: Apache-2.0 */
/* packed_classes.c: finds the manifest of packed files by their names, and reads class names from it.
 *
 *     packed/train-00003-of-00008.tfrecord      packed/train.manifest.json
 *
 * The manifest is named by what stands before {shard} in the names of the files, so it is looked for under
 * all beginnings of a file's name that may be it. Only one that lists every file counts.
 */
#include "op/source/packed_classes.h"

#include "base/error.h"
#include "base/memory/arena.h"
#include "base/text.h"
#include "codec/text/json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20 }; /* of a manifest */

struct names {
    const char *field, *stored; /* stored: the ending of its members, or NULL */
    const char **name;
    int64_t n;
};

struct stk__packed_classes {
    struct stk_arena arena;
    struct names *field;
    int n_fields;
};

/* ---- the file ---- */

/* The whole text, or false: it is not there, is too long, or there is no memory for it. */
static bool read_text(const char *path, struct stk__text *out)
{
    char piece[4096];
    FILE *file = fopen(path, "rbe");
    size_t n = 0;
    while (file && out->len <= MOST_BYTES && (n = fread(piece, 1, sizeof piece, file)) > 0)
        stk__text_add_n(out, piece, n);
    bool is_read = file && !ferror(file) && out->len && out->len <= MOST_BYTES && !out->failed;
    if (file)
        fclose(file);
    return is_read;
}

static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Whether a manifest may be called by so much of a file's name. */
static bool may_end(const char *name, size_t len)
{
    bool is_trimmed = !len || !strchr("-_.", name[len - 1]);
    return is_trimmed &&
           (!name[len] || strchr("-_.", name[len]) || isdigit((unsigned char)name[len]));
}

/* ---- its content ---- */

static const char *text_of(struct stk__packed_classes *c, struct stk__json_piece value)
{
    struct stk__json_fault fault;
    char *text = stk__json_kind(value) == STK__JSON_STRING
                     ? stk_arena_alloc(&c->arena, value.bytes + 1)
                     : NULL;
    size_t n = 0;
    if (!text || !stk__json_unescape(value, (uint8_t *)text, &n, &fault))
        return NULL;
    text[n] = 0;
    return text;
}

static int64_t length_of(struct stk__json_piece array)
{
    struct stk__json_piece value;
    int64_t n = 0;
    while (stk__json_next(&array, &value))
        n++;
    return n;
}

/* A member of an object; data is NULL if it has none. */
static struct stk__json_piece member_of(struct stk__json_piece object, const char *name)
{
    struct stk__json_piece key, value, found = { 0 };
    bool is_object = object.data && stk__json_kind(object) == STK__JSON_OBJECT;
    while (is_object && stk__json_member(&object, &key, &value))
        if (key.bytes == strlen(name) + 2 && !memcmp(key.data + 1, name, strlen(name)))
            found = value;
    return found;
}

static bool is_array(struct stk__json_piece value)
{
    return value.data && stk__json_kind(value) == STK__JSON_ARRAY;
}

/* False: a name is no text, or there is no memory. */
static bool read_field(struct stk__packed_classes *c, struct stk__json_piece field)
{
    struct stk__json_piece list = member_of(field, "classes"), name = member_of(field, "name"),
                           stored = member_of(field, "stored"), value;
    if (!is_array(list) || !name.data)
        return true;
    struct names *names = &c->field[c->n_fields];
    names->n = length_of(list);
    names->field = text_of(c, name);
    names->stored = stored.data ? text_of(c, stored) : NULL;
    names->name = stk_arena_alloc(&c->arena, ((size_t)names->n + 1) * sizeof *names->name);
    if (!names->field || !names->name)
        return false;
    for (int64_t i = 0; stk__json_next(&list, &value); i++)
        if (!(names->name[i] = text_of(c, value)))
            return false;
    c->n_fields++;
    return true;
}

static bool read_fields(struct stk__packed_classes *c, struct stk__json_piece list)
{
    struct stk__json_piece value;
    size_t n = is_array(list) ? (size_t)length_of(list) : 0;
    c->n_fields = 0;
    c->field = n ? stk_arena_alloc(&c->arena, n * sizeof *c->field) : NULL;
    bool is_read = c->field != NULL;
    while (is_read && stk__json_next(&list, &value))
        is_read = read_field(c, value);
    return is_read && c->n_fields;
}

/* Whether all files are shards of the pack, beside its manifest. */
static bool lists_all(struct stk__packed_classes *c, struct stk__json_piece list,
                      const struct stk__paths *files)
{
    struct stk__paths listed = { 0 };
    struct stk__json_piece value;
    size_t lead = directory_length(stk__paths_at(files, 0));
    bool is_whole = is_array(list);
    while (is_whole && stk__json_next(&list, &value)) {
        const char *name = text_of(c, member_of(value, "file"));
        is_whole = name && !stk__paths_add(&listed, name, strlen(name));
    }
    is_whole = is_whole && !stk__paths_sort(&listed);
    for (size_t i = 0; is_whole && i < files->n; i++) {
        const char *path = stk__paths_at(files, i);
        is_whole = directory_length(path) == lead &&
                   !strncmp(path, stk__paths_at(files, 0), lead) &&
                   stk__paths_find(&listed, path + lead) >= 0;
    }
    stk__paths_free(&listed);
    return is_whole;
}

static bool read_manifest(struct stk__packed_classes *c, const struct stk__text *text,
                          const struct stk__paths *files)
{
    struct stk__json_tree tree = { .root.want = -1 };
    struct stk__json_piece found[2] = { { 0 } };
    struct stk__json_fault fault;
    struct stk__json_piece whole = { (const uint8_t *)text->data, text->len };
    return stk__json_tree_add(&tree, "fields", &c->arena, NULL) == 0 &&
           stk__json_tree_add(&tree, "shards", &c->arena, NULL) == 1 &&
           stk__json_scan(&tree, whole, found, &fault) && lists_all(c, found[1], files) &&
           read_fields(c, found[0]);
}

/* ---- the whole ---- */

static bool try_manifest(struct stk__packed_classes *c, const char *first, size_t len,
                         const struct stk__paths *files)
{
    struct stk__text path = { 0 }, text = { 0 };
    bool has_name = len > directory_length(first);
    stk__text_add_n(&path, first, len);
    stk__text_add(&path, "%smanifest.json", has_name ? "." : "");
    bool is_found = !path.failed && read_text(path.data, &text) && read_manifest(c, &text, files);
    stk__text_free(&path);
    stk__text_free(&text);
    return is_found;
}

int stk__packed_classes_open(const struct stk__paths *files, struct stk__packed_classes **out,
                             struct stk_error *err)
{
    *out = NULL;
    if (!files->n)
        return STK_OK;
    struct stk__packed_classes *c = calloc(1, sizeof *c);
    if (!c)
        return stk__out_of_memory(err);
    stk__arena_init(&c->arena, 1024);
    const char *first = stk__paths_at(files, 0);
    size_t lead = directory_length(first), len = strlen(first) + 1;
    bool is_found = false;
    while (!is_found && len-- > lead)
        is_found = may_end(first + lead, len - lead) && try_manifest(c, first, len, files);
    if (is_found)
        *out = c;
    else
        stk__packed_classes_close(c);
    return STK_OK;
}

void stk__packed_classes_close(struct stk__packed_classes *classes)
{
    if (classes)
        stk__arena_free(&classes->arena);
    free(classes);
}

const char *stk__packed_classes_field(const struct stk__packed_classes *classes, int i)
{
    return classes && i < classes->n_fields ? classes->field[i].field : NULL;
}

const char *stk__packed_classes_stored(const struct stk__packed_classes *classes,
                                       const char *ending)
{
    for (int i = 0; classes && i < classes->n_fields; i++)
        if (classes->field[i].stored && !strcmp(classes->field[i].stored, ending))
            return classes->field[i].field;
    return NULL;
}

const char *stk__packed_classes_name(const struct stk__packed_classes *classes, const char *field,
                                     int64_t value)
{
    for (int i = 0; classes && i < classes->n_fields; i++)
        if (!strcmp(classes->field[i].field, field))
            return value >= 0 && value < classes->field[i].n ? classes->field[i].name[value] : NULL;
    return NULL;
}
