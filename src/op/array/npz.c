/* SPDX-License-Identifier: Apache-2.0 */
/* npz.c: the rows of the arrays in NumPy's npz files, which are zip files of npy files. */
#define _GNU_SOURCE
#include "base/error.h"
#include "codec/array/inflate.h"
#include "codec/array/zip_directory.h"
#include "op/array/npy_array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INFLATED = 256 << 20, MOST_DIRECTORY = 64 << 20, MOST_NAME = 200 };

struct npz {
    struct stk_texts file;
    struct stk_pairs fields;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(npz, file, 1, INT32_MAX, STK_REQUIRED | STK__TAKES_FIELD,
                  "a path or a pattern, or a list of them"),
    STK_PAIRS_ROW(npz, fields, STK_TAKES_NONE,
                  "what the fields are called, and which array each is; none: all arrays"),
    STK_ROWS_END,
};

/* The directory of one file. */
struct archive {
    struct stk__array_source *source;
    size_t file;
    uint64_t file_bytes;
    uint8_t *directory;
    size_t directory_bytes;
    uint64_t n_members;
    uint64_t *inflated_bytes; /* so far, of all files */
};

/* ---- the directory ---- */

static int read_directory(struct archive *a, struct stk_error *err)
{
    struct stk__zip_directory found;
    size_t n = a->file_bytes < STK__ZIP_TAIL ? (size_t)a->file_bytes : STK__ZIP_TAIL;
    uint8_t *tail = malloc(n + 1);
    if (!tail)
        return stk__out_of_memory(err);
    int code = stk__array_source_read(a->source, a->file, a->file_bytes - n, n, tail, err);
    if (!code)
        code = stk__zip_find(tail, n, a->file_bytes, &found, err);
    free(tail);
    if (code)
        return code;
    if (found.bytes > MOST_DIRECTORY)
        return stk_fail(err, STK_DATA, "the directory of the zip file has %" PRIu64 " bytes",
                        found.bytes);
    a->n_members = found.n_members;
    a->directory_bytes = (size_t)found.bytes;
    a->directory = malloc(a->directory_bytes + 1);
    if (!a->directory)
        return stk__out_of_memory(err);
    return stk__array_source_read(a->source, a->file, found.offset, a->directory_bytes,
                                  a->directory, err);
}

/* The name of an array: the member's, without .npy. */
static size_t array_name_len(const struct stk__zip_member *m)
{
    bool has_suffix = m->name_len > 4 && !memcmp(m->name + m->name_len - 4, ".npy", 4);
    return has_suffix ? m->name_len - 4 : 0;
}

/* Appends the names there are, for messages. */
static void list_names(const struct archive *a, char *text, size_t size)
{
    struct stk__zip_member m;
    struct stk_error ignored;
    size_t at = 0, len = 0;
    text[0] = 0;
    for (uint64_t i = 0; i < a->n_members && len < size; i++) {
        if (stk__zip_next(a->directory, a->directory_bytes, &at, &m, &ignored))
            return;
        int n = (int)array_name_len(&m);
        if (n)
            len += (size_t)snprintf(text + len, size - len, "%s'%.*s'", len ? ", " : "", n, m.name);
    }
}

static int find_member(const struct archive *a, const char *name, struct stk__zip_member *out,
                       struct stk_error *err)
{
    size_t at = 0, len = strlen(name);
    for (uint64_t i = 0; i < a->n_members; i++) {
        int code = stk__zip_next(a->directory, a->directory_bytes, &at, out, err);
        if (code)
            return code;
        if (array_name_len(out) == len && !memcmp(out->name, name, len))
            return STK_OK;
    }
    char there[300];
    list_names(a, there, sizeof there);
    return stk_fail(err, STK_NAME, "there is no array '%s'; there are %s", name,
                    there[0] ? there : "none");
}

/* ---- members ---- */

