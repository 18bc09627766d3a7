/* SPDX-License-Identifier: Apache-2.0 */
/* array_source.c: making a source of arrays, and where its elements lie. */
#define _GNU_SOURCE
#include "op/array/array_source.h"

#include "base/error.h"
#include "io/glob.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making and freeing ---- */

static int add_files(struct stk__array_source *source, const struct stk_texts *patterns,
                     struct stk_error *err)
{
    struct stk__paths paths = { 0 };
    source->files = stk__data_files_new();
    source->cache = stk__chunk_cache_new();
    if (!source->files || !source->cache)
        return stk__out_of_memory(err);
    int code = stk__glob_all(patterns, &paths, err);
    for (size_t i = 0; i < paths.n && !code; i++)
        code = stk__data_files_add(source->files, stk__paths_at(&paths, i), err);
    stk__paths_free(&paths);
    return code;
}

static void free_array(struct stk__array *array)
{
    free(array->name);
    free(array->chunk);
    free(array->held);
    free(array->text_start);
    free(array->fill);
    free(array->info);
    stk__hdf5_close(array->dataset);
}

void stk__array_source_free(void *state)
{
    struct stk__array_source *source = state;
    if (!source)
        return;
    for (size_t i = 0; source->array && i < source->files->n * (size_t)source->n_arrays; i++)
        free_array(&source->array[i]);
    for (int f = 0; f < source->n_fields; f++)
        free(source->name[f]);
    stk__data_files_free(source->files);
    stk__chunk_cache_free(source->cache);
    free(source->array);
    free(source->first);
    free(source->path);
    free(source);
}

static size_t array_bytes(const struct stk__array *array)
{
    int64_t n_chunks = array->chunk ? stk__grid_chunks(&array->grid) : 0;
    size_t bytes = (size_t)(n_chunks > 0 ? n_chunks : 0) * sizeof *array->chunk;
    if (array->text_start) {
        size_t n = (size_t)array->grid.dims[0];
        bytes += (n + 1) * sizeof *array->text_start + (size_t)array->text_start[n];
    } else if (array->held)
        bytes += stk__grid_chunk_bytes(&array->grid);
    return bytes + (array->info ? sizeof *array->info : 0) + array->library_bytes;
}

/* libhdf5 takes 528 KB for each file that is open, a table of its cache for descriptions, and
 * some for those (massif, libhdf5 1.10.8). */
static size_t open_file_bytes(const struct stk__array_source *source, size_t file)
{
    const size_t of_library = 540 << 10;
    const struct stk__array *array = source->array + file * (size_t)source->n_arrays;
    for (int a = 0; a < source->n_arrays; a++)
        if (array[a].dataset)
            return of_library;
    return 0;
}

size_t stk__array_source_bytes(const void *state)
{
    const struct stk__array_source *source = state;
    size_t n = source->files->n, n_arrays = n * (size_t)source->n_arrays;
    size_t bytes = n * sizeof *source->first + n_arrays * sizeof *source->array;
    for (size_t i = 0; i < n_arrays; i++)
        bytes += array_bytes(&source->array[i]);
    for (size_t i = 0; i < n; i++)
        bytes += open_file_bytes(source, i);
    return bytes + stk__data_files_bytes(source->files);
}

int stk__array_source_name(struct stk__array_source *source, const char *const *name, int n,
                           struct stk_error *err)
{
    if (n > STK_MAX_FIELDS)
        return stk_fail(err, STK_VALUE, "there would be %d fields; %d are possible", n,
                        STK_MAX_FIELDS);
    source->array = calloc(source->files->n * (size_t)n, sizeof *source->array);
    source->first = calloc(source->files->n + 1, sizeof *source->first);
    if (!source->array || !source->first)
        return stk__out_of_memory(err);
    source->n_fields = source->n_arrays = n;
    for (int f = 0; f < n; f++) {
        source->place[f] = f;
        if (!(source->name[f] = strdup(name[f])))
            return stk__out_of_memory(err);
    }
    return STK_OK;
}

