/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5.c: the rows, or patches, of datasets in HDF5 files. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/text.h"
#include "io/paths.h"
#include "op/array/hdf5_array.h"

#include <string.h>

enum { MOST_DATASETS = 100000 };

struct hdf5 {
    struct stk_texts file;
    struct stk_pairs fields;
    struct stk_numbers patch, stride;
    int64_t hold;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(hdf5, file, 1, INT32_MAX, STK_REQUIRED | STK__TAKES_FIELD,
                  "a path or a pattern, or a list of them"),
    STK_PAIRS_ROW(hdf5, fields, STK_TAKES_NONE,
                  "what the fields are called, and which dataset each is; none: all datasets"),
    STK_NUMBERS_ROW(hdf5, patch, NULL, 1, STK_MAX_RANK, STK_TAKES_NONE,
                    "size of the patches that are the elements, along the leading dimensions; "
                    "none: elements are rows"),
    STK_NUMBERS_ROW(hdf5, stride, NULL, 1, STK_MAX_RANK, STK_TAKES_NONE,
                    "from one patch to the next, along the same dimensions; none: as patch"),
    STK_INT_ROW(hdf5, hold, 4 << 20, 0, 1 << 30, STK_TUNABLE,
                "datasets of at most this many bytes are read at once and kept in memory"),
    STK_ROWS_END,
};

/* ---- patches ---- */

static int read_sizes(const struct stk_numbers *given, const char *what, int64_t *out,
                      struct stk_error *err)
{
    for (int a = 0; a < given->n; a++) {
        double x = given->item[a];
        if (!(x >= 1 && x <= 1e9) || x != (double)(int64_t)x)
            return stk_fail(err, STK_VALUE, "%s has %g; sizes are whole numbers from 1", what, x);
        out[a] = (int64_t)x;
    }
    return STK_OK;
}

static int read_patch(const struct hdf5 *p, struct stk__array_source *source, struct stk_error *err)
{
    if (p->stride.n && p->stride.n != p->patch.n)
        return stk_fail(err, STK_VALUE, "patch has %d sizes, stride %d; they belong together",
                        p->patch.n, p->stride.n);
    source->patch_rank = p->patch.n;
    int code = read_sizes(&p->patch, "patch", source->patch, err);
    return code ? code
                : read_sizes(p->stride.n ? &p->stride : &p->patch, "stride", source->stride, err);
}

/* ---- names ---- */

static int add_name(void *ctx, const char *name)
{
    struct stk__paths *names = ctx;
    if (names->n == MOST_DATASETS)
        return STK_END;
    return stk__paths_add(names, name, strlen(name));
}

static int list_datasets(stk__hdf5_id file, struct stk__paths *names, struct stk_error *err)
{
    int code = stk__hdf5_list(file, add_name, names, err);
    if (code == STK_END)
        return stk_fail(err, STK_VALUE, "there are more than %d datasets in the file; name some",
                        MOST_DATASETS);
    return code == STK_MEMORY ? stk__out_of_memory(err) : code;
}

/* The message for a dataset that is not there. */
static int fail_missing(stk__hdf5_id file, const char *name, struct stk_error *err)
{
    struct stk__paths names = { 0 };
    struct stk__text text = { 0 };
    int code = list_datasets(file, &names, err);
    for (size_t i = 0; i < names.n && !code && text.len < 300; i++) {
        const char *found = stk__paths_at(&names, i);
        if (!strcmp(found, name[0] == '/' ? name + 1 : name))
            code = STK_DATA; /* it is there: what the library said stands */
        stk__text_add(&text, "%s'%s'", i ? ", " : "", found);
    }
    if (!code)
        code = stk_fail(err, STK_NAME, "there is no dataset '%s'; there are %s", name,
                        text.data ? text.data : "none");
    stk__text_free(&text);
    stk__paths_free(&names);
    return code;
}

/* A file's datasets that have a first dimension. */
static int has_rows(stk__hdf5_id file, const char *name, bool *has, struct stk_error *err)
{
    struct stk__hdf5_info info = { 0 };
    stk__hdf5_id dataset = 0;
    int code = stk__hdf5_open_dataset(file, name, 0, &dataset, err);
    if (!code)
        code = stk__hdf5_describe(dataset, &info, err);
    stk__hdf5_close(dataset);
    *has = info.grid.rank > 0 && !info.is_empty;
    if (code)
        stk__error_prefix(err, "dataset '%s': ", name);
    return code;
}