static int check_member(const struct archive *a, const struct stk__zip_member *m,
                        struct stk_error *err)
{
    if (m->is_encrypted)
        return stk_fail(err, STK_DATA, "it is encrypted");
    if (m->method != STK__ZIP_STORED && m->method != STK__ZIP_DEFLATED)
        return stk_fail(err, STK_DATA, "it is compressed by method %d, which is unknown",
                        m->method);
    if (m->method == STK__ZIP_STORED && m->bytes != m->stored_bytes)
        return stk_fail(err, STK_DATA, "its two sizes in the zip file differ");
    if (m->offset > a->file_bytes || a->file_bytes - m->offset < STK__ZIP_LOCAL)
        return stk_fail(err, STK_DATA, "it is said to begin behind the end of the file");
    bool is_inflated = m->method == STK__ZIP_DEFLATED;
    if (is_inflated && (m->bytes > MOST_INFLATED || *a->inflated_bytes + m->bytes > MOST_INFLATED))
        return stk_fail(err, STK_VALUE,
                        "it is compressed, and would take %" PRIu64 " MiB of memory (%d are "
                        "allowed); write it with numpy.savez instead of savez_compressed",
                        (*a->inflated_bytes + m->bytes) >> 20, MOST_INFLATED >> 20);
    return STK_OK;
}

/* Inflates a member that was read; *out is new. */
static int inflate_bytes(const uint8_t *packed, const struct stk__zip_member *m, uint8_t **out,
                         struct stk_error *err)
{
    uint8_t *memory = malloc((size_t)m->bytes + 1);
    struct stk__inflation job = { STK__INFLATE_RAW, packed,           (size_t)m->stored_bytes,
                                  memory,           (size_t)m->bytes, 0 };
    void *state = malloc(stk__inflate_state_bytes());
    const char *cause = NULL;
    if (memory && state)
        cause = stk__inflate(state, &job);
    int code = memory && state ? STK_OK : stk__out_of_memory(err);
    if (!code && cause)
        code = stk_fail(err, STK_DATA, "%s", cause);
    else if (!code && (job.written != m->bytes || stk__crc32(memory, job.written) != m->crc))
        code = stk_fail(err, STK_DATA, "its checksum or its size is wrong");
    free(state);
    if (code)
        free(memory);
    else
        *out = memory;
    return code;
}

static int inflate_member(struct archive *a, const struct stk__zip_member *m, uint64_t offset,
                          uint8_t **out, struct stk_error *err)
{
    uint8_t *packed = malloc((size_t)m->stored_bytes + 1);
    if (!packed)
        return stk__out_of_memory(err);
    int code =
        stk__array_source_read(a->source, a->file, offset, (size_t)m->stored_bytes, packed, err);
    if (!code)
        code = inflate_bytes(packed, m, out, err);
    free(packed);
    *a->inflated_bytes += code ? 0 : m->bytes;
    return code;
}

static int locate_member(struct archive *a, const struct stk__zip_member *m,
                         struct stk__npy_part *part, struct stk_error *err)
{
    uint8_t local[STK__ZIP_LOCAL];
    int code = check_member(a, m, err);
    if (!code)
        code = stk__array_source_read(a->source, a->file, m->offset, sizeof local, local, err);
    if (!code)
        code = stk__zip_data(local, m, a->file_bytes, &part->offset, err);
    if (!code && m->method == STK__ZIP_DEFLATED)
        code = inflate_member(a, m, part->offset, &part->memory, err);
    part->bytes = m->bytes;
    return code;
}

static int read_array(struct archive *a, const char *name, struct stk__array *out,
                      struct stk_error *err)
{
    struct stk__zip_member m;
    struct stk__npy_part part = { .file = a->file };
    int code = find_member(a, name, &m, err);
    if (code)
        return code;
    out->name = strdup(name);
    code = out->name ? locate_member(a, &m, &part, err) : stk__out_of_memory(err);
    if (code) {
        stk__error_prefix(err, "array '%s': ", name);
        return code;
    }
    code = stk__npy_array(a->source, &part, out, err);
    if (code)
        free(part.memory);
    return code;
}

/* ---- the source ---- */