int stk__array_source_read(const struct stk__array_source *source, size_t file, uint64_t offset,
                           size_t bytes, uint8_t *dst, struct stk_error *err)
{
    struct stk__file_place place = { .offset = offset, .bytes = bytes, .file = (uint32_t)file };
    int code = stk__data_file_read(source->files, place, dst, err);
    if (code)
        stk__error_prefix(err, "'%s': ", source->files->item[file].path);
    return code;
}

/* ---- counting ---- */

const char *stk__array_shape_text(int rank, const int64_t *shape, char *text, size_t size)
{
    size_t len = (size_t)snprintf(text, size, "[");
    for (int a = 0; a < rank && len < size; a++)
        len += (size_t)snprintf(text + len, size - len, "%s%" PRId64, a ? ", " : "", shape[a]);
    if (len < size)
        snprintf(text + len, size - len, "]");
    return text;
}

/* Patches along a dimension. */
static int64_t patches_along(const struct stk__array_source *source, const struct stk__array *array,
                             int axis)
{
    return (array->grid.dims[axis] - source->patch[axis]) / source->stride[axis] + 1;
}

static int64_t elements_of(const struct stk__array_source *source, const struct stk__array *array)
{
    int64_t n = 1;
    if (!source->patch_rank)
        return array->grid.dims[0];
    for (int a = 0; a < source->patch_rank; a++)
        if (__builtin_mul_overflow(n, patches_along(source, array, a), &n))
            return -1;
    return n;
}

static void set_size(const struct stk__array_source *source, const struct stk__array *array,
                     int64_t *size)
{
    for (int a = 0; a < array->grid.rank; a++)
        size[a] = a < source->patch_rank ? source->patch[a] : array->grid.dims[a];
    if (!source->patch_rank)
        size[0] = 1;
}

void stk__array_box(const struct stk__array_source *source, const struct stk__array *array,
                    uint64_t element, struct stk__chunk_box *out)
{
    memset(out->start, 0, sizeof out->start);
    set_size(source, array, out->size);
    if (!source->patch_rank)
        out->start[0] = (int64_t)element;
    for (int a = source->patch_rank - 1; a >= 0; a--) {
        uint64_t along = (uint64_t)patches_along(source, array, a);
        out->start[a] = (int64_t)(element % along) * source->stride[a];
        element /= along;
    }
}

static int fail_field(const struct stk__array_source *source, size_t file, int field,
                      struct stk_error *err)
{
    const char *name = stk__array_at(source, file, field)->name;
    stk__error_prefix(err, "'%s'%s%s%s: ", source->files->item[file].path, name ? ", '" : "",
                      name ? name : "", name ? "'" : "");
    return err->code;
}

uint64_t stk__array_element_bytes(const struct stk__array_source *source,
                                  const struct stk__array *array)
{
    int64_t size[STK__GRID_MAX_RANK];
    uint64_t bytes = array->grid.item_bytes;
    set_size(source, array, size);
    for (int a = 0; a < array->grid.rank; a++)
        if (__builtin_mul_overflow(bytes, (uint64_t)size[a], &bytes))
            return UINT64_MAX;
    return bytes;
}

/* What one array must be like whatever the others are. */
static int check_array(const struct stk__array_source *source, const struct stk__array *array,
                       struct stk_error *err)
{
    char text[200];
    const struct stk__grid *grid = &array->grid;
    int first = source->patch_rank ? 0 : 1;
    if (grid->rank < 1 || grid->rank < source->patch_rank)
        return stk_fail(err, STK_TYPE, "the array has %d dimensions, %s", grid->rank,
                        grid->rank ? "fewer than the patch" : "so it has no elements to count");
    if (grid->rank - first > STK_MAX_RANK)
        return stk_fail(err, STK_TYPE, "elements would have %d dimensions; %d are possible",
                        grid->rank - first, STK_MAX_RANK);
    if (array->raw.kind != STK__RAW_NUMBERS && grid->rank > 1)
        return stk_fail(err, STK_TYPE, "it has the shape %s, but texts can only be one per element",
                        stk__array_shape_text(grid->rank, grid->dims, text, sizeof text));
    for (int a = 0; a < source->patch_rank; a++)
        if (source->patch[a] > grid->dims[a])
            return stk_fail(err, STK_VALUE, "the patch is larger than the array, which is %s",
                            stk__array_shape_text(grid->rank, grid->dims, text, sizeof text));
    if (stk__array_element_bytes(source, array) > STK__ARRAY_MOST_BYTES)
        return stk_fail(err, STK_VALUE,
                        "one element of the array, which is %s, would have more than 1 GiB",
                        stk__array_shape_text(grid->rank, grid->dims, text, sizeof text));
    return STK_OK;
}