static int name_all(struct stk__array_source *source, stk__hdf5_id file, struct stk_error *err)
{
    struct stk__paths names = { 0 };
    const char *wanted[STK_MAX_FIELDS + 1];
    int n = 0, code = list_datasets(file, &names, err);
    for (size_t i = 0; i < names.n && !code && n <= STK_MAX_FIELDS; i++) {
        bool has;
        code = has_rows(file, stk__paths_at(&names, i), &has, err);
        if (!code && has)
            wanted[n++] = stk__paths_at(&names, i);
    }
    if (!code && !n)
        code = stk_fail(err, STK_DATA, "there is no dataset with rows in the file");
    if (!code)
        code = stk__array_source_name(source, wanted, n, err);
    stk__paths_free(&names);
    return code;
}

/* ---- the source ---- */

static int read_datasets(struct stk__array_source *source, const struct hdf5 *p,
                         struct stk__hdf5_part *part, struct stk_error *err)
{
    const struct stk_pairs *fields = &p->fields;
    int code = STK_OK;
    if (part->file == 0)
        code = fields->n ? stk__array_source_name(source, fields->name, fields->n, err)
                         : name_all(source, part->library_file, err);
    for (int f = 0; !code && f < source->n_fields; f++) {
        struct stk__array *array = stk__array_at(source, part->file, f);
        part->name = fields->n ? fields->value[f] : source->name[f];
        code = stk__hdf5_array(source, part, array, err);
        if (code && !array->dataset && code != STK_MEMORY)
            code = fail_missing(part->library_file, part->name, err);
        if (code && code != STK_NAME)
            stk__error_prefix(err, "dataset '%s': ", part->name);
    }
    return code;
}

static int read_file(void *context, struct stk__array_source *source, size_t file,
                     struct stk_error *err)
{
    const struct hdf5 *p = context;
    const char *path = source->files->item[file].path;
    struct stk__hdf5_part part = { .file = file, .hold_bytes = (uint64_t)p->hold };
    int code = read_patch(p, source, err);
    if (code)
        return code;
    code = stk__hdf5_open(path, &part.library_file, err);
    if (!code)
        code = read_datasets(source, p, &part, err);
    stk__hdf5_close(part.library_file);
    if (code && code != STK_MEMORY)
        stk__error_prefix(err, "'%s': ", path);
    return code;
}

static int open_hdf5(const void *given, struct stk_arena *arena, void **state,
                     struct stk_error *err)
{
    struct hdf5 p = *(const struct hdf5 *)given;
    (void)arena;
    return stk__array_source_open(&p.file, read_file, &p, state, err);
}

static int begin_stream(const struct stk__source_start *begin, void **run, struct stk_error *err)
{
    struct hdf5 p = *(const struct hdf5 *)begin->params;
    p.file = stk__array_source_paths(begin->state);
    return stk__array_stream_begin(begin, "hdf5", open_hdf5, &p, run, err);
}

const struct stk__op stk__op_hdf5 = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "hdf5", 1, "The rows, or patches, of datasets in HDF5 files.",
              "A field for each dataset that is named, or for all that have a first dimension, "
              "which counts the elements and must be the same for all. Several files are read one "
              "after the other. Any row can be read without those before it, so the whole can be "
              "shuffled.\n"
              "\n"
              "    hdf5('train.h5').shuffle().batch(32)\n"
              "    hdf5('train.h5', {x: little_f4, label: colours})\n"
              "    hdf5('volume.h5', {voxels: gzip}, patch=[4, 6, 5], stride=[2, 3, 5])\n"
              "\n"
              "Numbers of all usual sizes and both byte orders are read, booleans and other "
              "enumerations, and one text per row, of fixed size or not. Records (compound), "
              "references and lists of different lengths are refused. With `patch` the elements "
              "are boxes of the leading dimensions on a regular grid, the last dimension first; "
              "what is left at the far edges is not delivered.\n"
              "\n"
              "Values in one piece, and chunks that are compressed with gzip or lzf, shuffled or "
              "checked by fletcher32, are read and unpacked by as many threads as there are. Other "
              "filters, and layouts of other kinds, go through libhdf5, which admits one thread at "
              "a time. A chunk is unpacked whole: rows of one chunk that follow each other share "
              "that, but in shuffled order each row unpacks its chunk again. Store one element "
              "per chunk (`chunks=(1, ...)` in h5py) what is to be shuffled.\n"
              "\n"
              "A chunk that is damaged makes the elements bad that need it; the message has the "
              "file, the row, the dataset and the place of the chunk. Files must not be written "
              "to meanwhile.",
              params, sizeof(struct hdf5) },
    .flags = STK__OP_ROOT,
    .open = open_hdf5,
    .close = stk__array_source_free,
    .held_bytes = stk__array_source_bytes,
    .infer = stk__array_source_infer,
    .narrow = stk__array_source_narrow,
    .source = { STK__ARRAY_SOURCE, .begin = begin_stream },
};