/* All arrays of the first file, by their own names. */
static int name_all(struct archive *a, struct stk_error *err)
{
    struct stk__zip_member m;
    char *name[STK_MAX_FIELDS];
    size_t at = 0;
    int n = 0, code = STK_OK;
    for (uint64_t i = 0; i < a->n_members && !code; i++) {
        code = stk__zip_next(a->directory, a->directory_bytes, &at, &m, err);
        size_t len = code ? 0 : array_name_len(&m);
        if (!len)
            continue;
        if (n == STK_MAX_FIELDS || len > MOST_NAME)
            code = stk_fail(err, STK_VALUE,
                            "there are more than %d arrays, or names above %d "
                            "bytes: name the wanted ones",
                            STK_MAX_FIELDS, MOST_NAME);
        else if (!(name[n] = strndup(m.name, len)))
            code = stk__out_of_memory(err);
        else
            n++;
    }
    if (!code && !n)
        code = stk_fail(err, STK_DATA, "there is no array in the file");
    if (!code)
        code = stk__array_source_name(a->source, (const char *const *)name, n, err);
    for (int f = 0; f < n; f++)
        free(name[f]);
    return code;
}

static int read_archive(struct archive *a, const struct stk_pairs *fields, struct stk_error *err)
{
    int code = read_directory(a, err);
    if (!code && a->file == 0)
        code = fields->n ? stk__array_source_name(a->source, fields->name, fields->n, err)
                         : name_all(a, err);
    for (int f = 0; !code && f < a->source->n_fields; f++)
        code = read_array(a, fields->n ? fields->value[f] : a->source->name[f],
                          stk__array_at(a->source, a->file, f), err);
    const char *path = a->source->files->item[a->file].path;
    if (code && code != STK_MEMORY && !strstr(err->text, path))
        stk__error_prefix(err, "'%s': ", path);
    free(a->directory);
    return code;
}

/* What is read of one file after the other. */
struct reading {
    const struct npz *params;
    uint64_t inflated_bytes;
};

static int read_file(void *context, struct stk__array_source *source, size_t file,
                     struct stk_error *err)
{
    struct reading *reading = context;
    struct archive a = { .source = source,
                         .file = file,
                         .file_bytes = source->files->item[file].bytes,
                         .inflated_bytes = &reading->inflated_bytes };
    return read_archive(&a, &reading->params->fields, err);
}

static int open_npz(const void *given, struct stk_arena *arena, void **state, struct stk_error *err)
{
    struct reading reading = { .params = given };
    (void)arena;
    return stk__array_source_open(&reading.params->file, read_file, &reading, state, err);
}

static int begin_stream(const struct stk__source_start *begin, void **run, struct stk_error *err)
{
    struct npz p = *(const struct npz *)begin->params;
    p.file = stk__array_source_paths(begin->state);
    return stk__array_stream_begin(begin, "npz", open_npz, &p, run, err);
}

const struct stk__op stk__op_npz = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "npz", 1, "The rows of the arrays in NumPy npz files.",
              "A field for each array of a file that numpy.savez wrote, or for those that are "
              "named; all have the same first dimension, which counts the elements. Several files "
              "are read one after the other.\n"
              "\n"
              "    npz('train.npz').shuffle().batch(32)\n"
              "    npz('train.npz', {features: x, label: y})\n"
              "\n"
              "Arrays that are stored as they are (numpy.savez) are read row by row where they "
              "lie, as by npy. Those that are compressed (numpy.savez_compressed) are inflated "
              "and checked once when the dataset is made, and kept in memory: up to 256 MiB in "
              "all, above that it is an error; in a chain that is opened as elements come, while "
              "the file of an element is open. What npy refuses is refused here too.",
              params, sizeof(struct npz) },
    .flags = STK__OP_ROOT,
    .open = open_npz,
    .close = stk__array_source_free,
    .held_bytes = stk__array_source_bytes,
    .infer = stk__array_source_infer,
    .narrow = stk__array_source_narrow,
    .source = { STK__ARRAY_SOURCE, .begin = begin_stream },
};