/* An array against that of the same field in the first file. */
static int check_alike(const struct stk__array_source *source, const struct stk__array *array,
                       const struct stk__array *other, struct stk_error *err)
{
    char text[200], wanted[200];
    const struct stk__grid *a = &array->grid, *b = &other->grid;
    bool is_alike = a->rank == b->rank;
    for (int i = source->patch_rank ? source->patch_rank : 1; is_alike && i < a->rank; i++)
        is_alike = a->dims[i] == b->dims[i];
    if (!is_alike)
        return stk_fail(err, STK_TYPE, "the array is %s, but that of the first file is %s",
                        stk__array_shape_text(a->rank, a->dims, text, sizeof text),
                        stk__array_shape_text(b->rank, b->dims, wanted, sizeof wanted));
    bool is_text = array->raw.kind != STK__RAW_NUMBERS;
    if (is_text != (other->raw.kind != STK__RAW_NUMBERS) || array->raw.dtype != other->raw.dtype)
        return stk_fail(err, STK_TYPE, "the values are %s, but those of the first file are %s",
                        is_text ? "texts" : stk_dtype_name(array->raw.dtype),
                        is_text ? stk_dtype_name(other->raw.dtype) : "others");
    return STK_OK;
}

static int check_counts(const struct stk__array_source *source, size_t file, struct stk_error *err)
{
    const struct stk__array *array = stk__array_at(source, file, 0);
    int64_t n = elements_of(source, array);
    if (n < 0)
        return stk_fail(err, STK_VALUE, "there are too many patches to count");
    for (int f = 1; f < source->n_fields; f++) {
        const struct stk__array *other = stk__array_at(source, file, f);
        bool is_equal = elements_of(source, other) == n;
        for (int a = 0; a < source->patch_rank; a++)
            is_equal = is_equal && other->grid.dims[a] == array->grid.dims[a];
        if (!is_equal)
            return stk_fail(err, STK_TYPE,
                            "'%s' has %" PRId64 " elements, but '%s' has %" PRId64
                            "; name those that belong together",
                            source->name[0], n, source->name[f], elements_of(source, other));
    }
    source->first[file + 1] = source->first[file] + (uint64_t)n;
    return STK_OK;
}

static int check_file(struct stk__array_source *source, size_t file, struct stk_error *err)
{
    for (int f = 0; f < source->n_fields; f++) {
        const struct stk__array *array = stk__array_at(source, file, f);
        int code = check_array(source, array, err);
        if (!code)
            code = check_alike(source, array, stk__array_at(source, 0, f), err);
        if (code)
            return fail_field(source, file, f, err);
    }
    int code = check_counts(source, file, err);
    if (code)
        stk__error_prefix(err, "'%s': ", source->files->item[file].path);
    return code;
}

/* ---- places ---- */

static bool is_located(const struct stk__array *array)
{
    return array->way == STK__ARRAY_PLAIN || array->way == STK__ARRAY_CHUNKED;
}

static int count_slots(struct stk__array_source *source, struct stk_error *err)
{
    for (int f = 0; f < source->n_fields; f++) {
        source->first_slot[f] = source->n_places;
        for (size_t i = 0; i < source->files->n; i++) {
            const struct stk__array *array = stk__array_at(source, i, f);
            int64_t size[STK__GRID_MAX_RANK];
            set_size(source, array, size);
            bool is_read = is_located(array) && stk__array_element_bytes(source, array);
            int n = is_read ? stk__grid_most_touched(&array->grid, size) : 0;
            if (n > STK__ARRAY_MOST_PLACES) {
                stk_fail(err, STK_VALUE, "an element would be read from %d places; %d are possible",
                         n, STK__ARRAY_MOST_PLACES);
                return fail_field(source, i, f, err);
            }
            if (n > source->n_slots[f])
                source->n_slots[f] = n;
        }
        source->n_places += source->n_slots[f];
    }
    return STK_OK;
}

/* Frees what is needed to read elements, not to tell what they are. */
static int lighten(struct stk__array_source *source, struct stk_error *err)
{
    if (!(source->path = calloc(source->files->n, sizeof *source->path)))
        return stk__out_of_memory(err);
    for (size_t i = 0; i < source->files->n; i++)
        source->path[i] = source->files->item[i].path;
    for (size_t i = 0; i < source->files->n * (size_t)source->n_arrays; i++) {
        struct stk__array *array = &source->array[i];
        struct stk__array told = { .name = array->name, .raw = array->raw, .grid = array->grid };
        array->name = NULL;
        free_array(array);
        *array = told;
    }
    stk__data_files_rest(source->files);
    stk__chunk_cache_free(source->cache);
    source->cache = NULL;
    return STK_OK;
}

int stk__array_source_open(const struct stk_texts *patterns, stk__read_arrays_fn read,
                           void *context, void **state, struct stk_error *err)
{
    if (patterns->is_word && !patterns->n)
        return stk_fail(err, STK_TYPE,
                        "its fields are those of a file, but which files there are shows only as "
                        "elements come; name them by files(…) or values(…)");
    struct stk__array_source *source = calloc(1, sizeof *source);
    if (!source)
        return stk__out_of_memory(err);
    const struct stk_texts first = { patterns->item, 1, true };
    int code = add_files(source, patterns->is_word ? &first : patterns, err);
    for (size_t i = 0; !code && i < source->files->n; i++)
        code = read(context, source, i, err);
    for (size_t i = 0; !code && i < source->files->n; i++)
        code = check_file(source, i, err);
    if (!code)
        code = count_slots(source, err);
    if (!code && patterns->is_word)
        code = lighten(source, err);
    if (code)
        stk__array_source_free(source);
    else
        *state = source;
    return code;
}

struct stk__hdf5_chunk stk__array_stored(const struct stk__array *array, const int64_t *chunk)
{
    uint64_t number = stk__grid_number(&array->grid, chunk);
    if (array->way == STK__ARRAY_CHUNKED)
        return array->chunk[number];
    size_t bytes = stk__grid_chunk_bytes(&array->grid);
    return (struct stk__hdf5_chunk){ array->offset + number * bytes, (uint32_t)bytes, 0 };
}

/* What does not shrink is stored as it is, so a chunk grows little. */
size_t stk__array_most_stored(const struct stk__array *array)
{
    size_t bytes = stk__grid_chunk_bytes(&array->grid);
    return bytes + bytes / 8 + 1024;
}

/* Without filters the part of the chunk that is wanted is enough. */
static struct stk__file_place place_of(const struct stk__array *array,
                                       const struct stk__chunk_box *box, const int64_t *chunk)
{
    struct stk__hdf5_chunk stored = stk__array_stored(array, chunk);
    struct stk__file_place place = { .offset = stored.offset, .bytes = stored.bytes };
    if (stored.offset == STK__HDF5_ABSENT || !stored.bytes)
        return (struct stk__file_place){ 0 };
    if (!array->filters.n) {
        size_t first, bytes;
        stk__grid_range(&array->grid, box, chunk, &first, &bytes);
        place = (struct stk__file_place){ .offset = stored.offset + first, .bytes = bytes };
    }
    return place;
}

/* Slots that an element does not need are empty places where the one before ends. */
static void locate_field(const struct stk__array_source *source, size_t file, int field,
                         uint64_t element, struct stk__file_place *out)
{
    const struct stk__array *array = stk__array_at(source, file, field);
    struct stk__chunk_box box;
    int64_t chunk[STK__GRID_MAX_RANK];
    uint64_t end = 0;
    stk__array_box(source, array, element, &box);
    for (int k = 0; k < source->n_slots[field]; k++) {
        bool is_used = is_located(array) && stk__grid_touched(&array->grid, &box, k, chunk);
        struct stk__file_place place = { 0 };
        if (is_used)
            place = place_of(array, &box, chunk);
        if (!place.bytes)
            place.offset = end;
        place.file = (uint32_t)file;
        end = place.offset + place.bytes;
        out[k] = place;
    }
}

size_t stk__array_file(const struct stk__array_source *source, uint64_t *index)
{
    size_t file = stk__file_of(source->first, source->files->n, *index, 0);
    *index -= source->first[file];
    return file;
}

void stk__array_source_locate(const void *state, int n, const uint64_t *index,
                              struct stk__file_place *out)
{
    const struct stk__array_source *source = state;
    for (int i = 0; i < n; i++) {
        uint64_t element = index[i];
        size_t file = stk__array_file(source, &element);
        for (int f = 0; f < source->n_fields; f++)
            locate_field(source, file, f, element,
                         out + (size_t)i * (size_t)source->n_places + source->first_slot[f]);
    }
}

int stk__array_source_n_places(const void *state)
{
    return ((const struct stk__array_source *)state)->n_places;
}

struct stk__data_files *stk__array_source_files(const void *state)
{
    return ((const struct stk__array_source *)state)->files;
}

const uint64_t *stk__array_source_first_rows(const void *state, size_t *n_files)
{
    const struct stk__array_source *source = state;
    *n_files = source->files->n;
    return source->first;
}

/* ---- what it is ---- */

int64_t stk__array_source_count(const void *state)
{
    const struct stk__array_source *source = state;
    return (int64_t)source->first[source->files->n];
}

int stk__array_source_infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct stk__array_source *source = inf->state;
    (void)err;
    inf->out->n_fields = source->n_fields;
    for (int f = 0; f < source->n_fields; f++) {
        const struct stk__array *array = stk__array_at(source, 0, f);
        struct stk_field *field = &inf->out->field[f];
        int64_t size[STK__GRID_MAX_RANK];
        *field = (struct stk_field){ .name = source->name[f], .dtype = array->raw.dtype };
        inf->from[f] = -1;
        if (array->raw.kind != STK__RAW_NUMBERS) {
            field->kind = STK_BYTES;
            field->dtype = STK_U8;
            continue;
        }
        int first = source->patch_rank ? 0 : 1;
        set_size(source, array, size);
        field->rank = (uint8_t)(array->grid.rank - first);
        memcpy(field->shape, size + first, sizeof(int64_t) * field->rank);
    }
    inf->count = stk__array_source_count(source);
    return STK_OK;
}

void stk__array_source_describe(const void *state, uint64_t index, char *text, size_t size)
{
    const struct stk__array_source *source = state;
    if (index >= source->first[source->files->n]) {
        snprintf(text, size, "?");
        return;
    }
    char place[200];
    struct stk__chunk_box box;
    size_t file = stk__array_file(source, &index);
    stk__array_box(source, stk__array_at(source, file, 0), index, &box);
    if (source->patch_rank)
        snprintf(text, size, "%s, patch at %s", source->files->item[file].path,
                 stk__array_shape_text(source->patch_rank, box.start, place, sizeof place));
    else
        snprintf(text, size, "%s, row %" PRIu64, source->files->item[file].path, index);
}

/* The arrays stay where they are, because the cache knows them by that. */
int stk__array_source_narrow(const void *state, uint32_t fields, struct stk_arena *arena,
                             void **new_state)
{
    const struct stk__array_source *all = state;
    struct stk__array_source *source = stk_arena_alloc(arena, sizeof *source);
    if (!source)
        return STK_MEMORY;
    *source = *all;
    source->n_fields = source->n_places = 0;
    for (int f = 0; f < all->n_fields; f++) {
        if (!(fields >> f & 1))
            continue;
        int to = source->n_fields++;
        source->name[to] = all->name[f];
        source->place[to] = all->place[f];
        source->n_slots[to] = all->n_slots[f];
        source->first_slot[to] = source->n_places;
        source->n_places += all->n_slots[f];
    }
    *new_state = source;
    return STK_OK;
}
